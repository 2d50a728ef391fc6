#include "launch.cuh"

extern "C" const gsv_launchers gsv_tasks_m = gsv::tasks_launchers<gsv::mixed<float>>();
