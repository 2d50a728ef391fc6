#include "plan.h"

#include <stdint.h>

#include "tuning.h"

enum {
    ALIGNMENT = 256,
    TASKS = 264,        /* of a product with few vectors: two for each multiprocessor of an H200 */
    LEAST_CHUNK = 4,    /* blocks: less is not worth adding up */
    LARGEST_COPY = 2048 /* vectors at a time through cuBLAS: its rate does not grow with more */
};

static int64_t smaller(int64_t a, int64_t b) {
    return a < b ? a : b;
}

static int64_t round_up(int64_t value, int64_t unit) {
    return (value + unit - 1) / unit * unit;
}

/*
 * Vectors side by side. A solve with few tasks is bound by the way from block to block, which is shortest in
 * narrow groups; one with many by reading T anew for each group. Microseconds on an H200, double, groups of
 * 8, 16, 32: n = 512, 128 vectors 21, 22, 30; 1024, 128 37, 33, 49; 2048, 128 81, 68, 89; 4096, 128 263, 188,
 * 194; 8192, 128 950, 609, 560.
 */
static int group_for(const gsv_triangular *p, const gsv_leaf_plan *plan, gsv_leaf_device device) {
    const gsv_leaf_functions *functions = gsv_leaf_functions_of(p->dtype);
    const int forced = gsv_cuda_forced_group(), solve = p->operation == GSV_SOLVE;
    const int32_t *shared = plan->serial ? functions->panel_shared : functions->solve_shared;
    const int64_t blocks =
        plan->serial ? 1 : (smaller(p->order, plan->stop) + GSV_LEAF_ROWS - 1) / GSV_LEAF_ROWS;
    int group = 0;
    for (int k = 0; k < 4 && functions->groups[k] && !(solve && forced < 0); k++) {
        const int wide = functions->groups[k], one_wave = k == 1 || plan->serial;
        const int64_t groups = group ? (p->vectors + group - 1) / group : INT64_MAX;
        if (solve && shared[k] > device.shared_bytes)
            break;
        if (group && plan->serial && plan->stop > GSV_PANEL_ROWS)
            break;
        if (group && forced > 0 && wide > forced)
            break;
        if (group && forced == 0 && solve && blocks * groups <= (one_wave ? 132 : 512))
            break;
        if (group && forced == 0 && !solve && groups == 1)
            break;
        group = wide;
    }
    return group;
}

/*
 * A product by clusters: vectors of a group and thread blocks of a cluster, such that the thread block with
 * most tiles is done first. Nanoseconds a tile on an H200, double.
 */
static void plan_product(const gsv_triangular *p, gsv_leaf_plan *plan, gsv_leaf_device device) {
    static const int nanoseconds[] = {300, 400, 700};
    const gsv_leaf_functions *functions = gsv_leaf_functions_of(p->dtype);
    const int forced_group = gsv_cuda_forced_group(), forced = gsv_cuda_forced_cluster();
    const int64_t blocks = (p->order + GSV_LEAF_ROWS - 1) / GSV_LEAF_ROWS;
    int64_t best = INT64_MAX;
    for (int k = 0; k < 3 && functions->groups[k]; k++)
        for (int cluster = 1; cluster <= GSV_LARGEST_CLUSTER; cluster *= 2) {
            const int64_t groups = (p->vectors + functions->groups[k] - 1) / functions->groups[k];
            const int64_t rows = (blocks + cluster - 1) / cluster;
            const int64_t even = (blocks * (blocks + 1) / 2 + cluster - 1) / cluster;
            const int64_t tiles = rows == 1 ? blocks : even;
            const int64_t time = (groups * cluster + 131) / 132 * tiles * nanoseconds[k];
            if (functions->product_shared[k] + rows * functions->product_row_shared[k] > device.shared_bytes)
                continue;
            if ((forced_group > 0 && forced_group != functions->groups[k]) ||
                (forced > 0 && forced != cluster))
                continue;
            if (time < best) {
                best = time;
                plan->group = functions->groups[k];
                plan->cluster = cluster;
            }
        }
}

