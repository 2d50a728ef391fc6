/*
 * cuSPARSE's triangular solves, looked for at run time ($GPUSOLVE_CUSPARSE is the path of libcusparse.so.12;
 * else the loader's path): y = P b, z = L \ y, y = L' \ z, x = P' y, with SpSV for one right-hand side and
 * SpSM for more, on the factor that gpusolve imported.
 *
 * L is given by rows and L' by rows, both analysed before anything is timed, so that neither solve is one
 * with a transpose. Numbers of L that are exactly zero, which fill up the panels of relaxed supernodes, are
 * left out.
 */
#include <stdlib.h>

#include "permute.h"
#include "library.h"

enum { /* of cuSPARSE's enumerations, version 12 */
       PLAIN = 0,
       INDEX_INT32 = 2,
       BASE_ZERO = 0,
       COLUMN_MAJOR = 1,
       FILL_MODE = 0,
       LOWER = 0,
       UPPER = 1,
       REAL_DOUBLE = 1, /* of cudaDataType */
       COMPLEX_DOUBLE = 5,
       MOST_NUMBERS = 250000000 /* of L; its analysis and its solves would take minutes */
};

/* Handles and descriptors are pointers; statuses and enumerations ints. alg is 0, the default. */
typedef int matrix_size(void *handle, int op_a, int op_b, const void *alpha, void *a, void *b, void *x,
                        int type, int alg, void *state, size_t *bytes);
typedef int matrix_analysis(void *handle, int op_a, int op_b, const void *alpha, void *a, void *b, void *x,
                            int type, int alg, void *state, void *buffer);
typedef int matrix_solve(void *handle, int op_a, int op_b, const void *alpha, void *a, void *b, void *x,
                         int type, int alg, void *state);
typedef int vector_size(void *handle, int op_a, const void *alpha, void *a, void *b, void *x, int type,
                        int alg, void *state, size_t *bytes);
typedef int vector_analysis(void *handle, int op_a, const void *alpha, void *a, void *b, void *x, int type,
                            int alg, void *state, void *buffer);
typedef int vector_solve(void *handle, int op_a, const void *alpha, void *a, void *b, void *x, int type,
                         int alg, void *state);

typedef struct functions {
    int (*create)(void **handle);
    int (*destroy)(void *handle);
    int (*set_stream)(void *handle, void *stream);
    int (*create_csr)(void **matrix, int64_t rows, int64_t columns, int64_t nnz, void *row_start,
                      void *column, void *values, int offset_type, int index_type, int base, int value_type);
    int (*set_attribute)(void *matrix, int attribute, void *value, size_t bytes);
    int (*destroy_sparse)(void *matrix);
    int (*create_matrix)(void **matrix, int64_t rows, int64_t columns, int64_t ld, void *values, int type,
                         int order);
    int (*destroy_matrix)(void *matrix);
    int (*create_vector)(void **vector, int64_t size, void *values, int type);
    int (*destroy_vector)(void *vector);
    int (*matrix_state)(void **state);
    int (*matrix_state_destroy)(void *state);
    matrix_size *matrix_bytes;
    matrix_analysis *matrix_analyse;
    matrix_solve *matrix_solves;
    int (*vector_state)(void **state);
    int (*vector_state_destroy)(void *state);
    vector_size *vector_bytes;
    vector_analysis *vector_analyse;
    vector_solve *vector_solves;
} functions;

/* A triangle by rows, on the device, and what was found out about it. */
typedef struct triangle {
    void *memory[3]; /* row starts, columns, values */
    void *matrix, *state, *buffer;
} triangle;

typedef struct cusparse {
    functions f;
    const bench_device *device;
    void *handle;
    int64_t n, nrhs;
    int type, parts;
    triangle lower, upper;
    void *perm;      /* [n] or NULL */
    void *values[2]; /* y and z, n x nrhs */
    void *blocks[2]; /* cuSPARSE's descriptors of them: of vectors where nrhs is 1 */
    const void *b;
    void *x;
} cusparse;

static const double one[2] = {1, 0};

static const char *const libraries[] = {"libcusparse.so.12", "libcusparse.so", NULL};

