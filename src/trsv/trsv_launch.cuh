/* Host launchers of TRSV for one precision: each trsv_<p>.cu makes its own from here. */
#ifndef GSV_TRSV_LAUNCH_CUH
#define GSV_TRSV_LAUNCH_CUH

#include "trsv_launch.h"
#include "trsv_prepared.cuh"
#include "trsv_small.cuh"

namespace gsv {

/* NB: rows of a block of trsv_grid_kernel. SMALL: largest order for one block, by what fits into shared
 * memory. */
template <typename T> struct trsv_shape {
    static const int NB = sizeof(T) == 16 ? 32 : 64, SMALL = sizeof(T) == 16 ? 64 : 128;
    /* The first block row that has time to make F: that takes longer without FP64 tensor cores. */
    static const int FOLD_FROM = sizeof(T) == 16 ? 6 : traits<T>::is_complex || sizeof(T) == 4 ? 16 : 9;
};

/* Tiles that are asked for, into L2, before they are requested into registers; which rows several blocks
 * read, and how (trsv_split): a block that begins when others have ended cannot read its row alone in the
 * time that is left. */
enum { AHEAD = 4, SPLIT_FROM = 145, SPLIT_RUN = 48, SPLIT_LEAST = 48 };

/* Up to here the prepared form asks for W ahead; larger ones are bound by memory from the start. */
enum { PREFETCHED_SLABS = 1024 };

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
    if (gsv_trsv_is_turned(call)) {
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
    typedef small_shared<T, NMAX, TRANS> shape;
    return launch_allowed(trsv_small_kernel<T, NMAX, TRANS>, 1, shape::THREADS, shape::BYTES, stream, p);
}

template <typename T, bool TRANS>
cudaError_t launch_trsv(const trsv_problem<T> &p, const gsv_trsv_scratch *scratch, cudaStream_t stream) {
    typedef trsv_shape<T> shape;
    constexpr int NB = shape::NB, SMALL = shape::SMALL;
    if (p.n <= 32)
        return launch_small<T, 32, TRANS>(p, stream);
    if (p.n <= 64)
        return launch_small<T, 64, TRANS>(p, stream);
    if (p.n <= SMALL)
        return launch_small<T, SMALL, TRANS>(p, stream);
    const int blocks = (p.n + NB - 1) / NB;
    const int64_t capacity = scratch->capacity / int64_t(sizeof(T));
    trsv_state *state = static_cast<trsv_state *>(scratch->state);
    T *buffers = static_cast<T *>(scratch->buffers);
    const int forced = scratch->split_from;
    trsv_split split = {forced ? forced : int(SPLIT_FROM), forced ? 2 : int(SPLIT_RUN),
                        forced ? 3 : int(SPLIT_LEAST)};
    int tasks = trsv_all_tasks(split, blocks);
    while (int64_t(tasks) * NB > capacity) { /* fewer parts of more tiles, in the end none */
        split.run *= 2;
        tasks = trsv_all_tasks(split, blocks);
    }
    /* but not double complex: 767 us become 850 at n = 16384, transposed 753 and 1107 */
    constexpr bool PAYS = sizeof(T) < 16;
    if ((PAYS || forced) && tasks > blocks)
        return launch_allowed(trsv_grid_kernel<T, NB, TRANS, true>, tasks, TRSV_THREADS,
                              trsv_shared<T, NB>::BYTES, stream, p, state, buffers, capacity, blocks, split,
                              shape::FOLD_FROM, AHEAD);
    return launch_allowed(trsv_grid_kernel<T, NB, TRANS, false>, blocks, TRSV_THREADS,
                          trsv_shared<T, NB>::BYTES, stream, p, state, buffers, capacity, blocks, split,
                          shape::FOLD_FROM, AHEAD);
}

template <typename T>
cudaError_t launch_call(const gsv_trsv *call, const gsv_trsv_scratch *scratch, cudaStream_t stream) {
    const trsv_problem<T> p = lower_problem<T>(call);
    return call->trans == GPUSOLVE_NO_TRANS ? launch_trsv<T, false>(p, scratch, stream)
                                            : launch_trsv<T, true>(p, scratch, stream);
}

template <typename T, bool TRANS> cudaError_t setup_trsv() {
    typedef trsv_shape<T> shape;
    constexpr int NB = shape::NB, SMALL = shape::SMALL;
    cudaError_t error = allow_shared(reinterpret_cast<const void *>(trsv_grid_kernel<T, NB, TRANS, false>),
                                     trsv_shared<T, NB>::BYTES);
    if (error == cudaSuccess)
        error = allow_shared(reinterpret_cast<const void *>(trsv_grid_kernel<T, NB, TRANS, true>),
                             trsv_shared<T, NB>::BYTES);
    if (error == cudaSuccess)
        error = allow_shared(reinterpret_cast<const void *>(trsv_small_kernel<T, 64, TRANS>),
                             small_shared<T, 64, TRANS>::BYTES);
    if (error == cudaSuccess)
        error = allow_shared(reinterpret_cast<const void *>(trsv_small_kernel<T, SMALL, TRANS>),
                             small_shared<T, SMALL, TRANS>::BYTES);
    return error;
}

static_assert(int(SLAB) == int(GSV_TRSV_SLAB) && int(SUPER) == int(GSV_TRSV_SUPER), "one layout");

/* A square in A's own orientation, leading dimension `size`, with the strides of the forward solve. */
template <typename T> trsv_problem<T> turned_square(const gsv_trsv *call, int size, const void *w) {
    gsv_trsv square = *call;
    square.a = w;
    square.lda = square.n = size;
    square.x = nullptr;
    square.incx = 1;
    return lower_problem<T>(&square);
}

template <typename T>
cudaError_t judge_inverse(const gsv_trsv *call, int first, int size, const void *w, double *scratch,
                          double *condition, cudaStream_t stream) {
    const trsv_problem<T> p = lower_problem<T>(call), q = turned_square<T>(call, size, w);
    const T *l = p.a + first * (p.row_stride + p.column_stride);
    double *rows = scratch, *v = scratch + size;
    absolute_product_kernel<T>
        <<<size, 32, 0, stream>>>(size, l, p.row_stride, p.column_stride, p.unit, nullptr, nullptr, rows);
    absolute_product_kernel<T>
        <<<size, 32, 0, stream>>>(size, q.a, q.row_stride, q.column_stride, false, rows, nullptr, v);
    absolute_product_kernel<T>
        <<<size, 32, 0, stream>>>(size, l, p.row_stride, p.column_stride, p.unit, v, rows, condition);
    return cudaGetLastError();
}

template <typename T>
cudaError_t pack_slabs(const gsv_trsv *call, int first, int size, const void *w, void *numbers,
                       cudaStream_t stream) {
    const trsv_problem<T> p = lower_problem<T>(call), q = turned_square<T>(call, size, w);
    pack_slabs_kernel<T><<<(size + SLAB - 1) / SLAB, 256, 0, stream>>>(p, q.a, q.row_stride, q.column_stride,
                                                                       first, static_cast<T *>(numbers));
    return cudaGetLastError();
}

template <typename T>
cudaError_t launch_prepared(const gsv_trsv *call, const void *numbers, const gsv_trsv_scratch *scratch,
                            cudaStream_t stream) {
    const trsv_problem<T> p = lower_problem<T>(call);
    const int slabs = (p.n + SLAB - 1) / SLAB;
    return launch_allowed(trsv_prepared_kernel < T, 8, sizeof(T) == 4 ? 3 : 2 >, slabs, TRSV_THREADS, 0,
                          stream, p.n, static_cast<const T *>(numbers), p.x, p.x_stride,
                          static_cast<trsv_state *>(scratch->state), static_cast<T *>(scratch->buffers),
                          int64_t(slabs) * SLAB, slabs, slabs <= PREFETCHED_SLABS);
}

#define GSV_DEFINE_TRSV(letter, type)                                                                     \
    extern "C" cudaError_t gsv_trsv_setup_##letter(void) {                                                \
        const cudaError_t error = gsv::setup_trsv<type, false>();                                         \
        return error == cudaSuccess ? gsv::setup_trsv<type, true>() : error;                              \
    }                                                                                                     \
    extern "C" cudaError_t gsv_trsv_launch_##letter(const gsv_trsv *p, const gsv_trsv_scratch *scratch,   \
                                                    cudaStream_t stream) {                                \
        return gsv::launch_call<type>(p, scratch, stream);                                                \
    }                                                                                                     \
    extern "C" cudaError_t gsv_trsv_identity_##letter(int size, void *w, cudaStream_t stream) {           \
        gsv::identity_kernel<type><<<256, 256, 0, stream>>>(size, static_cast<type *>(w));                \
        return cudaGetLastError();                                                                        \
    }                                                                                                     \
    extern "C" cudaError_t gsv_trsv_judge_##letter(const gsv_trsv *p, int first, int size, const void *w, \
                                                   double *scratch, double *condition,                    \
                                                   cudaStream_t stream) {                                 \
        return gsv::judge_inverse<type>(p, first, size, w, scratch, condition, stream);                   \
    }                                                                                                     \
    extern "C" cudaError_t gsv_trsv_pack_##letter(const gsv_trsv *p, int first, int size, const void *w,  \
                                                  void *numbers, cudaStream_t stream) {                   \
        return gsv::pack_slabs<type>(p, first, size, w, numbers, stream);                                 \
    }                                                                                                     \
    extern "C" cudaError_t gsv_trsv_prepared_##letter(                                                    \
        const gsv_trsv *p, const void *numbers, const gsv_trsv_scratch *scratch, cudaStream_t stream) {   \
        return gsv::launch_prepared<type>(p, numbers, scratch, stream);                                   \
    }

} // namespace gsv
#endif
