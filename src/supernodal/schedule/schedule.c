/* Storage of the device's part of the plan, and what it consists of: schedule/schedule.h. Linear in the structure. */
#include "schedule.h"

#include "../../memory.h"

#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

enum {
    ROWS = 1 << 14,         /* of all fronts that are worth waking a thread */
    SUPERNODES_AT_ONCE = 64 /* of a thread */
};

int64_t gsv_panel_size(int64_t nr, int64_t nc) {
    if (gsv_is_narrow(nr, nc))
        return nr * nc - nc * (nc - 1) / 2;
    return gsv_block_row_start((int32_t)nc, (nr + GSV_TILE - 1) / GSV_TILE);
}

void gsv_schedule_free(gsv_schedule *schedule) {
    if (!schedule)
        return;
    gsv_free(schedule->panel_ptr);
    gsv_free(schedule->row_place);
    gsv_free(schedule->gather_ptr);
    gsv_free(schedule->gather);
    gsv_free(schedule->update_place);
    gsv_tasks_free(&schedule->tasks);
    gsv_stream_free(&schedule->stream);
    gsv_limbs_free(&schedule->limbs);
    gsv_branches_free(&schedule->branches);
    gsv_free(schedule->tiny.supernode);
    gsv_free(schedule->small.supernode);
    gsv_free(schedule);
}

static void free_part(gsv_plan *plan) {
    gsv_schedule_free(plan->schedule);
}

static void place_panels(const gsv_plan *plan, gsv_schedule *schedule) {
    int64_t end = 0;
    for (int32_t s = 0; s < plan->l.nsuper; s++) {
        const int64_t nr = gsv_rows(plan, s), nc = gsv_columns(plan, s);
        const int32_t b = schedule->branches.of[s];
        if (!gsv_is_narrow(nr, nc) || (b >= 0 && schedule->branches.branch[b].first == s))
            end = (end + GSV_TILE - 1) / GSV_TILE * GSV_TILE;
        schedule->panel_ptr[s] = end;
        end += gsv_panel_size(nr, nc);
    }
    schedule->panel_ptr[plan->l.nsuper] = end;
}

/* Fronts of the upper tree, then those in branches. */
static void place_rows(const gsv_plan *plan, gsv_schedule *schedule) {
    int64_t end = 0;
    for (int inside = 0; inside < 2; inside++) {
        for (int32_t s = 0; s < plan->l.nsuper; s++)
            if ((schedule->branches.of[s] >= 0) == inside) {
                schedule->row_place[s] = end;
                end += gsv_rows(plan, s);
            }
        if (!inside)
            schedule->upper_rows = end;
    }
}

void gsv_schedule_list_rows(const gsv_plan *plan, int32_t *rows) {
    for (int32_t s = 0; s < plan->l.nsuper; s++)
        if (plan->schedule->branches.of[s] < 0)
            memcpy(rows + plan->schedule->row_place[s], plan->l.rows + plan->l.row_ptr[s],
                   (size_t)gsv_rows(plan, s) * sizeof *rows);
}

/* Where an update vector belongs: 0, of the upper tree, and handed from block to block; 1, of a limb that keeps it to
 * itself; 2, of a root of a branch; 3, of another supernode of one. */
static int place_of(const gsv_plan *plan, const gsv_schedule *schedule, int32_t s) {
    const int32_t b = schedule->branches.of[s], parent = plan->parent[s];
    if (b < 0)
        return parent >= 0 && schedule->limbs.in[parent];
    return parent < 0 || schedule->branches.of[parent] != b ? 2 : 3;
}

/* In this order. */
static void place_updates(const gsv_plan *plan, gsv_schedule *schedule) {
    int64_t rows[4] = {0}, end[4] = {0};
    for (int32_t s = 0; s < plan->l.nsuper; s++) {
        const int where = place_of(plan, schedule, s);
        schedule->update_place[s] = where; /* until the next loop */
        rows[where] += gsv_updates(plan, s);
    }
    for (int k = 1; k < 4; k++)
        end[k] = end[k - 1] + rows[k - 1];
    schedule->handed_updates = end[1];
    schedule->upper_updates = end[2];
    schedule->shared_updates = end[3];
    for (int32_t s = 0; s < plan->l.nsuper; s++) {
        const int64_t where = schedule->update_place[s];
        schedule->update_place[s] = end[where];
        end[where] += gsv_updates(plan, s);
    }
}

/* What the rows of front s are owed, by counting; ptr[0] is where their lists begin, ptr[i] = 0 else. Children
 * are visited in ascending order, so contributions ascend too. */
