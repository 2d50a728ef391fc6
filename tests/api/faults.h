/*
 * What every call of test_allocation works with, and how one call runs while something is made to fail.
 *
 * A call under test is a function of this kind:
 *
 *      static gpusolve_status import(world *w) {
 *          ...                                              what the call needs; nothing fails yet
 *          status = FAULTY(w, gpusolve_factor_create(...)); the k-th allocation or thread fails in here
 *          ...                                              checks; free what the call made
 *      }
 */
#ifndef FAULTS_H
#define FAULTS_H

#include "testing.h"

#include "cholmod_helpers.h"
#include "gpusolve_batch.h"
#include "gpusolve_cholmod.h"
#include "gpusolve_dense.h"
#include "gpusolve_inverse.h"
#include "gpusolve_product.h"
#include "gpusolve_sample.h"
#include "gpusolve_selection.h"
#include "gpusolve_store.h"
#include "memory.h"

enum { COLUMNS = 3, ORDER = 70, VECTORS = 5 };

/* What fails. */
typedef enum fault { FAULT_ALLOCATION, FAULT_THREAD, FAULTS } fault;

/* Dense operands of one type, where the backend wants them, and what they held at first. */
typedef struct dense_operands {
    gpusolve_dense a, b;             /* host: a has its lower triangle alone */
    gpusolve_dense in_a, in_b;       /* what a call gets and overwrites */
    gpusolve_dense right_a, right_b; /* what they hold after the first call that nothing disturbs */
    const void *alpha;
} dense_operands;

typedef struct world {
    gpusolve_backend backend;
    fault fault;
    int only_kind;           /* only calls that depend on the kind of the factor */
    int64_t k;               /* the one that fails; 0: none */
    int reached;             /* it did */
    int64_t failures;        /* that were made so far */
    int threads;             /* of the handles */
    gpusolve_handle *handle; /* a new one for every attempt: it has no workspaces of its own */
    char said[256];          /* what a call has said that does not say it through w->handle */

    cholmod_common *common;
    cholmod_factor *l;
    cholmod_sparse *a;
    cholmod_dense *dense_b;
    gpusolve_factor_data data, other; /* of l, and with other numbers, which answer `expected_other` */
    void *other_numbers;
    gpusolve_factor *factor;
    gpusolve_matrix *matrix;
    gpusolve_workspace *workspace;
    gpusolve_selection *selection; /* all of b, all of x */
    gpusolve_dense b, x, expected, expected_other;

    int has_dense; /* the backend has dense calls */
    dense_operands dense[4];
    gpusolve_staging *staging;
    gpusolve_trsv *prepared;
} world;

static inline void arm(world *w) {
    if (w->fault == FAULT_ALLOCATION)
        gsv_fail_allocation(w->k);
    else
        gsv_fail_thread(w->k);
}

static inline gpusolve_status disarm(world *w, gpusolve_status status) {
    const int64_t left = w->fault == FAULT_ALLOCATION ? gsv_fail_allocation(0) : gsv_fail_thread(0);
    w->reached |= left <= 0;
    return status;
}

#define FAULTY(w, call) (arm(w), disarm(w, (call)))

/* The same for a call that has no status and cannot fail. */
#define FAULTY_VOID(w, call)    \
    do {                        \
        arm(w);                 \
        call;                   \
        disarm(w, GPUSOLVE_OK); \
    } while (0)

/* x has the bits of what was expected, all columns. */
static inline void check_x(const gpusolve_dense *x, const gpusolve_dense *expected) {
    CHECK(testing_same_bits(x, 0, expected, 0, x->cols));
}

/* Whether two blocks of one layout hold the same numbers but for rounding. A NaN is near nothing. */
static inline int testing_near(const gpusolve_dense *x, const gpusolve_dense *expected) {
    double largest = 0, difference = 0;
    for (int64_t j = 0; j < x->cols; j++)
        for (int64_t i = 0; i < x->rows; i++) {
            largest = testing_worse(largest, cabs(testing_get(expected, i, j)));
            difference = testing_worse(difference, cabs(testing_get(x, i, j) - testing_get(expected, i, j)));
        }
    return difference <= 1000 * testing_epsilon(x->dtype) * largest;
}

/* The factor answers as ever, through a handle of its own. */
static inline void check_factor(world *w) {
    gpusolve_handle *handle = testing_handle(w->backend, w->threads);
    memset(w->x.values, 0xff, testing_block_bytes(&w->x));
    CHECK_STATUS(gpusolve_solve(handle, w->factor, NULL, GPUSOLVE_A, &w->b, &w->x), GPUSOLVE_OK);
    check_x(&w->x, &w->expected);
    gpusolve_destroy(handle);
}

#endif
