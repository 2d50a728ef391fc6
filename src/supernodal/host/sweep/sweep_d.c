#define GSV_LETTER d
#define GSV_REAL double
#define GSV_LANES 4
#define GSV_COMPLEX 0
#include "sweep_table.inc"
