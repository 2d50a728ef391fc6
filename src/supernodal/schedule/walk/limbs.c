/* The limbs of the device's plan: limbs.h. Linear in the structure, but that a subtree that does not fit is tried again
 * without its root. */
#include "limbs.h"

#include "../../../memory.h"
#include "../machine.h"
#include "../schedule.h"

#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

/* What is known of each supernode. */
typedef struct numbers {
    int64_t *cost;    /* [nsuper] in no branch: of the subtree's such supernodes; -1: it is no limb */
    int64_t *outside; /* [nsuper] a branch's root: rows of the update vectors that branches before it leave */
    uint16_t *place;  /* [nsuper] in a limb: of its update vector among the limb's rows */
} numbers;

enum { WORD = 64, WORDS = (GSV_LIMB_ROWS + WORD - 1) / WORD };

/* What making a limb works with, in two rounds: count, then write. */
typedef struct work {
    const gsv_plan *plan;
    const gsv_schedule *schedule; /* NULL: count */
    const int32_t *of;            /* [nsuper] branches.of */
    numbers all;
    uint64_t taken[WORDS];                 /* bit k of word w: row WORD w + k */
    int32_t member[GSV_LIMB_CHUNKS];       /* supernodes of the limb at hand, ascending, */
    gsv_limb_chunk chunk[GSV_LIMB_CHUNKS]; /* and its chunks */
    int32_t members, chunks;
    int64_t nlists;  /* where the next supernode's lists begin in */
    uint16_t *lists; /* these, if they are written */
    /* of the supernode at hand: where a row's list begins in `row` */
    int32_t ptr[GSV_LIMB_ROWS + GSV_LIMB_WIDEST + 1];
    uint16_t row[GSV_LIMB_OWED];
} work;

static bool in_branch(const work *w, int32_t s) {
    return w->of[s] >= 0;
}

/* What a limb may cost: less where the tree is small, so that every SM has limbs, and none takes long. */
static int64_t most_cost(const gsv_plan *plan, int64_t panels, int64_t cost) {
    const gsv_machine *machine = gsv_machine_of(plan);
    if (panels < machine->block_least) /* there is no stream for a block, then */
        return 0;
    const int64_t most = machine->limb_least + cost / machine->limb_share;
    return most < machine->limb_most ? most : machine->limb_most;
}

