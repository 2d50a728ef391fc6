/*
 * gpusolve_factor_rcond: norm(inv(A), 1), estimated from below by solves (Hager; Higham, ACM TOMS 14, 1988; LAPACK's xLACN2).
 *
 *      x = A \ ones / n;   until the norm of x no longer grows: j = the largest of |A \ sign(x)|,  x = A \ e(j)
 *      and x = A \ v with v(i) = +-(1 + i / (n - 1)), for matrices that deceive the loop: 2 norm(x) / (3 n)
 *
 * A is its own transpose, or conjugate transpose, so both solves of a step are the same. v is solved beside the first vector: that
 * saves a solve. All right-hand sides are multiplied by a power of two near norm(A), so that x does not overflow before the condition
 * number does.
 */
#include <math.h>
#include <string.h>

#include "../../memory.h"
#include "checks.h"

enum { STEPS = 5 }; /* vectors e(j), at most: one less */

typedef struct estimate {
    gpusolve_handle *handle;
    const gpusolve_factor *factor;
    gpusolve_workspace *workspace;
    gpusolve_dtype dtype;
    int32_t n;
    double scale; /* of all right-hand sides */
    char *x;      /* two columns: the vector at work; v, then the signs of the last x */
} estimate;

static size_t column_bytes(const estimate *t) {
    return (size_t)t->n * gsv_dtype_bytes(t->dtype);
}

static void set_number(const estimate *t, int column, int32_t i, double re, double im) {
    char *to = t->x + (size_t)column * column_bytes(t) + (size_t)i * gsv_dtype_bytes(t->dtype);
    const double parts[2] = {re, im};
    const float floats[2] = {(float)re, (float)im};
    memcpy(to, gsv_is_single(t->dtype) ? (const void *)floats : parts, gsv_dtype_bytes(t->dtype));
}

static void get_number(const estimate *t, int column, int32_t i, double *re, double *im) {
    const char *from = t->x + (size_t)column * column_bytes(t);
    const int64_t width = gsv_is_complex(t->dtype) ? 2 : 1;
    if (gsv_is_single(t->dtype)) {
        *re = ((const float *)from)[width * i];
        *im = width == 2 ? ((const float *)from)[width * i + 1] : 0;
    } else {
        *re = ((const double *)from)[width * i];
        *im = width == 2 ? ((const double *)from)[width * i + 1] : 0;
    }
}

static double magnitude(const estimate *t, int column, int32_t i) {
    double re, im;
    get_number(t, column, i, &re, &im);
    return gsv_is_complex(t->dtype) ? hypot(re, im) : fabs(re);
}

static double norm_1(const estimate *t, int column) {
    double sum = 0;
    for (int32_t i = 0; i < t->n; i++)
        sum += magnitude(t, column, i);
    return sum;
}

/* The first of the largest numbers; a NaN is larger than all others. */
static int32_t find_largest(const estimate *t) {
    int32_t at = 0;
    double largest = magnitude(t, 0, 0);
    for (int32_t i = 1; i < t->n; i++) {
        const double here = magnitude(t, 0, i);
        if (here > largest || (isnan(here) && !isnan(largest))) {
            largest = here;
            at = i;
        }
    }
    return at;
}

static gpusolve_status solve(const estimate *t, int columns) {
    const gpusolve_dense x = {t->dtype, GPUSOLVE_COL_MAJOR, t->n, columns, t->n, t->x};
    return gpusolve_solve(t->handle, t->factor, t->workspace, GPUSOLVE_A, &x, &x);
}

static gpusolve_status solve_first(const estimate *t) {
    for (int32_t i = 0; i < t->n; i++) {
        const double v = 1 + (t->n > 1 ? (double)i / (t->n - 1) : 0);
        set_number(t, 0, i, t->scale / t->n, 0);
        set_number(t, 1, i, i % 2 ? -t->scale * v : t->scale * v, 0);
    }
    return solve(t, t->n > 1 ? 2 : 1);
}

static gpusolve_status solve_unit(const estimate *t, int32_t j) {
    memset(t->x, 0, column_bytes(t));
    set_number(t, 0, j, t->scale, 0);
    return solve(t, 1);
}

