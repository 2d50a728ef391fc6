#include "launch.cuh"

GSV_DEFINE_MANY(gsv_many_z, gsv::complex<double>);
