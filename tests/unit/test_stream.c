/*
 * The streams of the device's plan: their pieces, worked off here one after the other as the kernels work
 * them off, from a slot that holds what the producer brings. Numbers are integers modulo 2^64, so that both
 * sweeps must agree with the plan's own maps to the last bit; what a piece reads must have been written
 * before.
 */
#include "plan_example.h"
#include "stream_block_walk.h"

static int shares_seen;     /* bits of gsv_piece.groups of shared block rows, */
static int together_seen;   /* most block rows of a task, */
static int64_t halves_seen; /* and tasks that share columns */

static int32_t largest_seen[2]; /* numbers of a piece for one right-hand side: of block rows; of columns */

/* right-hand sides; a block of them */
enum { ONE, BLOCK };
enum { LISTED_ROWS = 256 }; /* rows of a front that a piece has lists for: two a thread */

static int32_t most_of(int32_t a, int32_t b) {
    return a > b ? a : b;
}

/* Some columns of each sixteen of a block row, which tasks that follow each other share. */
static void share_forward(walk *w, const gsv_piece *p, int first, uint64_t *sum) {
    const int32_t s = supernode_at(w->plan, p), each = GSV_TILE / p->groups, top = GSV_TILE * p->place;
    const int32_t rows = p->nr - top < GSV_TILE ? p->nr - top : GSV_TILE;
    const int32_t all = gsv_block_row_columns(p->nc, p->place), last = p->first + p->count;
    const int collects = p->left + each == GSV_TILE;
    CHECK((p->groups == 2 || p->groups == 4) && p->left == w->left &&
          p->nc > gsv_machine_default.shared_columns);
    CHECK(p->panel == w->plan->schedule->panel_ptr[s] + gsv_block_row_start(p->nc, p->place) +
                          GSV_TILE * (int64_t)(p->first + p->left));
    CHECK(p->first % GSV_TILE == 0 && p->numbers == 0 && p->a_rows == 0);
    CHECK((p->count + GSV_TILE - 1) / GSV_TILE * GSV_TILE * each <= most_numbers(w->plan));
    CHECK((p->count + GSV_TILE - 1) / GSV_TILE * each <= GSV_PIECE_ROWS);
    CHECK((int64_t)p->published + p->nc + 3 * GSV_TILE * ((p->nr + GSV_TILE - 1) / GSV_TILE) <=
          w->plan->schedule->stream.published);
    if (first)
        CHECK(p->first == 0);
    if (p->flags & GSV_PIECE_LAST)
        CHECK(last == all);
    CHECK(p->b_rows == (first && collects && top + GSV_TILE > p->nc ? rows : 0));
    w->published++;
    shares_seen |= p->groups;
    for (int32_t r = 0; r < rows; r++) {
        const int32_t i = top + r;
        if (first)
            sum[r] = p->b_rows > 0 && collects && i >= p->nc ? gather(w, p, 1, r) : 0;
        for (int32_t c = p->first + p->left; c < last && c <= i; c++)
            if (c % GSV_TILE >= p->left && c % GSV_TILE < p->left + each) {
                CHECK(*front_done(w, p, c));
                sum[r] += w->v->panels[place(w->plan, s, i, c)] * published_front(w, p, c);
            }
        if (!(p->flags & GSV_PIECE_LAST))
            continue;
        w->others[r] = sum[r] + (p->left == 0 ? 0 : w->others[r]);
        if (collects)
            finish(w, p, i, w->others[r]);
    }
    if (p->flags & GSV_PIECE_LAST)
        w->left = collects ? 0 : p->left + each;
}

/* A task of block rows: where its first and next pieces begin, what is assembled of its front, and of rows that
 * results are added to, and the sums of one or two rows. */
typedef struct row_task {
    int32_t begin, row, reached, assembled;
    uint64_t front[GSV_FOLD_COLUMNS], own[GSV_TILE * GSV_TOGETHER], sum[2 * GSV_TILE];
} row_task;

