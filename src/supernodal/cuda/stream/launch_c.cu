#include "launch.cuh"

GSV_DEFINE_SWEEP(gsv_sweep_c, gsv::complex<float>);
