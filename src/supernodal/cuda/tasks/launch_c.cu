#include "launch.cuh"

GSV_DEFINE_TASKS(gsv_tasks_c, gsv::mixed<gsv::complex<float>>);
