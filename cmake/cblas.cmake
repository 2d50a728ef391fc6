# A CBLAS for the dense calls on the host: OpenBLAS, or whatever has the reference interface. Sets GPUSOLVE_CBLAS_LIBRARY;
# without one those calls say that they are not supported.
set(GPUSOLVE_CBLAS AUTO CACHE STRING "A CBLAS for dense calls on the host: ON, OFF, or AUTO (where one is found)")
set_property(CACHE GPUSOLVE_CBLAS PROPERTY STRINGS AUTO ON OFF)
if(NOT GPUSOLVE_CBLAS STREQUAL "OFF")
    find_library(GPUSOLVE_CBLAS_LIBRARY NAMES openblas cblas)
    mark_as_advanced(GPUSOLVE_CBLAS_LIBRARY)
    if(NOT GPUSOLVE_CBLAS_LIBRARY AND GPUSOLVE_CBLAS STREQUAL "ON")
        message(FATAL_ERROR "GPUSOLVE_CBLAS=ON, but no CBLAS was found")
    endif()
endif()
