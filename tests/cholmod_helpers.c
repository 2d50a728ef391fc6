#include "cholmod_helpers.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "gpusolve_cholmod.h"

/* ------------------------------------------------------------------------------------------- sparse A --- */

cholmod_sparse *testing_sparse(const gsm_matrix *matrix, cholmod_common *common) {
    size_t n = (size_t)matrix->n, nnz = (size_t)matrix->nnz;
    cholmod_sparse *a = cholmod_allocate_sparse(n, n, nnz, 1, 1, -1,
                                                matrix->is_complex ? CHOLMOD_COMPLEX : CHOLMOD_REAL, common);
    if (!a)
        return NULL;
    for (size_t j = 0; j <= n; j++)
        ((int *)a->p)[j] = (int)matrix->colptr[j];
    memcpy(a->i, matrix->rowidx, nnz * sizeof(int));
    memcpy(a->x, matrix->values, nnz * (matrix->is_complex ? 2 : 1) * sizeof(double));
    return a;
}

cholmod_sparse *testing_load(const char *spec, cholmod_common *common) {
    gsm_matrix matrix;
    char message[256];
    if (gsm_load(spec, &matrix, message, sizeof message) != GSM_SUCCESS) {
        printf("%s: %s\n", spec, message);
        return NULL;
    }
    cholmod_sparse *a = testing_sparse(&matrix, common);
    gsm_free(&matrix);
    return a;
}

gpusolve_matrix_data testing_matrix_data(const cholmod_sparse *a) {
    gpusolve_matrix_data data;
    memset(&data, 0, sizeof data);
    data.size = sizeof data;
    data.format = GPUSOLVE_CSC;
    data.triangle = a->stype < 0 ? GPUSOLVE_LOWER : a->stype > 0 ? GPUSOLVE_UPPER : GPUSOLVE_FULL;
    data.dtype = a->xtype == CHOLMOD_REAL ? GPUSOLVE_DOUBLE : GPUSOLVE_COMPLEX_DOUBLE;
    data.itype = GPUSOLVE_INT32;
    data.n = (int64_t)a->ncol;
    data.ptr = a->p;
    data.index = a->i;
    data.x = a->x;
    return data;
}

static double complex number(const void *x, int xtype, int k) {
    const double *v = x;
    return xtype == CHOLMOD_REAL ? v[k] : CMPLX(v[2 * k], v[2 * k + 1]);
}

/* a b without the care for infinities that C's operator takes, and that costs most of the time here */
static double complex product(double complex a, double complex b) {
    return CMPLX(creal(a) * creal(b) - cimag(a) * cimag(b), creal(a) * cimag(b) + cimag(a) * creal(b));
}

void testing_sparse_multiply(const cholmod_sparse *a, const double complex *x, double complex *y) {
    const int *p = a->p, *row = a->i;
    for (size_t i = 0; i < a->nrow; i++)
        y[i] = 0;
    for (int j = 0; j < (int)a->ncol; j++)
        for (int k = p[j]; k < p[j + 1]; k++) {
            double complex v = number(a->x, a->xtype, k);
            y[row[k]] += product(v, x[j]);
            if (row[k] != j)
                y[j] += product(conj(v), x[row[k]]);
        }
}

static double largest(const double *values, int n) {
    double max = 0;
    for (int i = 0; i < n; i++)
        max = values[i] <= max ? max : values[i];
    return max;
}

double testing_sparse_norm(const cholmod_sparse *a) {
    const int *p = a->p, *row = a->i;
    double *sums = calloc(a->nrow + 1, sizeof *sums);
    if (!sums)
        return NAN;
    for (int j = 0; j < (int)a->ncol; j++)
        for (int k = p[j]; k < p[j + 1]; k++) {
            double v = cabs(number(a->x, a->xtype, k));
            sums[row[k]] += v;
            if (row[k] != j)
                sums[j] += v;
        }
    double norm = largest(sums, (int)a->nrow);
    free(sums);
    return norm;
}

double testing_backward_error(const cholmod_sparse *a, double norm_a, const double complex *x,
                              const double complex *b) {
    double complex *y = malloc((a->nrow + 1) * sizeof *y);
    if (!y)
        return NAN;
    testing_sparse_multiply(a, x, y);
    double r = 0, norm_x = 0, norm_b = 0;
    for (size_t i = 0; i < a->nrow; i++) {
        r = cabs(b[i] - y[i]) <= r ? r : cabs(b[i] - y[i]);
        norm_x = cabs(x[i]) <= norm_x ? norm_x : cabs(x[i]);
        norm_b = cabs(b[i]) <= norm_b ? norm_b : cabs(b[i]);
        if (isnan(cabs(y[i])))
            r = NAN;
        if (isnan(r))
            break;
    }
    free(y);
    return r == 0 ? 0 : r / (norm_a * norm_x + norm_b);
}

