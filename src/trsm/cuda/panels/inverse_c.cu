#include "wide.cuh"

GSV_DEFINE_INVERT(gsv_invert_c, gsv::complex<float>);
