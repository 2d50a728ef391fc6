#include "launch.cuh"

extern "C" const gsv_launchers gsv_tasks_d = gsv::tasks_launchers<double>();
