/* The limbs of the device's plan: limbs.h. Linear in the structure, but that a subtree that does not fit is tried again
 * without its root. */
#include "limbs.h"

#include "../../../memory.h"
#include "../machine.h"
#include "../schedule.h"

#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

/* What making limbs works with, in two rounds: count, then write. */
typedef struct work {
    const gsv_plan *plan;
    const gsv_schedule *schedule; /* NULL: count */
    const int32_t *of;            /* [nsuper] branches.of */
    gsv_limbs *limbs;
    int64_t *cost;    /* [nsuper] of the subtree's supernodes in no branch; -1: it is no limb */
    int64_t *outside; /* [nsuper] rows of the update vectors that branches before it leave */
    uint16_t *place;  /* [nsuper] of its update vector among the limb's rows */
    uint8_t taken[GSV_LIMB_ROWS];
    int32_t member[GSV_LIMB_CHUNKS];       /* supernodes of the limb at hand, ascending, */
    gsv_limb_chunk chunk[GSV_LIMB_CHUNKS]; /* and its chunks */
    int32_t chunks;
    /* of the supernode at hand: where a row's list begins in `row` */
    int32_t ptr[GSV_LIMB_ROWS + GSV_LIMB_WIDEST + 1];
    uint16_t row[GSV_LIMB_OWED];
} work;

static bool in_branch(const work *w, int32_t s) {
    return w->of[s] >= 0;
}

static int64_t cost_of(const work *w, int32_t s) {
    return in_branch(w, s) ? 0
                           : gsv_panel_size(gsv_rows(w->plan, s), gsv_columns(w->plan, s)) + GSV_LIMB_COST;
}

/* What a limb may cost: less where the tree is small, so that every SM has limbs, and none takes long. */
static int64_t most_cost(const work *w) {
    int64_t numbers = 0, cost = 0;
    for (int32_t s = 0; s < w->plan->l.nsuper; s++) {
        numbers += in_branch(w, s) ? 0 : gsv_panel_size(gsv_rows(w->plan, s), gsv_columns(w->plan, s));
        cost += cost_of(w, s);
    }
    const gsv_machine *machine = gsv_machine_of(w->plan);
    if (numbers < machine->block_least) /* there is no stream for a block, then */
        return 0;
    const int64_t most = machine->limb_least + cost / machine->limb_share;
    return most < machine->limb_most ? most : machine->limb_most;
}

static void measure_subtrees(const work *w) {
    const gsv_plan *plan = w->plan;
    const int64_t most = most_cost(w);
    int64_t *cost = w->cost;
    for (int32_t s = 0; s < plan->l.nsuper; s++) {
        bool whole = gsv_columns(plan, s) <= GSV_LIMB_WIDEST && gsv_rows(plan, s) <= UINT16_MAX;
        cost[s] = cost_of(w, s);
        for (int32_t k = plan->child_ptr[s]; k < plan->child_ptr[s + 1]; k++) {
            const int32_t child = plan->child[k];
            whole = whole && cost[child] >= 0;
            cost[s] += cost[child];
        }
        if (!in_branch(w, s) && (!whole || cost[s] > most))
            cost[s] = -1;
    }
}

/* The supernodes of the subtree of s that are in no branch, ascending; returns how many, or more than fit. */
static int32_t list_members(work *w, int32_t s) {
    const gsv_plan *plan = w->plan;
    int32_t count = 1, *member = w->member;
    member[0] = s;
    for (int32_t k = 0; k < count; k++)
        for (int32_t c = plan->child_ptr[member[k]]; c < plan->child_ptr[member[k] + 1]; c++) {
            if (in_branch(w, plan->child[c]))
                continue;
            if (count == GSV_LIMB_CHUNKS)
                return count + 1;
            member[count++] = plan->child[c];
        }
    for (int32_t k = 1; k < count; k++) {
        const int32_t one = member[k];
        int32_t at = k;
        for (; at > 0 && member[at - 1] > one; at--)
            member[at] = member[at - 1];
        member[at] = one;
    }
    return count;
}

/* Takes `count` free rows that follow each other, the first such ones or the last. Returns the first of them, or -1. */
static int32_t take_rows(work *w, int32_t count, bool last) {
    for (int32_t k = 0, run = 0; k < GSV_LIMB_ROWS; k++) {
        const int32_t row = last ? GSV_LIMB_ROWS - 1 - k : k, begin = last ? row : row + 1 - count;
        run = w->taken[row] ? 0 : run + 1;
        if (run >= count) {
            memset(w->taken + begin, 1, (size_t)count);
            return begin;
        }
    }
    return -1;
}

