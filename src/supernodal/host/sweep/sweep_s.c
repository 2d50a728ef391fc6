#define GSV_LETTER s
#define GSV_REAL float
#define GSV_LANES 8
#define GSV_COMPLEX 0
#include "sweep_table.inc"