static int find_all(void *library, functions *f, bench_solver_facts *facts) {
    return bench_library_find(library, "cusparseCreate", &f->create, facts) ||
           bench_library_find(library, "cusparseDestroy", &f->destroy, facts) ||
           bench_library_find(library, "cusparseSetStream", &f->set_stream, facts) ||
           bench_library_find(library, "cusparseCreateCsr", &f->create_csr, facts) ||
           bench_library_find(library, "cusparseSpMatSetAttribute", &f->set_attribute, facts) ||
           bench_library_find(library, "cusparseDestroySpMat", &f->destroy_sparse, facts) ||
           bench_library_find(library, "cusparseCreateDnMat", &f->create_matrix, facts) ||
           bench_library_find(library, "cusparseDestroyDnMat", &f->destroy_matrix, facts) ||
           bench_library_find(library, "cusparseCreateDnVec", &f->create_vector, facts) ||
           bench_library_find(library, "cusparseDestroyDnVec", &f->destroy_vector, facts) ||
           bench_library_find(library, "cusparseSpSM_createDescr", &f->matrix_state, facts) ||
           bench_library_find(library, "cusparseSpSM_destroyDescr", &f->matrix_state_destroy, facts) ||
           bench_library_find(library, "cusparseSpSM_bufferSize", &f->matrix_bytes, facts) ||
           bench_library_find(library, "cusparseSpSM_analysis", &f->matrix_analyse, facts) ||
           bench_library_find(library, "cusparseSpSM_solve", &f->matrix_solves, facts) ||
           bench_library_find(library, "cusparseSpSV_createDescr", &f->vector_state, facts) ||
           bench_library_find(library, "cusparseSpSV_destroyDescr", &f->vector_state_destroy, facts) ||
           bench_library_find(library, "cusparseSpSV_bufferSize", &f->vector_bytes, facts) ||
           bench_library_find(library, "cusparseSpSV_analysis", &f->vector_analyse, facts) ||
           bench_library_find(library, "cusparseSpSV_solve", &f->vector_solves, facts);
}

static int check(int status, const char *what, bench_solver_facts *facts) {
    return status ? bench_solver_explain(facts, "%s: status %d", what, status) : 0;
}

/* ----------------------------------------------------------------------------------- L and L' by rows --- */

typedef struct rows { /* on the host */
    int *start, *column;
    double *value;
} rows;

static void free_rows(rows *r) {
    free(r->start);
    free(r->column);
    free(r->value);
}

static int allocate_rows(rows *r, size_t n, size_t nnz, size_t parts) {
    r->start = calloc(n + 2, sizeof *r->start);
    r->column = malloc((nnz + 1) * sizeof *r->column);
    r->value = malloc((nnz * parts + 1) * sizeof *r->value);
    return r->start && r->column && r->value ? 0 : -1;
}

/*
 * L' by rows, which is L by columns but for the conjugates. With r NULL: how many numbers that are. The
 * number in row k of the panel of a supernode with nr rows, column j of it, stands at k + j nr.
 */
static int64_t list_upper(const cholmod_factor *l, int parts, rows *r) {
    const int *super = l->super, *pi = l->pi, *px = l->px, *s = l->s;
    const double *x = l->x;
    int64_t count = 0;

    for (size_t k = 0; k < l->nsuper; k++)
        for (int j = super[k]; j < super[k + 1]; j++) {
            const int nr = pi[k + 1] - pi[k];
            const double *column = x + ((size_t)px[k] + (size_t)(j - super[k]) * (size_t)nr) * (size_t)parts;

            for (int i = j - super[k]; i < nr; i++) {
                const double *number = column + (size_t)i * (size_t)parts;

                if (number[0] == 0 && (parts == 1 || number[1] == 0))
                    continue;
                if (r) {
                    r->column[count] = s[pi[k] + i];
                    r->value[count * parts] = number[0];
                    if (parts == 2)
                        r->value[count * parts + 1] = -number[1];
                }
                count++;
            }
            if (r)
                r->start[j + 1] = (int)count;
        }
    return count;
}

/* L by rows from L' by rows, a counting sort. */
static void list_lower(const rows *upper, int64_t n, int parts, rows *lower) {
    int *next = lower->start + 1; /* where the next number of row i goes; in the end, where row i ends */

    for (int64_t k = 0; k < upper->start[n]; k++)
        lower->start[upper->column[k] + 2]++;
    for (int64_t i = 0; i < n; i++)
        lower->start[i + 1] += lower->start[i];
    for (int64_t j = 0; j < n; j++)
        for (int64_t k = upper->start[j]; k < upper->start[j + 1]; k++) {
            const int64_t at = next[upper->column[k]]++;

            lower->column[at] = (int)j;
            lower->value[at * parts] = upper->value[k * parts];
            if (parts == 2)
                lower->value[at * parts + 1] = -upper->value[k * parts + 1];
        }
}

