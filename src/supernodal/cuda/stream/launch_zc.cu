#include "launch.cuh"

extern "C" const gsv_launchers gsv_stream_zc = gsv::stream_launchers_of_one<gsv::complex<float>>();
