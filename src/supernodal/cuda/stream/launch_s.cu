#include "launch.cuh"

extern "C" const gsv_launchers gsv_stream_s = gsv::stream_launchers<float>();
