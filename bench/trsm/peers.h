/* cuBLAS and cuSOLVER by dtype (0 .. 3: s, d, c, z), on void pointers, with real scalars. 0 on success. */
#ifndef GPUSOLVE_BENCH_TRSM_PEERS_H
#define GPUSOLVE_BENCH_TRSM_PEERS_H

#include <cublas_v2.h>
#include <cusolverDn.h>

typedef struct peer_triangle {
    cublasSideMode_t side;
    cublasFillMode_t uplo;
    cublasOperation_t trans;
    cublasDiagType_t diag;
    int m, n;
    const void *a;
    int lda;
} peer_triangle;

int peer_gemm(cublasHandle_t cublas, int dtype, int n, const void *a, const void *b, void *c);
int peer_trsm(cublasHandle_t cublas, int dtype, const peer_triangle *t, void *b, int ldb);
/* out of place: c = op(A) b or b op(A) */
int peer_trmm(cublasHandle_t cublas, int dtype, const peer_triangle *t, const void *b, int ldb, void *c,
              int ldc);
int peer_potrs(cusolverDnHandle_t cusolver, int dtype, int n, int nrhs, const void *l, void *b, int *info);
/* bytes of work space, then the call */
int peer_potri_bytes(cusolverDnHandle_t cusolver, int dtype, int n, void *l, int *numbers);
int peer_potri(cusolverDnHandle_t cusolver, int dtype, int n, void *l, void *work, int numbers, int *info);

#endif
