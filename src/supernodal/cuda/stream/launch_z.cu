#include "launch.cuh"

extern "C" const gsv_launchers gsv_stream_z = gsv::stream_launchers<gsv::complex<double>>();
