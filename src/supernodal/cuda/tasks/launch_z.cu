#include "launch.cuh"

GSV_DEFINE_TASKS(gsv_tasks_z, gsv::complex<double>);
