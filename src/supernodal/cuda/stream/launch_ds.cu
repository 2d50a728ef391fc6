#include "launch.cuh"

extern "C" const gsv_launchers gsv_stream_ds = gsv::stream_launchers_of_one<float>();
