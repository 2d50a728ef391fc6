#define GSV_LETTER z
#define GSV_COMPLEX 1
#define GSV_PANEL double
#define GSV_MIXED 0
#include "times_table.inc"