static int upload(cusparse *s, const rows *r, int fill, triangle *t, bench_solver_facts *facts) {
    const size_t n = (size_t)s->n, nnz = (size_t)r->start[n];
    const size_t bytes[] = {(n + 1) * sizeof *r->start, nnz * sizeof *r->column,
                            nnz * (size_t)s->parts * sizeof *r->value};
    const void *const from[] = {r->start, r->column, r->value};

    for (int i = 0; i < 3; i++) {
        t->memory[i] = s->device->allocate(bytes[i] + 1);
        if (!t->memory[i] || s->device->upload(t->memory[i], from[i], bytes[i]))
            return bench_solver_explain(facts, "out of memory for L");
    }
    if (check(s->f.create_csr(&t->matrix, s->n, s->n, (int64_t)nnz, t->memory[0], t->memory[1], t->memory[2],
                              INDEX_INT32, INDEX_INT32, BASE_ZERO, s->type),
              "its matrix", facts))
        return -1;
    return check(s->f.set_attribute(t->matrix, FILL_MODE, &fill, sizeof fill), "its triangle", facts);
}

static int make_triangles(cusparse *s, const bench_problem *problem, bench_solver_facts *facts) {
    const cholmod_factor *l = problem->factor;
    const int64_t nnz = list_upper(l, s->parts, NULL);
    const size_t n = (size_t)s->n;
    rows upper = {0}, lower = {0};
    int status;

    facts->nnz_l = nnz;
    if (nnz > MOST_NUMBERS)
        return bench_solver_explain(facts, "left out: L has %lld numbers, more than %d would take minutes",
                                    (long long)nnz, (int)MOST_NUMBERS);
    if (allocate_rows(&upper, n, (size_t)nnz, (size_t)s->parts) ||
        allocate_rows(&lower, n, (size_t)nnz, (size_t)s->parts)) {
        status = bench_solver_explain(facts, "out of memory");
    } else {
        list_upper(l, s->parts, &upper);
        list_lower(&upper, s->n, s->parts, &lower);
        status = upload(s, &upper, UPPER, &s->upper, facts);
        if (!status)
            status = upload(s, &lower, LOWER, &s->lower, facts);
    }
    free_rows(&upper);
    free_rows(&lower);
    if (!status && l->Perm) {
        s->perm = s->device->allocate(n * sizeof(int) + 1);
        if (!s->perm || s->device->upload(s->perm, l->Perm, n * sizeof(int)))
            status = bench_solver_explain(facts, "out of memory for the permutation");
    }
    return status;
}

/* ---------------------------------------------------------------------------------------------- solve --- */

/* Forget one number of right-hand sides. */
static void unbind(cusparse *s) {
    triangle *const both[] = {&s->lower, &s->upper};

    for (int i = 0; i < 2; i++) {
        if (both[i]->state && s->nrhs == 1)
            s->f.vector_state_destroy(both[i]->state);
        else if (both[i]->state)
            s->f.matrix_state_destroy(both[i]->state);
        if (both[i]->buffer)
            s->device->release(both[i]->buffer);
        both[i]->state = both[i]->buffer = NULL;
        if (s->blocks[i] && s->nrhs == 1)
            s->f.destroy_vector(s->blocks[i]);
        else if (s->blocks[i])
            s->f.destroy_matrix(s->blocks[i]);
        if (s->values[i])
            s->device->release(s->values[i]);
        s->blocks[i] = s->values[i] = NULL;
    }
}

/* Analysis of t for solves from block `from` into block `to`. */
static int analyse(cusparse *s, triangle *t, void *from, void *to, bench_solver_facts *facts) {
    const functions *f = &s->f;
    size_t bytes = 0;
    int status = s->nrhs == 1 ? f->vector_state(&t->state) : f->matrix_state(&t->state);

    if (!status)
        status = s->nrhs == 1 ? f->vector_bytes(s->handle, PLAIN, one, t->matrix, from, to, s->type, 0,
                                                t->state, &bytes)
                              : f->matrix_bytes(s->handle, PLAIN, PLAIN, one, t->matrix, from, to, s->type, 0,
                                                t->state, &bytes);
    if (check(status, "its buffer's size", facts))
        return -1;
    t->buffer = s->device->allocate(bytes + 1);
    if (!t->buffer)
        return bench_solver_explain(facts, "out of memory for a buffer of %zu bytes", bytes);
    status = s->nrhs == 1 ? f->vector_analyse(s->handle, PLAIN, one, t->matrix, from, to, s->type, 0,
                                              t->state, t->buffer)
                          : f->matrix_analyse(s->handle, PLAIN, PLAIN, one, t->matrix, from, to, s->type, 0,
                                              t->state, t->buffer);
    return check(status, "its analysis", facts);
}

