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

void gsv_tiles_free(gsv_tiles *tiles) {
    if (!tiles)
        return;
    gsv_free(tiles->panel_ptr);
    gsv_free(tiles->row_place);
    gsv_free(tiles->gather_ptr);
    gsv_free(tiles->gather);
    gsv_free(tiles->update_place);
    gsv_many_free(&tiles->many);
    gsv_stream_free(&tiles->stream);
    gsv_limbs_free(&tiles->limbs);
    gsv_branches_free(&tiles->branches);
    gsv_free(tiles->tiny.supernode);
    gsv_free(tiles->small.supernode);
    gsv_free(tiles);
}

static void free_part(gsv_plan *plan) {
    gsv_tiles_free(plan->tiles);
}

static void place_panels(const gsv_plan *plan, gsv_tiles *tiles) {
    int64_t end = 0;
    for (int32_t s = 0; s < plan->l.nsuper; s++) {
        const int64_t nr = gsv_rows(plan, s), nc = gsv_columns(plan, s);
        const int32_t b = tiles->branches.of[s];
        if (!gsv_is_narrow(nr, nc) || (b >= 0 && tiles->branches.branch[b].first == s))
            end = (end + GSV_TILE - 1) / GSV_TILE * GSV_TILE;
        tiles->panel_ptr[s] = end;
        end += gsv_panel_size(nr, nc);
    }
    tiles->panel_ptr[plan->l.nsuper] = end;
}

/* Fronts of the upper tree, then those in branches. */
static void place_rows(const gsv_plan *plan, gsv_tiles *tiles) {
    int64_t end = 0;
    for (int inside = 0; inside < 2; inside++) {
        for (int32_t s = 0; s < plan->l.nsuper; s++)
            if ((tiles->branches.of[s] >= 0) == inside) {
                tiles->row_place[s] = end;
                end += gsv_rows(plan, s);
            }
        if (!inside)
            tiles->upper_rows = end;
    }
}

void gsv_tiles_list_rows(const gsv_plan *plan, int32_t *rows) {
    for (int32_t s = 0; s < plan->l.nsuper; s++)
        if (plan->tiles->branches.of[s] < 0)
            memcpy(rows + plan->tiles->row_place[s], plan->l.rows + plan->l.row_ptr[s],
                   (size_t)gsv_rows(plan, s) * sizeof *rows);
}

/* Where an update vector belongs: 0, of the upper tree, and handed from block to block; 1, of a limb that keeps it to
 * itself; 2, of a root of a branch; 3, of another supernode of one. */
static int place_of(const gsv_plan *plan, const gsv_tiles *tiles, int32_t s) {
    const int32_t b = tiles->branches.of[s], parent = plan->parent[s];
    if (b < 0)
        return parent >= 0 && tiles->limbs.in[parent];
    return parent < 0 || tiles->branches.of[parent] != b ? 2 : 3;
}

/* In this order. */
static void place_updates(const gsv_plan *plan, gsv_tiles *tiles) {
    int64_t rows[4] = {0}, end[4] = {0};
    for (int32_t s = 0; s < plan->l.nsuper; s++) {
        const int where = place_of(plan, tiles, s);
        tiles->update_place[s] = where; /* until the next loop */
        rows[where] += gsv_updates(plan, s);
    }
    for (int k = 1; k < 4; k++)
        end[k] = end[k - 1] + rows[k - 1];
    tiles->handed_updates = end[1];
    tiles->upper_updates = end[2];
    tiles->shared_updates = end[3];
    for (int32_t s = 0; s < plan->l.nsuper; s++) {
        const int64_t where = tiles->update_place[s];
        tiles->update_place[s] = end[where];
        end[where] += gsv_updates(plan, s);
    }
}

/* What the rows of front s are owed, by counting; ptr[0] is where their lists begin, ptr[i] = 0 else. Children
 * are visited in ascending order, so contributions ascend too. */
