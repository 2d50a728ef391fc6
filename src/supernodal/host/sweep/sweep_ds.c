/* Panels of floats, and vectors of doubles. */
#define GSV_LETTER ds
#define GSV_REAL double
#define GSV_PANEL float
#define GSV_LANES 4
#define GSV_COMPLEX 0
#include "sweep_table.inc"