static void measure_subtrees(const work *w, const gsv_supernode_list *upper) {
    const gsv_plan *plan = w->plan;
    int64_t *cost = w->all.cost, sum = 0;
    for (int64_t k = 0; k < upper->count; k++) {
        const int32_t s = upper->supernode[k];
        cost[s] = gsv_panel_size(gsv_rows(plan, s), gsv_columns(plan, s)) + GSV_LIMB_COST;
        sum += cost[s];
    }
    const int64_t most = most_cost(plan, sum - GSV_LIMB_COST * upper->count, sum);
    for (int64_t k = 0; k < upper->count; k++) {
        const int32_t s = upper->supernode[k];
        bool whole = gsv_columns(plan, s) <= GSV_LIMB_WIDEST && gsv_rows(plan, s) <= UINT16_MAX;
        for (int32_t c = plan->child_ptr[s]; c < plan->child_ptr[s + 1] && whole; c++) {
            if (in_branch(w, plan->child[c]))
                continue;
            whole = cost[plan->child[c]] >= 0;
            cost[s] += cost[plan->child[c]];
        }
        if (!whole || cost[s] > most)
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

/* The first row from `from` on that is taken, or is free, or GSV_LIMB_ROWS. */
static int32_t next_row(const work *w, int32_t from, bool taken) {
    for (; from < GSV_LIMB_ROWS; from = (from / WORD + 1) * WORD) {
        const uint64_t word = (taken ? w->taken[from / WORD] : ~w->taken[from / WORD]) >> from % WORD;
        if (word)
            from += __builtin_ctzll(word);
        if (word)
            return from < GSV_LIMB_ROWS ? from : GSV_LIMB_ROWS;
    }
    return GSV_LIMB_ROWS;
}

static void mark_rows(work *w, int32_t begin, int32_t count, bool taken) {
    for (int32_t row = begin, next; row < begin + count; row = next) {
        next = (row / WORD + 1) * WORD;
        const int32_t bits = (next < begin + count ? next : begin + count) - row;
        const uint64_t mask = (bits < WORD ? ((uint64_t)1 << bits) - 1 : ~(uint64_t)0) << row % WORD;
        if (taken)
            w->taken[row / WORD] |= mask;
        else
            w->taken[row / WORD] &= ~mask;
    }
}

/* Takes `count` free rows that follow each other, the first such ones or the last. Returns the first of them, or -1; of no
 * rows, any. */
static int32_t take_rows(work *w, int32_t count, bool last) {
    int32_t found = count > 0 ? -1 : last ? GSV_LIMB_ROWS - 1 : 1;
    for (int32_t begin = 0, end; begin < GSV_LIMB_ROWS && count > 0 && (last || found < 0); begin = end) {
        begin = next_row(w, begin, false);
        end = next_row(w, begin, true);
        if (end - begin >= count)
            found = last ? end - count : begin;
    }
    if (found >= 0)
        mark_rows(w, found, count, true);
    return found;
}

/* What the rows of the front of s are owed, by counting, into w->ptr [nr + 1] and w->row; children ascend. ptr[i] counts row i, then
 * stands where its list ends, and goes down to where it begins as the last children come first. */
static void list_children(work *w, const gsv_limb_chunk *chunk, int32_t s) {
    const gsv_plan *plan = w->plan;
    const int32_t nr = chunk->nr;
    int32_t *ptr = w->ptr, staged = chunk->staged + chunk->nc;
    memset(ptr, 0, ((size_t)nr + 1) * sizeof *ptr);
    for (int32_t c = plan->child_ptr[s]; c < plan->child_ptr[s + 1]; c++) {
        const int32_t child = plan->child[c], *map = plan->update_map + plan->update_ptr[child];
        const int32_t rows = (int32_t)gsv_updates(plan, child);
        staged += in_branch(w, child) ? rows : 0;
        for (int32_t u = 0; u < rows; u++)
            ptr[map[u]]++;
    }
    for (int32_t i = 0; i < nr; i++)
        ptr[i + 1] += ptr[i];
    for (int32_t c = plan->child_ptr[s + 1] - 1; c >= plan->child_ptr[s]; c--) {
        const int32_t child = plan->child[c], *map = plan->update_map + plan->update_ptr[child];
        const int32_t rows = (int32_t)gsv_updates(plan, child);
        staged -= in_branch(w, child) ? rows : 0;
        const int32_t from = in_branch(w, child) ? staged : w->all.place[child];
        for (int32_t u = 0; u < rows; u++)
            w->row[--ptr[map[u]]] = (uint16_t)(from + u);
    }
}

/* The lists of supernode s, with `terms` terms. Where they are counted they are as long as they can be. */
static void write_lists(work *w, gsv_limb_chunk *chunk, int32_t s, int64_t terms) {
    const int32_t nr = chunk->nr, *ptr = w->ptr;
    if (w->schedule) {
        list_children(w, chunk, s);
        terms = 0;
        for (int32_t i = 0; i < nr; i++)
            terms += ptr[i + 1] - ptr[i] > 1 ? ptr[i + 1] - ptr[i] : 0;
    }
    chunk->lists = (uint32_t)w->nlists;
    chunk->list_length = (uint16_t)((nr + terms + 7) / 8 * 8);
    w->nlists += chunk->list_length;
    if (!w->schedule)
        return;
    uint16_t *owed = w->lists + chunk->lists;
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
        const int64_t rows = in_branch(w, child) ? gsv_updates(plan, child) : 0;
        if (rows == 0)
            continue;
        const int64_t first = w->all.outside[child];
        all += rows;
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
    w->all.place[s] = (uint16_t)place;
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
    mark_rows(w, chunk.staged, gsv_limb_staged_rows(&chunk), false);
    for (int32_t c = plan->child_ptr[s]; c < plan->child_ptr[s + 1]; c++) {
        const int32_t child = plan->child[c];
        if (!in_branch(w, child))
            mark_rows(w, w->all.place[child], (int32_t)gsv_updates(plan, child), false);
    }
    return true;
}

/* The limb of root s: its members and chunks, and its lists from w->nlists on. False: it does not fit. */
static bool make_limb(work *w, int32_t s) {
    w->members = list_members(w, s);
    if (w->members > GSV_LIMB_CHUNKS)
        return false;
    memset(w->taken, 0, sizeof w->taken);
    w->chunks = 0;
    for (int32_t k = 0; k < w->members; k++) { /* one is staged when the one before it has been assembled */
        gsv_limb_chunk chunk;
        if (!stage_supernode(w, &chunk, w->member[k]) ||
            !add_supernode(w, chunk, w->member[k], w->member[k] == s))
            return false;
    }
    return true;
}

static void free_numbers(numbers *all) {
    gsv_free(all->cost);
    gsv_free(all->outside);
    gsv_free(all->place);
}

/* False: out of memory. */
static bool make_numbers(const gsv_plan *plan, const int32_t *of, numbers *all) {
    const size_t nsuper = (size_t)plan->l.nsuper;
    *all = (numbers){.cost = gsv_malloc(nsuper, sizeof *all->cost),
                     .outside = gsv_malloc(nsuper, sizeof *all->outside),
                     .place = gsv_malloc(nsuper, sizeof *all->place)};
    if (!all->cost || !all->place || !all->outside)
        return false;
    int64_t rows = 0;
    for (int32_t s = 0; s < plan->l.nsuper; s++) {
        const int32_t parent = plan->parent[s];
        if (of[s] < 0 || (parent >= 0 && of[parent] == of[s]))
            continue;
        all->outside[s] = rows;
        rows += gsv_updates(plan, s);
    }
    return true;
}

static int by_cost(const void *a, const void *b) {
    const gsv_limb_root *x = a, *y = b;
    return x->cost != y->cost ? (x->cost < y->cost ? 1 : -1) : (x->s > y->s) - (x->s < y->s);
}

/* The largest subtrees that fit, from the roots down. */
static void choose(work *w, const gsv_supernode_list *upper, gsv_limbs *limbs) {
    measure_subtrees(w, upper);
    for (int64_t k = upper->count - 1; k >= 0; k--) {
        const int32_t s = upper->supernode[k];
        w->nlists = 0;
        if (limbs->in[s] || w->all.cost[s] < 0 || !make_limb(w, s))
            continue;
        limbs->root[limbs->count++] =
            (gsv_limb_root){(int32_t)w->all.cost[s], s, w->chunks, (int32_t)w->nlists};
        limbs->nchunks += w->chunks;
        limbs->nlists += w->nlists;
        for (int32_t i = 0; i < w->members; i++)
            limbs->in[w->member[i]] = 1;
    }
}

gpusolve_status gsv_limbs_choose(const gsv_plan *plan, const int32_t *of, const gsv_supernode_list *upper,
                                 gsv_limbs *limbs, gsv_message *message) {
    const size_t nsuper = (size_t)plan->l.nsuper + 1;
    work *w = gsv_malloc(1, sizeof *w);
    numbers all;
    *limbs = (gsv_limbs){.in = gsv_calloc(nsuper, 1),
                         .root = gsv_malloc((size_t)upper->count, sizeof *limbs->root)};
    const bool good = make_numbers(plan, of, &all) && w && limbs->in && limbs->root;
    if (good) {
        *w = (work){.plan = plan, .of = of, .all = all};
        choose(w, upper, limbs);
        if (limbs->count > 1)
            qsort(limbs->root, (size_t)limbs->count, sizeof *limbs->root, by_cost);
    } else {
        gsv_limbs_free(limbs);
    }
    free_numbers(&all);
    gsv_free(w);
    return good ? GPUSOLVE_OK : gsv_plan_no_memory(message);
}

/* ----------------------------------------------------------------------------------------- filling --- */

struct gsv_limbs_draft {
    const gsv_plan *plan;
    gsv_limbs *limbs;
    numbers all;
    work *works; /* [threads] */
    int64_t
        *lists; /* [count + 1] where the lists of each begin, with room for the longest, and after filling, */
    int64_t *length; /* [count] how long they are */
};

gpusolve_status gsv_limbs_begin(const gsv_plan *plan, int threads, gsv_limbs *limbs, gsv_limbs_draft **draft,
                                gsv_message *message) {
    const size_t count = (size_t)limbs->count;
    gsv_limbs_draft *d = *draft = gsv_calloc(1, sizeof *d);
    if (!d)
        return gsv_plan_no_memory(message);
    *d = (gsv_limbs_draft){.plan = plan,
                           .limbs = limbs,
                           .works = gsv_malloc((size_t)threads, sizeof *d->works),
                           .lists = gsv_malloc(count + 1, sizeof *d->lists),
                           .length = gsv_malloc(count, sizeof *d->length)};
    limbs->limb = gsv_malloc(count + 1, sizeof *limbs->limb);
    limbs->chunk = gsv_malloc((size_t)limbs->nchunks + 1, sizeof *limbs->chunk);
    limbs->lists = gsv_malloc((size_t)limbs->nlists + 1, sizeof *limbs->lists);
    if (!make_numbers(plan, plan->schedule->branches.of, &d->all) || !d->works || !d->lists || !d->length ||
        !limbs->limb || !limbs->chunk || !limbs->lists)
        return gsv_plan_no_memory(message);
    int32_t chunks = 0;
    d->lists[0] = 0;
    for (int32_t k = 0; k < limbs->count; k++) {
        limbs->limb[k].first = chunks;
        chunks += limbs->root[k].chunks;
        d->lists[k + 1] = d->lists[k] + limbs->root[k].lists;
    }
    return GPUSOLVE_OK;
}

void gsv_limbs_fill(const gsv_limbs_draft *d, int32_t begin, int32_t end, int member) {
    const gsv_limbs *limbs = d->limbs;
    work *w = &d->works[member];
    w->plan = d->plan;
    w->schedule = d->plan->schedule;
    w->of = d->plan->schedule->branches.of;
    w->all = d->all;
    w->lists = limbs->lists;
    for (int32_t k = begin; k < end; k++) {
        gsv_limb *limb = &limbs->limb[k];
        w->nlists = d->lists[k];
        limb->chunks = make_limb(w, limbs->root[k].s) ? w->chunks : 0;
        d->length[k] = w->nlists - d->lists[k];
        memcpy(limbs->chunk + limb->first, w->chunk, (size_t)limb->chunks * sizeof *w->chunk);
    }
}

void gsv_limbs_close(const gsv_limbs_draft *d) {
    gsv_limbs *limbs = d->limbs;
    int32_t chunks = 0;
    int64_t lists = 0;
    for (int32_t k = 0; k < limbs->count; k++) {
        gsv_limb *limb = &limbs->limb[k];
        const uint32_t gap = (uint32_t)(d->lists[k] - lists);
        for (int32_t c = 0; c < limb->chunks; c++) {
            limbs->chunk[chunks + c] = limbs->chunk[limb->first + c];
            limbs->chunk[chunks + c].lists -= gap;
        }
        limb->first = chunks;
        memmove(limbs->lists + lists, limbs->lists + d->lists[k],
                (size_t)d->length[k] * sizeof *limbs->lists);
        chunks += limb->chunks;
        lists += d->length[k];
    }
    limbs->nchunks = chunks;
    limbs->nlists = lists;
    limbs->bytes = d->plan->l.nsuper + limbs->count * (int64_t)(sizeof *limbs->limb + sizeof *limbs->root) +
                   limbs->nchunks * (int64_t)sizeof *limbs->chunk + 2 * limbs->nlists;
}

void gsv_limbs_end(gsv_limbs_draft *d) {
    if (!d)
        return;
    free_numbers(&d->all);
    gsv_free(d->works);
    gsv_free(d->lists);
    gsv_free(d->length);
    gsv_free(d);
}

void gsv_limbs_free(gsv_limbs *limbs) {
    gsv_free(limbs->root);
    gsv_free(limbs->limb);
    gsv_free(limbs->chunk);
    gsv_free(limbs->lists);
    gsv_free(limbs->in);
    *limbs = (gsv_limbs){0};
}
