/*
 * What the import's tests share: factors in arrays of their own, of any index and number type, small factors
 * that CHOLMOD makes, and what must hold of every structure that the import hands over.
 */
#ifndef IMPORT_CASES_H
#define IMPORT_CASES_H

#include "testing.h"

#include "gpusolve_cholmod.h"
#include "memory.h"
#include "pools.h"
#include "supernodal/import/import.h"

/* ------------------------------------------------------------------------------- arrays of any type --- */

static inline int64_t get_index(const void *array, gpusolve_itype itype, int64_t k) {
    return itype == GPUSOLVE_INT32 ? ((const int32_t *)array)[k] : ((const int64_t *)array)[k];
}

static inline void set_index(const void *array, gpusolve_itype itype, int64_t k, int64_t value) {
    if (itype == GPUSOLVE_INT32)
        ((int32_t *)(uintptr_t)array)[k] = (int32_t)value;
    else
        ((int64_t *)(uintptr_t)array)[k] = value;
}

/* Number k of a factor, from x alone or from x and z. */
static inline double complex get_number(const gpusolve_factor_data *data, int64_t k) {
    if (!data->z)
        return testing_fetch(data->dtype, data->x, k);
    const gpusolve_dtype part = data->dtype == GPUSOLVE_COMPLEX_FLOAT ? GPUSOLVE_FLOAT : GPUSOLVE_DOUBLE;
    return CMPLX(creal(testing_fetch(part, data->x, k)), creal(testing_fetch(part, data->z, k)));
}

static inline void set_number(const gpusolve_factor_data *data, int64_t k, double complex value) {
    if (!data->z) {
        testing_store(data->dtype, (void *)(uintptr_t)data->x, k, value);
        return;
    }
    const gpusolve_dtype part = data->dtype == GPUSOLVE_COMPLEX_FLOAT ? GPUSOLVE_FLOAT : GPUSOLVE_DOUBLE;
    testing_store(part, (void *)(uintptr_t)data->x, k, creal(value));
    testing_store(part, (void *)(uintptr_t)data->z, k, cimag(value));
}

static inline void *copy_indices(const void *from, gpusolve_itype itype, gpusolve_itype to, int64_t count) {
    if (!from)
        return NULL;
    void *copy = malloc((size_t)count * (to == GPUSOLVE_INT32 ? sizeof(int32_t) : sizeof(int64_t)));
    REQUIRE(copy != NULL);
    for (int64_t k = 0; k < count; k++)
        set_index(copy, to, k, get_index(from, itype, k));
    return copy;
}

/* The factor in arrays of its own, that end where they must. split: with z. */
static inline gpusolve_factor_data copy_factor(const gpusolve_factor_data *from, gpusolve_itype itype,
                                               gpusolve_dtype dtype, int split) {
    gpusolve_factor_data to = *from;
    const int super = from->kind == GPUSOLVE_SUPERNODAL_LL;
    to.itype = itype;
    to.dtype = dtype;
    to.perm = copy_indices(from->perm, from->itype, itype, from->n);
    to.super = copy_indices(super ? from->super : NULL, from->itype, itype, from->nsuper + 1);
    to.pi = copy_indices(super ? from->pi : NULL, from->itype, itype, from->nsuper + 1);
    to.px = copy_indices(super ? from->px : NULL, from->itype, itype, from->nsuper + 1);
    to.s = copy_indices(super ? from->s : NULL, from->itype, itype, from->ssize);
    to.p = copy_indices(super ? NULL : from->p, from->itype, itype, from->n + 1);
    to.i = copy_indices(super ? NULL : from->i, from->itype, itype, from->xsize);
    to.nz = copy_indices(super ? NULL : from->nz, from->itype, itype, from->n);
    const size_t bytes = testing_bytes(dtype) / (split ? 2 : 1) * (size_t)from->xsize;
    to.x = calloc(bytes, 1);
    to.z = split ? calloc(bytes, 1) : NULL;
    REQUIRE(to.x && (to.z || !split));
    for (int64_t k = 0; k < from->xsize; k++)
        set_number(&to, k, get_number(from, k));
    return to;
}

static inline void free_factor(gpusolve_factor_data *data) {
    const void *arrays[] = {data->perm, data->super, data->pi, data->px, data->s,
                            data->p,    data->i,     data->nz, data->x,  data->z};
    for (size_t k = 0; k < sizeof arrays / sizeof *arrays; k++)
        free((void *)(uintptr_t)arrays[k]);
    memset(data, 0, sizeof *data);
}

