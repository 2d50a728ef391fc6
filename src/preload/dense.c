/* Dense right-hand sides, whole or with a set of rows. */
#include <stdio.h>
#include <stdlib.h>

#include "log.h"
#include "rows.h"
#include "serve.h"

gpusolve_dtype preload_dtype(bool is_complex, int dtype) {
    if (dtype == PRELOAD_SINGLE)
        return is_complex ? GPUSOLVE_COMPLEX_FLOAT : GPUSOLVE_FLOAT;
    return is_complex ? GPUSOLVE_COMPLEX_DOUBLE : GPUSOLVE_DOUBLE;
}

static gpusolve_dense view(void *values, gpusolve_dtype dtype, int64_t rows, int64_t cols, int64_t ld) {
    return (gpusolve_dense){dtype, GPUSOLVE_COL_MAJOR, rows, cols, ld > 0 ? ld : 1, values};
}

static preload_numbers numbers_of(const preload_dense *X) {
    return preload_numbers_of(X->x, X->z, X->xtype, X->dtype, (int64_t)X->d);
}

/* B or X is in another form than gpusolve solves in (zomplex, or one of them real beside a complex L): by a copy in
 * complex numbers, in place. */
static bool serve_copy(preload_lease *lease, int system, const preload_dense *B, preload_dense *X) {
    const int64_t n = (int64_t)B->nrow, nrhs = (int64_t)B->ncol;
    const size_t bytes = preload_number_bytes(PRELOAD_COMPLEX, B->dtype);
    void *copy = n > 0 && nrhs > 0 ? calloc((size_t)n * (size_t)nrhs, bytes) : NULL;
    if (!copy) {
        snprintf(lease->why, sizeof lease->why, "out of memory");
        return false;
    }
    const preload_numbers c = preload_numbers_of(copy, NULL, PRELOAD_COMPLEX, B->dtype, n);
    const preload_numbers b = numbers_of(B), x = numbers_of(X);
    for (int64_t j = 0; j < nrhs; j++)
        for (int64_t i = 0; i < n; i++)
            preload_copy_number(&c, i, j, &b, i, j);
    const gpusolve_dense both = view(copy, preload_dtype(true, B->dtype), n, nrhs, n);
    const bool solved = preload_lease_solve(lease, system, &both, &both);
    for (int64_t j = 0; solved && j < nrhs; j++)
        for (int64_t i = 0; i < n; i++)
            preload_copy_number(&x, i, j, &c, i, j);
    free(copy);
    return solved;
}

bool preload_serve_dense(preload_lease *lease, int system, const preload_factor *L, const preload_dense *B,
                         preload_dense *X) {
    const bool is_complex = preload_is_complex(L->xtype, B->xtype);
    const int direct = is_complex ? PRELOAD_COMPLEX : PRELOAD_REAL;
    if (B->xtype != direct || X->xtype != direct)
        return serve_copy(lease, system, B, X);
    const gpusolve_dtype dtype = preload_dtype(is_complex, B->dtype);
    const gpusolve_dense b = view(B->x, dtype, (int64_t)B->nrow, (int64_t)B->ncol, (int64_t)B->d);
    const gpusolve_dense x = view(X->x, dtype, (int64_t)X->nrow, (int64_t)X->ncol, (int64_t)X->d);
    return preload_lease_solve(lease, system, &b, &x);
}

/* The selection for these rows of b, and the rows of x that they reach. */
static preload_selection *select_rows(preload_lease *lease, int system, const preload_factor *L,
                                      int64_t count, const int64_t *rows) {
    preload_selection *selection = preload_take_selection(lease, system, count, rows, 1);
    int64_t *reached = NULL;
    if (selection)
        return selection;
    const int64_t total = preload_reach(L, system == GPUSOLVE_A, count, rows, &reached);
    if (total < 0) {
        snprintf(lease->why, sizeof lease->why, "out of memory");
        return NULL;
    }
    selection = preload_make_selection(lease, system, count, rows, total, reached, 1);
    free(reached);
    return selection;
}

bool preload_serve_rows(preload_lease *lease, int system, const preload_factor *L, const preload_dense *B,
                        const preload_sparse *Bset, preload_dense *X, preload_sparse *Xset) {
    const bool is_complex = preload_is_complex(L->xtype, B->xtype);
    const int xtype = is_complex ? PRELOAD_COMPLEX : PRELOAD_REAL;
    const size_t bytes = preload_number_bytes(xtype, B->dtype);
    int64_t *rows = NULL;
    const int64_t count = preload_rows_of(Bset, (int64_t)L->n, &rows);
    preload_selection *selection = NULL;
    char *numbers = NULL;
    bool solved = false;
    if (count < 0)
        snprintf(lease->why, sizeof lease->why, "Bset has rows that L has not, or out of memory");
    else if (count == 0)
        snprintf(lease->why, sizeof lease->why, "Bset is empty");
    else
        selection = select_rows(lease, system, L, count, rows);
    if (selection) {
        numbers = malloc((size_t)(selection->b_count + selection->x_count) * bytes);
        snprintf(lease->why, sizeof lease->why, "out of memory");
    }
    if (numbers) {
        const gpusolve_dtype dtype = preload_dtype(is_complex, B->dtype);
        const preload_numbers all_b = numbers_of(B), all_x = numbers_of(X);
        const preload_numbers some_b = preload_numbers_of(numbers, NULL, xtype, B->dtype, count);
        const preload_numbers some_x =
            preload_numbers_of(numbers + (size_t)count * bytes, NULL, xtype, B->dtype, selection->x_count);
        for (int64_t k = 0; k < count; k++)
            preload_copy_number(&some_b, k, 0, &all_b, rows[k], 0);
        const gpusolve_dense b = view(some_b.re, dtype, count, 1, count);
        const gpusolve_dense x = view(some_x.re, dtype, selection->x_count, 1, selection->x_count);
        const gpusolve_status status =
            lease->engine->solve_selected(lease->handle, lease->factor, selection->selection, &b, &x);
        solved = status == GPUSOLVE_OK;
        if (!solved)
            snprintf(lease->why, sizeof lease->why, "not solved: %s",
                     lease->engine->last_error(lease->handle));
        for (int64_t k = 0; solved && k < selection->x_count; k++) {
            preload_copy_number(&all_x, selection->x_rows[k], 0, &some_x, k, 0);
            preload_set_index(Xset->i, Xset->itype, k, selection->x_rows[k]);
        }
        if (solved) {
            preload_set_index(Xset->p, Xset->itype, 0, 0);
            preload_set_index(Xset->p, Xset->itype, 1, selection->x_count);
            preload_add(COUNT_SELECTED_SERVED);
        }
    }
    if (selection)
        preload_put_selection(lease, selection);
    free(numbers);
    free(rows);
    return solved;
}
