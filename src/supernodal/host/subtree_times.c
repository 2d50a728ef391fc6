/* The time of a solve by its number of threads; see subtree_times.h. */
#include "subtree_times.h"

#include "../../dense_kernels/lanes_host.h"
#include "../../dense_kernels/panel_host.h"
#include "../../memory.h"

/*
 * What one thread needs in one sweep, in nanoseconds: for a number of L with one column, and for each column
 * more; for a row of the right-hand side and column; for a row of an update vector and column; for a
 * supernode; for a child of a supernode of the top.
 * Measured on a Zen 4 (2.6 GHz): 5-point grids, 7-point grids, shells and elasticity of 10 to 44 million
 * numbers within a fifth, with one column and with 32.
 */
static const double NUMBER_NS = 0.275, COLUMN_NS = 0.0375, ROW_NS = 2, UPDATE_NS = 0.75, SUPERNODE_NS = 15,
                    CHILD_NS = 5;

/* A number of an L so small, in numbers, that it stays in a processor's own cache, and what part of the above
 * its rows take. */
static const double CACHED_NS = 0.125, CACHED = 1 << 17, CACHED_ROWS = 0.5;

/*
 * A signal between two threads, with the first line of what it announces. A number of a vector that another
 * thread has just written; one that it wrote long ago. A ticket.
 * Measured on two processors of an EPYC (Zen 3) that share no cache: chains whose supernodes are handed over
 * one by one, and bands of 300 columns and more with 1, 8 and 32 right-hand sides.
 */
static const double HANDOVER_NS = 200, FRESH_NS = 3, STORED_NS = 0.5, TICKET_NS = 30;

/* Work on one thread that is worth another one: it may have to be woken. And what a run of several threads
 * takes besides, even if they are awake (two processors of an EPYC, solves of 20 to 200 us). */
static const double GRAIN_NS = 25000, START_NS = 10000;

/* More threads must save this part of the time, or they are not used. Among numbers of threads whose times differ by
 * less than CLOSE, the smallest is taken. */
static const double LEAST_GAIN = 0.15, CLOSE = 0.03;

/* ------------------------------------------------------------------------------- what pieces cost --- */

/* Rates for a number of columns side by side and a number of threads. */
typedef struct rates {
    double number, row, update, fresh, stored;
} rates;

static rates rates_for(int cached, int cols, int threads) {
    const double number = cached ? CACHED_NS : NUMBER_NS, rows = cached ? CACHED_ROWS * cols : cols;
    const double remote = cols * (1 - 1.0 / threads);
    const double far = (cached ? FRESH_NS : STORED_NS) * remote; /* b and x are the caller's cache's, too */
    return (rates){number + COLUMN_NS * (cols - 1), ROW_NS * rows + (cached ? far : 0), UPDATE_NS * rows,
                   FRESH_NS * remote, far};
}

/* A supernode's sizes. */
typedef struct front {
    int32_t nc, m, blocks, tiles, last; /* last: columns of the last block */
    int32_t children;
    int64_t rows; /* of its children's update vectors */
} front;

static front front_of(const gsv_plan *plan, int32_t s) {
    front f = {.nc = gsv_columns(plan, s), .m = (int32_t)gsv_updates(plan, s)};
    f.blocks = gsv_block_count(f.nc);
    f.tiles = (f.m + GSV_ROW_TILE - 1) / GSV_ROW_TILE;
    f.last = gsv_block_width(f.nc, f.blocks - 1);
    f.children = plan->child_ptr[s + 1] - plan->child_ptr[s];
    for (int32_t k = plan->child_ptr[s]; k < plan->child_ptr[s + 1]; k++)
        f.rows += gsv_updates(plan, plan->child[k]);
    return f;
}

/* One thread, the whole supernode. */
static double whole_forward(const front *f, const rates *r) {
    return r->number * (double)gsv_panel_size(f->nc, f->m) + r->row * f->nc + r->update * (double)f->rows +
           SUPERNODE_NS;
}

