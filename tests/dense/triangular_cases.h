/*
 * What the tests of TRSM and TRMM share: one call described, its operands made and poisoned, its result
 * measured. A program includes this once, after testing.h.
 *
 * The result is right if every vector's ratio is below 30:
 *      TRSM    norm(op(A) x - alpha b) / (norm(op(A)) norm(x) eps + norm(alpha b) eps)
 *      TRMM    norm(y - alpha op(A) b) / (norm(op(A)) norm(alpha b) eps)
 * in the maximum norm, with sums in double precision, or twice that for double-precision operands.
 */
#ifndef GPUSOLVE_TRIANGULAR_CASES_H
#define GPUSOLVE_TRIANGULAR_CASES_H

#include "gpusolve_dense.h"

typedef long double complex wide;

typedef struct triangular_case {
    int multiply; /* TRMM */
    gpusolve_dtype dtype;
    gpusolve_side side;
    gpusolve_uplo uplo;
    gpusolve_trans trans;
    gpusolve_diag diag;
    int64_t m, n;
    double complex alpha;
    int64_t lda_padding, ldb_padding;
    int wild; /* numbers of any size off the diagonal: a triangle too ill-conditioned to be inverted */
} triangular_case;

static inline int64_t case_order(const triangular_case *c) {
    return c->side == GPUSOLVE_LEFT ? c->m : c->n;
}

static inline int64_t case_vectors(const triangular_case *c) {
    return c->side == GPUSOLVE_LEFT ? c->n : c->m;
}

/* Is entry (i, j) of A one that the call may read? */
static inline int case_reads(const triangular_case *c, int64_t i, int64_t j) {
    return i == j ? c->diag == GPUSOLVE_NON_UNIT : (i > j) == (c->uplo == GPUSOLVE_LOWER);
}

/* A: NaN wherever it must not be read. Off the diagonal, rows sum to about one, or are wild. */
static inline gpusolve_dense case_a(const triangular_case *c, uint64_t seed) {
    const int64_t n = case_order(c);
    const gpusolve_dense a = testing_block(c->dtype, GPUSOLVE_COL_MAJOR, n, n, c->lda_padding);
    const gpusolve_dense random = testing_block(c->dtype, GPUSOLVE_COL_MAJOR, n, n, 0);
    testing_fill(&random, seed);
    for (int64_t j = 0; j < n; j++)
        for (int64_t i = 0; i < n; i++) {
            const double complex value = testing_get(&random, i, j);
            if (case_reads(c, i, j))
                testing_set(&a, i, j, i == j ? 1.5 + 0.5 * value : c->wild ? value : 2 * value / (double)n);
        }
    free(random.values);
    return a;
}

static inline gpusolve_dense case_b(const triangular_case *c, uint64_t seed) {
    const gpusolve_dense b = testing_block(c->dtype, GPUSOLVE_COL_MAJOR, c->m, c->n, c->ldb_padding);
    testing_fill(&b, seed);
    return b;
}

static inline const char *case_name(const triangular_case *c) {
    static char text[160];
    snprintf(text, sizeof text, "%s %s, %s %s %s %s, m %lld, n %lld, alpha %g%+gi%s",
             c->multiply ? "trmm" : "trsm", (const char *[]){"s", "d", "c", "z"}[c->dtype],
             c->side == GPUSOLVE_LEFT ? "left" : "right", c->uplo == GPUSOLVE_LOWER ? "lower" : "upper",
             c->trans == GPUSOLVE_NO_TRANS ? "N"
             : c->trans == GPUSOLVE_TRANS  ? "T"
                                           : "C",
             c->diag == GPUSOLVE_UNIT ? "unit" : "non-unit", (long long)c->m, (long long)c->n,
             creal(c->alpha), cimag(c->alpha), c->wild ? ", wild" : "");
    return text;
}

