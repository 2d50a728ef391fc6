/* Panels are float, vectors double (scalar.cuh, mixed): blocks of right-hand sides. */
#include "launch.cuh"

extern "C" const gsv_launchers gsv_stream_m = gsv::stream_launchers<gsv::mixed<float>>();
