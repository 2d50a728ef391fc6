#define GSV_LETTER c
#define GSV_REAL float
#define GSV_LANES 8
#define GSV_COMPLEX 1
#include "sweep_table.inc"
