/*
 * gpusolve-bench-dense: the host kernels beside a CBLAS, on what a wide supernode is. L is the trapezoid
 * [L1; L2] of nc columns and nc + m rows, with a dense triangle of order m below it; A x = b is solved by
 * gpusolve's host backend and by the calls that CHOLMOD makes for such a factor:
 *
 *      y1 = L1 \ b1,  y2 = L3 \ (b2 - L2 y1),  x2 = L3' \ y2,  x1 = L1' \ (y1 - L2' x2)
 *
 * trsm and gemm (trsv and gemv for one column). Both get the same columns, in memory order of each column,
 * and as many threads. Printed beside the times: whether a column solved alone has the bits that it has among
 * the others.
 */
#include <cblas.h>
#include <math.h>
#include <omp.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "gpusolve.h"
#include "machine/measure.h"

extern void openblas_set_num_threads(int threads) __attribute__((weak));

typedef struct dense_case {
    int nc, m, n, nrhs;
    double *l; /* [n x nc] and then [m x m], column-major */
    double *b, *x;
    gpusolve_handle *handle;
    gpusolve_factor *factor;
    gpusolve_workspace *workspace;
} dense_case;

static int solve_gpusolve(void *context) {
    dense_case *c = context;
    const gpusolve_dense b = {GPUSOLVE_DOUBLE, GPUSOLVE_COL_MAJOR, c->n, c->nrhs, c->n, c->b};
    const gpusolve_dense x = {GPUSOLVE_DOUBLE, GPUSOLVE_COL_MAJOR, c->n, c->nrhs, c->n, c->x};

    return (int)gpusolve_solve(c->handle, c->factor, c->workspace, GPUSOLVE_A, &b, &x);
}

/* op(T) \ x, T the lower triangle at l. */
static void triangle(const double *l, int ld, int order, int nrhs, CBLAS_TRANSPOSE trans, double *x,
                     int ldx) {
    if (nrhs == 1)
        cblas_dtrsv(CblasColMajor, CblasLower, trans, CblasNonUnit, order, l, ld, x, 1);
    else
        cblas_dtrsm(CblasColMajor, CblasLeft, CblasLower, trans, CblasNonUnit, order, nrhs, 1.0, l, ld, x,
                    ldx);
}

static int solve_blas(void *context) {
    dense_case *c = context;
    const int nc = c->nc, m = c->m, n = c->n;
    const double *l2 = c->l + nc, *l3 = c->l + (size_t)n * (size_t)nc;
    double *x1 = c->x, *x2 = c->x + nc;

    memcpy(c->x, c->b, (size_t)n * (size_t)c->nrhs * sizeof *c->x);
    triangle(c->l, n, nc, c->nrhs, CblasNoTrans, x1, n);
    if (m > 0) {
        if (c->nrhs == 1)
            cblas_dgemv(CblasColMajor, CblasNoTrans, m, nc, -1, l2, n, x1, 1, 1, x2, 1);
        else
            cblas_dgemm(CblasColMajor, CblasNoTrans, CblasNoTrans, m, c->nrhs, nc, -1, l2, n, x1, n, 1, x2,
                        n);
        triangle(l3, m, m, c->nrhs, CblasNoTrans, x2, n);
        triangle(l3, m, m, c->nrhs, CblasTrans, x2, n);
        if (c->nrhs == 1)
            cblas_dgemv(CblasColMajor, CblasTrans, m, nc, -1, l2, n, x2, 1, 1, x1, 1);
        else
            cblas_dgemm(CblasColMajor, CblasTrans, CblasNoTrans, nc, c->nrhs, m, -1, l2, n, x2, n, 1, x1, n);
    }
    triangle(c->l, n, nc, c->nrhs, CblasTrans, x1, n);
    return 0;
}

static double number(uint64_t *state) {
    *state = *state * 6364136223846793005u + 1442695040888963407u; /* Knuth's MMIX generator */
    return 1 - (double)(*state >> 11) * 0x1p-52;
}

/* A trapezoid with 2 on the diagonal and small numbers below it. */
static void fill(double *l, int rows, int columns, uint64_t *state) {
    for (int j = 0; j < columns; j++)
        for (int i = 0; i < rows; i++)
            l[(size_t)j * (size_t)rows + (size_t)i] = i == j ? 2 : number(state) / rows;
}

static int import(dense_case *c) {
    const int supernodes = c->m > 0 ? 2 : 1, nc = c->nc, m = c->m, n = c->n;
    const int32_t super[] = {0, nc, n}, pi[] = {0, n, n + m};
    const int64_t px[] = {0, (int64_t)n * nc, (int64_t)n * nc + (int64_t)m * m};
    int32_t *s = malloc((size_t)(n + m) * sizeof *s), px32[3];
    gpusolve_factor_data data = GPUSOLVE_FACTOR_DATA_INIT;
    int status = -1;

    for (int i = 0; i < 3; i++)
        px32[i] = (int32_t)px[i];
    if (s) {
        for (int i = 0; i < n; i++)
            s[i] = i;
        for (int i = 0; i < m; i++)
            s[n + i] = nc + i;
        data.kind = GPUSOLVE_SUPERNODAL_LL;
        data.dtype = GPUSOLVE_DOUBLE;
        data.itype = GPUSOLVE_INT32;
        data.n = data.minor = n;
        data.nsuper = supernodes;
        data.ssize = pi[supernodes];
        data.xsize = px[supernodes];
        data.super = super;
        data.pi = pi;
        data.px = px32;
        data.s = s;
        data.x = c->l;
        status = (int)gpusolve_factor_create(c->handle, &data, &c->factor);
    }
    free(s);
    return status;
}

