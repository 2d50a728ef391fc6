/*
 * The numbers of L: one sweep over all of them, as fast as memory delivers them, and a second look at the
 * first column at fault alone. The first, not whichever thread met one: the answer is the same every time.
 */
#include "fields.h"

#include "../../spin.h"
#include "../tree/reach.h"

#include <math.h>
#include <stdatomic.h>

enum {
    BLOCK = 256,      /* columns that a thread takes at a time */
    NUMBERS = 1 << 16 /* that are worth waking a thread */
};

/* The numbers count from x on, each times r: zero if all are finite, else NaN. 0 times an infinity is NaN. */
static float probe_float(const float *x, int64_t count, float r) {
    float sum = 0;
#pragma omp simd reduction(+ : sum)
    for (int64_t k = 0; k < count; k++)
        sum += x[k] * r * 0;
    return sum;
}

static double probe_double(const double *x, int64_t count, double r) {
    double sum = 0;
#pragma omp simd reduction(+ : sum)
    for (int64_t k = 0; k < count; k++)
        sum += x[k] * r * 0;
    return sum;
}

static int all_finite(const void *x, int single, int64_t start, int64_t count, double r) {
    return single ? probe_float((const float *)x + start, count, (float)r) == 0
                  : probe_double((const double *)x + start, count, r) == 0;
}

static double real_at(const void *x, int single, int64_t k) {
    return single ? (double)((const float *)x)[k] : ((const double *)x)[k];
}

typedef struct diagonal_entry {
    double re, im;
} diagonal_entry;

static diagonal_entry diagonal_of(const gpusolve_factor_data *data, int64_t at) {
    const int single = gsv_is_single(data->dtype);
    if (data->z)
        return (diagonal_entry){real_at(data->x, single, at), real_at(data->z, single, at)};
    if (!gsv_is_complex(data->dtype))
        return (diagonal_entry){real_at(data->x, single, at), 0};
    return (diagonal_entry){real_at(data->x, single, 2 * at), real_at(data->x, single, 2 * at + 1)};
}

/* Whether the numbers start .. start + count - 1 are finite, and still are when they are multiplied by r. */
static int run_is_finite(const gpusolve_factor_data *data, int64_t start, int64_t count, double r) {
    const int single = gsv_is_single(data->dtype);
    const int64_t width = gsv_is_complex(data->dtype) && !data->z ? 2 : 1;
    return all_finite(data->x, single, width * start, width * count, r) &&
           (!data->z || all_finite(data->z, single, start, count, r));
}

/* What is stored in single precision: numbers times this are finite if they are below GSV_IMPORT_LIMIT. */
static double probe_of_storage(const gpusolve_factor_data *data) {
    return gsv_is_single(data->dtype) ? 0x1p76 : 0x1p972;
}

static int is_narrowed(const gpusolve_factor_data *data) {
    return data->storage == GPUSOLVE_STORAGE_SINGLE;
}

/*
 * The backends multiply by 1 / L(j,j), and by the rest of column j over L(j,j). What they multiply by must be
 * finite. In L D L' that diagonal is 1, and D is divided by. This is 1 / L(j,j) in the factor's precision.
 */
static double reciprocal(const gpusolve_factor_data *data, diagonal_entry d) {
    if (gsv_import_has_d(data))
        return 1;
    return gsv_is_single(data->dtype) ? (double)(1 / (float)d.re) : 1 / d.re;
}

static int diagonal_is_good(const gpusolve_factor_data *data, diagonal_entry d) {
    if (gsv_import_has_d(data))
        return d.im == 0 && d.re != 0 && isfinite(d.re);
    const double least = is_narrowed(data) ? 1 / GSV_IMPORT_LIMIT : 0;
    return d.im == 0 && d.re > 0 && d.re >= least && isfinite(reciprocal(data, d));
}

/* `count` numbers from `first` behind the diagonal. D is not narrowed. */
static int run_is_good(const gpusolve_factor_data *data, int64_t diagonal, int64_t first, int64_t count,
                       double r) {
    const int d = is_narrowed(data) && gsv_import_has_d(data) && first == 0 && count > 0;
    return run_is_finite(data, diagonal + first + d, count - d,
                         is_narrowed(data) ? probe_of_storage(data) : r);
}

