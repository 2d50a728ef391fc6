/*
 * Template (instantiate_host.h): forward and backward substitution over the tree, GSV_COLUMNS columns side by
 * side. Operation, order and waits are described in host/executor.c.
 */
#include "../../../dense_kernels/numbers_host.h"
#if GSV_COLUMNS == 1
#include "../../../trsv/trsv_host.h"
#else
#include "../../../trsm/host/trsm_host.h"
#endif
#if !GSV_MIXED
#include "../../../dense_kernels/pack_host.h"
#endif

/* Where a supernode's numbers and vectors are. */
typedef struct GSV_FN(front) {
    int32_t first, nc, m; /* first column, columns, rows below */
    const GSV_PANEL *l;   /* its panel, packed, or the caller's (run->in_place) */
    GSV_REAL *y, *u;      /* rows of its columns, its update vector */
} GSV_FN(front);

GSV_INLINE GSV_FN(front) GSV_FN(front_of)(const gsv_host_run *run, int32_t s) {
    const gsv_plan *plan = run->plan;
    GSV_FN(front) f;
    f.first = plan->l.first_column[s];
    f.nc = plan->l.first_column[s + 1] - f.first;
    f.m = (int32_t)(plan->update_ptr[s + 1] - plan->update_ptr[s]);
    f.l = (const GSV_PANEL *)run->values + run->start[s];
    f.y = (GSV_REAL *)run->y + (int64_t)f.first * GSV_ROW;
    f.u = (GSV_REAL *)run->u + run->tree->offset[s] * GSV_ROW;
    return f;
}

/* Where packed block j keeps row i of the front, i past the block's own. */
GSV_INLINE const GSV_PANEL *GSV_FN(packed_row)(const GSV_FN(front) * f, int32_t j, int32_t i) {
    const int32_t w = gsv_block_width(f->nc, j), end = j * GSV_BLOCK + w;
    const int64_t at = gsv_block_start(f->nc, f->m, j);
    return f->l + GSV_PARTS * (at + (i < f->nc ? gsv_triangle_size(w) + (int64_t)(i - end) * w
                                               : gsv_block_below(f->nc, j) + (int64_t)(i - f->nc) * w));
}

#if !GSV_MIXED
#include "aside.h"
#endif

GSV_INLINE void GSV_FN(solve_block)(const gsv_host_run *run, const GSV_FN(front) * f, int32_t j, int trans) {
    const GSV_PANEL *l = f->l + gsv_block_start(f->nc, f->m, j) * GSV_PARTS;
    GSV_REAL *y = f->y + (int64_t)j * GSV_BLOCK * GSV_ROW;
#if GSV_MIXED
    (void)run;
#else
    if (run->in_place)
        GSV_FN(solve_aside)(f, j, trans);
    else
#endif
    if (trans)
        GSV_FN(solve_trans)(l, gsv_block_width(f->nc, j), y);
    else
        GSV_FN(solve)(l, gsv_block_width(f->nc, j), y);
}

GSV_INLINE void GSV_FN(apply_piece)(const gsv_host_run *run, const GSV_FN(front) * f, int32_t j, int32_t i,
                                    int32_t rows, GSV_REAL *u, int fresh) {
    const GSV_REAL *y = f->y + (int64_t)j * GSV_BLOCK * GSV_ROW;
#if GSV_MIXED
    (void)run;
#else
    if (run->in_place)
        GSV_FN(apply_aside)(f, j, i, rows, u, fresh);
    else
#endif
    GSV_FN(apply)(GSV_FN(packed_row)(f, j, i), rows, gsv_block_width(f->nc, j), y, u, fresh);
}

GSV_INLINE void GSV_FN(apply_piece_trans)(const gsv_host_run *run, const GSV_FN(front) * f, int32_t j,
                                          int32_t i, int32_t rows, const GSV_REAL *x, const int32_t *map) {
    GSV_REAL *y = f->y + (int64_t)j * GSV_BLOCK * GSV_ROW;
#if GSV_MIXED
    (void)run;
#else
    if (run->in_place)
        GSV_FN(apply_trans_aside)(f, j, i, rows, x, map);
    else
#endif
    GSV_FN(apply_trans)(GSV_FN(packed_row)(f, j, i), rows, gsv_block_width(f->nc, j), x, map, y);
}

