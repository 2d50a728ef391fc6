/*
 * What every kernel of a residual does besides summing rows: norms and the sums of pieces. residual.cu has the mapping.
 */
#ifndef GSV_CUDA_REFINE_RESIDUAL_LANE_CUH
#define GSV_CUDA_REFINE_RESIDUAL_LANE_CUH

#include "../../../dense_kernels/scalar.cuh"
#include "refine.h"

namespace gsv {

enum { CHAINS = 4 };

__device__ __forceinline__ double magnitude(float a) {
    return fabs(double(a));
}
__device__ __forceinline__ double magnitude(double a) {
    return fabs(a);
}
template <typename R> __device__ __forceinline__ double magnitude(complex<R> a) {
    return isnan(a.re) || isnan(a.im) ? double(NAN) : hypot(double(a.re), double(a.im));
}

__device__ __forceinline__ void raise(unsigned long long &norm, double magnitude) {
    const unsigned long long bits = __double_as_longlong(magnitude) & 0x7fffffffffffffffull;
    norm = bits > norm ? bits : norm;
}

/* Pieces of a long row. */
__device__ __forceinline__ int piece_count(int64_t entries) {
    return int((entries + GSV_ENTRY_PIECE - 1) / GSV_ENTRY_PIECE);
}

/* Numbers side by side: 16 bytes at a multiple of 16, or one. */
template <typename T, int V> __device__ __forceinline__ void load_columns(const T *from, T (&to)[V]) {
    if constexpr (V == 1)
        to[0] = *from;
    else
        *reinterpret_cast<int4 *>(to) = *reinterpret_cast<const int4 *>(from);
}
/* Past L1, where an earlier number may stand. */
template <typename T, int V> __device__ __forceinline__ void load_columns_fresh(const T *from, T (&to)[V]) {
    if constexpr (V * sizeof(T) == 16)
        *reinterpret_cast<int4 *>(to) = __ldcg(reinterpret_cast<const int4 *>(from));
    else if constexpr (V * sizeof(T) == 8)
        *reinterpret_cast<int2 *>(to) = __ldcg(reinterpret_cast<const int2 *>(from));
    else
        *reinterpret_cast<int *>(to) = __ldcg(reinterpret_cast<const int *>(from));
}
template <typename T, int V> __device__ __forceinline__ void store_columns(T *to, const T (&from)[V]) {
    if constexpr (V == 1)
        *to = from[0];
    else
        *reinterpret_cast<int4 *>(to) = *reinterpret_cast<const int4 *>(from);
}

/* A block's norms, to those of its C columns. A thread has those of the V columns from number `own` on. All threads of the block come here. */
template <int C, int V>
__device__ __forceinline__ void publish_norms(const gsv_residual &job, int own, const bool (&live)[V],
                                              const unsigned long long (&norms)[3][V]) {
    __shared__ unsigned long long of_block[3][C];
    if (threadIdx.x < 3 * C)
        of_block[threadIdx.x / C][threadIdx.x % C] = 0;
    __syncthreads();
#pragma unroll
    for (int k = 0; k < 3; k++)
#pragma unroll
        for (int v = 0; v < V; v++)
            if (live[v] && norms[k][v] > 0)
                atomicMax(&of_block[k][own + v], norms[k][v]);
    __syncthreads();
    if (threadIdx.x < 3 * C) {
        const unsigned long long norm = of_block[threadIdx.x / C][threadIdx.x % C];
        if (norm > 0)
            atomicMax(&job.v.norms[3 * (blockIdx.y * C + threadIdx.x % C) + threadIdx.x / C], norm);
    }
}

/*
 * What a lane knows: V columns, and its place among the lanes of a warp. GROUP lanes side by side have the columns of a row between them;
 * LANES such groups have the row's chains, CHAINS / LANES each; SLOTS rows are done at a time.
 */
template <typename T, int C, int V, int LANES> struct residual_lane {
    static constexpr int GROUP = C / V, EACH = CHAINS / LANES, SLOTS = 32 / (GROUP * LANES);

    const gsv_residual &job;
    const int tile_column, column, chain, slot; /* the first of the lane's columns, in its tile and of all */
    bool live[V];                               /* columns that are worked on */
    bool here;                                  /* the lane has numbers */
    const T *from;                              /* X's */
    unsigned long long norms[3][V];

    __device__ __forceinline__ residual_lane(const gsv_residual &job_)
        : job(job_), tile_column(threadIdx.x % GROUP * V), column(blockIdx.y * C + tile_column),
          chain(threadIdx.x % 32 / GROUP % LANES), slot(threadIdx.x % 32 / (GROUP * LANES)), here(false) {
#pragma unroll
        for (int v = 0; v < V; v++) {
            live[v] = column + v < job.columns && (job.first || job.v.columns[column + v].active);
            here |= live[v];
            norms[0][v] = norms[1][v] = norms[2][v] = 0;
        }
        from = static_cast<const T *>(job.x) + column;
    }

    /* Row i of a vector, in as few instructions as can be: there is one for every entry of A. */
    __device__ __forceinline__ const T *row_of(const T *vector, int32_t i) const {
        return reinterpret_cast<const T *>(reinterpret_cast<const char *>(vector) +
                                           uint64_t(uint32_t(i)) * job.row_bytes);
    }

    /* The sum of a row's chains, in every lane that has one. A chain may have any of the four numbers that leaves the pairs (0, 2) and
     * (1, 3) together: the bits are the same. */
    __device__ __forceinline__ void join(const T (&sum)[EACH][V], T (&total)[V]) const {
#pragma unroll
        for (int v = 0; v < V; v++) {
            if constexpr (EACH == 4) {
                total[v] = add(add(sum[0][v], sum[2][v]), add(sum[1][v], sum[3][v]));
            } else {
                T half = sum[0][v];
                if constexpr (EACH == 2)
                    half = add(half, sum[1][v]);
                else
                    half = add(half, shuffle_xor(half, 2 * GROUP));
                total[v] = add(half, shuffle_xor(half, GROUP));
            }
        }
    }

    /* The sums of a row's pieces. All lanes of the warp come here. */
    __device__ __forceinline__ void piece_sum(int first, int count, T (&total)[V]) const {
        const T *partial = static_cast<const T *>(job.v.partial) + int64_t(first) * job.stride + column;
        T sum[EACH][V];
#pragma unroll
        for (int c = 0; c < EACH; c++)
#pragma unroll
            for (int v = 0; v < V; v++)
                sum[c][v] = make<T>(0);
        if (here)
#pragma unroll 1
            for (int k = 0; k < count; k += CHAINS)
#pragma unroll
                for (int c = 0; c < EACH; c++) {
                    const int at = k + chain + c * LANES;
                    alignas(16) T part[V];
                    if (at >= count)
                        continue;
                    load_columns_fresh(&partial[int64_t(at) * job.stride], part);
#pragma unroll
                    for (int v = 0; v < V; v++)
                        sum[c][v] = add(sum[c][v], part[v]);
                }
        __syncwarp();
        join(sum, total);
    }

    /* What row i of R is made of besides its sum. */
    __device__ __forceinline__ void prepare(int32_t i, T (&x)[V], T (&b)[V]) const {
        load_columns(row_of(from, i), x);
        const T *at = static_cast<const T *>(job.b.values) + int64_t(i) * job.b.row_stride +
                      column * job.b.column_stride;
        if (V > 1 && job.b_packed)
            load_columns(at, b);
        else
#pragma unroll
            for (int v = 0; v < V; v++)
                b[v] = live[v] ? at[v * job.b.column_stride] : make<T>(0);
    }

    __device__ __forceinline__ void finish(int32_t i, const T (&x)[V], const T (&b)[V], const T (&total)[V]) {
        alignas(16) T r[V];
#pragma unroll
        for (int v = 0; v < V; v++) {
            r[v] = add(b[v], negate(total[v]));
            raise(norms[0][v], magnitude(r[v]));
            raise(norms[1][v], magnitude(x[v]));
            if (job.first)
                raise(norms[2][v], magnitude(b[v]));
        }
        store_columns(const_cast<T *>(row_of(static_cast<const T *>(job.v.r) + column, i)), r);
    }

    /* Pieces of long rows whose sums are known. Where one is the last of its row the sum of the row takes its place, and the answer is
     * true. All lanes of the warp come here; `piece` is one for the lanes of a slot, or -1. */
    __device__ __forceinline__ bool pieces(int piece, T (&total)[V]) const {
        constexpr int SLOT = GROUP * LANES; /* lanes of a slot */
        int *arrived = job.v.arrived + int64_t(blockIdx.y) * job.a.piece_count;
        const gsv_entry_piece of = job.a.pieces[piece < 0 ? 0 : piece];
        const int count = piece_count(job.a.row_ptr[of.row + 1] - job.a.row_ptr[of.row]);
        if (piece >= 0 && chain == 0 && here)
            store_columns(&static_cast<T *>(job.v.partial)[int64_t(piece) * job.stride + column], total);
        __threadfence();
        __syncwarp();
        int ticket = 0;
        if (piece >= 0 && threadIdx.x % SLOT == 0)
            ticket = atomicAdd(&arrived[of.first], 1);
        const bool last = __shfl_sync(~0u, ticket, 0, SLOT) + 1 == count && piece >= 0;
#pragma unroll 1
        for (int s = 0; s < SLOTS; s++) { /* all lanes go together */
            if (!__shfl_sync(~0u, last, s * SLOT))
                continue;
            const int first = __shfl_sync(~0u, of.first, s * SLOT);
            __threadfence();
            T sum[V];
            piece_sum(first, __shfl_sync(~0u, count, s * SLOT), sum);
#pragma unroll
            for (int v = 0; v < V; v++)
                total[v] = slot == s ? sum[v] : total[v];
            if (threadIdx.x % 32 == 0)
                arrived[first] = 0;
        }
        return last;
    }

    __device__ __forceinline__ void publish() const {
        publish_norms<C>(job, tile_column, live, norms);
    }
};

} // namespace gsv
#endif
