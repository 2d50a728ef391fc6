/*
 * The plan: everything about a solve that follows from the pattern of L alone. Plain C, built on the host in
 * time linear in the size of the structure, immutable afterwards, shared by all solves with a factor and kept
 * when its values are refreshed.
 *
 * A supernode s holds nc(s) consecutive columns. Its front is the dense vector over its nr(s) rows: first its
 * own columns, then the rows below. Forward substitution at s assembles the front from the right-hand side
 * and from the update vectors of its children, solves with the triangle L1, and leaves in its own update
 * vector (nr - nc rows) what its ancestors are owed:
 *
 *      f = [b(cols); 0] + sum over children c of scatter(u_c)
 *      x1 = L1 \ f1,   u = f2 - L2 x1
 *
 * (update_map says where in f each row of u_c goes), and backward substitution reads the ancestors' solution
 * through `rows`:
 *
 *      x1 = L1' \ (y1 - L2' x(rows below))
 *
 * Children are assembled in ascending order, always, so that the sum is the same sum every time.
 */
#ifndef GSV_TREE_PLAN_H
#define GSV_TREE_PLAN_H

#include <stdint.h>

#include "../../message.h"
#include "../../pool.h"

#ifdef __cplusplus
extern "C" {
#endif

/* The pattern of a supernodal factor, as the import hands it over: validated, owned, 32-bit where it fits. */
typedef struct gsv_structure {
    int32_t n;
    int32_t nsuper;
    int32_t *first_column; /* [nsuper + 1] supernode s: columns first_column[s] .. first_column[s + 1] - 1 */
    int64_t *row_ptr;      /* [nsuper + 1] its rows: rows[row_ptr[s]] .. rows[row_ptr[s + 1] - 1] */
    int32_t *rows;         /* [row_ptr[nsuper]] strictly ascending in a supernode, own columns first */
    int32_t *perm;         /* [n] row i of P A P' is row perm[i] of A; NULL: the identity */
    /* If supernodes were split (split.h); NULL, 0: none was. */
    int32_t nwhole; /* supernodes of the caller's factor */
    int32_t
        *slice_ptr; /* [nwhole + 1] its supernode k is supernodes slice_ptr[k] .. slice_ptr[k + 1] - 1 here */
    int32_t *whole; /* [nsuper] the caller's supernode that each is, or is a slice of */
} gsv_structure;

/* Memory for first_column, row_ptr and rows, and nsuper. 0: out of memory; the caller frees the structure. */
int gsv_structure_reserve(gsv_structure *structure, int32_t nsuper, int64_t rows);
void gsv_structure_free(gsv_structure *structure); /* frees the arrays, leaves zeros */

/* Supernodes of the caller's factor, the one that s is or is a slice of, and the first slice of the k-th. */
static inline int32_t gsv_nwhole(const gsv_structure *l) {
    return l->slice_ptr ? l->nwhole : l->nsuper;
}
static inline int32_t gsv_whole(const gsv_structure *l, int32_t s) {
    return l->slice_ptr ? l->whole[s] : s;
}
static inline int32_t gsv_first_slice(const gsv_structure *l, int32_t k) {
    return l->slice_ptr ? l->slice_ptr[k] : k;
}

typedef struct gsv_schedule
    gsv_schedule; /* the device's tasks, branches and streams, and its storage: schedule/schedule.h */
typedef struct gsv_subtrees gsv_subtrees; /* the tree dealt out to threads: subtrees.h */

typedef struct gsv_plan {
    gsv_structure l;
    /* supernodal elimination tree (a forest) */
    int32_t *parent;    /* [nsuper] > s, or -1 for a root */
    int32_t *child_ptr; /* [nsuper + 1] into child */
    int32_t *child;     /* [nsuper - roots] children of s, ascending */
    int32_t *level;     /* [nsuper] height above the deepest leaf below: leaves 0, a parent > its children */
    int32_t nlevels;
    int32_t widest; /* columns of the widest supernode */
    /* update vectors */
    int64_t *update_ptr; /* [nsuper + 1] prefix sums of nr - nc: the rows of update vector s */
    int32_t *update_map; /* [update_ptr[nsuper]] position of that row in the parent's front */
    int64_t nnz_l;       /* numbers in the lower trapezoids */
    int64_t bytes;       /* host memory of the plan, with the executor's part */
    int in_place;        /* the caller's panels stay where they are: the host executor reads them there */
    int floats; /* panels are of floats, and vectors of doubles: pieces of streams have more numbers */
    /* the executor's part, one of them; whoever makes it says how it is freed */
    gsv_schedule *schedule;
    gsv_subtrees *subtrees;
    void (*free_part)(struct gsv_plan *plan);
    const struct gsv_machine *machine; /* schedule/machine.h; NULL: the default */
} gsv_plan;

static inline int32_t gsv_columns(const gsv_plan *plan, int32_t s) {
    return plan->l.first_column[s + 1] - plan->l.first_column[s];
}

static inline int32_t gsv_rows(const gsv_plan *plan, int32_t s) {
    return (int32_t)(plan->l.row_ptr[s + 1] - plan->l.row_ptr[s]);
}

/* Rows of its update vector. */
static inline int64_t gsv_updates(const gsv_plan *plan, int32_t s) {
    return plan->update_ptr[s + 1] - plan->update_ptr[s];
}

/* First place of the ascending rows [begin, end) that is not before row. */
static inline int32_t gsv_find_row(const int32_t *rows, int32_t begin, int32_t end, int32_t row) {
    while (begin < end) {
        const int32_t middle = begin + (end - begin) / 2;
        if (rows[middle] < row)
            begin = middle + 1;
        else
            end = middle;
    }
    return begin;
}

/* Numbers of a supernode's lower trapezoid. */
static inline int64_t gsv_trapezoid(const gsv_plan *plan, int32_t s) {
    const int64_t nc = gsv_columns(plan, s);
    return nc * gsv_rows(plan, s) - nc * (nc - 1) / 2;
}

/*
 * Take over the structure (also on failure: it is freed then) and build the tree and the maps, which are the
 * same with any number of threads.
 * GPUSOLVE_INVALID_FACTOR: rows of a supernode that its parent does not have; the message names them.
 */
gpusolve_status gsv_plan_create(gsv_structure *structure, gsv_pool *pool, gsv_plan *plan,
                                gsv_message *message);
void gsv_plan_free(gsv_plan *plan);
gpusolve_status gsv_plan_no_memory(gsv_message *message); /* GPUSOLVE_OUT_OF_MEMORY, and its sentence */

#ifdef __cplusplus
}
#endif
#endif