/* Move `count` columns of rows [begin, end), columns of b or x from c on. With `ahead`, the row GSV_ROWS_AHEAD after the one that is
 * moved is asked for. */
GSV_INLINE void GSV_FN(load_columns)(const gsv_host_run *run, int32_t begin, int32_t end, const int count,
                                     int32_t c, const int ahead) {
    const int32_t *perm = run->perm_in, last = run->plan->l.n - 1;
    const int64_t row = run->b_row * GSV_PARTS, step = run->b_col * GSV_PARTS;
    const GSV_REAL *b = (const GSV_REAL *)run->b + c * step;
    GSV_REAL *y = (GSV_REAL *)run->y + (int64_t)begin * GSV_ROW + c;
    for (int32_t i = begin; i < end; i++, y += GSV_ROW) {
        const GSV_REAL *bi = b + (perm ? perm[i] : i) * row;
        if (ahead) {
            const int32_t next = i + GSV_ROWS_AHEAD < last ? i + GSV_ROWS_AHEAD : last;
            const GSV_REAL *soon = b + (perm ? perm[next] : next) * row;
            for (int k = 0; k < count; k++)
                __builtin_prefetch(soon + k * step);
        }
        for (int k = 0; k < count; k++)
            for (int part = 0; part < GSV_PARTS; part++)
                y[part * GSV_COLUMNS + k] = bi[k * step + part];
    }
}

GSV_INLINE void GSV_FN(store_columns)(const gsv_host_run *run, int32_t begin, int32_t end, const int count,
                                      int32_t c, const int ahead) {
    const int32_t *perm = run->perm_out;
    const int64_t row = run->x_row * GSV_PARTS, step = run->x_col * GSV_PARTS;
    GSV_REAL *x = (GSV_REAL *)run->x + c * step;
    const GSV_REAL *y = (const GSV_REAL *)run->y + (int64_t)begin * GSV_ROW + c;
    for (int32_t i = begin; i < end; i++, y += GSV_ROW) {
        GSV_REAL *xi = x + (perm ? perm[i] : i) * row;
        if (ahead) {
            const int32_t next = i + GSV_ROWS_AHEAD < end ? i + GSV_ROWS_AHEAD : end - 1;
            GSV_REAL *soon = x + (perm ? perm[next] : next) * row;
            for (int k = 0; k < count; k++)
                __builtin_prefetch(soon + k * step, 1);
        }
        for (int k = 0; k < count; k++)
            for (int part = 0; part < GSV_PARTS; part++)
                xi[k * step + part] = y[part * GSV_COLUMNS + k];
    }
}

/*
 * y(i) = b(perm(i)); columns that do not exist are zero. Several columns of a row at a time: the rows of a
 * subtree are neighbours in b, too, more often than not, and a line of y is written at once.
 */
static void GSV_FN(load_y)(const gsv_host_run *run, int32_t begin, int32_t end) {
    const int32_t cols = GSV_COLUMNS == 1 ? 1 : run->cols;
    int32_t c = 0;
    if (GSV_COLUMNS == 1 && run->plan->l.n <= GSV_ROWS_NEAR) {
        GSV_FN(load_columns)(run, begin, end, 1, 0, 0);
        return;
    }
    if (cols < GSV_COLUMNS)
        memset((GSV_REAL *)run->y + (int64_t)begin * GSV_ROW, 0,
               (size_t)(end - begin) * GSV_ROW * sizeof(GSV_REAL));
    for (; c + GSV_COLUMNS_AT_ONCE <= cols; c += GSV_COLUMNS_AT_ONCE)
        GSV_FN(load_columns)(run, begin, end, GSV_COLUMNS_AT_ONCE, c, 1);
    for (; c < cols; c++)
        GSV_FN(load_columns)(run, begin, end, 1, c, 1);
}