static void lay_out_solve(const gsv_triangular *p, gsv_leaf_plan *plan) {
    if (plan->group == 0)
        return; /* cuBLAS needs nothing */
    const int64_t number = gsv_number_bytes(p->dtype), rows = round_up(plan->stop, GSV_LEAF_ROWS);
    const int64_t blocks = round_up(plan->inverse_order, GSV_LEAF_ROWS) / GSV_LEAF_ROWS;
    const int exchanges = !plan->serial;
    const int two = plan->inverse_order > plan->stop && exchanges;
    plan->buffer_bytes = !exchanges ? 0 : rows * round_up(plan->panel, plan->group) * number;
    plan->inverse = 0;
    plan->substitute = round_up(blocks * GSV_LEAF_ROWS * GSV_LEAF_ROWS * number, ALIGNMENT);
    plan->exchange[0] = round_up(plan->substitute + blocks * 4, ALIGNMENT);
    plan->exchange[1] = plan->exchange[0] + (two ? plan->buffer_bytes : 0);
    plan->end = plan->exchange[1] + plan->buffer_bytes;
}

static void lay_out_multiply(const gsv_triangular *p, gsv_leaf_plan *plan) {
    const int64_t number = gsv_number_bytes(p->dtype);
    plan->exchange[0] = plan->exchange[1] = 0;
    if (plan->cluster)
        return; /* nothing but shared memory */
    if (plan->group == 0) {
        plan->buffer_bytes = plan->stop * plan->panel * number;
        plan->end = plan->buffer_bytes;
        return;
    }
    const int64_t blocks = round_up(plan->stop, GSV_LEAF_ROWS) / GSV_LEAF_ROWS;
    const int64_t groups = (plan->panel + plan->group - 1) / plan->group;
    const int64_t tile = (int64_t)GSV_LEAF_ROWS * plan->group * number;
    plan->chunk = (blocks * (blocks + 1) / 2 * groups + TASKS - 1) / TASKS;
    plan->chunk = plan->chunk < LEAST_CHUNK ? LEAST_CHUNK : smaller(plan->chunk, blocks);
    const int64_t chunks = (blocks + plan->chunk - 1) / plan->chunk;
    plan->buffer_bytes = blocks * groups * tile;
    plan->partial = plan->buffer_bytes;
    plan->end = plan->partial + (chunks > 1 ? blocks * groups * chunks * tile : 0);
}

static void lay_out(const gsv_triangular *p, gsv_leaf_plan *plan) {
    if (p->operation == GSV_SOLVE)
        lay_out_solve(p, plan);
    else
        lay_out_multiply(p, plan);
}

gsv_leaf_plan gsv_leaf_whole_plan(const gsv_triangular *p, gsv_leaf_device device) {
    gsv_leaf_plan plan = {.panel = p->vectors, .inverse_order = p->order};
    plan.stop = smaller(p->order, gsv_cuda_stop(p));
    if (p->operation == GSV_MULTIPLY && device.clusters && gsv_cuda_has_product(p)) {
        plan_product(p, &plan, device);
        plan.stop = plan.cluster ? p->order : plan.stop;
    }
    plan.serial = gsv_cuda_is_serial(p);
    if (plan.serial)
        plan.stop =
            smaller(plan.stop, gsv_leaf_functions_of(p->dtype)->tall_panel_shared <= device.shared_bytes
                                   ? GSV_TALL_PANEL_ROWS
                                   : GSV_PANEL_ROWS);
    if (plan.serial && group_for(p, &plan, device) == 0) /* too little shared memory */
        plan.serial = 0;
    if (!plan.cluster && (p->operation == GSV_SOLVE || p->vectors <= gsv_cuda_few(p)))
        plan.group = group_for(p, &plan, device);
    if (plan.group == 0 && p->operation == GSV_SOLVE)
        plan.stop = smaller(p->order, GSV_SMALL_STOP);
    if (plan.group == 0 && p->operation == GSV_MULTIPLY) {
        plan.stop = smaller(p->order, GSV_COPY_STOP);
        plan.panel = smaller(p->vectors, LARGEST_COPY);
    }
    lay_out(p, &plan);
    return plan;
}

gsv_leaf_plan gsv_leaf_plan_for(const gsv_triangular *p, gsv_leaf_device device, size_t bytes) {
    gsv_leaf_plan plan = gsv_leaf_whole_plan(p, device);
    if (p->operation == GSV_SOLVE && (size_t)plan.end > bytes) {
        plan.stop = smaller(plan.stop, GSV_SMALL_STOP); /* each leaf inverts its own blocks */
        plan.inverse_order = plan.stop;
        lay_out(p, &plan);
    }
    const int64_t least = plan.group ? plan.group : GSV_SMALL_PANEL;
    while ((size_t)plan.end > bytes) {
        if (plan.panel > least)
            plan.panel = round_up((plan.panel + 1) / 2, plan.group ? plan.group : 1);
        else
            plan.stop = round_up((plan.stop + 1) / 2, GSV_LEAF_ROWS); /* multiply alone comes here */
        lay_out(p, &plan);
    }
    return plan;
}
