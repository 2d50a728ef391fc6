# Headers, libraries, the CMake package and gpusolve.pc.
include(CMakePackageConfigHelpers)
# Components: runtime is the shared library, tools gpusolve-solve and the library to preload, dev everything else (cmake/package.cmake).
set(CMAKE_INSTALL_DEFAULT_COMPONENT_NAME dev)
set(package_dir "${CMAKE_INSTALL_LIBDIR}/cmake/gpusolve")

install(FILES include/gpusolve.h include/gpusolve_batch.h include/gpusolve_cholmod.h include/gpusolve_cholmod_batch.h
    include/gpusolve_cholmod_operands.h include/gpusolve_cholmod_solve.h include/gpusolve_dense.h
    include/gpusolve_determinant.h include/gpusolve_inverse.h include/gpusolve_product.h include/gpusolve_refine.h include/gpusolve_sample.h include/gpusolve_selection.h include/gpusolve_store.h
    include/gpusolve.hpp include/gpusolve_views.hpp include/gpusolve_refine.hpp
    include/gpusolve_products.hpp include/gpusolve_batch.hpp include/gpusolve_eigen.hpp
    DESTINATION "${CMAKE_INSTALL_INCLUDEDIR}")
install(TARGETS gpusolve EXPORT gpusolveTargets
    LIBRARY DESTINATION "${CMAKE_INSTALL_LIBDIR}" COMPONENT runtime NAMELINK_COMPONENT dev)
install(EXPORT gpusolveTargets NAMESPACE gpusolve:: DESTINATION "${package_dir}")

# The static library needs its user to find what the shared one carries, so it has an export of its own.
install(TARGETS gpusolve_static EXPORT gpusolveStaticTargets DESTINATION "${CMAKE_INSTALL_LIBDIR}")
install(EXPORT gpusolveStaticTargets NAMESPACE gpusolve:: DESTINATION "${package_dir}")

configure_package_config_file(cmake/gpusolveConfig.cmake.in "${PROJECT_BINARY_DIR}/gpusolveConfig.cmake"
    INSTALL_DESTINATION "${package_dir}")
write_basic_package_version_file("${PROJECT_BINARY_DIR}/gpusolveConfigVersion.cmake"
    COMPATIBILITY SameMinorVersion)
install(FILES "${PROJECT_BINARY_DIR}/gpusolveConfig.cmake" "${PROJECT_BINARY_DIR}/gpusolveConfigVersion.cmake"
    cmake/FindCHOLMOD.cmake DESTINATION "${package_dir}")

# The .pc files find their prefix from where they lie, so an installed tree can be moved.
file(RELATIVE_PATH prefix_from_pc "/${CMAKE_INSTALL_LIBDIR}/pkgconfig" "/")
string(REGEX REPLACE "/$" "" prefix_from_pc "${prefix_from_pc}")
set(pc_private_libraries -pthread -ldl -lm)
if(GPUSOLVE_WITH_CUDA)
    list(APPEND pc_private_libraries "-L${CUDAToolkit_LIBRARY_DIR}" -lcublas -lcudart_static -lstdc++ -ldl -lrt -lpthread)
endif()
list(JOIN pc_private_libraries " " pc_private_libraries)
foreach(pc gpusolve.pc gpusolve-shared.pc)
    configure_file(cmake/${pc}.in "${PROJECT_BINARY_DIR}/${pc}" @ONLY)
endforeach()
install(FILES "${PROJECT_BINARY_DIR}/gpusolve.pc" "${PROJECT_BINARY_DIR}/gpusolve-shared.pc" DESTINATION "${CMAKE_INSTALL_LIBDIR}/pkgconfig")