/* x(perm(i)) = y(i), in the same order */
static void GSV_FN(store_y)(const gsv_host_run *run, int32_t begin, int32_t end) {
    const int32_t cols = GSV_COLUMNS == 1 ? 1 : run->cols;
    int32_t c = 0;
    if (GSV_COLUMNS == 1 && run->plan->l.n <= GSV_ROWS_NEAR) {
        GSV_FN(store_columns)(run, begin, end, 1, 0, 0);
        return;
    }
    for (; c + GSV_COLUMNS_AT_ONCE <= cols; c += GSV_COLUMNS_AT_ONCE)
        GSV_FN(store_columns)(run, begin, end, GSV_COLUMNS_AT_ONCE, c, 1);
    for (; c < cols; c++)
        GSV_FN(store_columns)(run, begin, end, 1, c, 1);
}

/* y(i) = y(i) / d(i) */
static void GSV_FN(scale_y)(const gsv_host_run *run, int32_t begin, int32_t end) {
    for (int32_t i = begin; i < end; i++) {
        const GSV_REAL d = ((const GSV_REAL *)run->d)[i];
        GSV_REAL *y = (GSV_REAL *)run->y + (int64_t)i * GSV_ROW;
        for (int c = 0; c < GSV_ROW; c++)
            y[c] /= d;
    }
}

static void GSV_FN(store_scaled_y)(const gsv_host_run *run, int32_t begin, int32_t end) {
    if (run->d && (run->steps & GSV_SCALE))
        GSV_FN(scale_y)(run, begin, end);
    GSV_FN(store_y)(run, begin, end);
}

GSV_INLINE void GSV_FN(add_row)(GSV_REAL *to, const GSV_REAL *from) {
    for (int c = 0; c < GSV_ROW; c++)
        to[c] += from[c];
}

/* Add to rows [from, to) of the front of s what its children owe it, in ascending order of the children. */
GSV_INLINE void GSV_FN(assemble)(const gsv_host_run *run, int32_t s, const GSV_FN(front) * f, int32_t from,
                                 int32_t to) {
    const gsv_plan *plan = run->plan;
    const int whole = from == 0 && to == f->nc + f->m;
    GSV_REAL *below = f->u - (int64_t)f->nc * GSV_ROW;
    for (int32_t k = plan->child_ptr[s]; k < plan->child_ptr[s + 1]; k++) {
        const int32_t c = plan->child[k];
        const int32_t *map = plan->update_map + plan->update_ptr[c];
        const int32_t count = (int32_t)(plan->update_ptr[c + 1] - plan->update_ptr[c]);
        int32_t i = whole ? 0 : gsv_find_row(map, 0, count, from);
        const int32_t end = whole ? count : gsv_find_row(map, i, count, to);
        const GSV_REAL *u = (const GSV_REAL *)run->u + run->tree->offset[c] * GSV_ROW;
        for (; i < end; i++) { /* one loop, without a branch: there are often but four rows */
            GSV_REAL *front = map[i] < f->nc ? f->y : below;
            GSV_FN(add_row)(front + (int64_t)map[i] * GSV_ROW, u + (int64_t)i * GSV_ROW);
        }
    }
}

GSV_INLINE void GSV_FN(clear_rows)(GSV_REAL *u, int32_t rows) {
    memset(u, 0, (size_t)rows * GSV_ROW * sizeof *u);
}

#if GSV_COLUMNS == 1 && !GSV_COMPLEX
/* A leaf of one column and fewer rows below is a line. */
#define GSV_LEAF_ROWS (GSV_BAND_VECTORS * GSV_LANES)

/* y = y / l, u = -L2 y. On a grid more than half of all supernodes are such leaves. */
GSV_INLINE void GSV_FN(forward_leaf)(const gsv_host_run *run, const GSV_FN(front) * f) {
    const GSV_REAL l = (GSV_REAL)f->l[0], x = *f->y * (run->in_place ? 1 / l : l);
    *f->y = x;
    for (int32_t i = 0; i < f->m; i++)
        f->u[i] = GSV_FN(plus_real)(0, -(GSV_REAL)f->l[1 + i], x);
}

