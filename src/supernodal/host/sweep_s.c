/* The host executor's sweeps in single precision, for every instruction set and number of columns. */
#include <string.h>

#include "../../dense_kernels/panel_host.h"
#include "run.h"

#define GSV_LETTER s
#define GSV_REAL float
#define GSV_LANES 8
#define GSV_COMPLEX 0
#define GSV_TEMPLATE "../supernodal/host/sweep.h"
#include "../../dense_kernels/instantiate_host.h"

const gsv_host_sweep *const gsv_host_sweep_s[GSV_ISA_COUNT][GSV_WIDTHS] = {
    {&sweep_s_base_1, &sweep_s_base_8, &sweep_s_base_16, &sweep_s_base_32},
#if GSV_X86_DISPATCH
    {&sweep_s_v3_1, &sweep_s_v3_8, &sweep_s_v3_16, &sweep_s_v3_32},
    {&sweep_s_v4_1, &sweep_s_v4_8, &sweep_s_v4_16, &sweep_s_v4_32},
#endif
};