/* The call itself on the pointers as they are. */
static inline gpusolve_status case_call(gpusolve_handle *handle, const triangular_case *c, const void *a,
                                        int64_t lda, void *b, int64_t ldb, void *workspace, size_t bytes) {
    const float single[2] = {(float)creal(c->alpha), (float)cimag(c->alpha)};
    const double twice[2] = {creal(c->alpha), cimag(c->alpha)};
    switch (c->dtype) {
    case GPUSOLVE_FLOAT:
        return (c->multiply ? gpusolve_strmm : gpusolve_strsm)(handle, c->side, c->uplo, c->trans, c->diag,
                                                               c->m, c->n, single[0], a, lda, b, ldb,
                                                               workspace, bytes);
    case GPUSOLVE_DOUBLE:
        return (c->multiply ? gpusolve_dtrmm : gpusolve_dtrsm)(handle, c->side, c->uplo, c->trans, c->diag,
                                                               c->m, c->n, twice[0], a, lda, b, ldb,
                                                               workspace, bytes);
    case GPUSOLVE_COMPLEX_FLOAT:
        return (c->multiply ? gpusolve_ctrmm : gpusolve_ctrsm)(handle, c->side, c->uplo, c->trans, c->diag,
                                                               c->m, c->n, single, a, lda, b, ldb, workspace,
                                                               bytes);
    case GPUSOLVE_COMPLEX_DOUBLE:
        break;
    }
    return (c->multiply ? gpusolve_ztrmm : gpusolve_ztrsm)(handle, c->side, c->uplo, c->trans, c->diag, c->m,
                                                           c->n, twice, a, lda, b, ldb, workspace, bytes);
}

/* The same for host blocks, on whatever backend. with_workspace: as much as the library asks for. */
static inline gpusolve_status case_run(gpusolve_handle *handle, const triangular_case *c,
                                       const gpusolve_dense *a, const gpusolve_dense *b, int with_workspace) {
    if (gpusolve_get_backend(handle) == GPUSOLVE_BACKEND_HOST)
        return case_call(handle, c, a->values, a->ld, b->values, b->ld, NULL, 0);
    size_t bytes = 0;
    void *workspace = NULL, *device_a = device_new(a->values, testing_block_bytes(a));
    void *device_b = device_new(b->values, testing_block_bytes(b));
    REQUIRE(device_a && device_b);
    if (with_workspace) {
        CHECK_STATUS((c->multiply ? gpusolve_trmm_workspace
                                  : gpusolve_trsm_workspace)(handle, c->dtype, c->side, c->m, c->n, &bytes),
                     GPUSOLVE_OK);
        void *poison = malloc(bytes + 1);
        REQUIRE(poison);
        memset(poison, 0xff, bytes + 1);
        workspace = device_new(poison, bytes);
        REQUIRE(workspace);
        free(poison);
    }
    const gpusolve_status status = case_call(handle, c, device_a, a->ld, device_b, b->ld, workspace, bytes);
    CHECK(device_read(b->values, device_b, testing_block_bytes(b)) == 0);
    device_delete(device_a);
    device_delete(device_b);
    if (workspace)
        device_delete(workspace);
    return status;
}

/* T(i, j) of triangular.h: op(A) on the left, op(A)' (not conjugated again) on the right. */
static inline wide case_t(const triangular_case *c, const gpusolve_dense *a, int64_t i, int64_t j) {
    const int transposed = (c->side == GPUSOLVE_RIGHT) != (c->trans != GPUSOLVE_NO_TRANS);
    const int64_t row = transposed ? j : i, column = transposed ? i : j;
    if (row == column && c->diag == GPUSOLVE_UNIT)
        return 1;
    if (!case_reads(c, row, column))
        return 0;
    const double complex value = testing_get(a, row, column);
    return c->trans == GPUSOLVE_CONJ_TRANS ? conj(value) : value;
}

static inline double complex case_entry(const triangular_case *c, const gpusolve_dense *b, int64_t i,
                                        int64_t v) {
    return c->side == GPUSOLVE_LEFT ? testing_get(b, i, v) : testing_get(b, v, i);
}

static inline double size_of(wide z) {
    const double re = fabs((double)creall(z)), im = fabs((double)cimagl(z));
    return re + im;
}