/* y = (y - L2' x) / l. The sums, one a lane, stay in a register. */
GSV_INLINE void GSV_FN(backward_leaf)(const gsv_host_run *run, const int32_t *rows, const GSV_FN(front) * f) {
    const GSV_REAL *x = run->y, diagonal = (GSV_REAL)f->l[0];
    const GSV_PANEL *l = f->l + 1;
    GSV_FN(vec) sum = {0};
    int32_t i = 0;
    for (; i + GSV_LANES <= f->m; i += GSV_LANES) {
        const GSV_FN(vec) part = GSV_FN(get_panel)(l + i);
        const GSV_FN(num) there = GSV_FN(gather)(x, rows + i, GSV_LANES);
        GSV_FN(fuse_plus)(&sum, &part, &there.re);
    }
    if (i < f->m) {
        const GSV_FN(vec) part = GSV_FN(get_some_panel)(l + i, f->m - i);
        const GSV_FN(num) there = GSV_FN(gather)(x, rows + i, f->m - i);
        GSV_FN(fuse_plus)(&sum, &part, &there.re);
    }
    for (int step = 1; step < GSV_LANES; step *= 2)
        for (int p = 0; p < GSV_LANES; p += 2 * step)
            sum[p] += sum[p + step];
    *f->y = (*f->y - sum[0]) * (run->in_place ? 1 / diagonal : diagonal);
}
#endif

/* A supernode of a subtree, its rows of b in y: assemble, then block after block y = L1 \ y, later rows -= L2
 * y. */
GSV_INLINE void GSV_FN(forward_supernode)(const gsv_host_run *run, int32_t s) {
    const GSV_FN(front) f = GSV_FN(front_of)(run, s);
    const int leaf = run->plan->child_ptr[s] == run->plan->child_ptr[s + 1];
#ifdef GSV_LEAF_ROWS
    if (leaf && f.nc == 1 && f.m < GSV_LEAF_ROWS) {
        GSV_FN(forward_leaf)(run, &f);
        return;
    }
#endif
    if (!leaf) {
        GSV_FN(clear_rows)(f.u, f.m);
        GSV_FN(assemble)(run, s, &f, 0, f.nc + f.m);
    }
    for (int32_t j = 0, end; (end = j * GSV_BLOCK) < f.nc; j++) {
        end += gsv_block_width(f.nc, j);
        GSV_FN(solve_block)(run, &f, j, 0);
        if (end < f.nc)
            GSV_FN(apply_piece)(run, &f, j, end, f.nc - end, f.y + (int64_t)end * GSV_ROW, 0);
        if (f.m > 0)
            GSV_FN(apply_piece)(run, &f, j, f.nc, f.m, f.u, leaf && j == 0);
    }
}

static void GSV_FN(forward_task)(const gsv_host_run *run, int32_t task) {
    const gsv_subtrees *tree = run->tree;
    const int32_t end = tree->task_ptr[task + 1], *column = run->plan->l.first_column;
    for (int32_t i = tree->task_ptr[task], loaded = i; i < end; i++) {
        if (i == loaded) { /* the rows of the next supernodes, as long as they are neighbours */
            const int32_t first = column[tree->order[i]];
            int32_t rows = 0;
            for (; loaded < end && rows < GSV_ROWS_AT_ONCE / GSV_COLUMNS &&
                   column[tree->order[loaded]] == first + rows;
                 loaded++)
                rows = column[tree->order[loaded] + 1] - first;
            GSV_FN(load_y)(run, first, first + rows);
        }
        GSV_FN(forward_supernode)(run, tree->order[i]);
    }
    gsv_raise(&run->signals[tree->top_blocks + task].done, run->number);
}

/* A path from supernode s up: each waits for its children that are not on the path. */
static void GSV_FN(forward_path)(const gsv_host_run *run, int32_t s) {
    const gsv_plan *plan = run->plan;
    const int32_t *column = plan->l.first_column, *inner = run->tree->path_child[GSV_UP];
    for (;;) {
        gsv_signal *signals = run->signals + run->tree->signal[s];
        const int32_t parent = plan->parent[s];
        for (int32_t k = plan->child_ptr[s]; k < plan->child_ptr[s + 1]; k++)
            if (plan->child[k] != inner[s])
                gsv_wait(run, &run->signals[run->tree->signal[plan->child[k]]].done);
        GSV_FN(load_y)(run, column[s], column[s + 1]);
        GSV_FN(forward_supernode)(run, s);
        if (parent < 0)
            gsv_raise(&signals[gsv_block_count(column[s + 1] - column[s]) - 1].forward, run->number);
        if (parent < 0 || inner[parent] != s) {
            gsv_raise(&signals->done, run->number);
            return;
        }
        s = parent;
    }
}

