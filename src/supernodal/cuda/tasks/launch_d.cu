#include "launch.cuh"

GSV_DEFINE_TASKS(gsv_tasks_d, double);
