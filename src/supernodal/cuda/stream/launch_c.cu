#include "launch.cuh"

extern "C" const gsv_launchers gsv_stream_c = gsv::stream_launchers<gsv::complex<float>>();
