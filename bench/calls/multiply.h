/* Products with the factor: how long they take, and how exact they are. */
#ifndef BENCH_MULTIPLY_H
#define BENCH_MULTIPLY_H

#include "../machine/device.h"
#include "../solve/problem.h"

enum { BENCH_TIMES_L, BENCH_TIMES_LT, BENCH_TIMES_PTL, BENCH_TIMES_A, BENCH_PRODUCTS };

/* One of them. */
typedef struct bench_product {
    bench_times times; /* of the call, which waits, on either backend */
    int64_t bytes;     /* L once, for A x twice, x and y: what must be read and written */
    double wall_us;    /* these at the measured bandwidth */
    double
        error; /* the largest error of the first and the last column over the largest sum of the moduli of its terms */
} bench_product;

typedef struct bench_multiply {
    int wanted; /* --multiply */
    bench_product product[BENCH_PRODUCTS];
} bench_multiply;

/* Measure y = L x, L' x, P' L x and A x for the columns of x and y, which are where the device's operands are. The products are compared with
 * those by CHOLMOD's factor and by A itself. stored_bytes: of L. Returns NULL, or what failed. */
const char *bench_multiply_measure(const bench_device *device, gpusolve_handle *handle,
                                   const gpusolve_factor *factor, const bench_problem *problem,
                                   const gpusolve_dense *x, const gpusolve_dense *y, int repeat,
                                   int64_t stored_bytes, bench_multiply *multiply);

/* Whether all errors are as small as the factor's precision lets them be. */
int bench_multiply_is_right(const bench_problem *problem, const bench_multiply *multiply);

#endif
