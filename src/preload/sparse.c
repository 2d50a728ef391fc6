/*
 * Sparse right-hand sides: solved as dense blocks of columns, whose numbers that are not zero become X, as in cholmod_spsolve.
 *
 * The blocks are the rows that B has numbers in, by a selection, if forward substitution is all that the system wants and few rows
 * are, or if the same rows are solved with again. Otherwise they are whole columns: backward substitution reads all of L for
 * any b, so a selection for a single call would cost more than it saves.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "log.h"
#include "rows.h"
#include "serve.h"
#include "settings.h"

enum { BLOCK = 32 };

typedef preload_sparse *allocate_sparse(size_t nrow, size_t ncol, size_t nzmax, int sorted, int packed,
                                        int stype, int xdtype, preload_common *common);
typedef int reallocate_sparse(size_t nznew, preload_sparse *A, preload_common *common);
typedef int free_sparse(preload_sparse **A, preload_common *common);

typedef struct job {
    preload_lease *lease;
    int system;
    const preload_sparse *B;
    preload_sparse *X;
    preload_common *common;
    reallocate_sparse *reallocate;
    preload_selection *selection; /* NULL: whole columns */
    int64_t *place;               /* [n] of a row of B among the selection's, or NULL */
    int64_t filled;               /* numbers in X */
    int xtype;                    /* in which it is solved */
    int64_t b_rows, x_rows;       /* rows of the blocks */
    char *b, *x;                  /* the blocks */
} job;

static bool is_zero(const char *number, size_t bytes, bool single) {
    const size_t parts = bytes / (single ? sizeof(float) : sizeof(double));
    for (size_t k = 0; k < parts; k++) {
        double part = 0;
        float single_part = 0;
        if (single)
            memcpy(&single_part, number + k * sizeof single_part, sizeof single_part);
        else
            memcpy(&part, number + k * sizeof part, sizeof part);
        if ((single ? (double)single_part : part) != 0) /* a NaN is not zero */
            return false;
    }
    return true;
}

/* The columns [first, end) of B into the block. False: an index is out of range. */
static bool load(job *j, int64_t first, int64_t end) {
    const preload_sparse *B = j->B;
    const preload_numbers from = preload_numbers_of(B->x, B->z, B->xtype, B->dtype, 0);
    const preload_numbers to = preload_numbers_of(j->b, NULL, j->xtype, B->dtype, j->b_rows);
    memset(j->b, 0, (size_t)(end - first) * to.column);
    for (int64_t k = first; k < end; k++) {
        const int64_t begin = preload_index(B->p, B->itype, k);
        const int64_t stop =
            B->packed ? preload_index(B->p, B->itype, k + 1) : begin + preload_index(B->nz, B->itype, k);
        for (int64_t p = begin; p < stop; p++) {
            const int64_t i = p < 0 ? -1 : preload_index(B->i, B->itype, p);
            if (i < 0 || i >= (int64_t)B->nrow)
                return false;
            preload_copy_number(&to, j->place ? j->place[i] : i, k - first, &from, p, 0);
        }
    }
    return true;
}

/* Makes room in X for `more` numbers. */
static bool grow(job *j, int64_t more) {
    const size_t wanted = (size_t)(j->filled + more);
    if (wanted <= j->X->nzmax)
        return true;
    if (j->X->itype == PRELOAD_INT && wanted > INT32_MAX)
        return false;
    const size_t ample = wanted + wanted / 2;
    return j->reallocate(j->X->itype == PRELOAD_INT && ample > INT32_MAX ? INT32_MAX : ample, j->X,
                         j->common);
}

/* The block's numbers that are not zero become columns of X. */
static bool store(job *j, int64_t first, int64_t end) {
    const int64_t *rows = j->selection && !j->selection->all_x ? j->selection->x_rows : NULL;
    const bool single = j->B->dtype == PRELOAD_SINGLE;
    const size_t bytes = preload_number_bytes(j->xtype, j->B->dtype);
    const preload_numbers from = preload_numbers_of(j->x, NULL, j->xtype, j->B->dtype, j->x_rows);
    for (int64_t k = first; k < end; k++) {
        const char *column = j->x + (size_t)(k - first) * from.column;
        int64_t count = 0;
        for (int64_t i = 0; i < j->x_rows; i++)
            count += !is_zero(column + (size_t)i * bytes, bytes, single);
        if (!grow(j, count))
            return false;
        preload_sparse *X = j->X;
        const preload_numbers to = preload_numbers_of(X->x, X->z, X->xtype, X->dtype, 0);
        preload_set_index(X->p, X->itype, k, j->filled);
        for (int64_t i = 0; i < j->x_rows; i++)
            if (!is_zero(column + (size_t)i * bytes, bytes, single)) {
                preload_set_index(X->i, X->itype, j->filled, rows ? rows[i] : i);
                preload_copy_number(&to, j->filled++, 0, &from, i, k - first);
            }
        preload_set_index(X->p, X->itype, k + 1, j->filled);
    }
    return true;
}

