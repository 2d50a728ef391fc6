/* Host launchers of TRSV for one precision: each trsv_<p>.cu makes its own from here. */
#ifndef GSV_TRSV_LAUNCH_CUH
#define GSV_TRSV_LAUNCH_CUH

#include "trsv_launch.h"
#include "trsv_small.cuh"

namespace gsv {

/* NB: rows of a block of trsv_grid_kernel. SMALL: largest order for one block, by what fits into shared
 * memory. */
template <typename T> struct trsv_shape {
    static const int NB = sizeof(T) == 16 ? 32 : 64, SMALL = sizeof(T) == 16 ? 64 : 128;
    typedef trsv_shared<T, NB> grid;
};

enum { FOLD_FROM = 3, FAR = 2, NAP = 40 };

static_assert(sizeof(trsv_state) <= GSV_TRSV_STATE_BYTES, "the state fits its place");

/* The lower triangle that a call is about: an upper one is turned by half a turn, a transposed one has its
 * strides exchanged. */
template <typename T> trsv_problem<T> lower_problem(const gsv_trsv *call) {
    const bool trans = call->trans != GPUSOLVE_NO_TRANS;
    const int64_t last = call->n - 1;
    trsv_problem<T> p;
    p.a = static_cast<const T *>(call->a);
    p.x = static_cast<T *>(call->x) + (call->incx < 0 ? -last * call->incx : 0);
    p.x_stride = call->incx;
    p.row_stride = trans ? call->lda : 1;
    p.column_stride = trans ? 1 : call->lda;
    p.n = int(call->n);
    p.unit = call->diag == GPUSOLVE_UNIT;
    p.conj = traits<T>::is_complex && call->trans == GPUSOLVE_CONJ_TRANS;
    if ((call->uplo == GPUSOLVE_UPPER) != trans) {
        p.a += last * (call->lda + 1);
        p.x += last * p.x_stride;
        p.row_stride = -p.row_stride;
        p.column_stride = -p.column_stride;
        p.x_stride = -p.x_stride;
    }
    return p;
}

template <typename T, int NMAX, bool TRANS>
cudaError_t launch_small(const trsv_problem<T> &p, cudaStream_t stream) {
    typedef small_shared<T, NMAX> shape;
    trsv_small_kernel<T, NMAX, TRANS><<<1, shape::THREADS, shape::BYTES, stream>>>(p);
    return cudaGetLastError();
}

template <typename T, bool TRANS>
cudaError_t launch_trsv(const trsv_problem<T> &p, const gsv_trsv_scratch *scratch, cudaStream_t stream) {
    constexpr int NB = trsv_shape<T>::NB, SMALL = trsv_shape<T>::SMALL;
    if (p.n <= 32)
        return launch_small<T, 32, TRANS>(p, stream);
    if (p.n <= 64)
        return launch_small<T, 64, TRANS>(p, stream);
    if (p.n <= SMALL)
        return launch_small<T, SMALL, TRANS>(p, stream);
    const int blocks = (p.n + NB - 1) / NB;
    trsv_grid_kernel<T, NB, TRANS><<<blocks, TRSV_THREADS, trsv_shared<T, NB>::BYTES, stream>>>(
        p, static_cast<trsv_state *>(scratch->state), static_cast<T *>(scratch->buffers),
        scratch->capacity / int64_t(sizeof(T)), blocks, FOLD_FROM, FAR, NAP);
    return cudaGetLastError();
}

template <typename T>
cudaError_t launch_call(const gsv_trsv *call, const gsv_trsv_scratch *scratch, cudaStream_t stream) {
    const trsv_problem<T> p = lower_problem<T>(call);
    return call->trans == GPUSOLVE_NO_TRANS ? launch_trsv<T, false>(p, scratch, stream)
                                            : launch_trsv<T, true>(p, scratch, stream);
}

inline cudaError_t allow_shared(const void *kernel, int bytes) {
    return cudaFuncSetAttribute(kernel, cudaFuncAttributeMaxDynamicSharedMemorySize, bytes);
}

template <typename T, bool TRANS> cudaError_t setup_trsv() {
    constexpr int NB = trsv_shape<T>::NB, SMALL = trsv_shape<T>::SMALL;
    cudaError_t error = allow_shared(reinterpret_cast<const void *>(trsv_grid_kernel<T, NB, TRANS>),
                                     trsv_shared<T, NB>::BYTES);
    if (error == cudaSuccess)
        error = allow_shared(reinterpret_cast<const void *>(trsv_small_kernel<T, 64, TRANS>),
                             small_shared<T, 64>::BYTES);
    if (error == cudaSuccess)
        error = allow_shared(reinterpret_cast<const void *>(trsv_small_kernel<T, SMALL, TRANS>),
                             small_shared<T, SMALL>::BYTES);
    return error;
}

#define GSV_DEFINE_TRSV(letter, type)                                                                   \
    extern "C" cudaError_t gsv_trsv_setup_##letter(void) {                                              \
        const cudaError_t error = gsv::setup_trsv<type, false>();                                       \
        return error == cudaSuccess ? gsv::setup_trsv<type, true>() : error;                            \
    }                                                                                                   \
    extern "C" cudaError_t gsv_trsv_launch_##letter(const gsv_trsv *p, const gsv_trsv_scratch *scratch, \
                                                    cudaStream_t stream) {                              \
        return gsv::launch_call<type>(p, scratch, stream);                                              \
    }

} // namespace gsv
#endif
