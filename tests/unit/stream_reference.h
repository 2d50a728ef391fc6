/* Both sweeps over a whole tree by the plan's own maps, in integers: what test_stream.c and test_limbs.c compare
 * with. */
#ifndef GSV_STREAM_REFERENCE_H
#define GSV_STREAM_REFERENCE_H

#include "supernodal/schedule/schedule.h"
#include "testing.h"

/* Something arbitrary, never zero. */
static uint64_t number(uint64_t a, uint64_t b) {
    uint64_t x = a * 0x9e3779b97f4a7c15u + b * 0xc2b2ae3d27d4eb4fu + 1;
    x ^= x >> 29;
    x *= 0xbf58476d1ce4e5b9u;
    return (x ^ x >> 32) | 1;
}

typedef struct vectors {
    uint64_t *panels, *b, *x, *u, *y; /* u at its places */
} vectors;

static int64_t place(const gsv_plan *plan, int32_t s, int32_t i, int32_t j) {
    const int32_t nr = gsv_rows(plan, s), nc = gsv_columns(plan, s);
    return plan->schedule->panel_ptr[s] + (gsv_is_narrow(nr, nc) ? gsv_narrow_column(nr, j) + i
                                                                 : gsv_block_row_start(nc, i / GSV_TILE) +
                                                                       (int64_t)GSV_TILE * j + i % GSV_TILE);
}

static void reference(const gsv_plan *plan, const vectors *v) {
    uint64_t *f = calloc((size_t)plan->l.n + 1, sizeof *f);
    REQUIRE(f);
    for (int32_t s = 0; s < plan->l.nsuper; s++) {
        const int32_t nr = gsv_rows(plan, s), nc = gsv_columns(plan, s), first = plan->l.first_column[s];
        uint64_t *u = v->u + plan->schedule->update_place[s];
        for (int32_t i = 0; i < nr; i++)
            f[i] = i < nc ? v->b[first + i] : 0;
        for (int32_t k = plan->child_ptr[s]; k < plan->child_ptr[s + 1]; k++) {
            const int32_t child = plan->child[k];
            for (int64_t e = plan->update_ptr[child]; e < plan->update_ptr[child + 1]; e++)
                f[plan->update_map[e]] +=
                    v->u[plan->schedule->update_place[child] + e - plan->update_ptr[child]];
        }
        for (int32_t i = 0; i < nr; i++) {
            uint64_t sum = i < nc ? 0 : f[i];
            for (int32_t k = 0; k < nc && k <= i; k++)
                sum += v->panels[place(plan, s, i, k)] * f[k];
            *(i < nc ? &v->x[first + i] : &u[i - nc]) = sum;
        }
    }
    for (int32_t s = plan->l.nsuper - 1; s >= 0; s--) {
        const int32_t nr = gsv_rows(plan, s), nc = gsv_columns(plan, s), first = plan->l.first_column[s];
        for (int32_t j = 0; j < nc; j++) {
            uint64_t sum = 0;
            for (int32_t i = j; i < nr; i++)
                sum += v->panels[place(plan, s, i, j)] *
                       (i < nc ? v->x[first + i] : v->y[plan->l.rows[plan->l.row_ptr[s] + i]]);
            v->y[first + j] = sum;
        }
    }
    free(f);
}

/* Something in every panel and in b, and the reference's x, u and y. */
static vectors make_vectors(const gsv_plan *plan) {
    const size_t n = (size_t)plan->l.n + 1, updates = (size_t)plan->update_ptr[plan->l.nsuper] + 1;
    const vectors v = {calloc((size_t)plan->schedule->panel_ptr[plan->l.nsuper] + 1, 8), calloc(n, 8),
                       calloc(n, 8), calloc(updates, 8), calloc(n, 8)};
    REQUIRE(v.panels && v.b && v.x && v.u && v.y);
    for (int32_t s = 0; s < plan->l.nsuper; s++)
        for (int32_t j = 0; j < gsv_columns(plan, s); j++)
            for (int32_t i = j; i < gsv_rows(plan, s); i++)
                v.panels[place(plan, s, i, j)] = number((uint64_t)s, (uint64_t)i * 4096 + (uint64_t)j);
    for (int32_t i = 0; i < plan->l.n; i++)
        v.b[i] = number(99, (uint64_t)i);
    reference(plan, &v);
    return v;
}

static void free_vectors(const vectors *v) {
    free(v->panels);
    free(v->b);
    free(v->x);
    free(v->u);
    free(v->y);
}

#endif