/* Columns of one block row, or all of two. */
static void rows_forward(walk *w, const gsv_piece *p, int first, row_task *t) {
    const int32_t s = supernode_at(w->plan, p), rest = p->nr - GSV_TILE * p->place;
    const int folded = !(p->flags & GSV_PIECE_PUBLISHED);
    const uint64_t *b = w->v->b + p->first_column, *panel = w->v->panels + p->panel;
    CHECK(p->kind == GSV_ROW_PIECE && p->nc > GSV_WARP_TILE_COLUMNS && w->left == 0);
    CHECK(p->panel ==
          w->plan->schedule->panel_ptr[s] + gsv_block_row_start(p->nc, p->place) + GSV_TILE * p->first);
    CHECK(folded ? p->nc <= GSV_FOLD_COLUMNS : p->nc > gsv_machine_default.shared_columns);
    CHECK((int64_t)p->published + p->nc <= w->plan->schedule->stream.published);
    CHECK(p->groups == 1 || (p->groups == 2 && folded && p->first == 0));
    CHECK(folded || p->count <= GSV_PIECE_ROWS);
    CHECK(p->a_rows <= LISTED_ROWS);
    largest_seen[0] = most_of(largest_seen[0], p->numbers);
    w->published += !folded;
    if (first) {
        t->begin = t->row = p->place;
        t->reached = t->assembled = 0;
        CHECK((p->b_rows > 0) == (folded || GSV_TILE * (p->place + 1) > p->nc));
        CHECK(p->b_rows <= GSV_TILE * (folded ? GSV_TOGETHER : 1) && p->b_rows <= rest);
        for (int32_t r = 0; r < p->b_rows; r++)
            t->own[r] = gather(w, p, 1, r);
        together_seen = p->b_rows > GSV_TILE * together_seen ? p->b_rows / GSV_TILE : together_seen;
    }
    CHECK((first || p->b_rows == 0) && p->b_first == GSV_TILE * t->begin);
    CHECK(p->place == t->row && p->first == t->reached && p->first % GSV_TILE == 0);
    CHECK(p->a_rows == 0 || (folded && p->a_first == p->first && p->a_first == t->assembled));
    for (int32_t k = 0; k < p->a_rows; k++)
        t->front[t->assembled++] = b[p->a_first + k] + gather(w, p, 0, k);
    int32_t start = 0, ended = 0; /* of this block row's numbers; whether it is complete */
    for (int32_t row = p->place; row < p->place + p->groups; row++) {
        const int32_t all = gsv_block_row_columns(p->nc, row);
        const int32_t end = p->groups == 2 ? all : p->first + p->count;
        uint64_t *sum = t->sum + GSV_TILE * (row - p->place);
        CHECK(end <= all && (row + 1 < p->place + p->groups || end == p->first + p->count));
        for (int32_t i = GSV_TILE * row; i < GSV_TILE * (row + 1) && i < p->nr; i++) {
            uint64_t *at = &sum[i % GSV_TILE];
            *at = p->first == 0 ? 0 : *at;
            for (int32_t c = p->first; c < end && c <= i; c++) {
                CHECK(folded ? c < t->assembled : *front_done(w, p, c));
                const uint64_t f = folded ? t->front[c] : published_front(w, p, c);
                *at += panel[start + GSV_TILE * (c - p->first) + i % GSV_TILE] * f;
            }
            if (end == all)
                finish(w, p, i, *at + (i < p->nc ? 0 : t->own[i - p->b_first]));
        }
        start += GSV_TILE * (end - p->first);
        ended = end == all;
    }
    CHECK(p->numbers == start);
    t->reached = ended ? 0 : p->first + p->count;
    t->row += ended ? p->groups : 0;
    CHECK(!(p->flags & GSV_PIECE_LAST) || ended);
}

