/* gpusolve_trsv_query, _prepare, _solve, _destroy: many solves with one triangle. See trsv_prepared.cuh. */
#include "trsv.h"

#include "../memory.h"
#include "../trsm/dense_checks.h"

#ifdef GPUSOLVE_WITH_CUDA
#include <cublas_v2.h>

#include "../device.h"
#include "../trsm/cuda/panels/inverse.h"
#include "trsv_launch.h"
#endif

struct gpusolve_trsv {
    gsv_trsv call; /* without x and incx */
    gpusolve_backend backend;
    int device;
#ifdef GPUSOLVE_WITH_CUDA
    void *numbers; /* [device] slabs; NULL: A is solved with as it is */
    void *vectors; /* [device] the scratch's memory */
    gsv_trsv_scratch scratch;
#endif
};

#ifdef GPUSOLVE_WITH_CUDA

static const int64_t number_bytes[4] = {4, 8, 8, 16};

static int64_t vector_bytes(gpusolve_dtype dtype, int64_t n) {
    return (n + GSV_TRSV_SLAB - 1) / GSV_TRSV_SLAB * GSV_TRSV_SLAB * number_bytes[dtype];
}

/* Bytes of the packed triangle. */
static gpusolve_status packed_bytes(gpusolve_dtype dtype, int64_t n, int64_t *bytes, gsv_message *message) {
    return __builtin_mul_overflow(gsv_trsv_packed_numbers(n), number_bytes[dtype], bytes)
               ? gsv_fail(message, GPUSOLVE_TOO_LARGE,
                          "n: %lld, the packed triangle exceeds 64-bit addresses", (long long)n)
               : GPUSOLVE_OK;
}

/* What a superblock needs while it is inverted. */
typedef struct preparation {
    cublasHandle_t cublas;
    cudaStream_t stream;
    void *w;
    double *scratch, *condition; /* one condition for each superblock */
} preparation;

static cublasStatus_t invert(const preparation *with, const gsv_trsv *p, const void *a, int size, void *w) {
    const cublasFillMode_t uplo = p->uplo == GPUSOLVE_LOWER ? CUBLAS_FILL_MODE_LOWER : CUBLAS_FILL_MODE_UPPER;
    const cublasDiagType_t diag = p->diag == GPUSOLVE_UNIT ? CUBLAS_DIAG_UNIT : CUBLAS_DIAG_NON_UNIT;
    const cublasSideMode_t left = CUBLAS_SIDE_LEFT;
    const cublasOperation_t plain = CUBLAS_OP_N;
    const float s = 1;
    const double d = 1;
    const cuComplex c = {1, 0};
    const cuDoubleComplex z = {1, 0};
    const int lda = (int)p->lda;
    switch (p->dtype) {
    case GPUSOLVE_FLOAT:
        return cublasStrsm(with->cublas, left, uplo, plain, diag, size, size, &s, a, lda, w, size);
    case GPUSOLVE_DOUBLE:
        return cublasDtrsm(with->cublas, left, uplo, plain, diag, size, size, &d, a, lda, w, size);
    case GPUSOLVE_COMPLEX_FLOAT:
        return cublasCtrsm(with->cublas, left, uplo, plain, diag, size, size, &c, a, lda, w, size);
    case GPUSOLVE_COMPLEX_DOUBLE:
        break;
    }
    return cublasZtrsm(with->cublas, left, uplo, plain, diag, size, size, &z, a, lda, w, size);
}

static gpusolve_status prepare_block(const preparation *with, gpusolve_trsv *prepared, int first, int size,
                                     gsv_message *message) {
    static gsv_trsv_identity *const identities[4] = {gsv_trsv_identity_s, gsv_trsv_identity_d,
                                                     gsv_trsv_identity_c, gsv_trsv_identity_z};
    static gsv_trsv_judge *const judges[4] = {gsv_trsv_judge_s, gsv_trsv_judge_d, gsv_trsv_judge_c,
                                              gsv_trsv_judge_z};
    static gsv_trsv_pack *const packs[4] = {gsv_trsv_pack_s, gsv_trsv_pack_d, gsv_trsv_pack_c,
                                            gsv_trsv_pack_z};
    const gsv_trsv *p = &prepared->call;
    const int64_t start = gsv_trsv_is_turned(p) ? p->n - first - size : first;
    const void *a = (const char *)p->a + start * (p->lda + 1) * number_bytes[p->dtype];
    gpusolve_status status =
        gsv_cuda_check(identities[p->dtype](size, with->w, with->stream), "preparing TRSV", message);
    if (!status && invert(with, p, a, size, with->w) != CUBLAS_STATUS_SUCCESS)
        status = gsv_fail(message, GPUSOLVE_CUDA_ERROR, "inverting a diagonal block: cuBLAS failed");
    if (!status)
        status = gsv_cuda_check(judges[p->dtype](p, first, size, with->w, with->scratch,
                                                 with->condition + first / GSV_TRSV_SUPER, with->stream),
                                "judging an inverse", message);
    if (!status)
        status = gsv_cuda_check(packs[p->dtype](p, first, size, with->w, prepared->numbers, with->stream),
                                "packing a triangle", message);
    return status;
}

