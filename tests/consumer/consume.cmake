# Install the build and build the programs of project/ against it, shared and static, with find_package (WAY=cmake) or
# with pkg-config, and run them. README.md's example is one of the programs.
set(folder "${BUILD}/consumer-${WAY}")
set(prefix "${folder}/prefix")
set(project "${CMAKE_CURRENT_LIST_DIR}/project")
file(REMOVE_RECURSE "${folder}")
file(MAKE_DIRECTORY "${folder}")

function(run)
    execute_process(COMMAND ${ARGN} OUTPUT_VARIABLE output ERROR_VARIABLE output RESULT_VARIABLE result)
    if(NOT result EQUAL 0)
        list(JOIN ARGN " " command)
        message(FATAL_ERROR "${command}\n${output}")
    endif()
endfunction()

run("${CMAKE_COMMAND}" --install "${BUILD}" --prefix "${prefix}")

# The lines between ```c and ``` that follow the words "A dozen lines".
file(READ "${SOURCE}/README.md" readme)
if(NOT readme MATCHES "A dozen lines.*\n```c\n([^`]*)```")
    message(FATAL_ERROR "README.md has lost its example")
endif()
set(EXAMPLE "${CMAKE_MATCH_1}")
configure_file("${project}/example.c.in" "${folder}/example.c" @ONLY)

if(SANITIZE)
    set(sanitize "-fsanitize=${SANITIZE}")
endif()

if(WAY STREQUAL "cmake")
    run("${CMAKE_COMMAND}" -S "${project}" -B "${folder}/build" -G "${GENERATOR}"
        "-DCMAKE_MAKE_PROGRAM=${MAKE_PROGRAM}" -DCMAKE_PREFIX_PATH=${prefix}
        -DEXAMPLE=${folder}/example.c -DCMAKE_MODULE_PATH=${SOURCE}/cmake -DCMAKE_C_COMPILER=${CC}
        "-DCMAKE_C_FLAGS=${sanitize}" "-DCMAKE_CXX_FLAGS=${sanitize}")
    run("${CMAKE_COMMAND}" --build "${folder}/build")
    foreach(program c_shared c_static cpp_shared cpp_static example)
        run("${folder}/build/${program}")
    endforeach()
    return()
endif()

set(ENV{PKG_CONFIG_PATH} "${prefix}/${LIBDIR}/pkgconfig")
function(pkg_config variable)
    execute_process(COMMAND pkg-config ${ARGN} gpusolve OUTPUT_VARIABLE output OUTPUT_STRIP_TRAILING_WHITESPACE
        COMMAND_ERROR_IS_FATAL ANY)
    separate_arguments(output UNIX_COMMAND "${output}")
    set(${variable} "${output}" PARENT_SCOPE)
endfunction()

pkg_config(cflags --cflags)
pkg_config(shared --libs)
pkg_config(static --libs --static)
list(TRANSFORM static REPLACE "^-lgpusolve$" "-l:libgpusolve.a")
run("${CC}" ${sanitize} ${cflags} "${project}/solve.c" -o "${folder}/shared" ${shared})
run("${CC}" ${sanitize} ${cflags} "${project}/solve.c" -o "${folder}/static" ${static})
set(ENV{LD_LIBRARY_PATH} "${prefix}/${LIBDIR}:$ENV{LD_LIBRARY_PATH}")
run("${folder}/shared")
run("${folder}/static")
