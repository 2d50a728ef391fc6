/*
 * What walks over the two sweeps' streams share (test_stream.c): a slot that holds what the producer brings, and
 * what has been written so far.
 */
#ifndef GSV_STREAM_WALK_H
#define GSV_STREAM_WALK_H

#include "stream_reference.h"
#include "supernodal/schedule/schedule.h"
#include "testing.h"

static int groups_seen[2]; /* forward, backward: bits of the gsv_piece.groups of blocks of right-hand sides */

/* What a slot has of a front: columns of a supernode. */
typedef struct kept_front {
    int32_t first_column, first, count; /* count: -1, nothing */
    uint64_t front[GSV_BLOCK_LARGE_FOLD_COLUMNS];
} kept_front;

/* A slot, and what the stream has written so far. */
typedef struct walk {
    const gsv_plan *plan;
    const vectors *v;
    uint32_t lists[GSV_PIECE_LISTS / 4];
    unsigned char *done; /* forward: update places; backward: columns */
    unsigned char *x_done;
    unsigned char *front_done;        /* rows of published fronts */
    int32_t *place;                   /* of a column among the upper tree's */
    int64_t *rows_before;             /* of the upper tree, before a supernode's */
    int64_t pieces, far, published;   /* so many of them, with lists too long, and with published fronts */
    uint64_t others[GSV_TILE];        /* what the tasks before have for a shared block row, */
    int32_t left;                     /* and where the next one begins */
    uint64_t shared[16 * GSV_GROUPS]; /* likewise for what several tasks of a block share, */
    int32_t share;                    /* and which of them is next */
    int64_t sums;                     /* end of the sums that have been placed */
    kept_front slot[2];               /* of a task of a block: the fronts in a ring's two slots, */
    int together;                     /* and its groups of block rows so far */
    uint64_t half[8];                 /* likewise for shared columns, */
    int halves;                       /* one of which has come */
} walk;

/* Bring count 32-bit numbers from `from` + start to byte `at` of the slot's lists. */
static void bring(walk *w, const void *from, int64_t start, int64_t count, int at) {
    if (count == 0)
        return;
    CHECK(at % 16 == start % 4 * 4);
    REQUIRE(at % 4 == 0 && at + 4 * count <= GSV_PIECE_LISTS);
    for (int64_t k = 0; k < count; k++) {
        CHECK(w->lists[at / 4 + k] == UINT32_MAX); /* nothing is there yet */
        w->lists[at / 4 + k] = ((const uint32_t *)from)[start + k];
    }
}

static uint64_t gather(walk *w, const gsv_piece *p, int b, int32_t k) {
    const gsv_schedule *schedule = w->plan->schedule;
    const int far = p->flags & GSV_PIECE_FAR;
    const uint32_t *ptr = far ? schedule->gather_ptr + p->row + (b ? p->b_first : p->a_first)
                              : w->lists + (b ? p->b_ptr_at : p->a_ptr_at) / 4;
    const uint32_t *list = far ? schedule->gather : w->lists + (b ? p->b_gather_at : p->a_gather_at) / 4;
    const uint32_t base = far ? 0 : b ? p->b_gather : p->a_gather;
    uint64_t sum = 0;
    CHECK(k < (b ? p->b_rows : p->a_rows));
    for (uint32_t at = ptr[k]; at < ptr[k + 1]; at++) {
        const uint32_t u = list[at - base];
        if (CHECK((int64_t)u < w->plan->update_ptr[w->plan->l.nsuper])) {
            CHECK(w->done[u] || u >= schedule->upper_updates);
            sum += w->v->u[u];
        }
    }
    return sum;
}

static int32_t supernode_at(const gsv_plan *plan, const gsv_piece *p) {
    int32_t s = 0;
    while (plan->l.first_column[s] != p->first_column)
        s++;
    return s;
}

