/* The host executor's sweeps in double complex precision, for every instruction set and number of columns. */
#include <string.h>

#include "../../dense_kernels/panel_host.h"
#include "run.h"

#define GSV_LETTER z
#define GSV_REAL double
#define GSV_LANES 4
#define GSV_COMPLEX 1
#define GSV_TEMPLATE "../supernodal/host/sweep.h"
#include "../../dense_kernels/instantiate_host.h"

const gsv_host_sweep *const gsv_host_sweep_z[GSV_ISA_COUNT][GSV_WIDTHS] = {
    {&sweep_z_base_1, &sweep_z_base_8, &sweep_z_base_16, &sweep_z_base_32},
#if GSV_X86_DISPATCH
    {&sweep_z_v3_1, &sweep_z_v3_8, &sweep_z_v3_16, &sweep_z_v3_32},
    {&sweep_z_v4_1, &sweep_z_v4_8, &sweep_z_v4_16, &sweep_z_v4_32},
#endif
};
