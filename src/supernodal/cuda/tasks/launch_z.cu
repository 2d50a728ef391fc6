#include "launch.cuh"

extern "C" const gsv_launchers gsv_tasks_z = gsv::tasks_launchers<gsv::complex<double>>();
