#include "launch.cuh"

GSV_DEFINE_SWEEP(gsv_sweep_z, gsv::complex<double>);