/* -------------------------------------------------------------------------------------------- factors --- */

gpusolve_factor_data testing_factor_data(const cholmod_factor *l) {
    gpusolve_factor_data data;
    const char *text = "";
    if (gpusolve_cholmod_describe_(l, &data, &text))
        printf("a factor that gpusolve_cholmod.h refuses: %s\n", text);
    return data;
}

float *testing_round(const cholmod_factor *l, gpusolve_factor_data *data) {
    const size_t parts = l->xtype == CHOLMOD_REAL ? 1 : 2;
    const size_t numbers = (l->is_super ? l->xsize : l->nzmax) * parts; /* complex ones are interleaved */
    float *rounded = malloc(numbers * sizeof *rounded);
    for (size_t k = 0; rounded && k < numbers; k++)
        rounded[k] = (float)((const double *)l->x)[k];
    data->dtype = parts == 1 ? GPUSOLVE_FLOAT : GPUSOLVE_COMPLEX_FLOAT;
    data->x = rounded;
    return rounded;
}

cholmod_factor *testing_factorize(cholmod_sparse *a, gpusolve_factor_kind kind, cholmod_common *common) {
    common->supernodal = kind == GPUSOLVE_SUPERNODAL_LL ? CHOLMOD_SUPERNODAL : CHOLMOD_SIMPLICIAL;
    common->final_asis = kind == GPUSOLVE_SUPERNODAL_LL;
    common->final_super = kind == GPUSOLVE_SUPERNODAL_LL;
    common->final_ll = kind != GPUSOLVE_SIMPLICIAL_LDL;
    common->final_pack = 1;
    common->final_monotonic = 1;
    cholmod_factor *l = cholmod_analyze(a, common);
    if (l && !cholmod_factorize(a, l, common))
        cholmod_free_factor(&l, common);
    return l;
}

static int read_columns(const cholmod_factor *l, testing_explicit *e) {
    const int *p = l->p, *nz = l->nz, *row = l->i;
    int entries = 0;
    for (int j = 0; j < e->n; j++)
        entries += nz[j];
    e->p = malloc(((size_t)e->n + 1) * sizeof *e->p);
    e->i = malloc(((size_t)entries + 1) * sizeof *e->i);
    e->x = malloc(((size_t)entries + 1) * sizeof *e->x);
    e->d = malloc(((size_t)e->n + 1) * sizeof *e->d);
    e->perm = malloc(((size_t)e->n + 1) * sizeof *e->perm);
    if (!e->p || !e->i || !e->x || !e->d || !e->perm)
        return -1;
    e->p[0] = 0;
    for (int j = 0; j < e->n; j++) {
        e->perm[j] = ((const int *)l->Perm)[j];
        e->p[j + 1] = e->p[j] + nz[j];
        for (int k = 0; k < nz[j]; k++) {
            e->i[e->p[j] + k] = row[p[j] + k];
            e->x[e->p[j] + k] = number(l->x, l->xtype, p[j] + k);
        }
        e->d[j] = l->is_ll ? 1 : creal(e->x[e->p[j]]);
        if (!l->is_ll)
            e->x[e->p[j]] = 1;
    }
    return 0;
}

int testing_explicit_create(const cholmod_factor *l, const cholmod_sparse *a, cholmod_common *common,
                            testing_explicit *e) {
    memset(e, 0, sizeof *e);
    e->n = (int)l->n;
    e->a = a;
    cholmod_factor *copy = cholmod_copy_factor((cholmod_factor *)(uintptr_t)l, common);
    int xtype = l->xtype == CHOLMOD_REAL ? CHOLMOD_REAL : CHOLMOD_COMPLEX;
    int status = -1;
    /* a supernodal factor takes its xtype with it; a simplicial zomplex one becomes complex */
    if (copy && cholmod_change_factor(copy->xtype, copy->is_ll, 0, 1, 1, copy, common) &&
        cholmod_factor_xtype(xtype, copy, common))
        status = read_columns(copy, e);
    cholmod_free_factor(&copy, common);
    if (status)
        testing_explicit_free(e);
    return status;
}

void testing_explicit_round(testing_explicit *e) {
    for (int k = 0; k < e->p[e->n]; k++)
        e->x[k] = CMPLX((float)creal(e->x[k]), (float)cimag(e->x[k]));
    for (int j = 0; j < e->n; j++)
        e->d[j] = (float)e->d[j];
}

void testing_explicit_free(testing_explicit *e) {
    free(e->p);
    free(e->i);
    free(e->x);
    free(e->d);
    free(e->perm);
    memset(e, 0, sizeof *e);
}

/* ------------------------------------------------------------------------------------------ operators --- */