/* Whether column 0 has the same bits alone. */
static int same_alone(bench_call *call, dense_case *c, double *copy) {
    const int nrhs = c->nrhs;
    const size_t column = (size_t)c->n * sizeof *copy;
    int same;

    call(c);
    memcpy(copy, c->x, column);
    c->nrhs = 1;
    call(c);
    same = !memcmp(copy, c->x, column);
    c->nrhs = nrhs;
    return same;
}

static double distance(const double *x, const double *y, size_t count) {
    double largest = 0;

    for (size_t i = 0; i < count; i++)
        if (fabs(x[i] - y[i]) > largest || isnan(fabs(x[i] - y[i])))
            largest = fabs(x[i] - y[i]);
    return largest;
}

static int run(dense_case *c, int repeat) {
    const size_t count = (size_t)c->n * (size_t)c->nrhs;
    const double flops =
        2.0 * c->nrhs * ((double)c->nc * (c->nc + 1) + 2.0 * c->nc * c->m + (double)c->m * (c->m + 1));
    double *other = malloc(count * sizeof *other), far;
    bench_times ours = {0}, blas = {0};
    int status = !other || solve_gpusolve(c);

    if (!status) {
        memcpy(other, c->x, count * sizeof *other);
        solve_blas(c);
        far = distance(c->x, other, count);
        status = !(far < 1e-13) || bench_time_blocking(solve_gpusolve, c, repeat, &ours) ||
                 bench_time_blocking(solve_blas, c, repeat, &blas);
        if (!(far < 1e-13))
            fprintf(stderr, "gpusolve-bench-dense: the solutions are %g apart\n", far);
    }
    if (!status)
        printf("%6d %6d %5d %11.1f %8.1f %11.1f %8.1f %8.2f %9s %9s\n", c->nc, c->m, c->nrhs, ours.median,
               1e-3 * flops / ours.median, blas.median, 1e-3 * flops / blas.median, blas.median / ours.median,
               same_alone(solve_gpusolve, c, other) ? "same" : "differ",
               same_alone(solve_blas, c, other) ? "same" : "differ");
    fflush(stdout);
    free(other);
    return status;
}

static int run_shape(dense_case *c, int repeat, int threads) {
    static const int columns[] = {1, 8, 32, 128};
    enum { MOST = 128 };
    uint64_t state = 1;
    int status = -1;
    gpusolve_options options = GPUSOLVE_OPTIONS_INIT;

    c->n = c->nc + c->m;
    c->l = malloc(((size_t)c->n * (size_t)c->nc + (size_t)c->m * (size_t)c->m) * sizeof *c->l);
    c->b = malloc((size_t)c->n * MOST * sizeof *c->b);
    c->x = malloc((size_t)c->n * MOST * sizeof *c->x);
    options.backend = GPUSOLVE_BACKEND_HOST;
    options.threads = threads;
    if (c->l && c->b && c->x && !gpusolve_create(&c->handle, &options)) {
        fill(c->l, c->n, c->nc, &state);
        fill(c->l + (size_t)c->n * (size_t)c->nc, c->m, c->m, &state);
        for (size_t i = 0; i < (size_t)c->n * MOST; i++)
            c->b[i] = number(&state);
        status = import(c) || gpusolve_workspace_create(c->handle, c->factor, MOST, &c->workspace);
        for (size_t i = 0; !status && i < sizeof columns / sizeof columns[0]; i++) {
            c->nrhs = columns[i];
            status = run(c, repeat);
        }
        if (status)
            fprintf(stderr, "gpusolve-bench-dense: %s\n", gpusolve_last_error(c->handle));
        gpusolve_workspace_destroy(c->workspace);
        gpusolve_factor_destroy(c->factor);
        gpusolve_destroy(c->handle);
    }
    free(c->l);
    free(c->b);
    free(c->x);
    return status;
}

int main(int argc, char **argv) {
    static const int shapes[][2] = {{128, 0},    {128, 512},   {256, 1024}, {512, 512},
                                    {512, 2048}, {1024, 1024}, {2048, 0},   {4096, 0}};
    const int threads = argc > 1 ? atoi(argv[1]) : omp_get_max_threads();
    const int repeat = argc > 2 ? atoi(argv[2]) : 15;
    int failures = 0;

    if (argc > 3 || threads < 1 || repeat < 1) {
        fputs("usage: gpusolve-bench-dense [THREADS [REPEAT]]\n", stderr);
        return 2;
    }
    if (openblas_set_num_threads)
        openblas_set_num_threads(threads);
    printf("%d threads\n%6s %6s %5s %11s %8s %11s %8s %8s %9s %9s\n", threads, "nc", "m", "nrhs",
           "gpusolve us", "GFlop/s", "CBLAS us", "GFlop/s", "speed-up", "ours", "CBLAS");
    for (size_t i = 0; i < sizeof shapes / sizeof shapes[0]; i++) {
        dense_case c = {.nc = shapes[i][0], .m = shapes[i][1]};

        failures += run_shape(&c, repeat, threads) != 0;
    }
    return failures != 0;
}
