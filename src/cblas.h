/*
 * The CBLAS behind dense calls on the host. It is opened by the first call that needs it, not when gpusolve is
 * loaded: OpenBLAS starts its threads when it is opened, and ends a process in which none can be started.
 *
 * The functions are the reference CBLAS's with 32-bit integers; its enumerations are ints.
 */
#ifndef GSV_CBLAS_H
#define GSV_CBLAS_H

#include "message.h"

enum {
    GSV_COL_MAJOR = 102,
    GSV_NO_TRANS = 111,
    GSV_TRANS,
    GSV_CONJ_TRANS,
    GSV_UPPER = 121,
    GSV_LOWER = 122,
    GSV_NON_UNIT = 131,
    GSV_LEFT = 141
};

/* C = alpha op(A) op(B) + beta C; B = alpha op(inv(A)) B and the like; C = alpha op(A) op(A)' + beta C; x = op(inv(A)) x */
#define GSV_GEMM(type, scalar)                                                                     \
    (int order, int transa, int transb, int m, int n, int k, scalar alpha, const type *a, int lda, \
     const type *b, int ldb, scalar beta, type *c, int ldc)
#define GSV_TRSM(type, scalar)                                                                               \
    (int order, int side, int uplo, int trans, int diag, int m, int n, scalar alpha, const type *a, int lda, \
     type *b, int ldb)
#define GSV_SYRK(type, scalar)                                                                        \
    (int order, int uplo, int trans, int n, int k, scalar alpha, const type *a, int lda, scalar beta, \
     type *c, int ldc)
#define GSV_TRSV(type) \
    (int order, int uplo, int trans, int diag, int n, const type *a, int lda, type *x, int incx)

/* X(name, parameters): every function that is used. */
#define GSV_CBLAS_LIST(X)                  \
    X(sgemm, GSV_GEMM(float, float))       \
    X(dgemm, GSV_GEMM(double, double))     \
    X(cgemm, GSV_GEMM(void, const void *)) \
    X(zgemm, GSV_GEMM(void, const void *)) \
    X(strsm, GSV_TRSM(float, float))       \
    X(dtrsm, GSV_TRSM(double, double))     \
    X(ctrsm, GSV_TRSM(void, const void *)) \
    X(ztrsm, GSV_TRSM(void, const void *)) \
    X(strmm, GSV_TRSM(float, float))       \
    X(dtrmm, GSV_TRSM(double, double))     \
    X(ctrmm, GSV_TRSM(void, const void *)) \
    X(ztrmm, GSV_TRSM(void, const void *)) \
    X(ssyrk, GSV_SYRK(float, float))       \
    X(dsyrk, GSV_SYRK(double, double))     \
    X(cherk, GSV_SYRK(void, float))        \
    X(zherk, GSV_SYRK(void, double))       \
    X(strsv, GSV_TRSV(float))              \
    X(dtrsv, GSV_TRSV(double))             \
    X(ctrsv, GSV_TRSV(void))               \
    X(ztrsv, GSV_TRSV(void))

#define GSV_CBLAS_FIELD(name, parameters) void(*name) parameters;
typedef struct gsv_cblas {
    GSV_CBLAS_LIST(GSV_CBLAS_FIELD)
} gsv_cblas;
#undef GSV_CBLAS_FIELD

/*
 * Open it, unless it is open already. Any thread may call this at any time.
 * GPUSOLVE_NOT_SUPPORTED: the build has none, or it is not on this machine. GPUSOLVE_OUT_OF_MEMORY: no memory,
 * or no thread can be started for it. *blas is NULL then, and a later call tries again.
 */
gpusolve_status gsv_cblas_open(const gsv_cblas **blas, gsv_message *message);

#endif