/* The worst ratio over the vectors; NaN if any is. before: B as it was; after: as it is. */
static inline double case_ratio(const triangular_case *c, const gpusolve_dense *a,
                                const gpusolve_dense *before, const gpusolve_dense *after) {
    const int64_t n = case_order(c), vectors = case_vectors(c);
    wide *t = malloc((size_t)(n * n + 1) * sizeof *t);
    wide *x = malloc((size_t)(n + 1) * sizeof *x);
    REQUIRE(t && x);
    double norm_t = 0, worst = 0;
    for (int64_t i = 0; i < n; i++) {
        double sum = 0;
        for (int64_t j = 0; j < n; j++)
            sum += size_of(t[i * n + j] = case_t(c, a, i, j));
        norm_t = testing_worse(norm_t, sum);
    }
    for (int64_t v = 0; v < vectors; v++) {
        double norm_x = 0, norm_b = 0, norm_r = 0;
        for (int64_t i = 0; i < n; i++) {
            x[i] = case_entry(c, c->multiply ? before : after, i, v);
            if (c->multiply)
                x[i] *= c->alpha;
            norm_x = testing_worse(norm_x, size_of(x[i]));
        }
        for (int64_t i = 0; i < n; i++) {
            const wide right = c->multiply ? (wide)case_entry(c, after, i, v)
                                           : (wide)c->alpha * (wide)case_entry(c, before, i, v);
            wide sum = -right;
            for (int64_t j = 0; j < n; j++)
                if (t[i * n + j] != 0)
                    sum += t[i * n + j] * x[j];
            norm_r = testing_worse(norm_r, size_of(sum));
            norm_b = testing_worse(norm_b, size_of(right));
        }
        const double scale = (norm_t * norm_x + (c->multiply ? 0 : norm_b)) * testing_epsilon(c->dtype);
        const double ratio = norm_r == 0 ? 0 : norm_r / scale;
        worst = testing_worse(worst, ratio);
    }
    free(t);
    free(x);
    return worst;
}

/* Run and measure: the ratio, the padding, and that a second run gives the same bits. */
static inline void case_check(gpusolve_handle *handle, const triangular_case *c, int with_workspace) {
    testing_in("%s: %s%s", testing_backend_name(gpusolve_get_backend(handle)), case_name(c),
               with_workspace ? ", workspace" : "");
    const gpusolve_dense a = case_a(c, 1), before = case_b(c, 2), after = case_b(c, 2);
    CHECK_STATUS(case_run(handle, c, &a, &after, with_workspace), GPUSOLVE_OK);
    CHECK_BELOW(case_ratio(c, &a, &before, &after), 30);
    CHECK(testing_padding_untouched(&after));
    if (gpusolve_get_backend(handle) == GPUSOLVE_BACKEND_CUDA) {
        const gpusolve_dense again = case_b(c, 2);
        CHECK_STATUS(case_run(handle, c, &a, &again, with_workspace), GPUSOLVE_OK);
        CHECK(testing_same_bits(&after, 0, &again, 0, c->n));
        free(again.values);
    }
    free(a.values);
    free(before.values);
    free(after.values);
}

/* One of the 24 combinations of side, uplo, diag and trans. c->m is the order, c->n the number of vectors. */
static inline triangular_case case_turned(const triangular_case *c, int variant) {
    triangular_case turned = *c;
    turned.side = variant & 1 ? GPUSOLVE_RIGHT : GPUSOLVE_LEFT;
    turned.uplo = variant & 2 ? GPUSOLVE_UPPER : GPUSOLVE_LOWER;
    turned.diag = variant & 4 ? GPUSOLVE_UNIT : GPUSOLVE_NON_UNIT;
    turned.trans = (gpusolve_trans)(variant / 8);
    if (turned.side == GPUSOLVE_RIGHT) {
        turned.m = c->n;
        turned.n = c->m;
    }
    return turned;
}

/* case_check for every step-th of them. */
static inline void case_some_variants(gpusolve_handle *handle, const triangular_case *c, int with_workspace,
                                      int step) {
    for (int variant = 0; variant < 24; variant += step) {
        const triangular_case turned = case_turned(c, variant);
        case_check(handle, &turned, with_workspace);
    }
}

static inline void case_variants(gpusolve_handle *handle, triangular_case c, int with_workspace) {
    case_some_variants(handle, &c, with_workspace, testing_few() ? 5 : 1);
}

#endif
