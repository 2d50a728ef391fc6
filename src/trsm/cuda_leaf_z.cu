#include "cuda_leaf_launch.cuh"

GSV_DEFINE_LEAF_COMPLEX(gsv_leaf_z, gsv::complex<double>, 0);
