#include "cuda_leaf_launch.cuh"

GSV_DEFINE_LEAF_REAL(gsv_leaf_d, double);
