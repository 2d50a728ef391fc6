#define GSV_LETTER d
#define GSV_COMPLEX 0
#define GSV_PANEL double
#define GSV_MIXED 0
#include "times_table.inc"