/* --------------------------------------------------------------------------------- CHOLMOD's factors --- */

/* A 7-point grid, Hermitian where complex: the lower triangle of a diagonally dominant matrix. */
static inline cholmod_sparse *grid_matrix(int nx, int ny, int nz, int xtype, cholmod_common *common) {
    const int n = nx * ny * nz;
    cholmod_triplet *t = cholmod_allocate_triplet((size_t)n, (size_t)n, 4 * (size_t)n, -1, xtype, common);
    REQUIRE(t != NULL);
    int *row = t->i, *column = t->j;
    double *x = t->x, *z = t->z;
    for (int j = 0; j < n; j++) {
        const int neighbours[4] = {j, j % nx + 1 < nx ? j + 1 : -1, j / nx % ny + 1 < ny ? j + nx : -1,
                                   j / nx / ny + 1 < nz ? j + nx * ny : -1};
        for (int k = 0; k < 4; k++) {
            if (neighbours[k] < 0)
                continue;
            row[t->nnz] = neighbours[k];
            column[t->nnz] = j;
            const double re = k == 0 ? 7 + 0.01 * (j % 13) : -1 + 0.003 * (j % 7),
                         im = k == 0 ? 0 : 0.1 + 0.01 * (j % 5);
            if (xtype == CHOLMOD_COMPLEX) {
                x[2 * t->nnz] = re;
                x[2 * t->nnz + 1] = im;
            } else
                x[t->nnz] = re;
            if (xtype == CHOLMOD_ZOMPLEX)
                z[t->nnz] = im;
            t->nnz++;
        }
    }
    cholmod_sparse *a = cholmod_triplet_to_sparse(t, t->nnz, common);
    REQUIRE(a != NULL);
    cholmod_free_triplet(&t, common);
    return a;
}

static inline cholmod_factor *factorize(cholmod_sparse *a, int supernodal, cholmod_common *common) {
    common->supernodal = supernodal ? CHOLMOD_SUPERNODAL : CHOLMOD_SIMPLICIAL;
    cholmod_factor *l = cholmod_analyze(a, common);
    REQUIRE(l && cholmod_factorize(a, l, common));
    return l;
}

static inline cholmod_factor *grid_factor(int nx, int ny, int nz, int xtype, int supernodal,
                                          cholmod_common *common) {
    cholmod_sparse *a = grid_matrix(nx, ny, nz, xtype, common);
    cholmod_factor *l = factorize(a, supernodal, common);
    cholmod_free_sparse(&a, common);
    return l;
}

static inline gpusolve_factor_data describe(const cholmod_factor *l) {
    gpusolve_factor_data data;
    const char *text = "";
    REQUIRE(gpusolve_cholmod_describe_(l, &data, &text) == GPUSOLVE_OK);
    return data;
}

/* ---------------------------------------------------------------------------------------- invariants --- */

/* Supernodes and their rows as plan.h says; that parents contain their children is gsv_plan_create's to
 * check. */
static inline int structure_is_sound(const gsv_structure *l) {
    int sound = l->first_column[0] == 0 && l->first_column[l->nsuper] == l->n && l->row_ptr[0] == 0;
    for (int32_t s = 0; s < l->nsuper && sound; s++) {
        const int32_t first = l->first_column[s], nc = l->first_column[s + 1] - first;
        const int64_t start = l->row_ptr[s], nr = l->row_ptr[s + 1] - start;
        sound = nc > 0 && nr >= nc;
        for (int64_t t = 0; t < nr && sound; t++) {
            const int32_t row = l->rows[start + t];
            sound = t < nc ? row == first + t : row > l->rows[start + t - 1] && row < l->n;
        }
    }
    unsigned char *seen = l->perm ? calloc((size_t)l->n + 1, 1) : NULL;
    for (int32_t k = 0; seen && k < l->n && sound; k++) {
        sound = l->perm[k] >= 0 && l->perm[k] < l->n && !seen[l->perm[k]];
        if (sound)
            seen[l->perm[k]] = 1;
    }
    free(seen);
    return sound;
}

/* Import and plan a factor that must be accepted. */
static inline gsv_plan plan_of(const gpusolve_factor_data *data) {
    gsv_structure structure;
    gsv_plan plan;
    gsv_message message = {""};
    REQUIRE(testing_check(gsv_import_structure(data, testing_pool(2), &structure, &message) == GPUSOLVE_OK,
                          __FILE__, __LINE__, "%s", message.text));
    CHECK(structure_is_sound(&structure));
    REQUIRE(testing_check(gsv_plan_create(&structure, testing_pool(2), &plan, &message) == GPUSOLVE_OK,
                          __FILE__, __LINE__, "%s", message.text));
    return plan;
}