/* What the rows of the front of s are owed, by counting, into w->ptr [nr + 1] and w->row; children ascend. */
static void list_children(work *w, const gsv_limb_chunk *chunk, int32_t s) {
    const gsv_plan *plan = w->plan;
    const int32_t nr = chunk->nr;
    int32_t *ptr = w->ptr;
    memset(ptr, 0, ((size_t)nr + 1) * sizeof *ptr);
    for (int pass = 0; pass < 2; pass++) { /* count into ptr[row + 1], then fill, ptr[row] advancing */
        int32_t staged = chunk->staged + chunk->nc;
        for (int32_t c = plan->child_ptr[s]; c < plan->child_ptr[s + 1]; c++) {
            const int32_t child = plan->child[c], *map = plan->update_map + plan->update_ptr[child];
            const int32_t rows = (int32_t)gsv_updates(plan, child),
                          from = in_branch(w, child) ? staged : w->place[child];
            staged += in_branch(w, child) ? rows : 0;
            for (int32_t u = 0; u < rows; u++)
                if (pass == 0)
                    ptr[map[u] + 1]++;
                else
                    w->row[ptr[map[u]]++] = (uint16_t)(from + u);
        }
        for (int32_t i = 0; i < nr && pass == 0; i++)
            ptr[i + 1] += ptr[i];
    }
    for (int32_t i = nr; i > 0; i--) /* ptr[i] stands where row i ends */
        ptr[i] = ptr[i - 1];
    ptr[0] = 0;
}

/* The lists of supernode s, with `terms` terms. Where they are counted they are as long as they can be. */
static void write_lists(work *w, gsv_limb_chunk *chunk, int32_t s, int64_t terms) {
    gsv_limbs *limbs = w->limbs;
    const int32_t nr = chunk->nr, *ptr = w->ptr;
    if (w->schedule) {
        list_children(w, chunk, s);
        terms = 0;
        for (int32_t i = 0; i < nr; i++)
            terms += ptr[i + 1] - ptr[i] > 1 ? ptr[i + 1] - ptr[i] : 0;
    }
    chunk->lists = (uint32_t)limbs->nlists;
    chunk->list_length = (uint16_t)((nr + terms + 7) / 8 * 8);
    limbs->nlists += chunk->list_length;
    if (!w->schedule)
        return;
    uint16_t *owed = limbs->lists + chunk->lists;
    int32_t end = nr;
    memset(owed, 0, chunk->list_length * sizeof *owed);
    for (int32_t i = 0; i < nr; i++) {
        const int32_t count = ptr[i + 1] - ptr[i];
        owed[i] = (uint16_t)(count == 0   ? GSV_LIMB_NOTHING
                             : count == 1 ? w->row[ptr[i]]
                                          : GSV_LIMB_MORE | end);
        for (int32_t k = 0; k < count && count > 1; k++)
            owed[end++] = (uint16_t)(w->row[ptr[i] + k] | (k + 1 < count ? GSV_LIMB_MORE : 0));
    }
}

/* The update rows that branches leave supernode s. False: too many, or of too many runs. */
static bool list_runs(const work *w, gsv_limb_chunk *chunk, int32_t s) {
    const gsv_plan *plan = w->plan;
    int64_t end = -1, all = gsv_columns(plan, s);
    int32_t runs = 0;
    for (int32_t c = plan->child_ptr[s]; c < plan->child_ptr[s + 1]; c++) {
        const int32_t child = plan->child[c];
        const int64_t rows = in_branch(w, child) ? gsv_updates(plan, child) : 0, first = w->outside[child];
        all += rows;
        if (rows == 0)
            continue;
        if (all > GSV_LIMB_ROWS || (first != end && runs == GSV_LIMB_RUNS))
            return false;
        if (first != end)
            chunk->from[runs++] = w->schedule ? (uint32_t)(w->schedule->upper_updates + first) : 0;
        chunk->brought[runs - 1] = (uint16_t)(chunk->brought[runs - 1] + rows);
        end = first + rows;
    }
    return true;
}

/* Terms of the front of s. */
static int64_t count_owed(const gsv_plan *plan, int32_t s) {
    int64_t owed = 0;
    for (int32_t c = plan->child_ptr[s]; c < plan->child_ptr[s + 1]; c++)
        owed += gsv_updates(plan, plan->child[c]);
    return owed;
}

