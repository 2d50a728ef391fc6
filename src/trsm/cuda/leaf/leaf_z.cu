#include "launch.cuh"

extern "C" const gsv_leaf_functions gsv_leaf_z = gsv::leaf_table<gsv::complex<double>>();
