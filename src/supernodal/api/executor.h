/*
 * What runs a plan. Two executors, host and CUDA, behind one table of functions; factor.c, solve.c and
 * refine.c know the table alone. Arguments have been checked when these functions are called: types, sizes,
 * ownership.
 */
#ifndef GSV_API_EXECUTOR_H
#define GSV_API_EXECUTOR_H

#include "../../handle.h"
#include "../import/blocks.h"
#include "../import/determinant.h"
#include "../import/import.h"
#include "../tree/plan.h"
#include "../import/split.h"
#include "refine_step.h"

#ifdef __cplusplus
extern "C" {
#endif

struct gsv_text; /* summary.h */

/* The steps of a solve, in this order; a system is a set of them (solve.c). */
enum {
    GSV_PERMUTE_IN = 1,  /* y(i) = b(perm(i)), else y = b */
    GSV_FORWARD = 2,     /* y = L \ y */
    GSV_SCALE = 4,       /* y = D \ y, nothing for L L' */
    GSV_BACKWARD = 8,    /* y = L' \ y */
    GSV_PERMUTE_OUT = 16 /* x(perm(i)) = y(i), else x = y */
};

double gsv_milliseconds(void); /* a clock (factor.c) */

/* What splitting supernodes (split.h) has come to. */
typedef struct gsv_split_report {
    int64_t supernodes, slices; /* of the caller's factor, and what they have become */
    int32_t levels;             /* more than before: each is a hand-over in either sweep */
    int64_t updates;            /* rows handed from children to parents, more than before */
    double ms;                  /* of the last time: until it was known where to cut, and planning again */
} gsv_split_report;

struct gpusolve_factor {
    const struct gsv_executor *executor;
    int device;
    uint64_t id; /* unique in the process: a workspace knows its factor by it */
    gsv_numbers numbers;
    gpusolve_dtype dtype; /* of vectors, b and x: gsv_vector_dtype(numbers) */
    int has_d;
    int unusable;                /* a refresh broke off half-way */
    gsv_determinant determinant; /* of the values; set where these are checked */
    gsv_plan plan;
    int64_t plans; /* how often it was planned: workspaces and selections are of one plan */
    gsv_split_report split;
    /* the executor's: values (and index maps) where the backend wants them; NULL: a refresh has lost them */
    void *prepared;
    void *retired;            /* the executor's: what graphs read that were captured with earlier plans */
    int64_t more_bytes;       /* memory that is kept for graphs of earlier plans, beside what `bytes` says */
    const gsv_blocks *blocks; /* while it is made: how its numbers are brought; NULL: they are there */
    double plan_ms, prepare_ms;
    double check_ms; /* of the last preparation: its data's pattern, and numbers unless the executor does */
    uint64_t refreshes; /* how often the values have changed */
};

struct gpusolve_workspace {
    const struct gsv_executor *executor;
    int device;
    uint64_t factor_id;
    gpusolve_dtype dtype;
    int32_t n;
    int64_t max_nrhs;
    void *state;                /* the executor's */
    void *refine;               /* the executor's, made by refine_reserve */
    gsv_refine_column *columns; /* what is known of the columns of a block, for refine.c; NULL at first */
};

struct gpusolve_matrix {
    const struct gsv_executor *executor;
    int device;
    gpusolve_dtype dtype;
    int32_t n;
    int64_t nnz;
    double norm_inf; /* norm(A, inf) */
    void *state;     /* the executor's copy: all entries by rows, ascending columns */
};

/* Added to a block's order, inside the library alone: the block is every other number of one in that order, the real or the
 * imaginary parts of a complex block. ld counts pairs. */
enum { GSV_EVERY_OTHER = 2 };

/* Numbers between the entries of a column, and between those of a row. */
static inline int64_t gsv_row_stride(const gpusolve_dense *dense) {
    const int each = (int)dense->order & GSV_EVERY_OTHER ? 2 : 1;
    return each * ((int)dense->order & GPUSOLVE_ROW_MAJOR ? dense->ld : 1);
}

static inline int64_t gsv_column_stride(const gpusolve_dense *dense) {
    const int each = (int)dense->order & GSV_EVERY_OTHER ? 2 : 1;
    return each * ((int)dense->order & GPUSOLVE_ROW_MAJOR ? 1 : dense->ld);
}

/* Columns first .. first + cols - 1 of a block. An empty block may have no values at all. */
static inline gpusolve_dense gsv_dense_columns(const gpusolve_dense *dense, int64_t first, int64_t cols) {
    gpusolve_dense part = *dense;
    const int64_t skipped = first * gsv_column_stride(dense) * (int64_t)gsv_dtype_bytes(dense->dtype);
    part.cols = cols;
    part.values = dense->values ? (char *)dense->values + skipped : NULL;
    return part;
}

/* Rows of one block that become rows of another: row from[k] (-1: zeros; NULL: k) becomes row to[k] (NULL:
 * k).
 */
typedef struct gsv_row_list {
    int64_t count;
    int32_t *from, *to; /* where the backend wants them */
} gsv_row_list;

/* What selections (selection.c) want of an executor besides its solve. */
typedef struct gsv_selection_functions {
    /* Fill part->prepared, allocated if it is NULL, from whole->prepared: supernode k of the part, with the
     * same rows and columns, is supernodes[k] of the whole. The part's plan is complete. */
    gpusolve_status (*extract)(gpusolve_handle *handle, const gpusolve_factor *whole,
                               const int32_t *supernodes, gpusolve_factor *part);
    /* Memory on the backend, filled from the host unless `from` is NULL; NULL on failure. */
    gpusolve_status (*allocate)(gpusolve_handle *handle, const void *from, size_t bytes, void **memory);
    void (*release)(int device, void *memory); /* NULL is accepted */
    /* Move rows of all columns. `to` is zero before if `clear` is set, and is a selection's own block then:
     * columns without padding. One of the blocks may be the user's. */
    gpusolve_status (*move)(gpusolve_handle *handle, const gsv_row_list *list, int clear,
                            const gpusolve_dense *from, const gpusolve_dense *to);
} gsv_selection_functions;

/* A refresh of some columns, which are whole trees (batch/): the others' numbers are as they were. All numbers have been checked. */
typedef struct gsv_fresh {
    int32_t first, end;     /* columns; there are some */
    const double *diagonal; /* [n] of L, or D: of all columns */
    gsv_determinant determinant;
} gsv_fresh;

/* Their entries of D, as real numbers in single precision or in double. */
static inline void gsv_fresh_d(const gsv_fresh *fresh, int single, void *to) {
    for (int32_t j = fresh->first; j < fresh->end; j++)
        if (single)
            ((float *)to)[j - fresh->first] = (float)fresh->diagonal[j];
        else
            ((double *)to)[j - fresh->first] = fresh->diagonal[j];
}

typedef struct gsv_executor {
    gpusolve_backend backend;

    /* What `fill` needs of the plan; NULL: nothing. Reads no numbers, no device. */
    gpusolve_status (*place)(gsv_plan *plan, gsv_message *message);
    /* Build the executor's part of the plan (plan->schedule or plan->subtrees) on the pool's threads: it is the
     * same with any number of them. Reads no numbers, no device. */
    gpusolve_status (*plan)(gsv_plan *plan, gsv_pool *pool, gsv_message *message);
    /* Exact memory on the backend of a prepared factor and of a workspace of max_nrhs columns, in bytes; of a handle of
     * that device with same_bits, or without. */
    void (*bytes)(int device, int same_bits, const gsv_plan *plan, gsv_numbers numbers, int has_d,
                  int64_t max_nrhs, int64_t *factor_bytes, int64_t *workspace_bytes);
    /* Memory on the backend that prepare and refresh want besides, while they run; NULL: none. */
    int64_t (*prepare_bytes)(const gsv_plan *plan, gsv_numbers numbers);
    /* prepare and refresh check the numbers (gsv_import_check_values), before they touch a value. */
    int checks_numbers;
    /* fill brings the numbers of L L' itself, if factor->blocks says how. */
    int brings_blocks;
    /* Allocate memory for the values and fill it from checked data; plan->place has been there. What was there before,
     * of an earlier plan, is released, or kept for the graphs that were captured with it until the factor is. After a
     * failure there is nothing. GPUSOLVE_OK with cuts->at set: supernodes must be cut so, and the factor be planned and
     * filled again. cuts is empty before. NULL: prepare does it. */
    gpusolve_status (*fill)(gpusolve_handle *handle, gpusolve_factor *factor,
                            const gpusolve_factor_data *data, gsv_cuts *cuts);
    /* The rest of factor->prepared, for a whole plan; returns when it is ready. After a failure there is nothing. */
    gpusolve_status (*prepare)(gpusolve_handle *handle, gpusolve_factor *factor,
                               const gpusolve_factor_data *data);
    /* New values into the same memory; cuts as for fill. fresh: NULL, or which of them are new, and then the factor is usable. On failure sets
     * factor->unusable if values were touched. */
    gpusolve_status (*refresh)(gpusolve_handle *handle, gpusolve_factor *factor,
                               const gpusolve_factor_data *data, const gsv_fresh *fresh, gsv_cuts *cuts);
    /* Read the numbers back, to rounding: column j of L, its diagonal first, goes to x[column[j]] and on, numbers of the
     * panels' type; of L D L' with ones on the diagonal, and D to d [n], real numbers of the vectors' precision. */
    gpusolve_status (*read_values)(gpusolve_handle *handle, const gpusolve_factor *factor,
                                   const int64_t *column, void *x, void *d);
    void (*release)(gpusolve_factor *factor); /* frees factor->prepared, NULL accepted, and factor->retired */
    void (*drop)(gpusolve_factor *factor);    /* frees factor->prepared alone; NULL: it is never lost */
    /* From now on a graph that was captured with the factor stores NaN. NULL: there are none. */
    gpusolve_status (*expire)(gpusolve_factor *factor, gsv_message *message);
    /* Is the handle's stream being captured into a graph? NULL: it never is. */
    gpusolve_status (*is_capturing)(gpusolve_handle *handle, int *capturing);
    /* Free handle->scratch; NULL where the executor keeps nothing with a handle. */
    void (*handle_destroy)(gpusolve_handle *handle);

    /* Allocate workspace->state; the other fields are set. */
    gpusolve_status (*workspace_create)(gpusolve_handle *handle, const gpusolve_factor *factor,
                                        gpusolve_workspace *workspace);
    void (*workspace_destroy)(
        gpusolve_workspace *workspace); /* frees state and refine; never reads the factor */

    /* Whether a solve with the workspace that has run has given up a wait: GPUSOLVE_TIMED_OUT, once. NULL:
     * none ever does. */
    gpusolve_status (*workspace_check)(gpusolve_handle *handle, gpusolve_workspace *workspace);

    /* Whether the handle's backend can use a caller's memory, which holds numbers of `number` bytes; `name` is the
     * argument's.
     * on_device: kernels read and write it. NULL: all memory is the host's. */
    gpusolve_status (*check_memory)(gpusolve_handle *handle, const char *name, const void *values,
                                    size_t number, int *on_device);

    /* Run the steps on 1 <= b->cols <= workspace->max_nrhs columns; x may be b. Every other number of
     * a block only where check_memory has said that both are on the device, or is NULL. */
    gpusolve_status (*solve)(gpusolve_handle *handle, const gpusolve_factor *factor,
                             gpusolve_workspace *workspace, unsigned steps, const gpusolve_dense *b,
                             const gpusolve_dense *x);

    /* Refinement: A by rows (int64 row_ptr [n + 1], ascending columns), copied; sets matrix->state. */
    gpusolve_status (*matrix_create)(gpusolve_handle *handle, gpusolve_matrix *matrix, const int64_t *row_ptr,
                                     const int32_t *columns, const void *values);
    void (*matrix_destroy)(gpusolve_matrix *matrix);
    /* Have all that refine needs with these options in workspace->refine; matrix NULL: but what depends on A. */
    gpusolve_status (*refine_reserve)(gpusolve_handle *handle, const gpusolve_factor *factor,
                                      const gpusolve_matrix *matrix, gpusolve_workspace *workspace,
                                      const gpusolve_refine_options *options);
    /* Refine 1 <= b->cols <= workspace->max_nrhs columns, and say where each has ended. b is not x. Blocks; with `to`, where memory is a
     * device's: everything is on the device, nothing waits or is allocated, columns is not written, and the results go there. */
    gpusolve_status (*refine)(gpusolve_handle *handle, const gpusolve_factor *factor,
                              const gpusolve_matrix *matrix, gpusolve_workspace *workspace,
                              const gpusolve_refine_options *options, const gpusolve_dense *b,
                              const gpusolve_dense *x, gsv_refine_column *columns,
                              const gsv_refine_results *to);

    /* Copy numbers first .. first + count - 1 of factor->determinant to device memory, behind what the stream holds. It must be the numbers of
     * the time when the copy runs, so that a captured one follows a refresh. NULL: all memory is the host's. */
    gpusolve_status (*copy_determinant)(gpusolve_handle *handle, const gpusolve_factor *factor, int first,
                                        int count, double *to);

    /* Append lines about the executor's part of the plan (tasks per tier, say) to a summary; may be NULL. */
    void (*summary)(const gpusolve_factor *factor, struct gsv_text *text);
    /* Fills in fields of gpusolve_cost: the tiers, launches, the machine (bytes_per_s where that is 0), and predicted_us where
     * it is not the wall and the hops. api/cost.c fills in the rest before or after. */
    void (*cost)(const gpusolve_handle *handle, const gpusolve_factor *factor, gpusolve_cost *cost);
    const gsv_selection_functions *selection;     /* NULL: no selections */
    const struct gsv_product_functions *products; /* products.h */
} gsv_executor;

extern const gsv_executor gsv_host_executor;
#ifdef GPUSOLVE_WITH_CUDA
extern const gsv_executor gsv_cuda_executor;
/* Find a usable device: *device is an ordinal or -1 for the current one on entry, the ordinal on return. */
gpusolve_status gsv_cuda_probe(int *device, char *name, size_t name_bytes, gsv_message *message);
/* Wait for the work on a handle's stream. */
void gsv_cuda_synchronize(int device, void *stream);
#endif

#ifdef __cplusplus
}
#endif
#endif
