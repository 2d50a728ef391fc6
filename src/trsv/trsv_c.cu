#include "trsv_launch.cuh"

GSV_DEFINE_TRSV(c, gsv::complex<float>)