static void walk_forward(walk *w, const gsv_piece_list *list, int block) {
    CHECK(list->tasks == 0 || list->task[0] == list->tasks);
    for (int32_t t = 0; t < list->tasks; t++) {
        uint64_t sum[GSV_NARROW_ROWS], front[GSV_NARROW_COLUMNS];
        row_task rows;
        int32_t reached = 0;
        CHECK(list->task[t] <= list->task[t + 1]);
        const int32_t pieces = 1 + list->task[t + 1] - list->task[t];
        for (int32_t k = 0; k < pieces; k++) {
            const gsv_piece *p = &list->piece[k == 0 ? t : list->task[t] + k - 1];
            const uint64_t *b = w->v->b + p->first_column, *panel = w->v->panels + p->panel;
            check_piece(w, p, 0);
            const gsv_piece *next = k + 1 < pieces ? &list->piece[list->task[t] + k] : NULL,
                            *before = k == 0   ? NULL
                                      : k == 1 ? &list->piece[t]
                                               : &list->piece[list->task[t] + k - 2];
            const int first = !before || follows(before, p);
            CHECK(!(p->flags & GSV_PIECE_FIRST) == !first);
            CHECK(!(p->flags & GSV_PIECE_LAST) == (next && !follows(p, next)));
            const int last = p->flags & GSV_PIECE_LAST;
            if (p->kind == GSV_NARROW_PIECE) {
                CHECK(p->first == reached && p->first % 4 == 0);
                CHECK(pieces <= 2); /* as many slots */
                reached = p->first + p->count;
                for (int32_t i = 0; i < p->nr; i++) {
                    if (k == 0) {
                        sum[i] = gather(w, p, 1, i);
                        if (i < p->nc) {
                            front[i] = b[i] + sum[i];
                            sum[i] = 0;
                        }
                    }
                    for (int32_t c = p->first; c < reached && c <= i; c++) {
                        const int32_t at =
                            gsv_narrow_column(p->nr, c) + i - (gsv_narrow_column(p->nr, p->first) + p->first);
                        CHECK(at < p->numbers);
                        sum[i] += panel[at] * front[c];
                    }
                    if (last)
                        finish(w, p, i, sum[i]);
                }
                CHECK(!last || reached == p->nc);
                CHECK(!block || !last || 8 * (p->numbers + 8 * ((p->nr + 15) / 16 * 16)) <= GSV_BLOCK_ROOM);
            } else if (p->kind == GSV_BLOCK_PIECE) {
                const int shared = p->flags & GSV_PIECE_PUBLISHED && p->shares > 1;
                reached = first ? 0 : reached;
                CHECK(shared || first ? p->first >= reached : p->first == reached);
                reached = p->first + p->count;
                if (k == 0)
                    clear_slots(w);
                const uint64_t *kept = slot_front(w, p, k, next);
                block_forward(w, p, first, kept, sum);
                CHECK(!last || shared || reached == gsv_block_row_columns(p->nc, (p->nr - 1) / GSV_TILE) ||
                      reached == gsv_block_row_columns(p->nc, p->place + p->groups - 1));
            } else if (p->kind == GSV_SHARE_PIECE) {
                CHECK((k == 0 || p->first == reached) && p->flags & GSV_PIECE_PUBLISHED);
                reached = p->first + p->count;
                share_forward(w, p, k == 0, sum);
            } else if (p->kind == GSV_TILES_PIECE) {
                CHECK(p->nc <= GSV_WARP_TILE_COLUMNS && p->count <= GSV_TILES_PER_TASK);
                for (int32_t r = 0; r < GSV_TILE * p->count && GSV_TILE * p->first + r < p->nr; r++) {
                    const int32_t i = GSV_TILE * p->first + r;
                    uint64_t total = i < p->nc ? 0 : gather(w, p, 1, r);
                    for (int32_t c = 0; c < p->nc && c <= i; c++) {
                        const int64_t at = gsv_block_row_start(p->nc, i / GSV_TILE) -
                                           gsv_block_row_start(p->nc, p->first) + GSV_TILE * c + i % GSV_TILE;
                        CHECK(at < p->numbers);
                        total += panel[at] * (b[c] + gather(w, p, 0, c));
                    }
                    finish(w, p, i, total);
                }
            } else if (p->kind == GSV_FRONT_PIECE) {
                CHECK(pieces == 1 && p->numbers == 0 && p->count == 0 && p->a_rows == 0);
                CHECK(p->b_first == GSV_TILE * p->place);
                CHECK(p->b_rows <= (block ? GSV_BLOCK_FRONT_ROWS : GSV_FRONT_ROWS));
                for (int32_t r = 0; r < p->b_rows; r++)
                    CHECK(b[p->b_first + r] + gather(w, p, 1, r) == published_front(w, p, p->b_first + r));
                publish(w, p, p->b_first, p->b_first + p->b_rows);
            } else {
                rows_forward(w, p, k == 0, &rows);
            }
        }
    }
}

