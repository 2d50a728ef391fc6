cmake_minimum_required(VERSION 3.25)
# Install the build, build programs against it, shared and static, with find_package (WAY=cmake) or with pkg-config, and run
# them: those of project/ and cpp_only/, the example of README.md by the lines that it and docs/install.md print, and all of examples/.
set(folder "${BUILD}/consumer-${WAY}")
set(prefix "${folder}/prefix")
set(example "${SOURCE}/examples/cholmod")
file(REMOVE_RECURSE "${folder}")
file(MAKE_DIRECTORY "${folder}")

include("${CMAKE_CURRENT_LIST_DIR}/run.cmake")

# Whether a program needs the shared library; the one of the prefix.
function(check_link program kind)
    run("${READELF}" -d "${program}")
    string(REGEX MATCH "NEEDED[^\n]*libgpusolve" shared "${output}")
    if(kind STREQUAL "shared" AND NOT shared)
        message(FATAL_ERROR "${program} does not need libgpusolve.so\n${output}")
    elseif(kind STREQUAL "static" AND shared)
        message(FATAL_ERROR "${program} needs libgpusolve.so, and should have the archive\n${output}")
    endif()
endfunction()

# The example solves, and says why it cannot.
function(check_example program)
    execute_process(COMMAND "${program}" INPUT_FILE "${example}/grid.mtx" OUTPUT_VARIABLE output ERROR_VARIABLE error
        RESULT_VARIABLE result)
    # The corners of a 4 x 4 grid, whose x is 5/6.
    if(NOT result EQUAL 0 OR NOT output MATCHES "^%%MatrixMarket[^\n]*\n(%[^\n]*\n)*16 1\n0?\\.8333333")
        message(FATAL_ERROR "${program}: ${result}\n${output}${error}")
    endif()
    file(WRITE "${folder}/singular.mtx" "%%MatrixMarket matrix coordinate real symmetric\n2 2 3\n1 1 1\n2 1 1\n2 2 1\n")
    execute_process(COMMAND "${program}" INPUT_FILE "${folder}/singular.mtx" OUTPUT_VARIABLE output
        ERROR_VARIABLE error RESULT_VARIABLE result)
    if(result EQUAL 0 OR NOT error MATCHES "stopped at column 1 of 2: not positive definite")
        message(FATAL_ERROR "${program} of a singular matrix: ${result}\n${output}${error}")
    endif()
endfunction()

run("${CMAKE_COMMAND}" --install "${BUILD}" --prefix "${prefix}")

# The installed command finds the installed library, and its man page is there. x of a corner of the grid is 5/6.
if(COMMAND)
    run("${prefix}/bin/gpusolve-solve" --quiet "${example}/grid.mtx")
    if(NOT output MATCHES "^%%MatrixMarket matrix array real general\n16 1\n0\\.83333333333333")
        message(FATAL_ERROR "gpusolve-solve: ${output}")
    endif()
    file(GLOB_RECURSE documents "${prefix}/share/*gpusolve-solve*")
    list(LENGTH documents count)
    if(NOT count EQUAL 2)
        message(FATAL_ERROR "gpusolve-solve's man page and completion are not both installed: ${documents}")
    endif()
endif()

# README.md prints the beginning of the example, which is complete by itself; docs/install.md prints its CMakeLists.txt.
file(READ "${SOURCE}/README.md" readme)
file(READ "${SOURCE}/docs/install.md" install)
string(REGEX MATCH "\n```c\n([^`]*)```\n" found "${readme}")
set(excerpt "${CMAKE_MATCH_1}")
file(READ "${example}/solve.c" text)
string(FIND "${text}" "${excerpt}" place)
if(excerpt STREQUAL "" OR place EQUAL -1)
    message(FATAL_ERROR "README.md's program in C is not in examples/cholmod/solve.c as it is")