static bool solve_block(job *j, int64_t cols) {
    const bool is_complex = j->xtype == PRELOAD_COMPLEX;
    const gpusolve_dtype dtype = preload_dtype(is_complex, j->B->dtype);
    const gpusolve_dense b = {dtype, GPUSOLVE_COL_MAJOR, j->b_rows, cols, j->b_rows > 0 ? j->b_rows : 1,
                              j->b};
    const gpusolve_dense x = {dtype, GPUSOLVE_COL_MAJOR, j->x_rows, cols, j->x_rows > 0 ? j->x_rows : 1,
                              j->x};
    preload_lease *lease = j->lease;
    if (!j->selection)
        return preload_lease_solve(lease, j->system, &b, &x);
    const gpusolve_status status =
        lease->engine->solve_selected(lease->handle, lease->factor, j->selection->selection, &b, &x);
    if (status != GPUSOLVE_OK)
        snprintf(lease->why, sizeof lease->why, "not solved: %s", lease->engine->last_error(lease->handle));
    return status == GPUSOLVE_OK;
}

/* Chooses how: a selection in j, or none. False, with why: B is not to be read. */
static bool choose(job *j, const preload_factor *L) {
    const int64_t n = (int64_t)L->n;
    const bool forward_alone = j->system == GPUSOLVE_L || j->system == GPUSOLVE_LD;
    const int64_t max_nrhs = j->B->ncol < BLOCK ? (int64_t)j->B->ncol : BLOCK;
    int64_t *rows = NULL, *reached = NULL, total = n;
    const int64_t count = preload_rows_of(j->B, n, &rows);
    if (count < 0) {
        snprintf(j->lease->why, sizeof j->lease->why, "B has rows that L has not, or out of memory");
        return false;
    }
    const bool again = preload_rows_again(j->lease, j->system, count, rows) ||
                       preload_get_settings()->mode == PRELOAD_ALWAYS;
    if (count > 0 && count <= n / 4 && (forward_alone || again)) {
        j->selection = preload_take_selection(j->lease, j->system, count, rows, max_nrhs);
        if (!j->selection && forward_alone)
            total = preload_reach(L, false, count, rows, &reached);
        if (!j->selection && total >= 0)
            j->selection = preload_make_selection(j->lease, j->system, count, rows, total, reached, max_nrhs);
    }
    j->b_rows = j->x_rows = n;
    if (j->selection) {
        j->b_rows = count;
        j->x_rows = j->selection->x_count;
        j->place = calloc((size_t)n + 1, sizeof *j->place);
        for (int64_t k = 0; j->place && k < count; k++)
            j->place[rows[k]] = k;
    }
    free(reached);
    free(rows);
    return !j->selection || j->place;
}

static bool run(job *j, const preload_factor *L) {
    const int64_t ncol = (int64_t)j->B->ncol, cols = ncol < BLOCK ? ncol : BLOCK;
    if (!choose(j, L))
        return false;
    const size_t bytes = preload_number_bytes(j->xtype, j->B->dtype) * (size_t)cols;
    j->b = malloc((size_t)j->b_rows * bytes + 1);
    j->x = malloc((size_t)j->x_rows * bytes + 1);
    snprintf(j->lease->why, sizeof j->lease->why, "out of memory, or X is too large");
    if (!j->b || !j->x)
        return false;
    for (int64_t first = 0; first < ncol; first += BLOCK) {
        const int64_t end = first + BLOCK < ncol ? first + BLOCK : ncol;
        if (!load(j, first, end) || !solve_block(j, end - first) || !store(j, first, end))
            return false;
    }
    return true;
}

preload_sparse *preload_serve_sparse(preload_lease *lease, int system, const preload_factor *L,
                                     const preload_sparse *B, const preload_sparse *like,
                                     const preload_library *library, preload_common *common) {
    const bool is_long = L->itype == PRELOAD_LONG;
    job j = {.lease = lease, .system = system, .B = B, .common = common};
    j.xtype = preload_is_complex(L->xtype, B->xtype) ? PRELOAD_COMPLEX : PRELOAD_REAL;
    j.reallocate = PRELOAD_REAL(reallocate_sparse, library, is_long, reallocate_sparse);
    const size_t room = L->n + 1; /* for the beginning */
    j.X = PRELOAD_REAL(allocate_sparse, library, is_long, allocate_sparse)(L->n, B->ncol, room, 1, 1, 0,
                                                                           like->xtype + like->dtype, common);
    bool solved = false;
    if (!j.X)
        snprintf(lease->why, sizeof lease->why, "out of memory");
    else
        solved = run(&j, L);
    if (solved) /* to what it holds, as CHOLMOD does */
        solved = j.reallocate(j.filled > 0 ? (size_t)j.filled : 1, j.X, common);
    if (solved && j.selection)
        preload_add(COUNT_SELECTED_SERVED);
    if (j.selection)
        preload_put_selection(lease, j.selection);
    free(j.place);
    free(j.b);
    free(j.x);
    if (j.X && !solved)
        PRELOAD_REAL(free_sparse, library, is_long, free_sparse)(&j.X, common);
    return solved ? j.X : NULL;
}