static void invert_front(const gsv_plan *plan, int32_t s, gsv_tiles *tiles) {
    uint32_t *ptr = tiles->gather_ptr + tiles->row_place[s], begin = ptr[0];
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
            tiles->gather[ptr[map[u]]++] = (uint32_t)(tiles->update_place[children[c]] + u);
    }
    for (int32_t i = nr - 1; i > 0; i--) /* ptr[i] stands where row i ends */
        ptr[i] = ptr[i - 1];
    ptr[0] = begin;
}

typedef struct inversion {
    const gsv_plan *plan;
    gsv_tiles *tiles;
} inversion;

static void invert_fronts(void *context, int64_t begin, int64_t end, int member) {
    const inversion *i = context;
    (void)member;
    for (int64_t s = begin; s < end; s++)
        invert_front(i->plan, (int32_t)s, i->tiles);
}

/* The inverse of update_map, front by front. */
static void invert_updates(const gsv_plan *plan, gsv_pool *pool, gsv_tiles *tiles) {
    const int32_t nsuper = plan->l.nsuper;
    uint32_t owed = 0;
    for (int inside = 0; inside < 2; inside++)
        for (int32_t s = 0; s < nsuper; s++) {
            if ((tiles->branches.of[s] >= 0) != inside)
                continue;
            tiles->gather_ptr[tiles->row_place[s]] = owed;
            for (int32_t c = plan->child_ptr[s]; c < plan->child_ptr[s + 1]; c++)
                owed += (uint32_t)gsv_updates(plan, plan->child[c]);
        }
    tiles->gather_ptr[plan->l.row_ptr[nsuper]] = owed;
    inversion i = {plan, tiles};
    gsv_pool_ranges(pool, gsv_pool_share(pool, plan->l.row_ptr[nsuper], ROWS), nsuper, SUPERNODES_AT_ONCE,
                    invert_fronts, &i);
}

/* By counting: next[k] advances to where level k + 1 begins. */
static bool list_narrow(const gsv_plan *plan, const gsv_branches *branches, gsv_supernode_list *list,
                        bool tiny) {
    int64_t *next = gsv_calloc((size_t)plan->nlevels + 1, sizeof *next);
    if (!next)
        return false;
    for (int pass = 0; pass < 2; pass++) { /* count, then fill */
        for (int32_t s = 0; s < plan->l.nsuper; s++) {
            const int32_t nr = gsv_rows(plan, s), nc = gsv_columns(plan, s);
            if (branches->of[s] >= 0 || !gsv_is_narrow(nr, nc) || gsv_is_tiny(nr, nc) != tiny)
                continue;
            if (pass == 0)
                next[plan->level[s] + 1]++;
            else
                list->supernode[next[plan->level[s]]++] = s;
        }
        for (int32_t k = 0; pass == 0 && k < plan->nlevels; k++)
            next[k + 1] += next[k];
        if (pass == 0) {
            list->count = next[plan->nlevels];
            list->supernode = gsv_malloc((size_t)list->count, sizeof *list->supernode);
            if (!list->supernode)
                break;
        }
    }
    gsv_free(next);
    return list->supernode != NULL;
}

/* What follows from the branches at once; false: out of memory. */
static bool fill_lists(const gsv_plan *plan, gsv_tiles *tiles) {
    place_updates(plan, tiles);
    place_rows(plan, tiles);
    return list_narrow(plan, &tiles->branches, &tiles->tiny, true) &&
           list_narrow(plan, &tiles->branches, &tiles->small, false);
}

enum { SWEEPS = 3 };

typedef struct making {
    const gsv_plan *plan;
    gpusolve_status status[SWEEPS];
    gsv_message message[SWEEPS];
} making;

static void make_sweep(void *context, int64_t item, int member) {
    making *m = context;
    gsv_tiles *tiles = m->plan->tiles;
    gsv_message *message = &m->message[item];
    (void)member;
    m->status[item] = item == 0   ? gsv_stream_create(m->plan, &tiles->stream, message)
                      : item == 1 ? gsv_many_create(m->plan, &tiles->many, message)
                                  : gsv_limbs_fill(m->plan, &tiles->limbs, message);
}