endif()
file(WRITE "${folder}/excerpt.c" "${excerpt}")
run("${CC}" -std=c11 -Wall -Wextra -Wpedantic -Werror -fsyntax-only "-I${prefix}/include" "${folder}/excerpt.c")
file(READ "${example}/CMakeLists.txt" text)
string(FIND "${install}" "\n```cmake\n${text}```\n" place)
if(place EQUAL -1)
    message(FATAL_ERROR "docs/install.md does not print examples/cholmod/CMakeLists.txt as it is")
endif()

if(SANITIZE)
    set(sanitize "-fsanitize=${SANITIZE}")
endif()

include("${CMAKE_CURRENT_LIST_DIR}/examples.cmake")

if(WAY STREQUAL "cmake")
    # build(SOURCE OPTION...): leaves what configuring said in the variable output.
    function(build source)
        get_filename_component(name "${source}" NAME)
        run("${CMAKE_COMMAND}" -S "${source}" -B "${folder}/${name}" -G "${GENERATOR}"
            "-DCMAKE_MAKE_PROGRAM=${MAKE_PROGRAM}" "-DCMAKE_PREFIX_PATH=${prefix}" "-DCMAKE_C_COMPILER=${CC}" "-DCMAKE_CXX_COMPILER=${CXX}"
            "-DCMAKE_C_FLAGS=${sanitize}" "-DCMAKE_CXX_FLAGS=${sanitize}" ${ARGN})
        set(said "${output}")
        run("${CMAKE_COMMAND}" --build "${folder}/${name}")
        set(output "${said}" PARENT_SCOPE)
    endfunction()
    build("${CMAKE_CURRENT_LIST_DIR}/project")
    build("${CMAKE_CURRENT_LIST_DIR}/cpp_only")
    build("${example}")
    foreach(program project/c_shared project/c_static project/cpp_shared project/cpp_static cpp_only/cpp_only_shared
            cpp_only/cpp_only_static)
        string(REGEX MATCH "[a-z]+$" kind "${program}")
        check_link("${folder}/${program}" "${kind}")
        run("${folder}/${program}")
    endforeach()
    check_example("${folder}/cholmod/solve")
    check_examples(cmake)
    return()
endif()

# The lines of README.md and docs/install.md that begin with "cc ", in this order: shared, static. They run in the source's root,
# so they do here.
set(ENV{PKG_CONFIG_PATH} "${prefix}/${LIBDIR}/pkgconfig")
set(ENV{LD_LIBRARY_PATH} "${prefix}/${LIBDIR}:$ENV{LD_LIBRARY_PATH}")
string(REGEX MATCHALL "\ncc [^\n]*" lines "${readme}${install}")
list(LENGTH lines count)
if(NOT count EQUAL 2)
    message(FATAL_ERROR "README.md and docs/install.md have ${count} lines that begin with \"cc \", not 2")
endif()
file(CREATE_LINK "${SOURCE}/examples" "${folder}/examples" SYMBOLIC)
file(MAKE_DIRECTORY "${folder}/build-library")
# The build's compilers and sanitizers under the names cc and c++.
file(WRITE "${folder}/bin/cc" "#!/bin/sh\nexec '${CC}' ${sanitize} \"$@\"\n")
file(WRITE "${folder}/bin/c++" "#!/bin/sh\nexec '${CXX}' ${sanitize} \"$@\"\n")
file(CHMOD "${folder}/bin/cc" "${folder}/bin/c++" PERMISSIONS OWNER_READ OWNER_WRITE OWNER_EXECUTE)
set(ENV{PATH} "${folder}/bin:$ENV{PATH}")
foreach(kind shared static)
    list(POP_FRONT lines line)
    string(STRIP "${line}" line)
    file(REMOVE "${folder}/build-library/solve")
    run(sh -c "eval \"${line}\"") # a path with a space is quoted by pkg-config
    check_link("${folder}/build-library/solve" "${kind}")
    check_example("${folder}/build-library/solve")
endforeach()
check_examples(make)