/* What supernode s begins with: *chunk becomes what all its chunks have in common, but for its update vector. False: it
 * does not fit. */
static bool stage_supernode(work *w, gsv_limb_chunk *chunk, int32_t s) {
    const gsv_plan *plan = w->plan;
    const int32_t nr = gsv_rows(plan, s), nc = gsv_columns(plan, s);
    *chunk = (gsv_limb_chunk){.panel = w->schedule ? w->schedule->panel_ptr[s] : 0,
                              .first_column = plan->l.first_column[s],
                              .nr = (uint16_t)nr,
                              .nc = (uint16_t)nc,
                              .narrow = (uint8_t)gsv_is_narrow(nr, nc)};
    if (!list_runs(w, chunk, s))
        return false;
    const int32_t staged = take_rows(w, gsv_limb_staged_rows(chunk), false);
    chunk->staged = (uint16_t)staged;
    return staged >= 0;
}

/* The chunks of supernode s, which is staged; then of its rows and its children's only its update vector's are taken.
 * False: it does not fit. */
static bool add_supernode(work *w, gsv_limb_chunk chunk, int32_t s, bool root) {
    const gsv_plan *plan = w->plan;
    const int32_t nr = chunk.nr, nc = chunk.nc, place = take_rows(w, nr - nc, root);
    const int64_t owed = count_owed(plan, s);
    if (place < 0 || owed > GSV_LIMB_OWED)
        return false;
    chunk.place = (uint16_t)place;
    chunk.root = root;
    chunk.update = w->schedule && root ? (uint32_t)w->schedule->update_place[s] : 0;
    w->place[s] = (uint16_t)place;
    write_lists(w, &chunk, s, owed);
    const int32_t first_chunk = w->chunks;
    const int64_t panel = chunk.panel;
    for (int32_t row = 0, end; row < nr; row = end) {
        const int64_t start = chunk.narrow ? 0 : gsv_block_row_start(nc, row / GSV_TILE);
        for (end = row; end < nr;) {
            const int32_t next = chunk.narrow || end + GSV_TILE > nr ? nr : end + GSV_TILE;
            gsv_limb_chunk more = chunk;
            more.numbers =
                (int32_t)(chunk.narrow ? gsv_panel_size(nr, nc)
                                       : gsv_block_row_start(nc, (next + GSV_TILE - 1) / GSV_TILE) - start);
            if (end > row && gsv_limb_bytes(&more) > GSV_LIMB_CHUNK)
                break;
            chunk.numbers = more.numbers;
            end = next;
        }
        chunk.panel = panel + start;
        chunk.row = (uint16_t)row;
        chunk.rows = (uint16_t)(end - row);
        chunk.last = end == nr;
        if (w->chunks == GSV_LIMB_CHUNKS || gsv_limb_bytes(&chunk) > GSV_LIMB_RING)
            return false;
        w->chunk[w->chunks++] = chunk;
        chunk.list_length = 0;
    }
    w->chunk[first_chunk].chunks = (uint16_t)(w->chunks - first_chunk);
    memset(w->taken + chunk.staged, 0, (size_t)gsv_limb_staged_rows(&chunk));
    for (int32_t c = plan->child_ptr[s]; c < plan->child_ptr[s + 1]; c++) {
        const int32_t child = plan->child[c];
        if (!in_branch(w, child))
            memset(w->taken + w->place[child], 0, (size_t)gsv_updates(plan, child));
    }
    return true;
}

/* The limb of root s, if it fits. */
static void add_limb(work *w, int32_t s) {
    gsv_limbs *limbs = w->limbs;
    const int32_t count = list_members(w, s);
    const int64_t lists = limbs->nlists;
    if (count > GSV_LIMB_CHUNKS)
        return;
    memset(w->taken, 0, sizeof w->taken);
    w->chunks = 0;
    for (int32_t k = 0; k < count; k++) { /* one is staged when the one before it has been assembled */
        gsv_limb_chunk chunk;
        if (!stage_supernode(w, &chunk, w->member[k]) ||
            !add_supernode(w, chunk, w->member[k], w->member[k] == s)) {
            limbs->nlists = lists;
            return;
        }
    }
    if (w->schedule) {
        limbs->limb[limbs->count] = (gsv_limb){limbs->nchunks, w->chunks};
        memcpy(limbs->chunk + limbs->nchunks, w->chunk, (size_t)w->chunks * sizeof *w->chunk);
    } else { /* others read it when limbs are filled */
        limbs->root[limbs->count] = (gsv_limb_root){w->cost[s], s};
        for (int32_t k = 0; k < count; k++)
            limbs->in[w->member[k]] = 1;
    }
    limbs->nchunks += w->chunks;
    limbs->count++;
}