/* The stream, the tiles for many right-hand sides and the limbs' lists, which know nothing of each other. */
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

gpusolve_status gsv_tiles_place(gsv_plan *plan, gsv_message *message) {
    const int64_t nsuper = plan->l.nsuper, rows = plan->l.row_ptr[nsuper];
    if (plan->tiles)
        return GPUSOLVE_OK;
    if (rows >= UINT32_MAX)
        return gsv_fail(message, GPUSOLVE_TOO_LARGE, "the supernodes have %lld rows, %lld is the limit",
                        (long long)rows, (long long)UINT32_MAX - 1);
    gsv_tiles *tiles = gsv_calloc(1, sizeof *tiles);
    if (!tiles)
        return gsv_fail(message, GPUSOLVE_OUT_OF_MEMORY, "out of host memory while planning");
    gpusolve_status status = gsv_branches_choose(plan, &tiles->branches, message);
    if (status == GPUSOLVE_OK)
        status = gsv_limbs_choose(plan, tiles->branches.of, &tiles->limbs, message);
    if (status == GPUSOLVE_OK) {
        tiles->panel_ptr = gsv_malloc((size_t)nsuper + 1, sizeof *tiles->panel_ptr);
        if (tiles->panel_ptr)
            place_panels(plan, tiles);
        else
            status = gsv_fail(message, GPUSOLVE_OUT_OF_MEMORY, "out of host memory while planning");
    }
    if (status != GPUSOLVE_OK) {
        gsv_tiles_free(tiles);
        return status;
    }
    plan->tiles = tiles;
    plan->free_part = free_part;
    return GPUSOLVE_OK;
}

/* All but what gsv_tiles_place has made. */
static gpusolve_status fill_tiles(gsv_plan *plan, gsv_pool *pool, gsv_message *message) {
    const int64_t nsuper = plan->l.nsuper, rows = plan->l.row_ptr[nsuper], updates = plan->update_ptr[nsuper];
    gsv_tiles *tiles = plan->tiles;
    tiles->row_place = gsv_malloc((size_t)nsuper, sizeof *tiles->row_place);
    tiles->gather_ptr = gsv_calloc((size_t)rows + 1, sizeof *tiles->gather_ptr);
    tiles->gather = gsv_malloc((size_t)updates, sizeof *tiles->gather);
    tiles->update_place = gsv_malloc((size_t)nsuper, sizeof *tiles->update_place);
    if (!tiles->update_place || !tiles->row_place || !tiles->gather_ptr || !tiles->gather ||
        !fill_lists(plan, tiles))
        return gsv_fail(message, GPUSOLVE_OUT_OF_MEMORY, "out of host memory while planning");
    invert_updates(plan, pool, tiles);
    const gpusolve_status status = gsv_branches_fill(plan, tiles->panel_ptr, pool, &tiles->branches, message);
    return status == GPUSOLVE_OK ? make_sweeps(plan, pool, message) : status;
}

gpusolve_status gsv_tiles_create(gsv_plan *plan, gsv_pool *pool, gsv_message *message) {
    const int64_t nsuper = plan->l.nsuper, rows = plan->l.row_ptr[nsuper], updates = plan->update_ptr[nsuper];
    gpusolve_status status = gsv_tiles_place(plan, message);
    if (status != GPUSOLVE_OK || plan->tiles->is_whole)
        return status;
    status = fill_tiles(plan, pool, message);
    if (status != GPUSOLVE_OK) {
        gsv_tiles_free(plan->tiles);
        plan->tiles = NULL;
        return status;
    }
    gsv_tiles *tiles = plan->tiles;
    const int64_t narrow = tiles->tiny.count + tiles->small.count;
    tiles->is_whole = 1;
    plan->bytes += (int64_t)sizeof *tiles + 8 * (3 * nsuper + 1) + 4 * (rows + 1 + updates + narrow) +
                   tiles->branches.bytes + tiles->limbs.bytes + tiles->stream.bytes + tiles->many.bytes;
    return status;
}
