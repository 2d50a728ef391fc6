#include "launch.cuh"

extern "C" const gsv_leaf_functions gsv_leaf_d = gsv::leaf_table<double>();
