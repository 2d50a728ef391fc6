/* The stand-in: L is one supernode in single precision, real or complex. */
#include "cholmod5.h"

#include <complex.h>
#include <stdlib.h>
#include <string.h>

int cholmod_start(preload_common *common) {
    memset(common, 0, sizeof *common);
    return 1;
}

int cholmod_pack_factor(preload_factor *L, preload_common *common) {
    common->status = L ? 0 : -4;
    return L != NULL;
}

int cholmod_free_dense(preload_dense **X, preload_common *common) {
    if (X && *X) {
        free((*X)->x);
        free(*X);
        *X = NULL;
        common->blocks--;
    }
    return 1;
}

preload_dense *cholmod_ensure_dense(preload_dense **X, size_t nrow, size_t ncol, size_t d, int xdtype,
                                    preload_common *common) {
    const int xtype = xdtype & 3, dtype = xdtype & 4; /* CHOLMOD 5's sum of both */
    if (*X && (*X)->nzmax >= d * ncol && (*X)->xtype == xtype && (*X)->dtype == dtype) {
        (*X)->nrow = nrow;
        (*X)->ncol = ncol;
        (*X)->d = d;
        return *X;
    }
    cholmod_free_dense(X, common);
    *X = calloc(1, sizeof **X);
    **X = (preload_dense){
        .nrow = nrow, .ncol = ncol, .d = d, .nzmax = d * ncol, .xtype = xtype, .dtype = dtype};
    (*X)->x = calloc(d * ncol + 1, preload_number_bytes(xtype, dtype));
    common->blocks++;
    return *X;
}

static float complex number(const void *x, int xtype, size_t k) {
    const float *part = x;
    return xtype == PRELOAD_COMPLEX ? part[2 * k] + part[2 * k + 1] * I : part[k];
}

/* A x = b by both substitutions; X may be longer than n. */
int cholmod_solve2(int sys, preload_factor *L, preload_dense *B, preload_sparse *Bset, preload_dense **X,
                   preload_sparse **Xset, preload_dense **Y, preload_dense **E, preload_common *common) {
    (void)Xset, (void)Y, (void)E;
    const size_t n = L->n;
    common->status = 0;
    if (sys != 0 || Bset || B->dtype != PRELOAD_SINGLE || B->xtype != L->xtype) {
        common->status = -4;
        return 0;
    }
    cholmod_ensure_dense(X, n, B->ncol, n, B->xtype + B->dtype, common);
    float complex *y = malloc(n * sizeof *y);
    for (size_t c = 0; c < B->ncol; c++) {
        for (size_t i = 0; i < n; i++) {
            y[i] = number(B->x, B->xtype, i + c * B->d);
            for (size_t j = 0; j < i; j++)
                y[i] -= number(L->x, L->xtype, i + j * n) * y[j];
            y[i] /= number(L->x, L->xtype, i + i * n);
        }
        for (size_t i = n; i-- > 0;) {
            for (size_t j = i + 1; j < n; j++)
                y[i] -= conjf(number(L->x, L->xtype, j + i * n)) * y[j];
            y[i] /= number(L->x, L->xtype, i + i * n);
        }
        for (size_t i = 0; i < n; i++) {
            float *to = (float *)(*X)->x + (i + c * n) * (B->xtype == PRELOAD_COMPLEX ? 2 : 1);
            to[0] = crealf(y[i]);
            if (B->xtype == PRELOAD_COMPLEX)
                to[1] = cimagf(y[i]);
        }
    }
    free(y);
    return 1;
}

preload_dense *cholmod_solve(int sys, preload_factor *L, preload_dense *B, preload_common *common) {
    preload_dense *X = NULL, *Y = NULL, *E = NULL;
    if (cholmod_solve2(sys, L, B, NULL, &X, NULL, &Y, &E, common))
        return X;
    cholmod_free_dense(&X, common);
    return NULL;
}
