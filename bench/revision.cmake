# Write OUTPUT, a header with the revision of SOURCE, if it has changed: cmake -DSOURCE=... -DOUTPUT=... -P revision.cmake
execute_process(COMMAND git -C "${SOURCE}" describe --always --dirty --abbrev=12
    OUTPUT_VARIABLE revision OUTPUT_STRIP_TRAILING_WHITESPACE ERROR_QUIET RESULT_VARIABLE failed)
if(failed)
    set(revision "no revision")
endif()
set(text "#define BENCH_REVISION \"${revision}\"\n")
if(EXISTS "${OUTPUT}")
    file(READ "${OUTPUT}" old)
endif()
if(NOT text STREQUAL "${old}")
    file(WRITE "${OUTPUT}" "${text}")
endif()