/* The numbers of column 0 become their signs, x / |x|, also in column 1; those of zeros are 1. Whether real ones are those that column 1 had. */
static int take_signs(const estimate *t) {
    int same = !gsv_is_complex(t->dtype);
    for (int32_t i = 0; i < t->n; i++) {
        double re, im, before, unused;
        get_number(t, 0, i, &re, &im);
        get_number(t, 1, i, &before, &unused);
        const double size = hypot(re, im);
        const double sign = gsv_is_complex(t->dtype) ? (size > 0 ? re / size : 1) : re >= 0 ? 1 : -1;
        const double turned = size > 0 ? im / size : 0;
        same &= before == t->scale * sign;
        set_number(t, 1, i, t->scale * sign, t->scale * turned);
    }
    memcpy(t->x, t->x + column_bytes(t), column_bytes(t));
    return same;
}

/* From x in column 0, whose norm is *largest: larger ones. */
static gpusolve_status climb(const estimate *t, double *largest) {
    int32_t j = 0;
    take_signs(t);
    gpusolve_status status = solve(t, 1);
    for (int step = 2; !status; step++) {
        const int32_t last = j;
        j = find_largest(t);
        if (step > 2 && (step > STEPS || magnitude(t, 0, last) == magnitude(t, 0, j)))
            break;
        status = solve_unit(t, j);
        const double norm = status ? 0 : norm_1(t, 0);
        const int grown = !(norm <= *largest); /* so for a NaN */
        *largest = grown ? norm : *largest;
        if (status || !grown || !isfinite(norm) || take_signs(t))
            break;
        status = solve(t, 1);
    }
    return status;
}

/* scale norm(inv(A), 1); not finite if a solve has overflowed. */
static gpusolve_status find_norm(const estimate *t, double *norm) {
    gpusolve_status status = solve_first(t);
    *norm = status ? 0 : norm_1(t, 0);
    if (status || t->n == 1 || !isfinite(*norm))
        return status;
    const double other = norm_1(t, 1) / t->n / 1.5;
    status = climb(t, norm);
    if (!(other <= *norm))
        *norm = other;
    return status;
}

static gpusolve_status check(gpusolve_handle *handle, const gpusolve_factor *factor,
                             const gpusolve_workspace *workspace, const gpusolve_matrix *matrix, double norm,
                             const double *rcond) {
    gpusolve_status status = gsv_check_factor(handle, factor);
    if (!status)
        status = gsv_check_workspace(handle, factor, workspace);
    if (!status && matrix)
        status = gsv_check_matrix(handle, factor, matrix);
    if (!status && !matrix && !(norm >= 0 && isfinite(norm)))
        status = gsv_fail(&handle->message, GPUSOLVE_INVALID_ARGUMENT,
                          "norm_1: is %g, must be finite and not negative", norm);
    if (!status && !rcond)
        status = gsv_fail(&handle->message, GPUSOLVE_INVALID_ARGUMENT, "rcond: is NULL");
    return status ? status : gsv_check_not_captured(handle, "gpusolve_factor_rcond waits for solves");
}

/* A power of two near the norm, which every type can hold with room on both sides. */
static double scale_for(double norm, gpusolve_dtype dtype) {
    const int most = gsv_is_single(dtype) ? 100 : 1000;
    const int exponent = ilogb(norm);
    return ldexp(1, exponent > most ? most : exponent < -most ? -most : exponent);
}

gpusolve_status gpusolve_factor_rcond(gpusolve_handle *handle, const gpusolve_factor *factor,
                                      gpusolve_workspace *workspace, const gpusolve_matrix *matrix,
                                      double norm, double *rcond) {
    GSV_ENTER(handle);
    gpusolve_status status = check(handle, factor, workspace, matrix, norm, rcond);
    if (status)
        return status;
    const int32_t n = factor->plan.l.n;
    const double norm_a = matrix ? matrix->norm_inf : norm;
    if (n == 0 || norm_a == 0) {
        *rcond = n == 0;
        return GPUSOLVE_OK;
    }
    estimate t = {.handle = handle,
                  .factor = factor,
                  .workspace = workspace,
                  .dtype = factor->dtype,
                  .n = n,
                  .scale = scale_for(norm_a, factor->dtype)};
    t.x = gsv_malloc(2 * (size_t)n, gsv_dtype_bytes(t.dtype));
    if (!t.x)
        return gsv_fail(&handle->message, GPUSOLVE_OUT_OF_MEMORY, "rcond: out of host memory");
    double inverse = 0;
    status = find_norm(&t, &inverse);
    gsv_free(t.x);
    if (!status)
        *rcond = isfinite(inverse) ? 1 / inverse / (norm_a / t.scale) : 0;
    return status;
}
