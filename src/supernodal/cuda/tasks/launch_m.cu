#include "launch.cuh"

GSV_DEFINE_MANY(gsv_many_m, gsv::mixed<float>);