static void multiply_l(const testing_explicit *e, const double complex *x, double complex *y) {
    for (int i = 0; i < e->n; i++)
        y[i] = 0;
    for (int j = 0; j < e->n; j++)
        for (int k = e->p[j]; k < e->p[j + 1]; k++)
            y[e->i[k]] += product(e->x[k], x[j]);
}

static void multiply_lt(const testing_explicit *e, const double complex *x, double complex *y) {
    for (int j = 0; j < e->n; j++) {
        y[j] = 0;
        for (int k = e->p[j]; k < e->p[j + 1]; k++)
            y[j] += product(conj(e->x[k]), x[e->i[k]]);
    }
}

static void multiply_ldlt(const testing_explicit *e, const double complex *x, double complex *y) {
    double complex *px = calloc(2 * ((size_t)e->n + 1), sizeof *px);
    if (!px)
        abort();
    double complex *apx = px + e->n;
    for (int i = 0; i < e->n; i++)
        px[e->perm[i]] = x[i];
    testing_sparse_multiply(e->a, px, apx);
    for (int i = 0; i < e->n; i++)
        y[i] = apx[e->perm[i]];
    free(px);
}

void testing_multiply(const testing_explicit *e, gpusolve_system system, const double complex *x,
                      double complex *y) {
    switch (system) {
    case GPUSOLVE_A:
        testing_sparse_multiply(e->a, x, y);
        break;
    case GPUSOLVE_LDLt:
        multiply_ldlt(e, x, y);
        break;
    case GPUSOLVE_LD: {
        double complex *dx = malloc(((size_t)e->n + 1) * sizeof *dx);
        if (!dx)
            abort();
        for (int i = 0; i < e->n; i++)
            dx[i] = e->d[i] * x[i];
        multiply_l(e, dx, y);
        free(dx);
        break;
    }
    case GPUSOLVE_DLt:
        multiply_lt(e, x, y);
        for (int i = 0; i < e->n; i++)
            y[i] *= e->d[i];
        break;
    case GPUSOLVE_L:
        multiply_l(e, x, y);
        break;
    case GPUSOLVE_Lt:
        multiply_lt(e, x, y);
        break;
    case GPUSOLVE_D:
        for (int i = 0; i < e->n; i++)
            y[i] = e->d[i] * x[i];
        break;
    case GPUSOLVE_P: /* x = P b: b = P' x */
        for (int i = 0; i < e->n; i++)
            y[e->perm[i]] = x[i];
        break;
    case GPUSOLVE_Pt:
        for (int i = 0; i < e->n; i++)
            y[i] = x[e->perm[i]];
        break;
    }
}

double testing_norm(const testing_explicit *e, gpusolve_system system) {
    if (system == GPUSOLVE_A || system == GPUSOLVE_LDLt)
        return testing_sparse_norm(e->a);
    if (system == GPUSOLVE_P || system == GPUSOLVE_Pt)
        return 1;
    if (system == GPUSOLVE_D) {
        double norm = 0;
        for (int i = 0; i < e->n; i++)
            norm = fmax(norm, fabs(e->d[i]));
        return norm;
    }
    double *sums = calloc((size_t)e->n + 1, sizeof *sums);
    if (!sums)
        return NAN;
    for (int j = 0; j < e->n; j++)
        for (int k = e->p[j]; k < e->p[j + 1]; k++) {
            double v = cabs(e->x[k]);
            if (system == GPUSOLVE_L || system == GPUSOLVE_LD)
                sums[e->i[k]] += system == GPUSOLVE_LD ? v * fabs(e->d[j]) : v;
            else
                sums[j] += system == GPUSOLVE_DLt ? v * fabs(e->d[j]) : v;
        }
    double norm = largest(sums, e->n);
    free(sums);
    return norm;
}

double complex *testing_invert(const cholmod_sparse *a) {
    const int n = (int)a->nrow;
    double complex *m = calloc((size_t)n * (size_t)n * 2, sizeof *m), *e = calloc((size_t)n, sizeof *e);
    if (!m || !e)
        abort();
    for (int j = 0; j < n; j++) {
        e[j] = 1;
        testing_sparse_multiply(a, e, m + (ptrdiff_t)j * n);
        e[j] = 0;
        m[(n + j) * n + j] = 1;
    }
    for (int k = 0; k < n; k++)
        for (int i = 0; i < n; i++) {
            if (i == k)
                continue;
            const double complex t = m[k * n + i] / m[k * n + k];
            for (int j = k; j < 2 * n; j++)
                m[j * n + i] -= t * m[j * n + k];
        }
    for (int i = 0; i < n; i++)
        for (int j = n; j < 2 * n; j++)
            m[j * n + i] /= m[i * n + i];
    free(e);
    return m;
}