static double whole_backward(const front *f, const rates *r) {
    return r->number * (double)gsv_panel_size(f->nc, f->m) + r->row * f->nc + r->update * f->m + SUPERNODE_NS;
}

/* A step's time before the last of its waits, and from there on. */
typedef struct piece {
    double before, after;
} piece;

static double assembly(const front *f, const rates *r) {
    return (r->update + r->fresh) * (double)f->rows / (f->blocks + f->tiles) + CHILD_NS * f->children +
           TICKET_NS;
}

/* The product of `rows` rows with a column block that another thread may have solved. */
static double product(const rates *r, double rows, double columns) {
    return r->number * rows * columns + r->fresh * columns;
}

static piece forward_block(const front *f, const rates *r, int32_t j) {
    const double w = gsv_block_width(f->nc, j), left = product(r, w, GSV_BLOCK);
    return (piece){assembly(f, r) + r->row * w + (j > 1 ? (j - 1) * left : 0),
                   (j > 0 ? left : 0) + r->number * w * (w + 1) / 2};
}

static piece forward_tile(const front *f, const rates *r, int32_t tile) {
    const int32_t begin = tile * GSV_ROW_TILE;
    const double rows = f->m - begin < GSV_ROW_TILE ? f->m - begin : GSV_ROW_TILE;
    return (piece){assembly(f, r) + (f->blocks - 1) * product(r, rows, GSV_BLOCK), product(r, rows, f->last)};
}

static piece backward_block(const front *f, const rates *r, int32_t j) {
    const double w = gsv_block_width(f->nc, j);
    const int32_t right = f->blocks - 1 - j;
    const double next = right > 0 ? gsv_block_width(f->nc, j + 1) : 0;
    const double further = right > 1 ? (right - 2) * GSV_BLOCK + f->last : 0;
    return (piece){TICKET_NS + r->row * w + r->update * f->m + product(r, w, (double)f->m + further),
                   product(r, w, next) + r->number * w * (w + 1) / 2};
}

static double in_turn(double time, piece p) {
    const double ready = time > 0 ? time + HANDOVER_NS : 0;
    return (ready > p.before ? ready : p.before) + p.after;
}

gsv_supernode_ns gsv_supernode_time(const gsv_plan *plan, int32_t s) {
    const front f = front_of(plan, s);
    const rates alone = rates_for(0, 1, 1), r = rates_for(0, 1, 2);
    gsv_supernode_ns ns = {{whole_forward(&f, &alone), whole_backward(&f, &alone)}, {0, 0}};
    for (int32_t j = 0; j < f.blocks; j++)
        ns.shared[GSV_UP] = in_turn(ns.shared[GSV_UP], forward_block(&f, &r, j));
    if (f.tiles > 0)
        ns.shared[GSV_UP] = in_turn(ns.shared[GSV_UP], forward_tile(&f, &r, 0));
    for (int32_t j = f.blocks - 1; j >= 0; j--)
        ns.shared[GSV_DOWN] = in_turn(ns.shared[GSV_DOWN], backward_block(&f, &r, j));
    for (int way = GSV_UP; way <= GSV_DOWN; way++)
        ns.shared[way] += HANDOVER_NS; /* from the neighbours in the tree */
    return ns;
}

/* ------------------------------------------------------------------------------------ the threads --- */

typedef struct worker {
    double free; /* when it is */
    int32_t number;
} worker;

/* A piece that is done, and the thread that did it. */
typedef struct event {
    double time;
    int32_t by;
} event;

typedef struct simulation {
    const gsv_plan *plan;
    const gsv_subtrees *t;
    rates r;
    double *task[2];               /* [ntasks] costs of the tasks, forward and backward */
    double *outside;               /* [ntasks] rows of the top that its roots read backward */
    int32_t *above_ptr, *above;    /* of each task: the parents of its roots, each once */
    event *arrived, *solved, *end; /* [nsuper] last child's update vector; the last block; backward */
    event *done;                   /* [ntasks] forward */
    worker *heap;
    int threads;
} simulation;

