# The names of all public functions, taken from the headers: public_calls.h, an array that test_allocation compares with
# its table. A function that is added to a header is so missing in the table until somebody adds it there.
set(names "")
file(GLOB headers CONFIGURE_DEPENDS "${PROJECT_SOURCE_DIR}/include/*.h")
set_property(DIRECTORY APPEND PROPERTY CMAKE_CONFIGURE_DEPENDS ${headers})
foreach(header ${headers})
    file(READ "${header}" text)
    string(REPLACE ";" "@" text "${text}") # which CMake takes for the end of a list's element
    string(REGEX MATCHALL "(\nGPUSOLVE_API|\nstatic inline) [^@(]*gpusolve_[a-z0-9_]+\\(" heads "${text}")
    foreach(head ${heads})
        string(REGEX REPLACE ".*[ *\n](gpusolve_[a-z0-9_]+)\\($" "\\1" name "${head}")
        if(NOT name MATCHES "_$") # a header's own
            list(APPEND names "${name}")
        endif()
    endforeach()
endforeach()
list(REMOVE_DUPLICATES names)
list(TRANSFORM names REPLACE "(.+)" "    \"\\1\"")
list(JOIN names ",\n" names)
file(CONFIGURE OUTPUT "${CMAKE_CURRENT_BINARY_DIR}/public_calls.h" @ONLY CONTENT
"/* Made by tests/api/public_calls.cmake. */
static const char *const public_calls[] = {
@names@};
")