static void walk_backward(walk *w, const gsv_piece_list *list, int block) {
    const gsv_plan *plan = w->plan;
    const gsv_schedule *schedule = plan->schedule;
    for (int32_t t = 0; t < list->tasks; t++) {
        uint64_t sum[16 * GSV_GROUPS] = {0};
        int32_t reached = 0, first_column = 0, columns = 0, step = 1, odd = 0;
        const int32_t pieces = 1 + list->task[t + 1] - list->task[t];
        for (int32_t k = 0; k < pieces; k++) {
            const gsv_piece *p = &list->piece[k == 0 ? t : list->task[t] + k - 1];
            const int narrow = p->kind == GSV_NARROW_PIECE;
            const int32_t s = supernode_at(plan, p);
            check_piece(w, p, 1);
            CHECK(!(p->flags & GSV_PIECE_FIRST) == (k > 0));
            CHECK(!(p->flags & GSV_PIECE_LAST) == (k + 1 < pieces));
            const int32_t left = narrow ? p->first : p->kind == GSV_BLOCK_PIECE ? 16 * p->place : p->left;
            const int32_t wide = p->kind == GSV_BLOCK_PIECE ? 16 * p->groups : p->width;
            const int32_t right = narrow ? left + p->count : left + wide < p->nc ? left + wide : p->nc;
            CHECK(narrow || (p->place == left / GSV_TILE && left % wide == 0));
            CHECK(narrow || p->kind == GSV_COLUMNS_PIECE ||
                  (p->kind == GSV_BLOCK_PIECE && p->place % p->groups == 0));
            step = p->kind == GSV_COLUMNS_PIECE ? p->groups : 1;
            odd = (p->flags & GSV_PIECE_ODD) != 0;
            const int32_t top = narrow ? 0 : GSV_TILE * p->first;
            const int32_t above = GSV_TILE * (p->first + step * (p->count - 1) + 1);
            const int32_t bottom = narrow || above > p->nr ? p->nr : above;
            CHECK(step == 1 || (step == 2 && p->width == 8 && p->count <= GSV_HALVED_ROWS &&
                                p->numbers + p->nc <= schedule->stream.published));
            CHECK(step == 2 || !odd);
            const int32_t rest = (p->nr + GSV_TILE - 1) / GSV_TILE;
            if (p->kind == GSV_BLOCK_PIECE)
                CHECK(8 * GSV_TILE * p->count * (16 * p->groups + 8) <= GSV_BLOCK_ROOM);
            CHECK(narrow ? left == reached
                         : above / GSV_TILE - 1 == (k > 0 ? reached - step : rest - 1 - odd));
            CHECK(narrow || k + 1 < pieces || p->first - p->place < step);
            CHECK(!narrow || !block || k + 1 < pieces ||
                  8 * (p->numbers + 8 * ((p->nr + 15) / 16 * 16)) <= GSV_BLOCK_ROOM);
            CHECK(p->kind != GSV_COLUMNS_PIECE || k + 1 == pieces || step == 2 || p->count % 2 == 0);
            reached = narrow ? right : p->first;
            first_column = p->first_column + (narrow ? 0 : left);
            columns = narrow ? p->nc : right - left;
            if (!narrow)
                CHECK(p->count * 16 * wide <= most_numbers(plan));
            if (p->kind == GSV_COLUMNS_PIECE) {
                CHECK(GSV_TILE * p->count <= GSV_PIECE_ROWS);
                largest_seen[1] = most_of(largest_seen[1], p->count * 16 * wide);
            }
            for (int32_t i = top; i < bottom; i++) {
                const int32_t row = plan->l.rows[plan->l.row_ptr[s] + i];
                CHECK(schedule->stream.rows[p->row + i] == w->place[row]);
                if (!(p->flags & GSV_PIECE_FAR) && (!narrow || k == 0)) {
                    CHECK(i - top < p->b_rows);
                    CHECK((int32_t)w->lists[p->b_ptr_at / 4 + i - top] == w->place[row]);
                }
                CHECK(row == plan->l.rows[plan->l.row_ptr[s] + i]);
                CHECK(i < p->nc || w->done[row]);
                if (step == 2 && (i / GSV_TILE - p->first) % 2 != 0)
                    continue; /* the other task's */
                const uint64_t v = i < p->nc ? w->v->x[p->first_column + i] : w->v->y[row];
                for (int32_t j = left; j < right && j <= i; j++)
                    sum[j - (narrow ? 0 : left)] += v * w->v->panels[place(plan, s, i, j)];
            }
        }
        CHECK(w->halves == (step == 2 && odd)); /* the second follows the first */
        w->halves = step == 2 && !odd;
        halves_seen += w->halves;
        for (int32_t j = 0; j < columns; j++) {
            if (w->halves) {
                w->half[j] = sum[j];
                continue;
            }
            sum[j] += odd ? w->half[j] : 0;
            CHECK(!w->done[first_column + j]);
            w->done[first_column + j] = 1;
            CHECK(sum[j] == w->v->y[first_column + j]);
        }
    }
}

