/*
 * Include the file GSV_TEMPLATE once for every kind of numbers. No include guard: a source file includes this once for each template, after
 * defining
 *
 *      GSV_TEMPLATE   the file, relative to this folder
 *      GSV_STORED     if it wants the kinds ds and zc, too: floats in the strips of doubles
 *
 * and the template sees
 *
 *      GSV_REAL       float or double
 *      GSV_LANES      real numbers in GSV_STRIP_BYTES (panel_host.h)
 *      GSV_COMPLEX    0 or 1; GSV_PARTS: real numbers in a number, 1 or 2
 *      GSV_FN(name)   name_s, name_d, name_c or name_z; name_ds or name_zc
 *
 * GSV_KINDS(name) is the list of these functions for a table by gpusolve_dtype, GSV_STORED_KINDS(name) for one by gsv_numbers.
 */
#define GSV_KINDS(name) name##_s, name##_d, name##_c, name##_z
#define GSV_STORED_KINDS(name) GSV_KINDS(name), name##_ds, name##_zc
#define GSV_PASTE_KIND(name, letter) name##_##letter
#define GSV_EXPAND_KIND(name, letter) GSV_PASTE_KIND(name, letter)
#define GSV_FN(name) GSV_EXPAND_KIND(name, GSV_LETTER)
#define GSV_PARTS (1 + GSV_COMPLEX)

#define GSV_COMPLEX 0
#define GSV_REAL float
#define GSV_LANES 8
#define GSV_LETTER s
#include GSV_TEMPLATE
#undef GSV_LETTER
#undef GSV_LANES
#define GSV_LANES 4
#ifdef GSV_STORED
#define GSV_LETTER ds
#include GSV_TEMPLATE
#undef GSV_LETTER
#endif
#undef GSV_REAL
#define GSV_REAL double
#define GSV_LETTER d
#include GSV_TEMPLATE
#undef GSV_LETTER
#undef GSV_COMPLEX
#define GSV_COMPLEX 1
#define GSV_LETTER z
#include GSV_TEMPLATE
#undef GSV_LETTER
#undef GSV_REAL
#define GSV_REAL float
#ifdef GSV_STORED
#define GSV_LETTER zc
#include GSV_TEMPLATE
#undef GSV_LETTER
#endif
#undef GSV_LANES
#define GSV_LANES 8
#define GSV_LETTER c
#include GSV_TEMPLATE

#undef GSV_LETTER
#undef GSV_LANES
#undef GSV_REAL
#undef GSV_COMPLEX
#undef GSV_PARTS
#undef GSV_FN
#undef GSV_TEMPLATE
#undef GSV_STORED
