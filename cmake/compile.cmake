# gpusolve_compile: the compiler options of gpusolve's own code, linked PRIVATE.
add_library(gpusolve_compile INTERFACE)

set(CMAKE_C_STANDARD 11)
set(CMAKE_C_STANDARD_REQUIRED ON)
set(CMAKE_C_EXTENSIONS OFF)
set(CMAKE_C_VISIBILITY_PRESET hidden)
set(CMAKE_CUDA_STANDARD 17)
set(CMAKE_CUDA_STANDARD_REQUIRED ON)
set(CMAKE_CUDA_VISIBILITY_PRESET hidden)
set(CMAKE_CUDA_RUNTIME_LIBRARY Static)

# Contraction is said aloud: -std=c11 would switch it off, and every file must round alike. Of OpenMP the library
# uses `#pragma omp simd` alone, which needs no runtime.
target_compile_options(gpusolve_compile INTERFACE
    $<$<COMPILE_LANGUAGE:C>:-Wall;-Wextra;-Wpedantic;-Wshadow;-Wconversion;-ffp-contract=fast;-fopenmp-simd>
    $<$<COMPILE_LANGUAGE:CUDA>:-Xcompiler=-Wall,-fno-exceptions,-fno-rtti>)
# Kernels take a quarter of the room then. Every driver for CUDA 13 can read them.
if(CMAKE_CUDA_COMPILER_VERSION VERSION_GREATER_EQUAL 13.0)
    target_compile_options(gpusolve_compile INTERFACE $<$<COMPILE_LANGUAGE:CUDA>:-compress-mode=size>)
endif()
if(GPUSOLVE_WERROR)
    target_compile_options(gpusolve_compile INTERFACE
        $<$<COMPILE_LANGUAGE:C>:-Werror>
        $<$<COMPILE_LANGUAGE:CUDA>:-Werror=all-warnings;-Xcompiler=-Werror>)
endif()
if(GPUSOLVE_SANITIZE)
    # Optimised little: at -O2 the instrumented kernels take minutes to compile.
    add_compile_options("$<$<COMPILE_LANGUAGE:C>:-fsanitize=${GPUSOLVE_SANITIZE};-fno-sanitize-recover=all;-O1;-g1>"
                        "$<$<COMPILE_LANGUAGE:C>:-fno-omit-frame-pointer>")
    add_link_options("-fsanitize=${GPUSOLVE_SANITIZE}")
endif()
