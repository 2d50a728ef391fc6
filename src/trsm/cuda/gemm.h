/* cuBLAS by dtype, for operands of a triangular operation; 64-bit scalars become what the dtype wants. */
#ifndef GSV_TRSM_CUDA_GEMM_H
#define GSV_TRSM_CUDA_GEMM_H

#include <cublas_v2.h>

#include "../triangular.h"

/* c = beta c + alpha T(to, from) b: triangular.h's multiply for a, where the `to_size` x `from_size`
 * rectangle of T lies, and the first of the rows of both ranges of the first of p->vectors vectors. It
 * reads vectors, lda and ldb of p, and no other size or pointer. */
gpusolve_status gsv_cuda_gemm(cublasHandle_t cublas, const gsv_triangular *p, const void *a, const void *b,
                              void *c, int64_t to_size, int64_t from_size, gsv_number alpha, gsv_number beta,
                              gsv_message *message);

/* b = alpha T(start ..) c for `size` rows, `vectors` vectors: c and b, the first of these rows of the first
 * vector. */
gpusolve_status gsv_cuda_trmm(cublasHandle_t cublas, const gsv_triangular *p, int64_t start, int64_t size,
                              int64_t vectors, gsv_number alpha, const void *c, int64_t ldc, void *b,
                              gsv_message *message);

/* The solve in place for `size` rows from `start` on: cuBLAS's TRSM. */
gpusolve_status gsv_cuda_trsm(cublasHandle_t cublas, const gsv_triangular *p, int64_t start, int64_t size,
                              gsv_number alpha, gsv_message *message);

#endif
