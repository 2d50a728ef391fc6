/* Storage of the device's part of the plan, and what it consists of: schedule/schedule.h. Linear in the structure. */
#include "schedule.h"

#include "../../memory.h"

#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

enum {
    ROWS = 1 << 14,  /* of all fronts that are worth waking a thread */
    SUPERNODES = 64, /* of a thread at a time, */
    LIMBS = 32,      /* limbs, */
    BRANCHES = 8     /* and branches */
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

/* ------------------------------------------------------------------------------------------ places --- */

/* How many rows there are of each kind: of update vectors by place_of, and of fronts, and what these are owed, in the upper tree. */
typedef struct sizes {
    int64_t updates[4], rows, owed;
} sizes;

/* Leaves in update_place what place_of says. */
static sizes count_rows(const gsv_plan *plan, gsv_schedule *schedule) {
    const int32_t *of = schedule->branches.of;
    sizes z = {{0}, 0, 0};
    for (int32_t s = 0; s < plan->l.nsuper; s++) {
        const int where = place_of(plan, schedule, s);
        const int64_t updates = gsv_updates(plan, s);
        schedule->update_place[s] = where;
        z.updates[where] += updates;
        z.rows += of[s] < 0 ? gsv_rows(plan, s) : 0;
        z.owed += plan->parent[s] >= 0 && of[plan->parent[s]] < 0 ? updates : 0;
    }
    return z;
}

static int64_t count_owed(const gsv_plan *plan, int32_t s) {
    int64_t owed = 0;
    for (int32_t c = plan->child_ptr[s]; c < plan->child_ptr[s + 1]; c++)
        owed += gsv_updates(plan, plan->child[c]);
    return owed;
}

/* Where fronts and update vectors stand, in the order of place_of, and what fronts are owed: gather begins [nsuper]. */
static void place_vectors(const gsv_plan *plan, gsv_schedule *schedule, uint32_t *begins) {
    const sizes z = count_rows(plan, schedule);
    int64_t update[4] = {0}, row[2] = {0, z.rows}, owed[2] = {0, z.owed};
    for (int k = 1; k < 4; k++)
        update[k] = update[k - 1] + z.updates[k - 1];
    schedule->upper_rows = z.rows;
    schedule->handed_updates = update[1];
    schedule->upper_updates = update[2];
    schedule->shared_updates = update[3];
    for (int32_t s = 0; s < plan->l.nsuper; s++) {
        const int64_t where = schedule->update_place[s];
        const int inside = schedule->branches.of[s] >= 0;
        schedule->update_place[s] = update[where];
        schedule->row_place[s] = row[inside];
        begins[s] = (uint32_t)owed[inside];
        update[where] += gsv_updates(plan, s);
        row[inside] += gsv_rows(plan, s);
        owed[inside] += count_owed(plan, s);
    }
    schedule->gather_ptr[plan->l.row_ptr[plan->l.nsuper]] = (uint32_t)owed[1];
}

/* The inverse of update_map: what the rows of front s are owed, by counting, with lists from `begin` on; children ascend. ptr[i]
 * counts row i, then stands where its list ends, and goes down to where it begins as the last children come first. */
static void invert_front(const gsv_plan *plan, int32_t s, uint32_t begin, gsv_schedule *schedule) {
    uint32_t *ptr = schedule->gather_ptr + schedule->row_place[s];
    const int32_t nr = gsv_rows(plan, s);
    memset(ptr, 0, (size_t)nr * sizeof *ptr);
    for (int32_t c = plan->child_ptr[s]; c < plan->child_ptr[s + 1]; c++) {
        const int32_t *map = plan->update_map + plan->update_ptr[plan->child[c]];
        for (int64_t u = 0; u < gsv_updates(plan, plan->child[c]); u++)
            ptr[map[u]]++;
    }
    for (int32_t i = 0; i < nr; i++) {
        begin += ptr[i];
        ptr[i] = begin;
    }
    for (int32_t c = plan->child_ptr[s + 1] - 1; c >= plan->child_ptr[s]; c--) {
        const int32_t *map = plan->update_map + plan->update_ptr[plan->child[c]];
        const uint32_t place = (uint32_t)schedule->update_place[plan->child[c]];
        for (int64_t u = 0; u < gsv_updates(plan, plan->child[c]); u++)
            schedule->gather[--ptr[map[u]]] = place + (uint32_t)u;
    }
}

/* The supernodes of the upper tree, ascending. supernode == NULL: out of memory. */
static gsv_supernode_list list_upper(const gsv_plan *plan, const int32_t *of) {
    gsv_supernode_list upper = {0, gsv_malloc((size_t)plan->l.nsuper, sizeof *upper.supernode)};
    for (int32_t s = 0; s < plan->l.nsuper && upper.supernode; s++)
        if (of[s] < 0)
            upper.supernode[upper.count++] = s;
    return upper;
}

/* The narrow ones among them. False: out of memory. */
static bool list_narrow(const gsv_plan *plan, const gsv_supernode_list *upper, gsv_schedule *schedule) {
    gsv_supernode_list *lists[] = {&schedule->small, &schedule->tiny};
    int64_t count[2] = {0};
    for (int pass = 0; pass < 2; pass++) { /* count, then list */
        for (int k = 0; k < 2 && pass == 1; k++) {
            lists[k]->supernode = gsv_malloc((size_t)count[k], sizeof *lists[k]->supernode);
            if (!lists[k]->supernode)
                return false;
        }
        for (int64_t k = 0; k < upper->count; k++) {
            const int32_t s = upper->supernode[k], nr = gsv_rows(plan, s), nc = gsv_columns(plan, s);
            if (!gsv_is_narrow(nr, nc))
                continue;
            gsv_supernode_list *list = lists[gsv_is_tiny(nr, nc)];
            if (pass == 0)
                count[gsv_is_tiny(nr, nc)]++;
            else
                list->supernode[list->count++] = s;
        }
    }
    return true;
}

/* ------------------------------------------------------------------------------------------ making --- */

/*
 * What remains is made in four runs, each of parts that know nothing of each other and that the pool's threads take one after
 * the other. Parts that take long come first.
 *
 *      begin    where vectors stand; what streams, tasks, limbs and branches begin with
 *      invert   what the rows of fronts are owed; the streams' places of columns
 *      fill     the tasks of each list, and their ranks; streams are counted; limbs and branches, with gaps between their lists
 *      write    the tasks' order; branches are sorted; their lists and those of limbs lose the gaps; the streams' pieces
 *
 * What a part writes does not depend on who makes it, or when.
 */
enum {
    BEGUN = 5,                                  /* parts of the first run; */
    FILLED = GSV_TASK_LISTS + GSV_STREAM_LISTS, /* of the third run those that may fail, which come first, */
    SORTED = GSV_TASK_LISTS,                    /* and of the last one; */
    CLOSED = SORTED + 4                         /* before it writes streams */
};

typedef struct making {
    const gsv_plan *plan;
    gsv_schedule *schedule;
    gsv_supernode_list upper; /* supernodes in no branch, ascending */
    uint32_t *begins;         /* [nsuper] of their fronts' lists */
    int threads;
    gsv_stream_draft *stream;
    gsv_tasks_draft *tasks;
    gsv_limbs_draft *limbs;
    gsv_branches_draft *branches;
    gpusolve_status status[FILLED];
    gsv_message message[FILLED];
} making;

static void begin_part(void *context, int64_t item, int member) {
    making *m = context;
    gsv_schedule *schedule = m->schedule;
    gpusolve_status *status = &m->status[item];
    gsv_message *message = &m->message[item];
    (void)member;
    if (item == 0)
        *status = gsv_stream_begin(m->plan, &m->upper, &schedule->stream, &m->stream, message);
    else if (item == 1)
        place_vectors(m->plan, schedule, m->begins);
    else if (item == 2)
        *status = gsv_branches_begin(m->plan, &m->upper, schedule->panel_ptr, m->threads, &schedule->branches,
                                     &m->branches, message);
    else if (item == 3)
        *status = gsv_limbs_begin(m->plan, m->threads, &schedule->limbs, &m->limbs, message);
    else
        *status = gsv_tasks_begin(m->plan, &m->upper, &m->tasks, message);
}

static int64_t shares_of(int64_t count, int64_t each) {
    return (count + each - 1) / each;
}

static void invert_part(void *context, int64_t item, int member) {
    const making *m = context;
    const int64_t places = gsv_stream_places(m->stream), begin = SUPERNODES * (item - places);
    (void)member;
    if (item < places)
        gsv_stream_place(m->stream, item);
    else
        for (int64_t s = begin; s < begin + SUPERNODES && s < m->plan->l.nsuper; s++)
            invert_front(m->plan, (int32_t)s, m->begins[s], m->schedule);
}

static void fill_part(void *context, int64_t item, int member) {
    making *m = context;
    gsv_schedule *schedule = m->schedule;
    const int32_t limbs = schedule->limbs.count, branches = schedule->branches.count;
    if (item < GSV_TASK_LISTS) {
        m->status[item] = gsv_tasks_add(m->tasks, (int)item, &schedule->tasks, &m->message[item]);
        return;
    }
    if (item < FILLED) {
        m->status[item] = gsv_stream_count(m->stream, (int)item - GSV_TASK_LISTS, &m->message[item]);
        return;
    }
    item -= FILLED;
    if (item < shares_of(limbs, LIMBS)) {
        const int32_t begin = LIMBS * (int32_t)item;
        gsv_limbs_fill(m->limbs, begin, begin + LIMBS < limbs ? begin + LIMBS : limbs, member);
    } else {
        const int32_t begin = BRANCHES * (int32_t)(item - shares_of(limbs, LIMBS));
        gsv_branches_fill(m->branches, begin, begin + BRANCHES < branches ? begin + BRANCHES : branches,
                          member);
    }
}

static void write_part(void *context, int64_t item, int member) {
    making *m = context;
    (void)member;
    if (item < SORTED)
        m->status[item] = gsv_tasks_sort(m->tasks, (int)item, &m->message[item]);
    else if (item == SORTED)
        gsv_branches_sort(m->branches);
    else if (item == SORTED + 1)
        gsv_limbs_close(m->limbs);
    else if (item < CLOSED)
        gsv_branches_close(m->branches, item == SORTED + 3);
    else
        gsv_stream_write(m->stream, item - CLOSED);
}

/* Runs `count` parts, of which the first `parts` have a status. The first one that is bad. */
static gpusolve_status run_parts(making *m, gsv_pool *pool, gsv_pool_item *part, int parts, int64_t count,
                                 gsv_message *message) {
    gsv_pool_each(pool, m->threads, count, part, m);
    for (int k = 0; k < parts; k++)
        if (m->status[k] != GPUSOLVE_OK) {
            if (message)
                *message = m->message[k];
            return m->status[k];
        }
    return GPUSOLVE_OK;
}

static gpusolve_status make_parts(making *m, gsv_pool *pool, gsv_message *message) {
    const int64_t fronts = shares_of(m->plan->l.nsuper, SUPERNODES),
                  limbs = shares_of(m->schedule->limbs.count, LIMBS),
                  branches = shares_of(m->schedule->branches.count, BRANCHES);
    gpusolve_status status = run_parts(m, pool, begin_part, BEGUN, BEGUN, message);
    if (status == GPUSOLVE_OK)
        status = run_parts(m, pool, invert_part, 0, gsv_stream_places(m->stream) + fronts, message);
    if (status == GPUSOLVE_OK)
        status = run_parts(m, pool, fill_part, FILLED, FILLED + limbs + branches, message);
    if (status == GPUSOLVE_OK) {
        gsv_branches_place(m->branches);
        status = run_parts(m, pool, write_part, SORTED, CLOSED + gsv_stream_shares(m->stream), message);
    }
    const int good = status == GPUSOLVE_OK;
    gsv_stream_end(m->stream, good);
    gsv_tasks_end(m->tasks, good ? &m->schedule->tasks : NULL);
    gsv_limbs_end(m->limbs);
    gsv_branches_end(m->branches, good);
    return status;
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
    if (status == GPUSOLVE_OK) {
        const gsv_supernode_list upper = list_upper(plan, schedule->branches.of);
        status = upper.supernode
                     ? gsv_limbs_choose(plan, schedule->branches.of, &upper, &schedule->limbs, message)
                     : gsv_plan_no_memory(message);
        gsv_free(upper.supernode);
    }
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
static gpusolve_status fill_schedule(const gsv_plan *plan, gsv_pool *pool, gsv_message *message) {
    const size_t nsuper = (size_t)plan->l.nsuper, rows = (size_t)plan->l.row_ptr[nsuper];
    gsv_schedule *schedule = plan->schedule;
    making m = {.plan = plan,
                .schedule = schedule,
                .upper = list_upper(plan, schedule->branches.of),
                .begins = gsv_malloc(nsuper, sizeof *m.begins),
                .threads = gsv_pool_share(pool, (int64_t)rows, ROWS)};
    schedule->row_place = gsv_malloc(nsuper, sizeof *schedule->row_place);
    schedule->gather_ptr = gsv_malloc(rows + 1, sizeof *schedule->gather_ptr);
    schedule->gather = gsv_malloc((size_t)plan->update_ptr[nsuper], sizeof *schedule->gather);
    schedule->update_place = gsv_malloc(nsuper, sizeof *schedule->update_place);
    gpusolve_status status = GPUSOLVE_OK;
    if (m.upper.supernode && m.begins && schedule->update_place && schedule->row_place &&
        schedule->gather_ptr && schedule->gather && list_narrow(plan, &m.upper, schedule))
        status = make_parts(&m, pool, message);
    else
        status = gsv_plan_no_memory(message);
    gsv_free(m.upper.supernode);
    gsv_free(m.begins);
    return status;
}

gpusolve_status gsv_schedule_create(gsv_plan *plan, gsv_pool *pool, gsv_message *message) {
    const int64_t nsuper = plan->l.nsuper, rows = plan->l.row_ptr[nsuper], updates = plan->update_ptr[nsuper];
    gpusolve_status status = gsv_schedule_place(plan, message);
    if (status != GPUSOLVE_OK || plan->schedule->is_whole)
        return status;
    status = fill_schedule(plan, pool, message);
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
