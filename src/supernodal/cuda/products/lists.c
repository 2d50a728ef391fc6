/*
 * The lists of products with the factor: made in host memory, copied to the device, and published by one exchange of a pointer. Two threads that
 * make them at once make the same, and the first to publish its own wins.
 */
#include "lists.h"

#include <stdlib.h>
#include <string.h>

#include "../../../memory.h"

/* Where each array begins in the allocation, in bytes. */
typedef struct places {
    int64_t narrow, wide, ptr, update, rows, below, across, bytes;
} places;

typedef struct wide_supernode {
    int32_t nc, s;
} wide_supernode;

static int64_t tiles(int64_t count) {
    return (count + GSV_TILE - 1) / GSV_TILE;
}

static int is_narrow(const gsv_plan *plan, int32_t s) {
    return gsv_is_narrow(gsv_rows(plan, s), gsv_columns(plan, s));
}

/* Block rows of a wide supernode that have rows below its triangle: the first one may have rows of the triangle, too. */
static int64_t blocks_below(const gsv_plan *plan, int32_t s) {
    const int64_t nr = gsv_rows(plan, s), nc = gsv_columns(plan, s);
    return nr > nc ? tiles(nr) - nc / GSV_TILE : 0;
}

static void count(const gsv_plan *plan, gsv_product_lists *l) {
    for (int32_t s = 0; s < plan->l.nsuper; s++)
        if (is_narrow(plan, s)) {
            l->narrow_count++;
        } else {
            const int32_t nc = gsv_columns(plan, s);
            l->wide_count++;
            l->below_count += blocks_below(plan, s);
            l->across_count += tiles(nc);
            l->widest = nc > l->widest ? nc : l->widest;
        }
}

static places place(const gsv_plan *plan, const gsv_product_lists *l) {
    const int64_t updates = plan->update_ptr[plan->l.nsuper], node = sizeof(gsv_product_node),
                  task = sizeof(gsv_product_task);
    places p = {0};
    p.wide = p.narrow + l->narrow_count * node;
    p.ptr = p.wide + l->wide_count * node;
    p.below = p.ptr + (plan->l.n + (int64_t)1) * (int64_t)sizeof(int64_t);
    p.across = p.below + l->below_count * task;
    p.update = p.across + l->across_count * task;
    p.rows = p.update + updates * (int64_t)sizeof(int32_t);
    p.bytes = p.rows + updates * (int64_t)sizeof(int32_t);
    return p;
}

static gsv_product_node node_of(const gsv_plan *plan, int32_t s) {
    return (gsv_product_node){plan->schedule->panel_ptr[s], plan->update_ptr[s], plan->l.first_column[s],
                              gsv_columns(plan, s), (int32_t)gsv_rows(plan, s)};
}

static int wider(const void *one, const void *other) {
    const wide_supernode *a = one, *b = other;
    return a->nc != b->nc ? (a->nc < b->nc) - (a->nc > b->nc) : (a->s > b->s) - (a->s < b->s);
}

/* order: room for all wide supernodes. */
static void fill_nodes(const gsv_plan *plan, gsv_product_lists *l, const places *p, char *host,
                       wide_supernode *order) {
    gsv_product_node *narrow = (gsv_product_node *)(host + p->narrow),
                     *wide = (gsv_product_node *)(host + p->wide);
    gsv_product_task *below = (gsv_product_task *)(host + p->below),
                     *across = (gsv_product_task *)(host + p->across);
    int64_t found = 0;
    for (int32_t s = 0; s < plan->l.nsuper; s++)
        if (is_narrow(plan, s))
            *narrow++ = node_of(plan, s);
        else
            order[found++] = (wide_supernode){gsv_columns(plan, s), s};
    qsort(order, (size_t)found, sizeof *order, wider);
    for (int64_t k = 0; k < found; k++) {
        const int32_t s = order[k].s, nc = order[k].nc;
        wide[k] = node_of(plan, s);
        for (int64_t b = 0; b < blocks_below(plan, s); b++)
            *below++ = (gsv_product_task){(int32_t)k, (int32_t)(nc / GSV_TILE + b)};
        for (int32_t j = 0; j < nc; j += GSV_TILE)
            *across++ = (gsv_product_task){(int32_t)k, j};
        for (int32_t stage = 0; stage * GSV_PRODUCT_STAGE < nc; stage++)
            l->in_stage[stage] = k + 1;
    }
}

