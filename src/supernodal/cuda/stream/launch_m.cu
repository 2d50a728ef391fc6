/* Panels are float, vectors double (scalar.cuh, mixed): blocks of right-hand sides. */
#include "launch.cuh"

GSV_DEFINE_SWEEP(gsv_sweep_m, gsv::mixed<float>);
