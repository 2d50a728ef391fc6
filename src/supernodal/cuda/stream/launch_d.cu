#include "launch.cuh"

extern "C" const gsv_launchers gsv_stream_d = gsv::stream_launchers<double>();
