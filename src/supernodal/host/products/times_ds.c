#define GSV_LETTER ds
#define GSV_COMPLEX 0
#define GSV_PANEL float
#define GSV_MIXED 1
#include "times_table.inc"
