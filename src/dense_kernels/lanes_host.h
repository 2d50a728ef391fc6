/*
 * Which instruction sets and widths the host kernels exist in, and which of them this machine runs.
 */
#ifndef GSV_LANES_HOST_H
#define GSV_LANES_HOST_H

#if (defined(__x86_64__) || defined(__i386__)) && defined(__GNUC__) && !defined(__clang__)
#define GSV_X86_DISPATCH 1 /* kernels for newer machines beside the baseline ones, chosen at run time */
#else
#define GSV_X86_DISPATCH 0 /* the compiler's own target */
#endif

#if GSV_X86_DISPATCH
#include <immintrin.h>
#include <stdint.h>
/* Starting at 4 - count (8 - count): the mask of the first count lanes. */
static const int64_t gsv_mask_double[8] = {-1, -1, -1, -1, 0, 0, 0, 0};
static const int32_t gsv_mask_float[16] = {-1, -1, -1, -1, -1, -1, -1, -1, 0, 0, 0, 0, 0, 0, 0, 0};
#endif

enum { GSV_ISA_BASE = 0, GSV_ISA_V3 = 1, GSV_ISA_V4 = 2, GSV_ISA_COUNT = 3 };
enum { GSV_WIDTHS = 4, GSV_MAX_COLUMNS = 32 };

/* The best instruction set of this machine. */
static inline int gsv_isa_best(void) {
#if GSV_X86_DISPATCH
    __builtin_cpu_init();
    const int v3 = __builtin_cpu_supports("avx2") && __builtin_cpu_supports("fma") &&
                   __builtin_cpu_supports("bmi") && __builtin_cpu_supports("bmi2");
    if (v3 && __builtin_cpu_supports("avx512f") && __builtin_cpu_supports("avx512vl") &&
        __builtin_cpu_supports("avx512dq") && __builtin_cpu_supports("avx512bw"))
        return GSV_ISA_V4;
    if (v3)
        return GSV_ISA_V3;
#endif
    return GSV_ISA_BASE;
}

/* Index of the narrowest width that holds this many columns (1 <= columns <= GSV_MAX_COLUMNS), and the width.
 */
static inline int gsv_width_index(int columns) {
    return columns <= 1 ? 0 : columns <= 8 ? 1 : columns <= 16 ? 2 : 3;
}

static inline int gsv_width(int index) {
    return index == 0 ? 1 : 4 << index;
}

#endif