/* One column block of a supernode of the top, or one row tile of its update vector; or a path. */
static void GSV_FN(forward_step)(const gsv_host_run *run, gsv_step step) {
    if (step.part == GSV_WHOLE_PATH) {
        GSV_FN(forward_path)(run, step.s);
        return;
    }
    const gsv_plan *plan = run->plan;
    const int32_t s = step.s;
    const GSV_FN(front) f = GSV_FN(front_of)(run, s);
    const int32_t blocks = gsv_block_count(f.nc), tile = step.part - blocks;
    gsv_signal *signals = run->signals + run->tree->signal[s];
    for (int32_t k = plan->child_ptr[s]; k < plan->child_ptr[s + 1]; k++)
        gsv_wait(run, &run->signals[run->tree->signal[plan->child[k]]].done);

    if (tile < 0) {
        const int32_t begin = step.part * GSV_BLOCK, w = gsv_block_width(f.nc, step.part);
        GSV_REAL *y = f.y + (int64_t)begin * GSV_ROW;
        GSV_FN(load_y)(run, f.first + begin, f.first + begin + w);
        GSV_FN(assemble)(run, s, &f, begin, begin + w);
        for (int32_t j = 0; j < step.part; j++) {
            gsv_wait(run, &signals[j].forward);
            GSV_FN(apply_piece)(run, &f, j, begin, w, y, 0);
        }
        GSV_FN(solve_block)(run, &f, step.part, 0);
        gsv_raise(&signals[step.part].forward, run->number);
        return;
    }

    const int32_t begin = tile * GSV_ROW_TILE, rows = f.m - begin < GSV_ROW_TILE ? f.m - begin : GSV_ROW_TILE;
    GSV_REAL *u = f.u + (int64_t)begin * GSV_ROW;
    GSV_FN(clear_rows)(u, rows);
    GSV_FN(assemble)(run, s, &f, f.nc + begin, f.nc + begin + rows);
    for (int32_t j = 0; j < blocks; j++) {
        gsv_wait(run, &signals[j].forward);
        GSV_FN(apply_piece)(run, &f, j, f.nc + begin, rows, u, 0);
    }
    const uint32_t tiles = (uint32_t)((f.m + GSV_ROW_TILE - 1) / GSV_ROW_TILE);
    if (atomic_fetch_add_explicit(&signals->tiles, 1, memory_order_acq_rel) + 1 == tiles) {
        atomic_store_explicit(&signals->tiles, 0, memory_order_relaxed);
        gsv_raise(&signals->done, run->number);
    }
}

/* Column block j of a supernode: y = L1' \ (D \ y - L2' x), read from its last byte to its first. In the top
 * the blocks to its right are awaited. */
GSV_INLINE void GSV_FN(backward_block)(const gsv_host_run *run, int32_t s, const GSV_FN(front) * f, int32_t j,
                                       int top) {
    const int32_t blocks = gsv_block_count(f->nc), w = gsv_block_width(f->nc, j), begin = j * GSV_BLOCK;
    const int32_t *rows = run->plan->l.rows + run->plan->l.row_ptr[s] + f->nc;
    gsv_signal *signals = run->signals + run->tree->signal[s];
    if (run->d && (run->steps & GSV_SCALE))
        GSV_FN(scale_y)(run, f->first + begin, f->first + begin + w);
    for (int32_t end = f->m; end > 0;) {
        const int32_t i = (end - 1) / GSV_ROW_TILE * GSV_ROW_TILE;
        GSV_FN(apply_piece_trans)(run, f, j, f->nc + i, end - i, run->y, rows + i);
        end = i;
    }
    for (int32_t i = blocks - 1; i > j; i--) {
        if (top)
            gsv_wait(run, &signals[i].backward);
        GSV_FN(apply_piece_trans)
        (run, f, j, i * GSV_BLOCK, gsv_block_width(f->nc, i), f->y + (int64_t)i * GSV_BLOCK * GSV_ROW, NULL);
    }
    GSV_FN(solve_block)(run, f, j, 1);
}