/* All superblocks; *refused: an inverse is not good enough. conditions: room for all of them. */
static gpusolve_status prepare_blocks(const preparation *with, gpusolve_trsv *prepared, double *conditions,
                                      int *refused, gsv_message *message) {
    const int n = (int)prepared->call.n, blocks = (n + GSV_TRSV_SUPER - 1) / GSV_TRSV_SUPER;
    const size_t bytes = (size_t)blocks * sizeof *conditions;
    gpusolve_status status =
        gsv_cuda_check(cudaMemsetAsync(with->condition, 0, bytes, with->stream), "cudaMemsetAsync", message);
    for (int first = 0; first < n && !status; first += GSV_TRSV_SUPER)
        status = prepare_block(with, prepared, first, n - first < GSV_TRSV_SUPER ? n - first : GSV_TRSV_SUPER,
                               message);
    if (!status)
        status = gsv_cuda_check(
            cudaMemcpyAsync(conditions, with->condition, bytes, cudaMemcpyDeviceToHost, with->stream),
            "cudaMemcpyAsync", message);
    if (!status)
        status = gsv_cuda_check(cudaStreamSynchronize(with->stream), "preparing TRSV", message);
    *refused = 0;
    for (int k = 0; k < blocks && !status; k++)
        *refused |= !(conditions[k] <= GSV_INVERSION_LIMIT);
    return status;
}

static gpusolve_status prepare_cuda(gpusolve_handle *handle, gpusolve_trsv *prepared) {
    const gsv_trsv *p = &prepared->call;
    gsv_message *message = &handle->message;
    const int64_t vector = vector_bytes(p->dtype, p->n),
                  blocks = (p->n + GSV_TRSV_SUPER - 1) / GSV_TRSV_SUPER;
    const int64_t square = p->n < GSV_TRSV_SUPER ? p->n : GSV_TRSV_SUPER;
    preparation with = {.stream = (cudaStream_t)handle->stream};
    void *scratch = NULL;
    int refused = 0;
    int64_t packed = 0;
    gpusolve_status status = packed_bytes(p->dtype, p->n, &packed, message);
    if (status)
        return status;
    double *conditions = gsv_malloc((size_t)blocks, sizeof *conditions);
    if (!conditions)
        status = gsv_fail(message, GPUSOLVE_OUT_OF_MEMORY, "out of host memory for TRSV");
    if (!status)
        status = gsv_cuda_malloc(&prepared->numbers, packed, message);
    if (!status)
        status = gsv_cuda_malloc(&prepared->vectors, 256 + 4 * vector, message);
    if (!status)
        status = gsv_cuda_malloc(&with.w, square * square * number_bytes[p->dtype], message);
    if (!status)
        status = gsv_cuda_malloc(&scratch, (2 * square + blocks) * (int64_t)sizeof(double), message);
    if (!status)
        status = gsv_cuda_blas(&with.cublas, message);
    if (!status && cublasSetStream(with.cublas, with.stream) != CUBLAS_STATUS_SUCCESS)
        status = gsv_fail(message, GPUSOLVE_CUDA_ERROR, "preparing TRSV: cuBLAS refused the handle's stream");
    if (!status) {
        with.scratch = scratch;
        with.condition = with.scratch + 2 * square;
        prepared->scratch =
            (gsv_trsv_scratch){prepared->vectors, (char *)prepared->vectors + 256, 2 * vector, 0};
        status = gsv_cuda_check(cudaMemsetAsync(prepared->vectors, 0, 256, with.stream), "cudaMemsetAsync",
                                message);
    }
    if (!status)
        status =
            gsv_cuda_check(cudaMemsetAsync(prepared->scratch.buffers, 0xff, 4 * (size_t)vector, with.stream),
                           "cudaMemsetAsync", message);
    if (!status)
        status = prepare_blocks(&with, prepared, conditions, &refused, message);
    if (status || refused) {
        gsv_cuda_free(prepared->numbers);
        prepared->numbers = NULL;
    }
    gsv_cuda_blas_free(with.cublas);
    gsv_cuda_free(with.w);
    gsv_cuda_free(scratch);
    gsv_free(conditions);
    return status;
}

#endif