static double later(double a, double b) {
    return a > b ? a : b;
}

static double seen(event e, int32_t by) {
    return e.time + (e.by == by ? 0 : HANDOVER_NS);
}

/* The worker at the heap's top is busy until then. */
static void occupy(simulation *m, double until) {
    worker w = m->heap[0];
    w.free = until;
    int at = 0;
    for (int next; (next = 2 * at + 1) < m->threads; at = next) {
        if (next + 1 < m->threads && m->heap[next + 1].free < m->heap[next].free)
            next++;
        if (m->heap[next].free >= w.free)
            break;
        m->heap[at] = m->heap[next];
    }
    m->heap[at] = w;
}

static double all_done(const simulation *m) {
    double end = 0;
    for (int k = 0; k < m->threads; k++)
        end = later(end, m->heap[k].free);
    return end;
}

static void arrive(simulation *m, int32_t parent, double time, int32_t by) {
    if (parent >= 0 && time >= m->arrived[parent].time)
        m->arrived[parent] = (event){time, by};
}

static double forward_path(simulation *m, int32_t s, worker me) {
    const gsv_plan *plan = m->plan;
    double time = me.free + TICKET_NS;
    for (;;) {
        const front f = front_of(plan, s);
        const int32_t parent = plan->parent[s], inner = m->t->path_child[GSV_UP][s];
        const double far = (double)f.rows - (inner >= 0 ? (double)gsv_updates(plan, inner) : 0);
        time = later(time, seen(m->arrived[s], me.number)) + whole_forward(&f, &m->r) + m->r.stored * far +
               CHILD_NS * f.children;
        m->solved[s] = (event){time, me.number};
        if (parent < 0 || m->t->path_child[GSV_UP][parent] != s) {
            arrive(m, parent, time, me.number);
            return time;
        }
        s = parent;
    }
}

static double forward_step(simulation *m, gsv_step step, worker me) {
    const int32_t s = step.s;
    if (step.part == GSV_WHOLE_PATH)
        return forward_path(m, s, me);
    const front f = front_of(m->plan, s);
    const int is_block = step.part < f.blocks;
    const piece p =
        is_block ? forward_block(&f, &m->r, step.part) : forward_tile(&f, &m->r, step.part - f.blocks);
    double time = later(me.free, seen(m->arrived[s], me.number)) + p.before;
    if (step.part > 0)
        time = later(time, seen(m->solved[s], me.number));
    time += p.after;
    if (is_block)
        m->solved[s] = (event){time, me.number};
    else
        arrive(m, m->plan->parent[s], time, me.number);
    return time;
}

/* When what backward substitution at s waits for is there. */
static double above(const simulation *m, int32_t s, int32_t by) {
    const int32_t parent = m->plan->parent[s];
    return seen(parent >= 0 ? m->end[parent] : m->solved[s], by);
}

static double backward_step(simulation *m, gsv_step step, worker me) {
    int32_t s = step.s;
    double time = later(me.free, above(m, s, me.number));
    if (step.part == GSV_WHOLE_PATH) {
        for (time += TICKET_NS; s >= 0; s = m->t->path_child[GSV_DOWN][s]) {
            const front f = front_of(m->plan, s);
            time += whole_backward(&f, &m->r);
            m->end[s] = (event){time, me.number};
        }
        return time;
    }
    const front f = front_of(m->plan, s);
    const piece p = backward_block(&f, &m->r, step.part);
    time += p.before;
    if (step.part < f.blocks - 1)
        time = later(time, seen(m->end[s], me.number));
    time += p.after;
    m->end[s] = (event){time, me.number};
    return time;
}