/* The number that belongs at row r (place among the supernode's rows) of column k of panel s, the slow way.
 */
static inline double complex expected_number(const gpusolve_factor_data *data, const gsv_plan *plan,
                                             int32_t s, int32_t r, int32_t k) {
    if (r < k)
        return 0;
    if (data->kind == GPUSOLVE_SUPERNODAL_LL)
        return get_number(data, get_index(data->px, data->itype, s) + (int64_t)k * gsv_rows(plan, s) + r);
    if (data->kind == GPUSOLVE_SIMPLICIAL_LDL && r == k)
        return 1;
    const int64_t j = plan->l.first_column[s] + k, start = get_index(data->p, data->itype, j);
    const int64_t end =
        data->nz ? start + get_index(data->nz, data->itype, j) : get_index(data->p, data->itype, j + 1);
    for (int64_t t = start; t < end; t++)
        if (get_index(data->i, data->itype, t) == plan->l.rows[plan->l.row_ptr[s] + r])
            return get_number(data, t);
    return 0;
}

/* Are pieces of columns what the whole panel has there, and nothing else written? */
static inline int same_pieces(const gpusolve_factor_data *data, const gsv_plan *plan, int32_t s,
                              const char *panel) {
    const size_t bytes = testing_bytes(data->dtype);
    const int32_t nr = gsv_rows(plan, s), nc = gsv_columns(plan, s);
    char *piece = malloc(((size_t)nr + 1) * bytes);
    REQUIRE(piece);
    int same = 1;
    for (int32_t k = 0; k < nc; k++)
        for (int32_t first = 0; first < nr - k; first++)
            for (int32_t count = 0; count <= nr - k - first; count += count < 2 ? 1 : nr) {
                const size_t end = (size_t)count * bytes;
                memset(piece, 0xee, ((size_t)nr + 1) * bytes);
                gsv_import_column(data, plan, s, k, first, count, piece);
                same = same && piece[end] == (char)0xee &&
                       !memcmp(piece, panel + ((size_t)k * (size_t)(nr + 1) + (size_t)first) * bytes, end);
                if (count == 2 && nr - k - first > 2) { /* and all of them */
                    gsv_import_column(data, plan, s, k, first, nr - k - first, piece);
                    same =
                        same && !memcmp(piece, panel + ((size_t)k * (size_t)(nr + 1) + (size_t)first) * bytes,
                                        (size_t)(nr - k - first) * bytes);
                }
            }
    free(piece);
    return same;
}

/* Every panel holds, bit for bit, what it must, and every stored number has a place in one. */
static inline void check_panels(const gpusolve_factor_data *data, const gsv_plan *plan) {
    const size_t bytes = testing_bytes(data->dtype);
    int64_t kept = 0, stored = 0;
    for (int32_t s = 0; s < plan->l.nsuper; s++) {
        const int32_t nr = gsv_rows(plan, s), nc = gsv_columns(plan, s);
        char *panel = malloc((size_t)nr * (size_t)nc * bytes), *expected = malloc(bytes);
        REQUIRE(panel && expected);
        memset(panel, 0xff, (size_t)nr * (size_t)nc * bytes);
        gsv_import_panel(data, plan, s, panel);
        int same = 1;
        for (int32_t k = 0; k < nc; k++)
            for (int32_t r = 0; r < nr; r++) {
                const double complex number = expected_number(data, plan, s, r, k);
                testing_store(data->dtype, expected, 0, number);
                same = same && !memcmp(expected, panel + ((size_t)k * (size_t)nr + (size_t)r) * bytes, bytes);
                kept += number != 0;
            }
        CHECK(same && same_pieces(data, plan, s, panel));
        free(panel);
        free(expected);
    }
    if (data->kind == GPUSOLVE_SUPERNODAL_LL)
        return;
    for (int64_t j = 0; j < data->n; j++) {
        const int64_t start = get_index(data->p, data->itype, j);
        const int64_t end =
            data->nz ? start + get_index(data->nz, data->itype, j) : get_index(data->p, data->itype, j + 1);
        for (int64_t t = start; t < end; t++)
            stored += get_number(data, t) != 0;
    }
    CHECK(kept == stored);
}

#endif
