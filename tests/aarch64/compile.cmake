# Compile every C file of the library that does without CUDA, and the kernels' unit test, with CC; warnings are errors.
file(GLOB_RECURSE sources RELATIVE "${SOURCE}" "${SOURCE}/src/*.c")
list(APPEND sources tests/unit/test_host_kernels.c)
list(FILTER sources EXCLUDE REGEX "cuda|src/(device|recording)\\.c$")
list(LENGTH sources count)
if(count LESS 50)
    message(FATAL_ERROR "only ${count} sources were found")
endif()
foreach(source ${sources})
    execute_process(COMMAND "${CC}" -std=c11 -O1 -fPIC -fopenmp-simd -ffp-contract=fast -Wall -Wextra -Wpedantic -Wshadow
        -Wconversion -Werror "-I${SOURCE}/include" "-I${SOURCE}/src" "-I${SOURCE}/tests" "-I${SOURCE}" -c "${SOURCE}/${source}"
        -o "${OUTPUT}/object.o" RESULT_VARIABLE failed)
    if(failed)
        message(FATAL_ERROR "${source} does not compile for aarch64")
    endif()
endforeach()
message(STATUS "${count} files compile for aarch64")