gpusolve_status gpusolve_trsv_query(gpusolve_handle *handle, gpusolve_dtype dtype, int64_t n, size_t *bytes) {
    if (bytes)
        *bytes = 0;
    GSV_ENTER(handle);
    gpusolve_status status = gsv_dense_check_dtype(handle, dtype);
    if (!status)
        status = gsv_dense_check_size(handle, "n", n, 0);
    if (!status && !bytes)
        status = gsv_dense_invalid(handle, "bytes: is NULL");
#ifdef GPUSOLVE_WITH_CUDA
    int64_t packed = 0;
    if (!status && handle->backend == GPUSOLVE_BACKEND_CUDA && n > 0)
        status = packed_bytes(dtype, n, &packed, &handle->message);
    if (!status && packed > 0)
        *bytes = (size_t)packed + 256 + 4 * (size_t)vector_bytes(dtype, n);
#endif
    return status;
}

gpusolve_status gpusolve_trsv_prepare(gpusolve_handle *handle, gpusolve_dtype dtype, gpusolve_uplo uplo,
                                      gpusolve_trans trans, gpusolve_diag diag, int64_t n, const void *A,
                                      int64_t lda, gpusolve_trsv **prepared) {
    if (prepared)
        *prepared = NULL;
    GSV_ENTER(handle);
    const gsv_trsv call = {
        .dtype = dtype, .uplo = uplo, .trans = trans, .diag = diag, .n = n, .a = A, .lda = lda};
    gpusolve_status status = gsv_dense_check_dtype(handle, dtype);
    if (!status)
        status = gsv_trsv_check_matrix(handle, &call);
    if (status)
        return status;
    if (!prepared)
        return gsv_dense_invalid(handle, "prepared: is NULL");
    gpusolve_trsv *made = gsv_calloc(1, sizeof *made);
    if (!made)
        return gsv_fail(&handle->message, GPUSOLVE_OUT_OF_MEMORY, "out of host memory for TRSV");
    made->call = call;
    made->backend = handle->backend;
    made->device = handle->device;
#ifdef GPUSOLVE_WITH_CUDA
    if (handle->backend == GPUSOLVE_BACKEND_CUDA && n > 0) {
        const int previous = gsv_cuda_enter(handle->device);
        status = prepare_cuda(handle, made);
        gsv_cuda_leave(previous);
    }
#endif
    if (status) {
        gpusolve_trsv_destroy(made);
        return status;
    }
    *prepared = made;
    return GPUSOLVE_OK;
}

gpusolve_status gpusolve_trsv_solve(gpusolve_handle *handle, gpusolve_trsv *prepared, void *x, int64_t incx) {
    GSV_ENTER(handle);
    if (!prepared)
        return gsv_dense_invalid(handle, "prepared: is NULL");
    if (prepared->backend != handle->backend || prepared->device != handle->device)
        return gsv_fail(&handle->message, GPUSOLVE_INVALID_ARGUMENT,
                        "prepared: was made with another backend or device than the handle's");
    gsv_trsv call = prepared->call;
    call.x = x;
    call.incx = incx;
    int reads_a = 1;
#ifdef GPUSOLVE_WITH_CUDA
    reads_a = !prepared->numbers;
#endif
    gpusolve_status status = gsv_trsv_check_vector(handle, &call, reads_a);
    if (status || call.n == 0)
        return status;
#ifdef GPUSOLVE_WITH_CUDA
    if (handle->backend == GPUSOLVE_BACKEND_CUDA) {
        static gsv_trsv_launch_prepared *const launches[4] = {gsv_trsv_prepared_s, gsv_trsv_prepared_d,
                                                              gsv_trsv_prepared_c, gsv_trsv_prepared_z};
        const int previous = gsv_cuda_enter(handle->device);
        if (prepared->numbers)
            status = gsv_cuda_check(launches[call.dtype](&call, prepared->numbers, &prepared->scratch,
                                                         (cudaStream_t)handle->stream),
                                    "launching TRSV", &handle->message);
        else
            status = gsv_trsv_cuda(handle, &call);
        gsv_cuda_leave(previous);
        return status;
    }
#endif
    return gsv_trsv_blas(handle, &call);
}

void gpusolve_trsv_destroy(gpusolve_trsv *prepared) {
    if (!prepared)
        return;
#ifdef GPUSOLVE_WITH_CUDA
    if (prepared->backend == GPUSOLVE_BACKEND_CUDA) {
        const int previous = gsv_cuda_enter(prepared->device);
        gsv_cuda_free(prepared->numbers);
        gsv_cuda_free(prepared->vectors);
        gsv_cuda_leave(previous);
    }
#endif
    gsv_free(prepared);
}
