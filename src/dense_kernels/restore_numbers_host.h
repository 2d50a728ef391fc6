/* restore_host.h for every type of number: restore_panel_s, _d, _c and _z. */
#ifndef GSV_RESTORE_NUMBERS_HOST_H
#define GSV_RESTORE_NUMBERS_HOST_H

#include "panel_layout.h"

#define GSV_REAL float
#define GSV_COMPLEX 0
#define GSV_RESTORE(name) restore_##name##_s
#include "restore_host.h"
#undef GSV_COMPLEX
#undef GSV_RESTORE
#define GSV_COMPLEX 1
#define GSV_RESTORE(name) restore_##name##_c
#include "restore_host.h"
#undef GSV_COMPLEX
#undef GSV_RESTORE
#undef GSV_REAL

#define GSV_REAL double
#define GSV_COMPLEX 0
#define GSV_RESTORE(name) restore_##name##_d
#include "restore_host.h"
#undef GSV_COMPLEX
#undef GSV_RESTORE
#define GSV_COMPLEX 1
#define GSV_RESTORE(name) restore_##name##_z
#include "restore_host.h"
#undef GSV_COMPLEX
#undef GSV_RESTORE
#undef GSV_REAL

#endif
