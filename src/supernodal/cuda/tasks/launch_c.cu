#include "launch.cuh"

GSV_DEFINE_MANY(gsv_many_c, gsv::mixed<gsv::complex<float>>);
