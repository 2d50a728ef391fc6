#include "cuda_many_launch.cuh"

GSV_DEFINE_MANY(gsv_many_m, gsv::mixed<float>);
