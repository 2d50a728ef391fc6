/*
 * Include the file GSV_TEMPLATE once for every instruction set and every number of columns that the host
 * kernels are compiled for. No include guard: a source file includes this once, after defining
 *
 *      GSV_TEMPLATE   the file, relative to this folder
 *      GSV_LETTER     s, d, c or z; ds or zc
 *      GSV_REAL       float or double
 *      GSV_PANEL      the same of panels, and GSV_MIXED: 1 if that is another type, else 0
 *      GSV_LANES      real numbers in GSV_STRIP_BYTES: 8 or 4
 *      GSV_COMPLEX    0 or 1
 *
 * and the template sees in addition
 *
 *      GSV_COLUMNS       columns of right-hand sides side by side: 1, 8, 16, 32
 *      GSV_VECTOR_BYTES  the widest vector of the instruction set
 *      GSV_ISA           base, v3 (AVX2 and FMA) or v4 (AVX-512)
 *      GSV_FN(name)      the name with all of this attached
 *
 * Products and sums are fused explicitly where the instruction set can, in every kernel alike, and never by
 * the compiler's choice: that, and one order of summation, is why a column has the same bits in all of them.
 */
#include "lanes_host.h"

#define GSV_PASTE4(name, letter, isa, columns) name##_##letter##_##isa##_##columns
#define GSV_EXPAND4(name, letter, isa, columns) GSV_PASTE4(name, letter, isa, columns)
#define GSV_FN(name) GSV_EXPAND4(name, GSV_LETTER, GSV_ISA, GSV_COLUMNS)

#if defined(__GNUC__) && !defined(__clang__)
#pragma GCC push_options
#ifndef __SANITIZE_ADDRESS__ /* which takes minutes to compile with everything unrolled */
#pragma GCC optimize("O3")
#endif
#endif
/* Vectors are passed between inlined functions only. The compilers report them at the end of the file, so the
 * warning is not restored. */
#pragma GCC diagnostic ignored "-Wpsabi"

#define GSV_ISA base
#define GSV_VECTOR_BYTES 16
#include "columns_host.h"
#undef GSV_ISA
#undef GSV_VECTOR_BYTES

#if GSV_X86_DISPATCH
#pragma GCC push_options
#pragma GCC target("avx2,fma,bmi,bmi2")
#define GSV_ISA v3
#define GSV_VECTOR_BYTES 32
#include "columns_host.h"
#undef GSV_ISA
#undef GSV_VECTOR_BYTES
#pragma GCC pop_options

#pragma GCC push_options
#pragma GCC target("avx2,fma,bmi,bmi2,avx512f,avx512vl,avx512dq,avx512bw")
#define GSV_ISA v4
#define GSV_VECTOR_BYTES 64
#include "columns_host.h"
#undef GSV_ISA
#undef GSV_VECTOR_BYTES
#pragma GCC pop_options
#endif

#if defined(__GNUC__) && !defined(__clang__)
#pragma GCC pop_options
#endif
