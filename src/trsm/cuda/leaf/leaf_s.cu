#include "launch.cuh"

extern "C" const gsv_leaf_functions gsv_leaf_s = gsv::leaf_table<float>();
