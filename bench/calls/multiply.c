#include "multiply.h"

#include <complex.h>
#include <math.h>
#include <stdlib.h>

#include "gpusolve_product.h"

static const gpusolve_operator operators[BENCH_PRODUCTS] = {GPUSOLVE_TIMES_L, GPUSOLVE_TIMES_Lt,
                                                            GPUSOLVE_TIMES_PtL, GPUSOLVE_TIMES_A};

typedef struct product_case {
    gpusolve_handle *handle;
    const gpusolve_factor *factor;
    const gpusolve_dense *x, *y;
    gpusolve_operator operation;
} product_case;

static int call(void *context) {
    const product_case *c = context;

    return (int)gpusolve_multiply(c->handle, c->factor, c->operation, c->x, c->y);
}

/* -------------------------------------------------------------------------------------- the reference --- */

/* One column: x, y = operation x, and for each entry of y the sum of the moduli of its terms. */
typedef struct column {
    double complex *x, *y;
    double *size;
    void *numbers; /* of the column, of the problem's dtype */
} column;

/* CMPLX, which not every compiler's library has. */
static double complex complex_of(double re, double im) {
    return re + im * I;
}

static double complex number_at(const void *numbers, int is_complex, size_t k) {
    const double *x = numbers;

    return is_complex ? complex_of(x[2 * k], x[2 * k + 1]) : x[k];
}

/* y(i) += a x(j) */
static void add(column *c, size_t i, double complex a, size_t j) {
    const double complex x = c->x[j];

    /* written out: a product of complex numbers in C takes care of infinities, which costs much */
    c->y[i] +=
        complex_of(creal(a) * creal(x) - cimag(a) * cimag(x), creal(a) * cimag(x) + cimag(a) * creal(x));
    c->size[i] += cabs(a) * cabs(x);
}

/* y = L x, or L' x, by supernodes. */
static void multiply_l(const cholmod_factor *l, int transposed, column *c) {
    const int *super = l->super, *pi = l->pi, *px = l->px, *rows = l->s;

    for (size_t s = 0; s < l->nsuper; s++) {
        const size_t nr = (size_t)(pi[s + 1] - pi[s]);

        for (size_t k = 0; k < (size_t)(super[s + 1] - super[s]); k++)
            for (size_t r = k; r < nr; r++) {
                const size_t i = (size_t)rows[(size_t)pi[s] + r], j = (size_t)super[s] + k;
                const double complex number =
                    number_at(l->x, l->xtype == CHOLMOD_COMPLEX, (size_t)px[s] + k * nr + r);

                if (transposed)
                    add(c, j, conj(number), i);
                else
                    add(c, i, number, j);
            }
    }
}

/* y = A x, of the lower triangle. */
static void multiply_a(const cholmod_sparse *a, column *c) {
    const int *p = a->p, *rows = a->i;

    for (size_t j = 0; j < a->ncol; j++)
        for (int k = p[j]; k < p[j + 1]; k++) {
            const size_t i = (size_t)rows[k];
            const double complex number = number_at(a->x, a->xtype == CHOLMOD_COMPLEX, (size_t)k);

            add(c, i, number, j);
            if (i != j)
                add(c, j, conj(number), i);
        }
}

static double complex fetch(const bench_problem *problem, const void *numbers, size_t k) {
    const int is_complex = problem->matrix->xtype == CHOLMOD_COMPLEX;
    const float *x = numbers;

    if (problem->dtype == GPUSOLVE_DOUBLE || problem->dtype == GPUSOLVE_COMPLEX_DOUBLE)
        return number_at(numbers, is_complex, k);
    return is_complex ? complex_of((double)x[2 * k], (double)x[2 * k + 1]) : (double)x[k];
}

/* The error of y, whose numbers are in c->numbers, for the x that is in c->x. A NaN stays. */
static double error_of(const bench_problem *problem, int product, column *c) {
    const size_t n = (size_t)problem->n;
    const int *perm = problem->factor->Perm;
    double worst = 0, largest = 0;

    for (size_t i = 0; i < n; i++) {
        c->y[i] = 0;
        c->size[i] = 0;
    }
    if (product == BENCH_TIMES_A)
        multiply_a(problem->matrix, c);
    else
        multiply_l(problem->factor, product == BENCH_TIMES_LT, c);
    for (size_t i = 0; i < n; i++) {
        const size_t at = product == BENCH_TIMES_PTL ? (size_t)perm[i] : i;
        const double off = cabs(fetch(problem, c->numbers, at) - c->y[i]);

        if (!(off <= worst))
            worst = off;
        if (isnan(worst))
            return worst;
        largest = fmax(largest, c->size[i]);
    }
    return worst / largest;
}

/* The larger error of the first and the last column of what the device's y holds. */
static const char *compare(const bench_device *device, const bench_problem *problem, const gpusolve_dense *x,
                           const gpusolve_dense *y, int product, column *c, double *error) {
    const size_t bytes = (size_t)problem->n * bench_problem_number_bytes(problem);

    *error = 0;
    for (int last = 0; last < 2; last++) {
        const size_t begin = last ? (size_t)(x->cols - 1) * bytes : 0;
        double own;

        if (device->download(c->numbers, (char *)x->values + begin, bytes))
            return "copying what is multiplied";
        for (size_t i = 0; i < (size_t)problem->n; i++)
            c->x[i] = fetch(problem, c->numbers, i);
        if (device->download(c->numbers, (char *)y->values + begin, bytes))
            return "copying a product";
        own = error_of(problem, product, c);
        if (!(own <= *error))
            *error = own;
    }
    return NULL;
}

/* -------------------------------------------------------------------------------------------- measure --- */

const char *bench_multiply_measure(const bench_device *device, gpusolve_handle *handle,
                                   const gpusolve_factor *factor, const bench_problem *problem,
                                   const gpusolve_dense *x, const gpusolve_dense *y, int repeat,
                                   int64_t stored_bytes, bench_multiply *multiply) {
    const size_t n = (size_t)problem->n, number = bench_problem_number_bytes(problem);
    product_case c = {handle, factor, x, y, GPUSOLVE_TIMES_L};
    column own;
    const char *failed = NULL;

    if (!multiply->wanted)
        return NULL;
    own = (column){malloc((n + 1) * sizeof *own.x), malloc((n + 1) * sizeof *own.y),
                   malloc((n + 1) * sizeof *own.size), malloc((n + 1) * number)};
    if (!own.x || !own.y || !own.size || !own.numbers)
        failed = "allocating memory for products";
    for (int k = 0; k < BENCH_PRODUCTS && !failed; k++) {
        bench_product *product = &multiply->product[k];

        c.operation = operators[k];
        if (call(&c))
            failed = "multiplying";
        else if (!(failed = compare(device, problem, x, y, k, &own, &product->error)) &&
                 bench_time_blocking(call, &c, repeat, &product->times))
            failed = "timing a product";
        product->bytes = (k == BENCH_TIMES_A ? 2 : 1) * stored_bytes + 2 * (int64_t)(n * number) * x->cols;
        product->wall_us = 1e6 * (double)product->bytes / device->bandwidth;
    }
    free(own.x);
    free(own.y);
    free(own.size);
    free(own.numbers);
    return failed;
}

int bench_multiply_is_right(const bench_problem *problem, const bench_multiply *multiply) {
    for (int k = 0; k < BENCH_PRODUCTS; k++)
        if (!(multiply->product[k].error <
              4096 * bench_problem_epsilon(problem))) /* 1e-12 in double precision */
            return 0;
    return 1;
}
