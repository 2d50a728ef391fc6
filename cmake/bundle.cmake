# The target "bundle": gpusolve-bundle/ and gpusolve-bundle.tar.gz in the build folder, with the test programs,
# gpusolve-bench with bench/all, gpusolve-ladder and gpusolve-transfer-bench if there is CUDA, and the libraries they need, for GPU machines without SuiteSparse. It
# needs there: glibc and the CUDA toolkit's cuBLAS.
set(GPUSOLVE_BUNDLE_MATRICES "" CACHE STRING "Matrix files that the bundle takes along")

set(bundle_programs gpusolve-tests gpusolve-bench)
if(TARGET gpusolve-ladder)
    list(APPEND bundle_programs gpusolve-ladder)
endif()
if(TARGET gpusolve-transfer-bench)
    list(APPEND bundle_programs gpusolve-transfer-bench)
endif()
list(TRANSFORM bundle_programs REPLACE ".+" "$<TARGET_FILE:\\0>" OUTPUT_VARIABLE bundle_files)
add_custom_target(bundle
    COMMAND "${CMAKE_COMMAND}" "-DFOLDER=${PROJECT_BINARY_DIR}/gpusolve-bundle"
        "-DPROGRAMS=${bundle_files}"
        "-DSCRIPTS=${PROJECT_SOURCE_DIR}/cmake/run-gpu-tests;${PROJECT_SOURCE_DIR}/bench/all;${PROJECT_SOURCE_DIR}/bench/records.py;${PROJECT_SOURCE_DIR}/bench/all.list;${PROJECT_SOURCE_DIR}/bench/fifteen.list"
        "-DMATRICES=${GPUSOLVE_BUNDLE_MATRICES}"
        "-DSTRIP=${CMAKE_STRIP}" "-DSOURCE=${PROJECT_SOURCE_DIR}" -P "${PROJECT_SOURCE_DIR}/cmake/make_bundle.cmake"
    DEPENDS ${bundle_programs}
    VERBATIM)
# So that the programs find lib/ beside them, and what its libraries need too.
set_target_properties(${bundle_programs} PROPERTIES BUILD_RPATH "$ORIGIN/lib")
foreach(program ${bundle_programs})
    target_link_options(${program} PRIVATE LINKER:--disable-new-dtags)
endforeach()
