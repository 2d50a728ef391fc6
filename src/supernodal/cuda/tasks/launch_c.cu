#include "launch.cuh"

extern "C" const gsv_launchers gsv_tasks_c = gsv::tasks_launchers<gsv::mixed<gsv::complex<float>>>();
