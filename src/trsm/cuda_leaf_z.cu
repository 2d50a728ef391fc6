#include "cuda_leaf.cuh"

GSV_DEFINE_LEAF(gsv_leaf_z, gsv::complex<double>);