/* Where the upper tree's columns and rows stand, by counting. */
static void count_places(walk *w) {
    const gsv_plan *plan = w->plan;
    int32_t columns = 0;
    int64_t rows = 0;
    for (int32_t s = 0; s < plan->l.nsuper; s++) {
        const int upper = plan->schedule->branches.of[s] < 0;
        w->rows_before[s] = rows;
        rows += upper ? gsv_rows(plan, s) : 0;
        for (int32_t j = plan->l.first_column[s]; j < plan->l.first_column[s + 1]; j++)
            w->place[j] = upper ? columns++ : -1;
    }
    CHECK(rows == plan->schedule->stream.nrows && columns == plan->schedule->stream.columns);
}

static int32_t most_numbers(const gsv_plan *plan) {
    return plan->floats ? GSV_PIECE_FLOATS : GSV_PIECE_NUMBERS;
}

static void check_piece(walk *w, const gsv_piece *p, int backward) {
    const gsv_plan *plan = w->plan;
    const gsv_schedule *schedule = plan->schedule;
    const int32_t s = supernode_at(plan, p);
    CHECK(schedule->branches.of[s] < 0 && p->nr == gsv_rows(plan, s) && p->nc == gsv_columns(plan, s));
    CHECK(p->update == (uint32_t)schedule->update_place[s]);
    CHECK(p->row == (backward ? w->rows_before[s] : schedule->row_place[s]));
    if (backward)
        CHECK((int32_t)p->published == w->place[p->first_column]);
    CHECK(p->count >= (p->kind == GSV_FRONT_PIECE ? 0 : 1) &&
          (p->kind == GSV_COLUMNS_PIECE || p->kind == GSV_BLOCK_PIECE || p->numbers <= most_numbers(plan)));
    CHECK((p->kind == GSV_NARROW_PIECE) == gsv_is_narrow(p->nr, p->nc));
    w->pieces++;
    w->far += (p->flags & GSV_PIECE_FAR) != 0;
    groups_seen[backward] |= p->kind == GSV_BLOCK_PIECE ? p->groups : 0;
    memset(w->lists, 0xff, sizeof w->lists);
    if (p->flags & GSV_PIECE_FAR)
        return;
    if (backward) {
        bring(w, schedule->stream.rows, p->row + p->b_first, p->b_rows, p->b_ptr_at);
    } else {
        if (p->a_rows > 0)
            bring(w, schedule->gather_ptr, p->row + p->a_first, p->a_rows + 1, p->a_ptr_at);
        bring(w, schedule->gather, p->a_gather, p->a_gathers, p->a_gather_at);
        if (p->b_rows > 0)
            bring(w, schedule->gather_ptr, p->row + p->b_first, p->b_rows + 1, p->b_ptr_at);
        bring(w, schedule->gather, p->b_gather, p->b_gathers, p->b_gather_at);
    }
}

/* Result row i of a supernode. */
static void finish(walk *w, const gsv_piece *p, int32_t i, uint64_t sum) {
    if (i < p->nc) {
        CHECK(!w->x_done[p->first_column + i]);
        w->x_done[p->first_column + i] = 1;
        CHECK(sum == w->v->x[p->first_column + i]);
    } else {
        const int64_t u = (int64_t)p->update + i - p->nc;
        CHECK(!w->done[u] && u < w->plan->schedule->upper_updates);
        w->done[u] = 1;
        CHECK(sum == w->v->u[u]);
    }
}

static unsigned char *front_done(const walk *w, const gsv_piece *p, int32_t c) {
    return &w->front_done[(int64_t)p->published + c];
}

/* Rows first .. end - 1 of a front are published, once. */
static void publish(walk *w, const gsv_piece *p, int32_t first, int32_t end) {
    CHECK(p->kind == GSV_FRONT_PIECE && p->flags & GSV_PIECE_PUBLISHED);
    for (int32_t c = first; c < end && c < p->nc; c++) {
        CHECK(!*front_done(w, p, c));
        *front_done(w, p, c) = 1;
    }
}

/* What the children owe column c of a wide supernode whose fronts are published, and the right-hand side. */
static uint64_t published_front(const walk *w, const gsv_piece *p, int32_t c) {
    const uint32_t *ptr = w->plan->schedule->gather_ptr + p->row + c;
    uint64_t f = w->v->b[p->first_column + c];
    for (uint32_t g = ptr[0]; g < ptr[1]; g++)
        f += w->v->u[w->plan->schedule->gather[g]];
    return f;
}

#endif