/* Wait for all that backward substitution at s reads: its parent, or for a root its own forward substitution.
 */
GSV_INLINE void GSV_FN(wait_above)(const gsv_host_run *run, int32_t s) {
    const int32_t parent = run->plan->parent[s], signal = run->tree->signal[s];
    if (parent >= 0)
        gsv_wait(run, &run->signals[run->tree->signal[parent]].backward);
    else if (run->steps & GSV_FORWARD)
        gsv_wait(run, signal < run->tree->top_blocks
                          ? &run->signals[signal + gsv_block_count(gsv_columns(run->plan, s)) - 1].forward
                          : &run->signals[signal].done);
}

GSV_INLINE void GSV_FN(backward_supernode)(const gsv_host_run *run, int32_t s, const GSV_FN(front) * f) {
#ifdef GSV_LEAF_ROWS
    if (f->nc == 1 && f->m < GSV_LEAF_ROWS) {
        if (run->d && (run->steps & GSV_SCALE))
            GSV_FN(scale_y)(run, f->first, f->first + 1);
        GSV_FN(backward_leaf)(run, run->plan->l.rows + run->plan->l.row_ptr[s] + 1, f);
        return;
    }
#endif
    for (int32_t j = gsv_block_count(f->nc) - 1; j >= 0; j--)
        GSV_FN(backward_block)(run, s, f, j, 0);
}

/* A path from supernode s down. */
static void GSV_FN(backward_path)(const gsv_host_run *run, int32_t s) {
    const int32_t *children = run->plan->child_ptr, *inner = run->tree->path_child[GSV_DOWN];
    GSV_FN(wait_above)(run, s);
    for (; s >= 0; s = inner[s]) {
        const GSV_FN(front) f = GSV_FN(front_of)(run, s);
        GSV_FN(backward_supernode)(run, s, &f);
        GSV_FN(store_y)(run, f.first, f.first + f.nc);
        if (inner[s] < 0 || children[s + 1] - children[s] > 1) /* someone may be waiting */
            gsv_raise(&run->signals[run->tree->signal[s]].backward, run->number);
    }
}

static void GSV_FN(backward_step)(const gsv_host_run *run, gsv_step step) {
    if (step.part == GSV_WHOLE_PATH) {
        GSV_FN(backward_path)(run, step.s);
        return;
    }
    const GSV_FN(front) f = GSV_FN(front_of)(run, step.s);
    const int32_t begin = f.first + step.part * GSV_BLOCK;
    GSV_FN(wait_above)(run, step.s);
    GSV_FN(backward_block)(run, step.s, &f, step.part, 1);
    GSV_FN(store_y)(run, begin, begin + gsv_block_width(f.nc, step.part));
    gsv_raise(&run->signals[run->tree->signal[step.s] + step.part].backward, run->number);
}

static void GSV_FN(backward_task)(const gsv_host_run *run, int32_t task) {
    const gsv_subtrees *tree = run->tree;
    int32_t solved = 0; /* rows that wait to be stored, from the last supernode's on */
    for (int32_t i = tree->task_ptr[task + 1] - 1; i >= tree->task_ptr[task]; i--) {
        const int32_t s = tree->order[i], parent = run->plan->parent[s];
        if (parent < 0 || tree->signal[parent] < tree->top_blocks)
            GSV_FN(wait_above)(run, s);
        const GSV_FN(front) f = GSV_FN(front_of)(run, s);
        GSV_FN(backward_supernode)(run, s, &f);
        solved += f.nc;
        if (solved >= GSV_ROWS_AT_ONCE / GSV_COLUMNS || i == tree->task_ptr[task] ||
            run->plan->l.first_column[tree->order[i - 1] + 1] != f.first) {
            GSV_FN(store_y)(run, f.first, f.first + solved);
            solved = 0;
        }
    }
}

static const gsv_host_sweep GSV_FN(sweep) = {
    GSV_FN(load_y),       GSV_FN(store_scaled_y), GSV_FN(forward_task),
    GSV_FN(forward_step), GSV_FN(backward_task),  GSV_FN(backward_step),
};