/* Both sweeps; the first ends at *forward. */
static double sweep(simulation *m, double *forward) {
    const gsv_subtrees *t = m->t;
    for (int k = 0; k < m->threads; k++)
        m->heap[k] = (worker){0, k};
    for (int32_t i = t->task_ptr[t->ntasks]; i < m->plan->l.nsuper; i++)
        m->arrived[t->order[i]] = (event){0, -1};
    for (int32_t k = 0; k < t->ntasks; k++) {
        const int32_t task = t->heaviest[k];
        const worker me = m->heap[0];
        const double time = me.free + m->task[0][task];
        for (int32_t i = m->above_ptr[task]; i < m->above_ptr[task + 1]; i++)
            arrive(m, m->above[i], time, me.number);
        m->done[task] = (event){time, me.number};
        occupy(m, time);
    }
    for (int64_t k = 0; k < t->nforward; k++)
        occupy(m, forward_step(m, t->forward[k], m->heap[0]));
    *forward = all_done(m);
    for (int64_t k = 0; k < t->nbackward; k++)
        occupy(m, backward_step(m, t->backward[k], m->heap[0]));
    for (int32_t k = 0; k < t->ntasks; k++) {
        const int32_t task = t->heaviest[k];
        const worker me = m->heap[0];
        double time = later(me.free, seen(m->done[task], me.number));
        for (int32_t i = m->above_ptr[task]; i < m->above_ptr[task + 1]; i++)
            time = later(time, seen(m->end[m->above[i]], me.number));
        occupy(m, time + m->task[1][task] + m->r.stored * m->outside[task]);
    }
    return all_done(m);
}

/* Costs of the tasks. */
static void add_up(simulation *m) {
    const gsv_subtrees *t = m->t;
    for (int32_t k = 0; k < t->ntasks; k++) {
        m->task[0][k] = m->task[1][k] = TICKET_NS;
        for (int32_t i = t->task_ptr[k]; i < t->task_ptr[k + 1]; i++) {
            const front f = front_of(m->plan, t->order[i]);
            m->task[0][k] += whole_forward(&f, &m->r);
            m->task[1][k] += whole_backward(&f, &m->r);
        }
    }
}

static void list_above(simulation *m) {
    const gsv_subtrees *t = m->t;
    int32_t count = 0;
    for (int32_t k = 0; k < t->ntasks; k++) {
        m->above_ptr[k] = count;
        m->outside[k] = 0;
        for (int32_t i = t->task_ptr[k]; i < t->task_ptr[k + 1]; i++) {
            const int32_t s = t->order[i], parent = m->plan->parent[s];
            if (parent < 0 || t->signal[parent] >= t->top_blocks)
                continue;
            m->outside[k] += (double)gsv_updates(m->plan, s);
            if (count == m->above_ptr[k] || m->above[count - 1] != parent)
                m->above[count++] = parent;
        }
    }
    m->above_ptr[t->ntasks] = count;
}

/* From 2^k threads on it takes as long as with 2^(k - 1). */
static void no_faster(gsv_subtrees *t, int width, int k) {
    for (; k < GSV_TIMED; k++)
        for (int sweeps = 0; sweeps < 2; sweeps++)
            t->ns[width][k][sweeps] = t->ns[width][k - 1][sweeps];
}

static void time_width(simulation *m, gsv_subtrees *t, int width) {
    const int cols = width == 0 ? 1 : GSV_MAX_COLUMNS;
    const int cached = (double)m->plan->nnz_l <= CACHED;
    int stalled = 0;
    for (int k = 0; k < GSV_TIMED; k++) {
        double forward;
        m->threads = 1 << k;
        m->r = rates_for(cached, cols, m->threads);
        if (k == 0 || cached)
            add_up(m);
        const double both = sweep(m, &forward);
        t->ns[width][k][0] = forward;
        t->ns[width][k][1] = both - forward;
        const double one = t->ns[width][0][0] + t->ns[width][0][1];
        if (k > 0)
            stalled = both > 0.98 * (t->ns[width][k - 1][0] + t->ns[width][k - 1][1]) ? stalled + 1 : 0;
        if (stalled == 2 || one < GRAIN_NS * m->threads) { /* nobody will ask for twice as many */
            no_faster(t, width, k + 1);
            return;
        }
    }
}

