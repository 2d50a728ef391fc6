#define GSV_LETTER zc
#define GSV_COMPLEX 1
#define GSV_PANEL float
#define GSV_MIXED 1
#include "times_table.inc"
