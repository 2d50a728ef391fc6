/* From the packed panels back to columns: read_values of the host executor. */
#include "executor.h"

#include <string.h>

#include "../../dense_kernels/panel_host.h"
#include "../../pool.h"

#define GSV_TEMPLATE "unpack_host.h"
#define GSV_STORED
#include "../../dense_kernels/kinds_host.h"

enum { NUMBERS = 1 << 15, TOGETHER = 16 }; /* that are worth waking a thread; panels that it draws */

typedef struct unpacking {
    const gpusolve_factor *factor;
    const int64_t *column;
    void *x;
} unpacking;

/* A panel as the caller has it: its columns are runs of numbers. */
static void copy_panel(const unpacking *u, int32_t s, const char *panel) {
    const gsv_plan *plan = &u->factor->plan;
    const size_t number = gsv_panel_bytes(u->factor->numbers);
    const int32_t nc = gsv_columns(plan, s), nr = gsv_rows(plan, s), first = plan->l.first_column[s];
    for (int32_t k = 0; k < nc; k++)
        memcpy((char *)u->x + (size_t)u->column[first + k] * number,
               panel + ((size_t)k * (size_t)nr + (size_t)k) * number, (size_t)(nr - k) * number);
}

static void unpack_panel(const unpacking *u, int32_t s, const void *panel) {
    static void (*const unpack[])(const void *, int32_t, int32_t, const int64_t *,
                                  void *) = {GSV_STORED_KINDS(unpack_panel)};
    const gsv_plan *plan = &u->factor->plan;
    const int32_t nc = gsv_columns(plan, s);
    unpack[u->factor->numbers](panel, nc, gsv_rows(plan, s) - nc, u->column + plan->l.first_column[s], u->x);
}

static void unpack_range(void *context, int64_t begin, int64_t end, int member) {
    const unpacking *u = context;
    const gsv_host_factor *prepared = u->factor->prepared;
    const size_t real = gsv_real_bytes(gsv_panel_dtype(u->factor->numbers));
    (void)member;
    for (int32_t s = (int32_t)begin; s < end; s++) {
        const char *panel = (const char *)prepared->values + (size_t)prepared->start[s] * real;
        if (u->factor->plan.in_place)
            copy_panel(u, s, panel);
        else
            unpack_panel(u, s, panel);
    }
}

void gsv_host_read_panel(const gpusolve_factor *factor, const int64_t *column, int32_t s, void *x) {
    unpacking u = {factor, column, x};
    unpack_range(&u, s, s + 1, 0);
}

gpusolve_status gsv_host_read_values(gpusolve_handle *handle, const gpusolve_factor *factor,
                                     const int64_t *column, void *x, void *d) {
    unpacking u = {factor, column, x};
    const gsv_plan *plan = &factor->plan;
    const gsv_host_factor *prepared = factor->prepared;
    gsv_pool_ranges(handle->pool, gsv_pool_share(handle->pool, plan->nnz_l, NUMBERS), plan->l.nsuper,
                    TOGETHER, unpack_range, &u);
    if (prepared->d)
        memcpy(d, prepared->d, (size_t)plan->l.n * gsv_real_bytes(factor->dtype));
    return GPUSOLVE_OK;
}