static void fill_updates(const gsv_plan *plan, const places *p, char *host) {
    const int64_t n = plan->l.n, updates = plan->update_ptr[plan->l.nsuper];
    int64_t *ptr = (int64_t *)(host + p->ptr);
    int32_t *update = (int32_t *)(host + p->update), *rows = (int32_t *)(host + p->rows);
    memset(ptr, 0, (size_t)(n + 1) * sizeof *ptr);
    for (int32_t s = 0; s < plan->l.nsuper; s++) {
        const int64_t m = gsv_updates(plan, s);
        const int32_t *own = plan->l.rows + plan->l.row_ptr[s] + gsv_columns(plan, s);
        memcpy(rows + plan->update_ptr[s], own, (size_t)m * sizeof *own);
        for (int64_t k = 0; k < m; k++)
            ptr[own[k] + 1]++;
    }
    for (int64_t i = 0; i < n; i++)
        ptr[i + 1] += ptr[i];
    for (int64_t k = 0; k < updates; k++) /* ascending in each row; ptr moves up by one row */
        update[ptr[rows[k]]++] = (int32_t)k;
    for (int64_t i = n; i > 0; i--)
        ptr[i] = ptr[i - 1];
    ptr[0] = 0;
}

static void point(gsv_product_lists *l, const places *p) {
    const char *base = l->memory;
    l->narrow = (const gsv_product_node *)(base + p->narrow);
    l->wide = (const gsv_product_node *)(base + p->wide);
    l->ptr = (const int64_t *)(base + p->ptr);
    l->below = (const gsv_product_task *)(base + p->below);
    l->across = (const gsv_product_task *)(base + p->across);
    l->update = (const int32_t *)(base + p->update);
    l->rows = (const int32_t *)(base + p->rows);
}

static gpusolve_status make(const gsv_plan *plan, gsv_message *message, gsv_product_lists **made) {
    gsv_product_lists sizes = {0};
    count(plan, &sizes);
    const int32_t stages = (sizes.widest + GSV_PRODUCT_STAGE - 1) / GSV_PRODUCT_STAGE;
    const places p = place(plan, &sizes);
    gsv_product_lists *l = gsv_calloc(1, sizeof *l + (size_t)stages * sizeof *l->in_stage);
    char *host = gsv_malloc((size_t)p.bytes, 1);
    wide_supernode *order = gsv_malloc((size_t)sizes.wide_count, sizeof *order);
    gpusolve_status status = l && host && order
                                 ? GPUSOLVE_OK
                                 : gsv_fail(message, GPUSOLVE_OUT_OF_MEMORY, "multiply: out of host memory");
    if (status == GPUSOLVE_OK) {
        *l = sizes;
        l->in_stage = (int64_t *)(l + 1);
        l->stages = stages;
        l->bytes = p.bytes;
        status = gsv_cuda_malloc(&l->memory, p.bytes, message);
    }
    if (status == GPUSOLVE_OK) {
        fill_nodes(plan, l, &p, host, order);
        fill_updates(plan, &p, host);
        point(l, &p);
        status = gsv_cuda_check(gsv_cuda_fill(l->memory, host, (size_t)p.bytes), "copying lists", message);
    }
    gsv_free(order);
    gsv_free(host);
    if (status == GPUSOLVE_OK)
        *made = l;
    else
        gsv_cuda_product_lists_free(l);
    return status;
}

void gsv_cuda_product_lists_free(gsv_product_lists *lists) {
    if (!lists)
        return;
    gsv_cuda_free(lists->memory);
    gsv_free(lists);
}

gpusolve_status gsv_cuda_product_lists(const gpusolve_factor *factor, gsv_message *message,
                                       const gsv_product_lists **lists) {
    gsv_cuda_factor *device = factor->prepared;
    gsv_product_lists *found = __atomic_load_n(&device->products, __ATOMIC_ACQUIRE), *made;
    if (!found) {
        const gpusolve_status status = make(&factor->plan, message, &made);
        if (status != GPUSOLVE_OK)
            return status;
        if (__atomic_compare_exchange_n(&device->products, &found, made, 0, __ATOMIC_ACQ_REL,
                                        __ATOMIC_ACQUIRE))
            found = made;
        else /* another thread was faster: `found` are its lists */
            gsv_cuda_product_lists_free(made);
    }
    *lists = found;
    return GPUSOLVE_OK;
}

int64_t gsv_cuda_product_bytes(const gpusolve_factor *factor) {
    gsv_cuda_factor *device = factor->prepared;
    const gsv_product_lists *lists = device ? __atomic_load_n(&device->products, __ATOMIC_ACQUIRE) : NULL;
    return lists ? lists->bytes : 0;
}