int gsv_import_check_run(const gpusolve_factor_data *data, int64_t diagonal, int64_t first, int64_t count,
                         double *entry) {
    const diagonal_entry d = diagonal_of(data, diagonal);
    *entry = d.re;
    return diagonal_is_good(data, d) && run_is_good(data, diagonal, first, count, reciprocal(data, d));
}

static gpusolve_status name_fault(const gpusolve_factor_data *data, gsv_column_range column, int32_t j,
                                  gsv_message *message) {
    const char *name = gsv_import_has_d(data) ? "D" : "L";
    const diagonal_entry d = diagonal_of(data, column.start);
    if (!run_is_finite(data, column.start, column.count, 1))
        return gsv_fail(message, GPUSOLVE_NOT_FINITE, "column %d of L (x) holds a NaN or an infinity",
                        (int)j);
    if (d.im != 0)
        return gsv_fail(message, GPUSOLVE_INVALID_FACTOR,
                        "the diagonal entry %s(%d,%d) = %g %+gi (x) is not real", name, (int)j, (int)j, d.re,
                        d.im);
    if (d.re == 0)
        return gsv_fail(message, GPUSOLVE_SINGULAR, "the diagonal entry %s(%d,%d) (x) is zero", name, (int)j,
                        (int)j);
    if (d.re < 0)
        return gsv_fail(message, GPUSOLVE_NOT_POSITIVE_DEFINITE,
                        "the diagonal entry L(%d,%d) = %g (x) is negative", (int)j, (int)j, d.re);
    if (is_narrowed(data) && !run_is_good(data, column.start, 0, column.count, 1))
        return gsv_fail(
            message, GPUSOLVE_NOT_SUPPORTED,
            "data->storage: column %d of L (x) holds a number of 2^52 or more, too large to be stored in "
            "single precision; scale A, or store L as it is",
            (int)j);
    if (is_narrowed(data))
        return gsv_fail(
            message, GPUSOLVE_NOT_SUPPORTED,
            "data->storage: the diagonal entry L(%d,%d) = %g (x) is below 2^-52, too small to be stored in "
            "single precision; scale A, or store L as it is",
            (int)j, (int)j, d.re);
    return gsv_fail(
        message, GPUSOLVE_SINGULAR, "the diagonal entry L(%d,%d) = %g (x) is so small that %s overflows",
        (int)j, (int)j, d.re,
        isfinite(reciprocal(data, d)) ? "the rest of its column divided by it" : "its reciprocal");
}

/* The first column of begin .. end-1 at fault, or end. diagonal: NULL, or [n]. */
static int32_t scan_columns(const gpusolve_factor_data *data, const gsv_plan *plan, int32_t begin,
                            int32_t end, double *diagonal) {
    int32_t s = gsv_supernode_of(plan, begin);
    for (int32_t j = begin; j < end; j++) {
        while (plan->l.first_column[s + 1] <= j)
            s++;
        const gsv_column_range column = gsv_stored_column(data, plan, s, j);
        double entry;
        if (!gsv_import_check_run(data, column.start, 0, column.count, &entry))
            return j;
        if (diagonal)
            diagonal[j] = entry;
    }
    return end;
}

typedef struct scan {
    const gpusolve_factor_data *data;
    const gsv_plan *plan;
    double *diagonal;
    _Atomic int64_t first; /* the first column at fault so far, or n */
} scan;

static void scan_range(void *context, int64_t begin, int64_t end, int member) {
    scan *s = context;
    (void)member;
    if (begin > atomic_load_explicit(&s->first, memory_order_relaxed))
        return; /* one before it is at fault */
    const int32_t j = scan_columns(s->data, s->plan, (int32_t)begin, (int32_t)end, s->diagonal);
    if (j < end)
        gsv_lower(&s->first, j);
}

gpusolve_status gsv_import_check_values(const gpusolve_factor_data *data, const gsv_plan *plan,
                                        gsv_pool *pool, double *diagonal, gsv_message *message) {
    const int32_t n = plan->l.n;
    scan all = {.data = data, .plan = plan, .diagonal = diagonal};
    atomic_init(&all.first, n);
    gsv_pool_ranges(pool, gsv_pool_share(pool, plan->nnz_l, NUMBERS), n, BLOCK, scan_range, &all);
    const int32_t first = (int32_t)all.first;
    if (first == n)
        return GPUSOLVE_OK;
    const int32_t s = gsv_supernode_of(plan, first);
    return name_fault(data, gsv_stored_column(data, plan, s, first), first, message);
}
