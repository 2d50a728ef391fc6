/*
 * From the caller's panels to the packed ones. Panels that lie in the caller's memory as the kernels want to
 * read them (supernodal, not split-complex) are read in place, block by block on all threads; others are
 * first copied out by the import, one panel at a time a thread.
 */
#include "executor.h"

#include <string.h>

#include "../../dense_kernels/panel_host.h"
#include "../../memory.h"
#include "../../pool.h"
#include "../tree/reach.h"

#define GSV_TEMPLATE "pack_block_host.h"
#define GSV_STORED
#include "../../dense_kernels/kinds_host.h"

int64_t gsv_host_pack_layout(const gsv_plan *plan, gpusolve_dtype dtype, int64_t *start) {
    const int64_t parts = gsv_is_complex(dtype) ? 2 : 1;
    const int64_t line = 64 * parts / (int64_t)gsv_dtype_bytes(dtype);
    int64_t at = 0;
    for (int32_t i = 0; i < plan->l.nsuper; i++) {
        const int32_t s = plan->subtrees->order[i];
        if (start)
            start[s] = at;
        at += parts * gsv_panel_size(gsv_columns(plan, s), plan->update_ptr[s + 1] - plan->update_ptr[s]);
        at = (at + line - 1) / line * line;
    }
    return at + GSV_PANEL_SLACK;
}

typedef struct packing {
    const gpusolve_factor_data *data;
    const gsv_plan *plan;
    const int64_t *start;
    char *values;
    gsv_numbers numbers;
    size_t real_bytes;
    int64_t total;       /* real numbers, slack included */
    int32_t first, last; /* supernodes first .. last - 1 */
    /* copies of panels, each thread's its own */
    char *copies;
    size_t copy_bytes, from, to;
} packing;

static int is_wanted(const packing *p, int32_t s) {
    return s >= p->first && s < p->last;
}

/* Pack blocks [first, last) of panel s. */
static void pack_blocks(const packing *p, int32_t s, const void *panel, int32_t first, int32_t last) {
    static void (*const pack[])(const void *, int64_t, int32_t, int32_t, int32_t,
                                void *) = {GSV_STORED_KINDS(pack_block)};
    const int32_t nc = gsv_columns(p->plan, s), nr = gsv_rows(p->plan, s);
    for (int32_t j = first; j < last; j++)
        pack[p->numbers](panel, nr, nc, nr - nc, j, p->values + (size_t)p->start[s] * p->real_bytes);
}

/* What lies between a panel and the cache line that the next one starts on, or the slack, must be finite. */
static void clear_behind(const packing *p, int32_t s) {
    const int64_t size =
        gsv_panel_size(gsv_columns(p->plan, s), gsv_rows(p->plan, s) - gsv_columns(p->plan, s));
    const int64_t end = p->start[s] + (gsv_is_complex(p->data->dtype) ? 2 : 1) * size;
    const int64_t left = p->total - end, line = 64 / (int64_t)p->real_bytes;
    const int64_t last = left - GSV_PANEL_SLACK < line ? left : (end + line - 1) / line * line - end;
    memset(p->values + (size_t)end * p->real_bytes, 0, (size_t)last * p->real_bytes);
}

/* The number at which the caller's panel starts. */
static int64_t panel_start(const gpusolve_factor_data *data, int32_t s) {
    return data->itype == GPUSOLVE_INT64 ? ((const int64_t *)data->px)[s] : ((const int32_t *)data->px)[s];
}

void gsv_host_in_place_layout(const gsv_plan *plan, const gpusolve_factor_data *data, int64_t *start) {
    for (int32_t s = 0; s < plan->l.nsuper; s++)
        start[s] = panel_start(data, s) * (gsv_is_complex(data->dtype) ? 2 : 1);
}

static const void *panel_in_place(const packing *p, int32_t s) {
    return (const char *)p->data->x + (size_t)panel_start(p->data, s) * gsv_dtype_bytes(p->data->dtype);
}

enum { TOGETHER = 64 }; /* panels that a thread draws together where they are read in place */

static int64_t items_in_place(const gsv_plan *plan) {
    return plan->l.nsuper / TOGETHER + 1 + plan->subtrees->nbackward;
}

/* Panels at TOGETHER places of the order, but for those of the top that are in blocks; or such a block. They
 * are read where they are: many threads touch memory first. */
