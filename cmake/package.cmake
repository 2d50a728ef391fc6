# Debian packages: "cpack -G DEB" in the build folder makes libgpusolve0, libgpusolve-dev and gpusolve-tools, which has
# gpusolve-solve and the library to preload. Configure with CMAKE_INSTALL_PREFIX=/usr, which gives the libraries Debian's own
# folder. docs/install.md has the commands.
set(CPACK_GENERATOR DEB)
set(CPACK_PACKAGE_NAME gpusolve)
set(CPACK_PACKAGE_VERSION "${PROJECT_VERSION}")
set(CPACK_PACKAGE_VENDOR "The gpusolve developers")
set(GPUSOLVE_MAINTAINER "The gpusolve developers <gpusolve@users.noreply.github.com>" CACHE STRING "Maintainer of Debian packages")
mark_as_advanced(GPUSOLVE_MAINTAINER)
set(CPACK_PACKAGE_CONTACT "${GPUSOLVE_MAINTAINER}")
set(CPACK_PACKAGING_INSTALL_PREFIX /usr)
set(CPACK_VERBATIM_VARIABLES ON)
set(CPACK_STRIP_FILES ON)
set(CPACK_INSTALL_DEFAULT_DIRECTORY_PERMISSIONS
    OWNER_READ OWNER_WRITE OWNER_EXECUTE GROUP_READ GROUP_EXECUTE WORLD_READ WORLD_EXECUTE)

# A package for each of these components; the Python package's is pip's.
set(CPACK_COMPONENTS_ALL runtime dev)
set(CPACK_DEB_COMPONENT_INSTALL ON)
set(CPACK_COMPONENTS_GROUPING IGNORE)
set(CPACK_DEBIAN_FILE_NAME DEB-DEFAULT)
set(CPACK_DEBIAN_PACKAGE_PRIORITY optional)
set(CPACK_DEBIAN_PACKAGE_CONTROL_STRICT_PERMISSION ON)
set(CPACK_DEBIAN_PACKAGE_SHLIBDEPS ON)
set(CPACK_DEBIAN_PACKAGE_SHLIBDEPS_PRIVATE_DIRS "${PROJECT_BINARY_DIR}") # gpusolve-tools needs the library

# The first line of a description is the synopsis; cpack would put the project's before it.
set(CPACK_PACKAGE_DESCRIPTION_SUMMARY "")
set(about "gpusolve imports a factor that CHOLMOD or another code has made, and
solves with it as often as wanted: for one or for thousands of right-hand
sides, on an NVIDIA GPU if it was built with CUDA and there is one,
otherwise on the host.")
macro(gpusolve_describe component package section synopsis more)
    string(TOUPPER ${component} upper)
    set(CPACK_DEBIAN_${upper}_PACKAGE_NAME ${package})
    set(CPACK_DEBIAN_${upper}_PACKAGE_SECTION ${section})
    set(CPACK_DEBIAN_${upper}_DESCRIPTION "${synopsis}\n${about}\n\n${more}")
endmacro()
gpusolve_describe(runtime libgpusolve0 libs "solves with sparse Cholesky factors - shared library"
    "This package has the shared library.")
gpusolve_describe(dev libgpusolve-dev libdevel "solves with sparse Cholesky factors - development files"
    "This package has headers, the static library, and files for CMake and\npkg-config.")
# dpkg-shlibdeps finds the library's name and version in its package; ldconfig runs by a trigger.
set(CPACK_DEBIAN_PACKAGE_GENERATE_SHLIBS ON)
set(CPACK_DEBIAN_PACKAGE_GENERATE_SHLIBS_POLICY ">=")
file(WRITE "${PROJECT_BINARY_DIR}/deb/triggers" "activate-noawait ldconfig\n")
set(CPACK_DEBIAN_RUNTIME_PACKAGE_CONTROL_EXTRA "${PROJECT_BINARY_DIR}/deb/triggers")
set(CPACK_DEBIAN_DEV_PACKAGE_DEPENDS "libgpusolve0 (= ${PROJECT_VERSION})")
set(CPACK_DEBIAN_DEV_PACKAGE_SUGGESTS libsuitesparse-dev)
if(TARGET gpusolve-solve OR TARGET gpusolve_preload)
    list(APPEND CPACK_COMPONENTS_ALL tools)
    gpusolve_describe(tools gpusolve-tools math "solves sparse positive definite systems - programs"
        "This package has the program gpusolve-solve, and a library to preload with\nwhich programs that use CHOLMOD solve with gpusolve.")
    set(CPACK_DEBIAN_TOOLS_PACKAGE_DEPENDS "libgpusolve0 (= ${PROJECT_VERSION})")
endif()

# What Debian wants in every package: copyright, changelog, compressed manual pages.
set(CPACK_PRE_BUILD_SCRIPTS "${CMAKE_CURRENT_LIST_DIR}/package_files.cmake")
set(CPACK_GPUSOLVE_SOURCE "${PROJECT_SOURCE_DIR}")
set(CPACK_GPUSOLVE_STRIP "${CMAKE_STRIP}")
foreach(component ${CPACK_COMPONENTS_ALL})
    string(TOUPPER ${component} upper)
    set(CPACK_GPUSOLVE_PACKAGE_${component} ${CPACK_DEBIAN_${upper}_PACKAGE_NAME})
endforeach()
include(CPack)