static void invert_front(const gsv_plan *plan, int32_t s, gsv_schedule *schedule) {
    uint32_t *ptr = schedule->gather_ptr + schedule->row_place[s], begin = ptr[0];
    const int32_t nr = gsv_rows(plan, s);
    const int32_t *children = plan->child + plan->child_ptr[s];
    const int32_t count = plan->child_ptr[s + 1] - plan->child_ptr[s];
    for (int32_t c = 0; c < count; c++) {
        const int32_t *map = plan->update_map + plan->update_ptr[children[c]];
        for (int64_t u = 0; u < gsv_updates(plan, children[c]); u++)
            if (map[u] + 1 < nr)
                ptr[map[u] + 1]++;
    }
    for (int32_t i = 1; i < nr; i++)
        ptr[i] += ptr[i - 1];
    for (int32_t c = 0; c < count; c++) {
        const int32_t *map = plan->update_map + plan->update_ptr[children[c]];
        for (int64_t u = 0; u < gsv_updates(plan, children[c]); u++)
            schedule->gather[ptr[map[u]]++] = (uint32_t)(schedule->update_place[children[c]] + u);
    }
    for (int32_t i = nr - 1; i > 0; i--) /* ptr[i] stands where row i ends */
        ptr[i] = ptr[i - 1];
    ptr[0] = begin;
}

typedef struct inversion {
    const gsv_plan *plan;
    gsv_schedule *schedule;
} inversion;

static void invert_fronts(void *context, int64_t begin, int64_t end, int member) {
    const inversion *i = context;
    (void)member;
    for (int64_t s = begin; s < end; s++)
        invert_front(i->plan, (int32_t)s, i->schedule);
}

/* The inverse of update_map, front by front. */
static void invert_updates(const gsv_plan *plan, gsv_pool *pool, gsv_schedule *schedule) {
    const int32_t nsuper = plan->l.nsuper;
    uint32_t owed = 0;
    for (int inside = 0; inside < 2; inside++)
        for (int32_t s = 0; s < nsuper; s++) {
            if ((schedule->branches.of[s] >= 0) != inside)
                continue;
            schedule->gather_ptr[schedule->row_place[s]] = owed;
            for (int32_t c = plan->child_ptr[s]; c < plan->child_ptr[s + 1]; c++)
                owed += (uint32_t)gsv_updates(plan, plan->child[c]);
        }
    schedule->gather_ptr[plan->l.row_ptr[nsuper]] = owed;
    inversion i = {plan, schedule};
    gsv_pool_ranges(pool, gsv_pool_share(pool, plan->l.row_ptr[nsuper], ROWS), nsuper, SUPERNODES_AT_ONCE,
                    invert_fronts, &i);
}

static bool is_listed(const gsv_plan *plan, const gsv_branches *branches, int32_t s, bool tiny) {
    const int32_t nr = gsv_rows(plan, s), nc = gsv_columns(plan, s);
    return branches->of[s] < 0 && gsv_is_narrow(nr, nc) && gsv_is_tiny(nr, nc) == tiny;
}

static bool list_narrow(const gsv_plan *plan, const gsv_branches *branches, gsv_supernode_list *list,
                        bool tiny) {
    for (int32_t s = 0; s < plan->l.nsuper; s++)
        list->count += is_listed(plan, branches, s, tiny);
    list->supernode = gsv_malloc((size_t)list->count, sizeof *list->supernode);
    int64_t k = 0;
    for (int32_t s = 0; list->supernode && s < plan->l.nsuper; s++)
        if (is_listed(plan, branches, s, tiny))
            list->supernode[k++] = s;
    return list->supernode != NULL;
}

/* What follows from the branches at once; false: out of memory. */
static bool fill_lists(const gsv_plan *plan, gsv_schedule *schedule) {
    place_updates(plan, schedule);
    place_rows(plan, schedule);
    return list_narrow(plan, &schedule->branches, &schedule->tiny, true) &&
           list_narrow(plan, &schedule->branches, &schedule->small, false);
}

enum { SWEEPS = 3 };

typedef struct making {
    const gsv_plan *plan;
    gpusolve_status status[SWEEPS];
    gsv_message message[SWEEPS];
} making;

static void make_sweep(void *context, int64_t item, int member) {
    making *m = context;
    gsv_schedule *schedule = m->plan->schedule;
    gsv_message *message = &m->message[item];
    (void)member;
    m->status[item] = item == 0   ? gsv_stream_create(m->plan, &schedule->stream, message)
                      : item == 1 ? gsv_tasks_create(m->plan, &schedule->tasks, message)
                                  : gsv_limbs_fill(m->plan, &schedule->limbs, message);
}