enum { MAYBE_FAR = -1 };

/* The streams of one right-hand side, or of a block. Returns the pieces of published fronts. far: some piece
 * has lists too long for a slot, or MAYBE_FAR. */
static int64_t check_streams(const char *spec, int block, int far, cholmod_common *common) {
    testing_in("%s%s", spec, block ? ", block" : "");
    plan_example e;
    open_named(&e, spec, common);
    const gsv_plan *plan = &e.plan;
    const size_t n = (size_t)plan->l.n + 1, updates = (size_t)plan->update_ptr[plan->l.nsuper] + 1;
    const vectors v = make_vectors(plan);
    walk w = {.plan = plan,
              .v = &v,
              .done = calloc(updates, 1),
              .x_done = calloc(n, 1),
              .front_done = calloc((size_t)plan->schedule->stream.published + 1, 1),
              .place = calloc(n, sizeof *w.place),
              .rows_before = calloc((size_t)plan->l.nsuper + 1, sizeof *w.rows_before)};
    REQUIRE(w.done && w.x_done && w.front_done && w.place && w.rows_before);
    count_places(&w);
    const gsv_stream *streams = &plan->schedule->stream;
    for (int32_t s = 0; s < plan->l.nsuper && block; s++) {
        if (!plan->schedule->limbs.in[s]) /* else a limb has it */
            continue;
        memset(w.x_done + plan->l.first_column[s], 1, (size_t)gsv_columns(plan, s));
        memset(w.done + plan->schedule->update_place[s], 1, (size_t)gsv_updates(plan, s));
    }
    walk_forward(&w, block ? &streams->block_forward : &streams->forward, block);
    CHECK(w.left == 0 && w.share == 0);
    int64_t columns = 0, upper = 0;
    for (int32_t s = 0; s < plan->l.nsuper; s++)
        upper += plan->schedule->branches.of[s] < 0 ? gsv_columns(plan, s) : 0;
    for (int32_t i = 0; i < plan->l.n; i++)
        columns += w.x_done[i];
    CHECK(columns == upper);
    for (int64_t k = 0; k < plan->schedule->upper_updates; k++)
        CHECK(w.done[k]);
    CHECK(far == MAYBE_FAR || (w.far > 0) == far);
    free(w.done);
    w.done = calloc(n, 1);
    REQUIRE(w.done);
    walk_backward(&w, block ? &streams->block_backward : &streams->backward, block);
    for (int32_t i = 0; i < plan->l.n; i++)
        CHECK(w.done[i] == w.x_done[i]);
    CHECK((upper > 0) == (w.pieces > 0));
    free(w.done);
    free(w.x_done);
    free(w.front_done);
    free(w.place);
    free(w.rows_before);
    free_vectors(&v);
    close_example(&e, common);
    return w.published;
}

static int64_t check_matrix(const char *spec, int far, cholmod_common *common) {
    const int64_t one = check_streams(spec, ONE, far, common),
                  several = check_streams(spec, BLOCK, far, common);
    CHECK(one == 0 || several > 0);
    return one;
}

static void check_random(const char *spec, cholmod_common *common) {
    plan_example e;
    open_named(&e, spec, common);
    const int has_block = e.plan.schedule->stream.block_columns > 0;
    close_example(&e, common);
    check_streams(spec, ONE, MAYBE_FAR, common);
    if (has_block)
        check_streams(spec, BLOCK, MAYBE_FAR, common);
}

