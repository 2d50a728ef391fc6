cmake_minimum_required(VERSION 3.25)
# Make the Debian packages of the build, unpack them in an empty folder, build and run the README's example there, and ask
# lintian, if it is installed.
set(folder "${BUILD}/consumer-deb")
set(root "${folder}/root")
file(REMOVE_RECURSE "${folder}")
file(MAKE_DIRECTORY "${root}")

include("${CMAKE_CURRENT_LIST_DIR}/run.cmake")

# Everything is built already.
run("${CPACK}" -G DEB -B "${folder}" --config "${BUILD}/CPackConfig.cmake")
file(GLOB packages "${folder}/*.deb")
foreach(name libgpusolve0 libgpusolve-dev)
    if(NOT packages MATCHES "/${name}_[0-9.]+_[a-z0-9]+\\.deb")
        message(FATAL_ERROR "cpack made no ${name}: ${packages}")
    endif()
endforeach()
foreach(package ${packages})
    run(dpkg-deb -x "${package}" "${root}")
endforeach()
run(dpkg-deb -I "${folder}/libgpusolve0_${VERSION}_${ARCHITECTURE}.deb" shlibs)
if(NOT output MATCHES "^libgpusolve 0 libgpusolve0 ")
    message(FATAL_ERROR "libgpusolve0 has no shlibs of its own: ${output}")
endif()

set(ENV{PKG_CONFIG_PATH} "${root}/usr/${LIBDIR}/pkgconfig")
set(ENV{LD_LIBRARY_PATH} "${root}/usr/${LIBDIR}:$ENV{LD_LIBRARY_PATH}")
run(pkg-config --cflags --libs gpusolve)
separate_arguments(flags UNIX_COMMAND "${output}")
run("${CC}" "${SOURCE}/examples/cholmod/solve.c" -o "${folder}/solve" ${flags} -lcholmod)
execute_process(COMMAND "${folder}/solve" INPUT_FILE "${SOURCE}/examples/cholmod/grid.mtx" OUTPUT_VARIABLE output
    ERROR_VARIABLE error RESULT_VARIABLE result)
if(NOT result EQUAL 0 OR NOT output MATCHES "\n16 1\n0?\\.8333333")
    message(FATAL_ERROR "solve: ${result}\n${output}${error}")
endif()

# The library to preload, and the library by the loader's path. The path may have spaces, which LD_PRELOAD divides.
file(GLOB_RECURSE preload "${root}/usr/lib/libgpusolve_preload.so")
if(preload)
    run("${CC}" "${SOURCE}/tests/consumer/twice.c" -o "${folder}/twice" -I/usr/include/suitesparse -lcholmod)
    get_filename_component(place "${preload}" DIRECTORY)
    set(ENV{LD_LIBRARY_PATH} "${place}:$ENV{LD_LIBRARY_PATH}")
    run("${CMAKE_COMMAND}" -E env LD_PRELOAD=libgpusolve_preload.so GPUSOLVE_PRELOAD=always GPUSOLVE_PRELOAD_MIN_BYTES=0 GPUSOLVE_LOG=stderr
        sh -c "'${folder}/twice' < '${SOURCE}/examples/cholmod/grid.mtx'")
    if(NOT output MATCHES "total: 3 solves, 3 served")
        message(FATAL_ERROR "the library to preload did not serve three solves\n${output}")
    endif()
endif()

find_program(lintian lintian)
if(lintian)
    # A build that was configured for another prefix than /usr has its libraries and .pc files in folders that are not the
    # architecture's. The CUDA Toolkit's libraries are not where the loader and the linker look, so a build with CUDA names their folder.
    run("${lintian}" --allow-root --fail-on error,warning --suppress-tags
        pkg-config-unavailable-for-cross-compilation,maintscript-calls-ldconfig,custom-library-search-path,pkg-config-bad-directive
        ${packages})
else()
    message("left out: lintian, which is not installed")
endif()
