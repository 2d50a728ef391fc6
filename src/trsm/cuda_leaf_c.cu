#include "cuda_leaf_launch.cuh"

GSV_DEFINE_LEAF_COMPLEX(gsv_leaf_c, gsv::complex<float>, 16);
