#include "trsv_launch.cuh"

GSV_DEFINE_TRSV(z, gsv::complex<double>)
