# SuiteSparse::CHOLMOD. SuiteSparse 7 brings a CMake package of its own; for older ones, such as Debian 12's, look for
# the header and the library.
find_package(CHOLMOD CONFIG QUIET)
if(CHOLMOD_FOUND AND TARGET SuiteSparse::CHOLMOD)
    return()
endif()

find_path(CHOLMOD_INCLUDE_DIR cholmod.h PATH_SUFFIXES suitesparse)
find_library(CHOLMOD_LIBRARY cholmod)
mark_as_advanced(CHOLMOD_INCLUDE_DIR CHOLMOD_LIBRARY)

include(FindPackageHandleStandardArgs)
find_package_handle_standard_args(CHOLMOD REQUIRED_VARS CHOLMOD_LIBRARY CHOLMOD_INCLUDE_DIR
    REASON_FAILURE_MESSAGE "on Debian: apt-get install libsuitesparse-dev")

if(CHOLMOD_FOUND AND NOT TARGET SuiteSparse::CHOLMOD)
    add_library(SuiteSparse::CHOLMOD UNKNOWN IMPORTED)
    set_target_properties(SuiteSparse::CHOLMOD PROPERTIES
        IMPORTED_LOCATION "${CHOLMOD_LIBRARY}" INTERFACE_INCLUDE_DIRECTORIES "${CHOLMOD_INCLUDE_DIR}")
endif()