/* Groups of right-hand sides side by side: fewer of larger factors, and none of large ones. */
static void check_side(void) {
    cholmod_common common;
    cholmod_start(&common);
    common.nmethods = 1;
    common.method[0].ordering = CHOLMOD_METIS;
    static const struct {
        const char *spec;
        int groups;
    } cases[] = {{"grid3d:14", 8},  {"elasticity3d:9", 8}, {"grid3d:25", 4},
                 {"grid2d:200", 4}, {"grid2d:300", 3},     {"shell:70", 3},
                 {"grid3d:36", 1},  {"shell:100", 1},      {"diag:900", 8}};
    for (size_t k = 0; k < sizeof cases / sizeof *cases; k++) {
        plan_example e;
        testing_in("%s, side by side", cases[k].spec);
        open_example(&e, testing_load(cases[k].spec, &common), &common);
        CHECK(e.plan.schedule->stream.side == cases[k].groups);
        close_example(&e, &common);
    }
    tuning.groups = 2;
    plan_example e;
    open_example(&e, testing_load("grid3d:14", &common), &common);
    CHECK(e.plan.schedule->stream.side == 2);
    close_example(&e, &common);
    tuning.groups = GSV_SIDE;
    cholmod_finish(&common);
}

/* Panels of floats, whose pieces for one right-hand side are larger. */
static void check_floats(cholmod_common *common) {
    static const char *const specs[] = {"forest:2000", "arrow:300,20,7", "grid3d:26", "shell:90",
                                        "elasticity3d:20"};
    plan_floats = 1;
    with_random(20, check_random, common);
    for (size_t k = 0; k < sizeof specs / sizeof *specs; k++)
        check_streams(specs[k], ONE, 0, common);
    plan_floats = 0;
}

int main(void) {
    cholmod_common common;
    cholmod_start(&common);
    check_side();
    with_random(20, check_random, &common);
    tuning.half_tasks = tuning.halved_tasks = 0;
    check_floats(&common);
    tuning.half_tasks = gsv_machine_default.half_tasks;
    tuning.halved_tasks = gsv_machine_default.halved_tasks;
    tuning.block_least = tuning.limb_most = 0;
    with_random(160, check_random, &common);
    /* what is counted below is that of matrices */
    shares_seen = together_seen = most_shares = block_together_seen = kept_seen = widest_folded = 0;
    halves_seen = groups_seen[0] = groups_seen[1] = 0;
    check_matrix("diag:1", 0, &common);
    check_matrix("tridiag:3000", 0, &common);
    check_matrix("forest:2000", 0, &common);
    check_matrix("grid2d:30", 0, &common);
    check_matrix("grid2d:90", 0, &common);
    check_matrix("grid3d:9", 0, &common);
    check_matrix("grid3d:14", 0, &common);
    check_matrix("arrow:300,20,7", 0, &common);
    check_matrix("arrow:5000,0,4", 1, &common); /* one front with very many children */
    check_matrix("elasticity3d:9", 0, &common);
    CHECK(check_matrix("grid3d:26", 0, &common) > 0);
    check_matrix("grid2d:300", 0, &common);
    check_matrix("shell:90", 0, &common);
    CHECK(together_seen == 1 && block_together_seen == 0);
    CHECK(widest_folded > 0 && widest_folded <= GSV_BLOCK_FOLD_COLUMNS);
    check_matrix("elasticity3d:20", 0, &common);
    CHECK(shares_seen == (2 | 4) && halves_seen > 0 && most_shares > 2);
    tuning.together_tasks = tuning.block_together_tasks = tuning.large_stream = 0;
    check_matrix("grid3d:14", 0, &common);
    check_matrix("grid2d:300", 0, &common);
    check_matrix("elasticity3d:12", 0, &common);
    check_matrix("grid3d:26", 0, &common);
    CHECK(together_seen == GSV_TOGETHER);
    check_floats(&common);
    CHECK(largest_seen[0] == GSV_PIECE_FLOATS && largest_seen[1] == GSV_PIECE_FLOATS);
    check_matrix("elasticity3d:20", 0, &common);
    check_streams("shell:150", BLOCK, 0, &common);
    CHECK(block_together_seen == GSV_BLOCK_TOGETHER && widest_folded > GSV_BLOCK_FOLD_COLUMNS);
    CHECK(kept_seen == (COPIED | IN_PLACE | OF_TWO));
    CHECK(groups_seen[0] == (1 | 2 | 4) && groups_seen[1] == (1 | 2 | 4));
    tuning.limb_most =
        gsv_machine_default.limb_most; /* the block's forward stream is what is above the limbs */
    check_matrix("forest:2000", 0, &common);
    check_matrix("elasticity3d:12", 0, &common);
    check_matrix("grid3d:26", 0, &common);
    check_streams("shell:90", BLOCK, 0, &common);
    check_streams("elasticity3d:20", BLOCK, 0, &common);
    cholmod_finish(&common);
    return testing_done();
}