int gsv_subtrees_time(const gsv_plan *plan, gsv_subtrees *t) {
    const size_t nsuper = (size_t)plan->l.nsuper, ntasks = (size_t)t->ntasks;
    simulation m = {.plan = plan, .t = t};
    double *task = gsv_malloc(3 * ntasks, sizeof *task);
    event *events = gsv_malloc(3 * nsuper + ntasks, sizeof *events);
    m.above_ptr = gsv_malloc(ntasks + 1, sizeof *m.above_ptr);
    m.above = gsv_malloc(nsuper, sizeof *m.above);
    m.heap = gsv_malloc((size_t)1 << (GSV_TIMED - 1), sizeof *m.heap);
    const int failed = !task || !events || !m.above_ptr || !m.above || !m.heap;
    if (!failed) {
        m.task[0] = task;
        m.task[1] = task + ntasks;
        m.outside = task + 2 * ntasks;
        m.arrived = events;
        m.solved = events + nsuper;
        m.end = events + 2 * nsuper;
        m.done = events + 3 * nsuper;
        list_above(&m);
        for (int width = 0; width < 2; width++)
            time_width(&m, t, width);
    }
    gsv_free(task);
    gsv_free(events);
    gsv_free(m.above_ptr);
    gsv_free(m.above);
    gsv_free(m.heap);
    return failed ? -1 : 0;
}

/* ------------------------------------------------------------------------------------ the choice --- */

/* One sweep or both with 2^k threads: between the widths along a line, which the sums of one thread are on
 * and others are not above. */
static double with_power(const gsv_subtrees *t, gsv_sweeps sweeps, double part, int k) {
    double ns = k > 0 ? START_NS : 0;
    for (int sweep = 0; sweep < 2; sweep++)
        if (sweeps & (1 << sweep))
            ns += (1 - part) * t->ns[0][k][sweep] + part * t->ns[1][k][sweep];
    return ns;
}

static double part_of(int32_t cols) {
    const int width = gsv_width(gsv_width_index(cols < GSV_MAX_COLUMNS ? cols : GSV_MAX_COLUMNS));
    return (double)(width - 1) / (GSV_MAX_COLUMNS - 1);
}

/* Between two powers: as the speed grows in between. */
static double with_threads(const gsv_subtrees *t, gsv_sweeps sweeps, double part, int threads) {
    int k = 0;
    while (k < GSV_TIMED - 1 && 2 << k <= threads)
        k++;
    const double ns = with_power(t, sweeps, part, k);
    if (k == GSV_TIMED - 1 || 1 << k >= threads || !(ns > 0))
        return ns;
    const double next = with_power(t, sweeps, part, k + 1), way = (double)threads / (1 << k) - 1;
    return 1 / ((1 - way) / ns + way / next);
}

double gsv_subtrees_us(const gsv_subtrees *t, gsv_sweeps sweeps, int32_t cols, int threads) {
    return 1e-3 * with_threads(t, sweeps, part_of(cols), threads);
}

/* One, and another one for every grain of work. */
static int worth_waking(double ns, int available) {
    const double grains = ns / GRAIN_NS;
    return grains < available - 1 ? 1 + (int)grains : available;
}

int gsv_subtrees_threads(const gsv_subtrees *t, gsv_sweeps sweeps, int32_t cols, int available) {
    const double part = part_of(cols), one = with_power(t, sweeps, part, 0);
    const int most = worth_waking(one, available);
    double best = one;
    for (int p = 2; p < 2 * most; p *= 2) {
        const double ns = with_threads(t, sweeps, part, p < most ? p : most);
        best = ns < best ? ns : best;
    }
    if (best > (1 - LEAST_GAIN) * one)
        return 1;
    for (int p = 2; p < most; p *= 2)
        if (with_threads(t, sweeps, part, p) <= (1 + CLOSE) * best)
            return p;
    return most;
}
