/*
 * A supernodal factor P A P' = L L' as the lists that the ladder's kernels read, built on the host in plain C.
 *
 * A supernode has nc neighbouring columns and nr rows, its own columns first; its front is the dense vector over these rows,
 * its update vector u the front's last nr - nc numbers when it is done. Numbers and row lists of the supernodes stand one after
 * the other in their order, which is a postorder; so what belongs to a subtree is one range of each array.
 */
#ifndef LADDER_H
#define LADDER_H

#include <stdint.h>

#include "gpusolve.h"

#ifdef __cplusplus
extern "C" {
#endif

enum {
    LADDER_UNIT = 16,                /* rows or columns of a unit: steps 2 to 4 */
    LADDER_BRANCH_BYTES = 36 * 1024, /* shared memory of a branch: six blocks of an SM */
    LADDER_TILE = 64,                /* rows or columns of a task */
    LADDER_COLUMNS = 32              /* right-hand sides of a task */
};

typedef struct ladder_node { /* a supernode */
    int64_t panel;           /* where its panel begins: number (i, k) is at panel + i + k ladder_ld(nr) */
    int32_t column, nc, nr;  /* first column; columns; rows */
    int32_t row, update;     /* where its rows, and its update vector, begin */
    int32_t parent;          /* or -1 */
} ladder_node;

typedef struct ladder_tree {
    int32_t n, nsuper;
    int64_t numbers;     /* of all panels, with the zeros above the diagonal */
    ladder_node *node;   /* [nsuper + 1] behind the last: where all arrays end */
    int32_t *level;      /* [nsuper] leaves 0, a parent above all of its children */
    int32_t *order;      /* [nsuper] level by level, ascending in each */
    int32_t *perm;       /* [n] row i of P A P' is row perm[i] of A */
    int32_t *rows;       /* of all fronts */
    int32_t *gather_ptr; /* [rows + 1] what children owe row r of all fronts: gather[gather_ptr[r]] .. */
    int32_t *gather;     /* places in the update vectors, children in ascending order */
    double *l, *inverse; /* panels [L1; L2], and [W; -M] with W = inv(L1), M = L2 W */
} ladder_tree;

/* Columns of a panel begin on 16 bytes. */
static inline
#ifdef __CUDACC__
    __host__ __device__
#endif
        int32_t
        ladder_ld(int32_t nr) {
    return (nr + 1) & ~1;
}

/* From the arrays of a real supernodal factor with 32-bit indices. 0, or -1: out of memory, or no such factor. */
int ladder_tree_make(const gpusolve_factor_data *factor, ladder_tree *tree);
void ladder_tree_free(ladder_tree *tree);

/* ------------------------------------------------------------------------ the lists of the single steps --- */

/* A piece of work on one supernode: rows first .. of its front, or backward columns first .. */
typedef struct ladder_unit {
    ladder_node node;
    int32_t first;
} ladder_unit;

typedef struct ladder_units { /* level by level: level l has unit[level[l]] .. unit[level[l + 1] - 1] */
    ladder_unit *unit;
    int32_t *level, nlevels, count;
} ladder_units;

/* Units of `size` rows, or backward of `size` columns, roots first; of all supernodes with branch_of[s] < 0 (NULL: of all). */
int ladder_units_make(const ladder_tree *tree, const int32_t *branch_of, int32_t size, int backward,
                      ladder_units *units);
void ladder_units_free(ladder_units *units);

/* A subtree that one block walks: a range of each array. */
typedef struct ladder_branch {
    int64_t panel;
    int32_t numbers, node, nodes, column, columns, row, rows, update, updates, gather, gathers;
    int32_t level, nlevels; /* level l has node[level[l]] .. of the branch */
    int32_t outside,
        noutside; /* the root's rows below its columns, a range of rows: all that the walk sees of what is above */
} ladder_branch;

typedef struct ladder_branches {
    int32_t count, nlevel;
    ladder_branch *branch;
    int32_t *of;       /* [nsuper] a supernode's branch, or -1 */
    ladder_node *node; /* [nsuper] those of each branch level by level */
    int32_t *level;
    int32_t *
        place; /* [rows] of branches: where a row's solution is among the branch's columns and, behind them, outside rows */
} ladder_branches;

int ladder_branches_make(const ladder_tree *tree, ladder_branches *branches);
void ladder_branches_free(ladder_branches *branches);

enum { LADDER_ASSEMBLE = 1, LADDER_MULTIPLY = 2 };

typedef struct ladder_task {
    ladder_node node;
    int32_t kind;        /* LADDER_ASSEMBLE its rows of own columns, LADDER_MULTIPLY, or both */
    int32_t first, last; /* rows of the front, backward columns */
    int32_t wait, count; /* begins when counter `wait` is at `count` */
    int32_t signal;      /* advances this counter at its end, -1: none */
} ladder_task;

typedef struct ladder_tasks { /* a task waits for tasks before it alone */
    ladder_task *task;
    int32_t count;
} ladder_tasks;

enum { LADDER_COUNTERS = 3 }; /* of each supernode: children done, front assembled, solved */

int ladder_tasks_make(const ladder_tree *tree, int backward, ladder_tasks *tasks);
void ladder_tasks_free(ladder_tasks *tasks);

/* ----------------------------------------------------------------------------------------- the reference --- */

/* X = A \ B by substitution with L, one column after the other; n x nrhs, by columns. -1: out of memory. */
int ladder_reference(const ladder_tree *tree, int32_t nrhs, const double *b, double *x);

/* The largest over the columns of norm(A (x - reference), inf) / (norm(A, inf) norm(reference, inf)), NaN if any is. It does not
 * grow with A's condition. a: A's lower triangle by columns, real, 32-bit. A negative number: out of memory. */
double ladder_difference(const gpusolve_matrix_data *a, double norm_a, int32_t nrhs, const double *x,
                         const double *reference);

#ifdef __cplusplus
}
#endif
#endif