static int bind(void *solver, int64_t nrhs, void *b, void *x, bench_solver_facts *facts) {
    cusparse *s = solver;
    const size_t bytes = (size_t)(s->n * nrhs * s->parts) * sizeof(double);

    unbind(s);
    s->nrhs = nrhs;
    s->b = b;
    s->x = x;
    for (int i = 0; i < 2; i++) {
        int status;

        if (!(s->values[i] = s->device->allocate(bytes + 1)))
            return bench_solver_explain(facts, "out of memory for vectors");
        status = nrhs == 1 ? s->f.create_vector(&s->blocks[i], s->n, s->values[i], s->type)
                           : s->f.create_matrix(&s->blocks[i], s->n, nrhs, s->n, s->values[i], s->type,
                                                COLUMN_MAJOR);
        if (check(status, "its blocks", facts))
            return -1;
    }
    return analyse(s, &s->lower, s->blocks[0], s->blocks[1], facts) ||
           analyse(s, &s->upper, s->blocks[1], s->blocks[0], facts);
}

static int solve_with(cusparse *s, const triangle *t, void *from, void *to) {
    return s->nrhs == 1
               ? s->f.vector_solves(s->handle, PLAIN, one, t->matrix, from, to, s->type, 0, t->state)
               : s->f.matrix_solves(s->handle, PLAIN, PLAIN, one, t->matrix, from, to, s->type, 0, t->state);
}

static int solve(void *solver) {
    cusparse *s = solver;
    void *stream = s->device->stream;

    return bench_permute(s->n, s->nrhs, s->parts, s->perm, 0, s->b, s->values[0], stream) ||
           solve_with(s, &s->lower, s->blocks[0], s->blocks[1]) ||
           solve_with(s, &s->upper, s->blocks[1], s->blocks[0]) ||
           bench_permute(s->n, s->nrhs, s->parts, s->perm, 1, s->values[0], s->x, stream);
}

static void destroy(void *solver) {
    cusparse *s = solver;
    triangle *const both[] = {s ? &s->lower : NULL, s ? &s->upper : NULL};

    if (!s)
        return;
    unbind(s);
    for (int i = 0; i < 2; i++) {
        if (both[i]->matrix)
            s->f.destroy_sparse(both[i]->matrix);
        for (int k = 0; k < 3; k++)
            if (both[i]->memory[k])
                s->device->release(both[i]->memory[k]);
    }
    if (s->perm)
        s->device->release(s->perm);
    if (s->handle)
        s->f.destroy(s->handle);
    free(s);
}

static void *create(bench_problem *problem, const bench_device *device, int threads, int mode,
                    bench_solver_facts *facts) {
    void *library = bench_library_load("GPUSOLVE_CUSPARSE", libraries);
    cusparse *s;

    (void)threads;
    (void)mode;
    if (!library) {
        bench_solver_explain(facts, "not found: $GPUSOLVE_CUSPARSE may be the path of libcusparse.so.12");
        return NULL;
    }
    if (!(s = calloc(1, sizeof *s))) {
        bench_solver_explain(facts, "out of memory");
        return NULL;
    }
    s->device = device;
    s->n = problem->n;
    s->parts = problem->matrix->xtype == CHOLMOD_COMPLEX ? 2 : 1;
    s->type = s->parts == 2 ? COMPLEX_DOUBLE : REAL_DOUBLE;
    facts->factorise_ms = problem->factorise_ms;
    if (!find_all(library, &s->f, facts) && !check(s->f.create(&s->handle), "its handle", facts) &&
        !check(s->f.set_stream(s->handle, device->stream), "its stream", facts) &&
        !make_triangles(s, problem, facts))
        return s;
    destroy(s);
    return NULL;
}

const bench_solver bench_cusparse_solver = {1, create, destroy, bind, solve, NULL};
