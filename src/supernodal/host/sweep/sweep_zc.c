/* Panels of complex floats, and vectors of complex doubles. */
#define GSV_LETTER zc
#define GSV_REAL double
#define GSV_PANEL float
#define GSV_LANES 4
#define GSV_COMPLEX 1
#include "sweep_table.inc"