static void end_work(work *w) {
    if (!w)
        return;
    gsv_free(w->cost);
    gsv_free(w->place);
    gsv_free(w->outside);
    gsv_free(w);
}

/* NULL: out of memory. */
static work *begin_work(const gsv_plan *plan, const int32_t *of, gsv_limbs *limbs) {
    const size_t nsuper = (size_t)plan->l.nsuper + 1;
    work *w = gsv_calloc(1, sizeof *w);
    if (!w)
        return NULL;
    *w = (work){.plan = plan,
                .of = of,
                .limbs = limbs,
                .cost = gsv_malloc(nsuper, sizeof *w->cost),
                .place = gsv_malloc(nsuper, sizeof *w->place),
                .outside = gsv_malloc(nsuper, sizeof *w->outside)};
    if (!w->cost || !w->place || !w->outside) {
        end_work(w);
        return NULL;
    }
    int64_t rows = 0;
    for (int32_t s = 0; s < plan->l.nsuper; s++) {
        const int32_t parent = plan->parent[s];
        w->outside[s] = rows;
        if (of[s] >= 0 && (parent < 0 || of[parent] != of[s]))
            rows += gsv_updates(plan, s);
    }
    return w;
}

static int by_cost(const void *a, const void *b) {
    const gsv_limb_root *x = a, *y = b;
    return x->cost != y->cost ? (x->cost < y->cost ? 1 : -1) : (x->s > y->s) - (x->s < y->s);
}

gpusolve_status gsv_limbs_choose(const gsv_plan *plan, const int32_t *of, gsv_limbs *limbs,
                                 gsv_message *message) {
    const size_t nsuper = (size_t)plan->l.nsuper + 1;
    *limbs = (gsv_limbs){.in = gsv_calloc(nsuper, 1), .root = gsv_malloc(nsuper, sizeof *limbs->root)};
    work *w = begin_work(plan, of, limbs);
    if (!w || !limbs->in || !limbs->root) {
        end_work(w);
        gsv_limbs_free(limbs);
        return gsv_plan_no_memory(message);
    }
    measure_subtrees(w);
    for (int32_t s = plan->l.nsuper - 1; s >= 0; s--)
        if (!in_branch(w, s) && !limbs->in[s] && w->cost[s] >= 0)
            add_limb(w, s);
    if (limbs->count > 1)
        qsort(limbs->root, (size_t)limbs->count, sizeof *limbs->root, by_cost);
    end_work(w);
    return GPUSOLVE_OK;
}

gpusolve_status gsv_limbs_fill(const gsv_plan *plan, gsv_limbs *limbs, gsv_message *message) {
    const int32_t count = limbs->count;
    work *w = begin_work(plan, plan->schedule->branches.of, limbs);
    limbs->limb = gsv_malloc((size_t)count + 1, sizeof *limbs->limb);
    limbs->chunk = gsv_malloc((size_t)limbs->nchunks + 1, sizeof *limbs->chunk);
    limbs->lists = gsv_malloc((size_t)limbs->nlists + 1, sizeof *limbs->lists);
    if (!w || !limbs->limb || !limbs->chunk || !limbs->lists) {
        end_work(w);
        return gsv_plan_no_memory(message);
    }
    w->schedule = plan->schedule;
    limbs->count = limbs->nchunks = 0;
    limbs->nlists = 0;
    for (int32_t k = 0; k < count; k++)
        add_limb(w, limbs->root[k].s);
    end_work(w);
    limbs->bytes = plan->l.nsuper + count * (int64_t)(sizeof *limbs->limb + sizeof *limbs->root) +
                   limbs->nchunks * (int64_t)sizeof *limbs->chunk + 2 * limbs->nlists;
    return GPUSOLVE_OK;
}

void gsv_limbs_free(gsv_limbs *limbs) {
    gsv_free(limbs->root);
    gsv_free(limbs->limb);
    gsv_free(limbs->chunk);
    gsv_free(limbs->lists);
    gsv_free(limbs->in);
    *limbs = (gsv_limbs){0};
}
