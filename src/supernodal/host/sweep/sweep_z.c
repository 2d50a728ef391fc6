#define GSV_LETTER z
#define GSV_REAL double
#define GSV_LANES 4
#define GSV_COMPLEX 1
#include "sweep_table.inc"