/* The stream, the tasks for many right-hand sides and the limbs' lists, which know nothing of each other. */
static gpusolve_status make_sweeps(const gsv_plan *plan, gsv_pool *pool, gsv_message *message) {
    making m = {.plan = plan};
    gsv_pool_each(pool, gsv_pool_share(pool, plan->l.row_ptr[plan->l.nsuper], ROWS), SWEEPS, make_sweep, &m);
    for (int k = 0; k < SWEEPS; k++)
        if (m.status[k] != GPUSOLVE_OK) {
            if (message)
                *message = m.message[k];
            return m.status[k];
        }
    return GPUSOLVE_OK;
}

gpusolve_status gsv_schedule_place(gsv_plan *plan, gsv_message *message) {
    const int64_t nsuper = plan->l.nsuper, rows = plan->l.row_ptr[nsuper];
    if (plan->schedule)
        return GPUSOLVE_OK;
    if (rows >= UINT32_MAX)
        return gsv_fail(message, GPUSOLVE_TOO_LARGE, "the supernodes have %lld rows, %lld is the limit",
                        (long long)rows, (long long)UINT32_MAX - 1);
    gsv_schedule *schedule = gsv_calloc(1, sizeof *schedule);
    if (!schedule)
        return gsv_plan_no_memory(message);
    gpusolve_status status = gsv_branches_choose(plan, &schedule->branches, message);
    if (status == GPUSOLVE_OK)
        status = gsv_limbs_choose(plan, schedule->branches.of, &schedule->limbs, message);
    if (status == GPUSOLVE_OK) {
        schedule->panel_ptr = gsv_malloc((size_t)nsuper + 1, sizeof *schedule->panel_ptr);
        if (schedule->panel_ptr)
            place_panels(plan, schedule);
        else
            status = gsv_plan_no_memory(message);
    }
    if (status != GPUSOLVE_OK) {
        gsv_schedule_free(schedule);
        return status;
    }
    plan->schedule = schedule;
    plan->free_part = free_part;
    return GPUSOLVE_OK;
}

/* All but what gsv_schedule_place has made. */
static gpusolve_status fill_tiles(gsv_plan *plan, gsv_pool *pool, gsv_message *message) {
    const int64_t nsuper = plan->l.nsuper, rows = plan->l.row_ptr[nsuper], updates = plan->update_ptr[nsuper];
    gsv_schedule *schedule = plan->schedule;
    schedule->row_place = gsv_malloc((size_t)nsuper, sizeof *schedule->row_place);
    schedule->gather_ptr = gsv_calloc((size_t)rows + 1, sizeof *schedule->gather_ptr);
    schedule->gather = gsv_malloc((size_t)updates, sizeof *schedule->gather);
    schedule->update_place = gsv_malloc((size_t)nsuper, sizeof *schedule->update_place);
    if (!schedule->update_place || !schedule->row_place || !schedule->gather_ptr || !schedule->gather ||
        !fill_lists(plan, schedule))
        return gsv_plan_no_memory(message);
    invert_updates(plan, pool, schedule);
    const gpusolve_status status =
        gsv_branches_fill(plan, schedule->panel_ptr, pool, &schedule->branches, message);
    return status == GPUSOLVE_OK ? make_sweeps(plan, pool, message) : status;
}

gpusolve_status gsv_schedule_create(gsv_plan *plan, gsv_pool *pool, gsv_message *message) {
    const int64_t nsuper = plan->l.nsuper, rows = plan->l.row_ptr[nsuper], updates = plan->update_ptr[nsuper];
    gpusolve_status status = gsv_schedule_place(plan, message);
    if (status != GPUSOLVE_OK || plan->schedule->is_whole)
        return status;
    status = fill_tiles(plan, pool, message);
    if (status != GPUSOLVE_OK) {
        gsv_schedule_free(plan->schedule);
        plan->schedule = NULL;
        return status;
    }
    gsv_schedule *schedule = plan->schedule;
    const int64_t narrow = schedule->tiny.count + schedule->small.count;
    schedule->is_whole = 1;
    plan->bytes += (int64_t)sizeof *schedule + 8 * (3 * nsuper + 1) + 4 * (rows + 1 + updates + narrow) +
                   schedule->branches.bytes + schedule->limbs.bytes + schedule->stream.bytes +
                   schedule->tasks.bytes;
    return status;
}
