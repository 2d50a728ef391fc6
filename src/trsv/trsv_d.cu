#include "trsv_launch.cuh"

GSV_DEFINE_TRSV(d, double)
