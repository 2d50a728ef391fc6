#include "peers.h"

static const float one_s[2] = {1, 0}, zero_s[2] = {0, 0};
static const double one_d[2] = {1, 0}, zero_d[2] = {0, 0};

/* function of the dtype's letter and complex type */
#define BY_DTYPE(CALL)                                       \
    switch (dtype) {                                         \
    case 0:                                                  \
        return (int)CALL(S, float, one_s, zero_s);           \
    case 1:                                                  \
        return (int)CALL(D, double, one_d, zero_d);          \
    case 2:                                                  \
        return (int)CALL(C, cuComplex, one_s, zero_s);       \
    default:                                                 \
        return (int)CALL(Z, cuDoubleComplex, one_d, zero_d); \
    }

int peer_gemm(cublasHandle_t cublas, int dtype, int n, const void *a, const void *b, void *c) {
#define GEMM(L, T, one, zero)                                                                     \
    cublas##L##gemm(cublas, CUBLAS_OP_N, CUBLAS_OP_N, n, n, n, (const T *)(one), (const T *)a, n, \
                    (const T *)b, n, (const T *)(zero), (T *)c, n)
    BY_DTYPE(GEMM)
}

int peer_trsm(cublasHandle_t cublas, int dtype, const peer_triangle *t, void *b, int ldb) {
#define TRSM(L, T, one, zero)                                                                  \
    cublas##L##trsm(cublas, t->side, t->uplo, t->trans, t->diag, t->m, t->n, (const T *)(one), \
                    (const T *)t->a, t->lda, (T *)b, ldb)
    BY_DTYPE(TRSM)
}

int peer_trmm(cublasHandle_t cublas, int dtype, const peer_triangle *t, const void *b, int ldb, void *c,
              int ldc) {
#define TRMM(L, T, one, zero)                                                                  \
    cublas##L##trmm(cublas, t->side, t->uplo, t->trans, t->diag, t->m, t->n, (const T *)(one), \
                    (const T *)t->a, t->lda, (const T *)b, ldb, (T *)c, ldc)
    BY_DTYPE(TRMM)
}

int peer_potrs(cusolverDnHandle_t cusolver, int dtype, int n, int nrhs, const void *l, void *b, int *info) {
#define POTRS(L, T, one, zero) \
    cusolverDn##L##potrs(cusolver, CUBLAS_FILL_MODE_LOWER, n, nrhs, (const T *)l, n, (T *)b, n, info)
    BY_DTYPE(POTRS)
}

int peer_potri_bytes(cusolverDnHandle_t cusolver, int dtype, int n, void *l, int *numbers) {
#define POTRI_BYTES(L, T, one, zero) \
    cusolverDn##L##potri_bufferSize(cusolver, CUBLAS_FILL_MODE_LOWER, n, (T *)l, n, numbers)
    BY_DTYPE(POTRI_BYTES)
}

int peer_potri(cusolverDnHandle_t cusolver, int dtype, int n, void *l, void *work, int numbers, int *info) {
#define POTRI(L, T, one, zero) \
    cusolverDn##L##potri(cusolver, CUBLAS_FILL_MODE_LOWER, n, (T *)l, n, (T *)work, numbers, info)
    BY_DTYPE(POTRI)
}