static void pack_in_place(void *context, int64_t item, int member) {
    const packing *p = context;
    const gsv_subtrees *tree = p->plan->subtrees;
    const int32_t nsuper = p->plan->l.nsuper;
    const int64_t step_of = item - (nsuper / TOGETHER + 1);
    (void)member;
    if (step_of < 0) {
        const int32_t begin = (int32_t)item * TOGETHER;
        for (int32_t i = begin; i < nsuper && i < begin + TOGETHER; i++) {
            const int32_t s = tree->order[i];
            if (!is_wanted(p, s) || gsv_in_blocks(tree, GSV_DOWN, s))
                continue;
            pack_blocks(p, s, panel_in_place(p, s), 0, gsv_block_count(gsv_columns(p->plan, s)));
            clear_behind(p, s);
        }
    } else {
        const gsv_step step = tree->backward[step_of];
        if (step.part == GSV_WHOLE_PATH || !is_wanted(p, step.s))
            return;
        pack_blocks(p, step.s, panel_in_place(p, step.s), step.part, step.part + 1);
        if (step.part == 0)
            clear_behind(p, step.s);
    }
}

enum {
    COPIES = 16,      /* panels that a thread draws together */
    NUMBERS = 1 << 15 /* to be packed that are worth waking a thread */
};

/* Panels at COPIES places of the order, by way of a copy, those whose size is in (from, to]. */
static void pack_copies(void *context, int64_t item, int member) {
    const packing *p = context;
    const int32_t nsuper = p->plan->l.nsuper, begin = (int32_t)item * COPIES;
    for (int32_t i = begin; i < nsuper && i < begin + COPIES; i++) {
        const int32_t s = p->plan->subtrees->order[i];
        const size_t size = (size_t)gsv_rows(p->plan, s) * (size_t)gsv_columns(p->plan, s);
        if (!is_wanted(p, s) || size <= p->from || size > p->to)
            continue;
        char *copy = p->copies + (size_t)member * p->copy_bytes;
        gsv_import_panel(p->data, p->plan, s, copy);
        pack_blocks(p, s, copy, 0, gsv_block_count(gsv_columns(p->plan, s)));
        clear_behind(p, s);
    }
}

gpusolve_status gsv_host_pack(gpusolve_handle *handle, const gpusolve_factor_data *data, const gsv_plan *plan,
                              const gsv_fresh *fresh, const int64_t *start, void *values) {
    enum { LARGE = 1 << 20 }; /* numbers of a panel that only one thread copies at a time */
    const gsv_numbers numbers = gsv_import_numbers(data);
    const gpusolve_dtype dtype = gsv_panel_dtype(numbers);
    const size_t number = gsv_dtype_bytes(dtype),
                 threads = (size_t)gsv_pool_share(handle->pool, plan->nnz_l, NUMBERS);
    packing p = {.data = data,
                 .plan = plan,
                 .start = start,
                 .values = values,
                 .numbers = numbers,
                 .real_bytes = gsv_real_bytes(dtype),
                 .total = gsv_host_pack_layout(plan, dtype, NULL),
                 .first = fresh ? gsv_supernode_of(plan, fresh->first) : 0,
                 .last = fresh ? gsv_supernode_of(plan, fresh->end - 1) + 1 : plan->l.nsuper};
    if (plan->l.nsuper == 0)
        memset(values, 0, GSV_PANEL_SLACK * p.real_bytes);
    /* a slice's columns are as far apart as those of its whole panel: it is copied, like a simplicial panel, and like one
     * whose numbers are rounded */
    if (data->kind == GPUSOLVE_SUPERNODAL_LL && !data->z && !plan->l.slice_ptr && data->dtype == dtype) {
        gsv_pool_each(handle->pool, (int)threads, items_in_place(plan), pack_in_place, &p);
        return GPUSOLVE_OK;
    }
    size_t small = 0, large = 0;
    for (int32_t s = p.first; s < p.last; s++) {
        const size_t size = (size_t)gsv_rows(plan, s) * (size_t)gsv_columns(plan, s);
        if (size <= LARGE && size > small)
            small = size;
        if (size > large)
            large = size;
    }
    p.copies = gsv_malloc(small * threads > large ? small * threads : large, number);
    if (!p.copies)
        return gsv_fail(&handle->message, GPUSOLVE_OUT_OF_MEMORY,
                        "out of host memory while packing the factor");
    p.copy_bytes = small * number;
    p.to = LARGE;
    gsv_pool_each(handle->pool, (int)threads, plan->l.nsuper / COPIES + 1, pack_copies, &p);
    p.from = LARGE;
    p.to = SIZE_MAX;
    gsv_pool_each(handle->pool, 1, plan->l.nsuper / COPIES + 1, pack_copies, &p);
    gsv_free(p.copies);
    return GPUSOLVE_OK;
}
