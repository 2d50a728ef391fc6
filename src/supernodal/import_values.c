/*
 * The numbers of L: one sweep over all of them, as fast as memory delivers them, and a second look at the
 * first column at fault alone. The first, not whichever thread met one: the answer is the same every time.
 */
#include "import_fields.h"

#include "../spin.h"

#include <math.h>
#include <stdatomic.h>

enum {
    BLOCK = 256,      /* columns that a thread takes at a time */
    NUMBERS = 1 << 16 /* that are worth waking a thread */
};

/* The numbers count from x on: zero if all are finite, else NaN. x - x is 0 or NaN. */
static float probe_float(const float *x, int64_t count) {
    float sum = 0;
#pragma omp simd reduction(+ : sum)
    for (int64_t k = 0; k < count; k++)
        sum += x[k] - x[k];
    return sum;
}

static double probe_double(const double *x, int64_t count) {
    double sum = 0;
#pragma omp simd reduction(+ : sum)
    for (int64_t k = 0; k < count; k++)
        sum += x[k] - x[k];
    return sum;
}

static int all_finite(const void *x, int single, int64_t start, int64_t count) {
    return single ? probe_float((const float *)x + start, count) == 0
                  : probe_double((const double *)x + start, count) == 0;
}

static double real_at(const void *x, int single, int64_t k) {
    return single ? (double)((const float *)x)[k] : ((const double *)x)[k];
}

typedef struct column_state {
    int finite;
    double re, im; /* the diagonal */
} column_state;

static column_state look_at_column(const gpusolve_factor_data *data, gsv_column_range column) {
    const int single = gsv_is_single(data->dtype);
    column_state state = {1, 0, 0};
    if (data->z) {
        state.finite = all_finite(data->x, single, column.start, column.count) &&
                       all_finite(data->z, single, column.start, column.count);
        state.im = real_at(data->z, single, column.start);
        state.re = real_at(data->x, single, column.start);
        return state;
    }
    const int64_t width = gsv_is_complex(data->dtype) ? 2 : 1;
    state.finite = all_finite(data->x, single, width * column.start, width * column.count);
    state.re = real_at(data->x, single, width * column.start);
    if (width == 2)
        state.im = real_at(data->x, single, width * column.start + 1);
    return state;
}

static int is_good(column_state state, int has_d) {
    return state.finite && state.im == 0 && (has_d ? state.re != 0 : state.re > 0);
}

int gsv_import_check_run(const gpusolve_factor_data *data, int64_t start, int64_t count, int diagonal) {
    const int single = gsv_is_single(data->dtype);
    const int64_t width = gsv_is_complex(data->dtype) && !data->z ? 2 : 1;
    const int finite = all_finite(data->x, single, width * start, width * count) &&
                       (!data->z || all_finite(data->z, single, start, count));
    if (!diagonal)
        return finite;
    const double im = data->z ? real_at(data->z, single, start)
                              : (width == 2 ? real_at(data->x, single, 2 * start + 1) : 0);
    return is_good((column_state){finite, real_at(data->x, single, width * start), im}, 0);
}

static gpusolve_status name_fault(column_state state, int has_d, int32_t j, gsv_message *message) {
    const char *name = has_d ? "D" : "L";
    if (!state.finite)
        return gsv_fail(message, GPUSOLVE_NOT_FINITE, "column %d of L (x) holds a NaN or an infinity",
                        (int)j);
    if (state.im != 0)
        return gsv_fail(message, GPUSOLVE_INVALID_FACTOR,
                        "the diagonal entry %s(%d,%d) = %g %+gi (x) is not real", name, (int)j, (int)j,
                        state.re, state.im);
    if (state.re == 0)
        return gsv_fail(message, GPUSOLVE_SINGULAR, "the diagonal entry %s(%d,%d) (x) is zero", name, (int)j,
                        (int)j);
    return gsv_fail(message, GPUSOLVE_NOT_POSITIVE_DEFINITE,
                    "the diagonal entry L(%d,%d) = %g (x) is negative", (int)j, (int)j, state.re);
}

/* The supernode of column j. */
static int32_t find_supernode(const gsv_structure *l, int32_t j) {
    int32_t low = 0, high = l->nsuper; /* first_column[low] <= j < first_column[high] */
    while (high - low > 1) {
        const int32_t middle = low + (high - low) / 2;
        if (l->first_column[middle] <= j)
            low = middle;
        else
            high = middle;
    }
    return low;
}

/* The first column of begin .. end-1 at fault, or end. */
static int32_t scan_columns(const gpusolve_factor_data *data, const gsv_plan *plan, int32_t begin,
                            int32_t end) {
    int32_t s = find_supernode(&plan->l, begin);
    for (int32_t j = begin; j < end; j++) {
        while (plan->l.first_column[s + 1] <= j)
            s++;
        if (!is_good(look_at_column(data, gsv_stored_column(data, plan, s, j)), gsv_import_has_d(data)))
            return j;
    }
    return end;
}

typedef struct scan {
    const gpusolve_factor_data *data;
    const gsv_plan *plan;
    _Atomic int64_t first; /* the first column at fault so far, or n */
} scan;

static void scan_range(void *context, int64_t begin, int64_t end, int member) {
    scan *s = context;
    (void)member;
    if (begin > atomic_load_explicit(&s->first, memory_order_relaxed))
        return; /* one before it is at fault */
    const int32_t j = scan_columns(s->data, s->plan, (int32_t)begin, (int32_t)end);
    if (j < end)
        gsv_lower(&s->first, j);
}

gpusolve_status gsv_import_check_values(const gpusolve_factor_data *data, const gsv_plan *plan,
                                        gsv_pool *pool, gsv_message *message) {
    const int32_t n = plan->l.n;
    scan all = {.data = data, .plan = plan};
    atomic_init(&all.first, n);
    gsv_pool_ranges(pool, gsv_pool_share(pool, plan->nnz_l, NUMBERS), n, BLOCK, scan_range, &all);
    const int32_t first = (int32_t)all.first;
    if (first == n)
        return GPUSOLVE_OK;
    const int32_t s = find_supernode(&plan->l, first);
    return name_fault(look_at_column(data, gsv_stored_column(data, plan, s, first)), gsv_import_has_d(data),
                      first, message);
}
