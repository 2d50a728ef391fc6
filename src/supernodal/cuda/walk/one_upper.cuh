/*
 * What the branches' kernels for one right-hand side (cuda/walk/one.cuh) load and store: vectors of the caller or of the
 * sweeps. Blocks behind the branches' own do this for the columns that are in no branch.
 */
#ifndef GSV_CUDA_WALK_ONE_UPPER_CUH
#define GSV_CUDA_WALK_ONE_UPPER_CUH

#include "../shared/gather.cuh"

namespace gsv {

enum {
    ONE_BLOCK = 128,                       /* threads that walk, */
    ONE_THREADS = ONE_BLOCK + 32,          /* and a warp that sees to what they need */
    ONE_GROUPS = ONE_BLOCK / GSV_ROW_UNIT, /* units at a time */
    ONE_LANES = 2,                         /* lanes of a column */
    ONE_MOVES = 2,                         /* columns of a branch that a thread moves, of most branches all */
    ONE_EACH = 4,                          /* columns of the upper tree that a thread moves */
    ONE_RESIDENT = 6,                      /* branches that an SM walks at a time, GSV_BRANCH_BYTES each */
    ONE_AHEAD =
        132 *
        3 /* how many branches ahead the prefetch into L2 goes: half of those that an H200 walks at a time */
};

/* A vector whose number i is values[(perm ? perm[i] : i) stride]: y or x of a sweep, or the caller's. */
template <typename T> struct one_vector {
    T *values;
    const int32_t *perm;
    int64_t stride;
    int64_t apart; /* numbers to the next right-hand side's, where several are solved side by side */
    __device__ __forceinline__ T *at(int64_t i) const {
        return values + (perm ? perm[i] : i) * stride;
    }
    /* Where numbers first + e of this thread are, for its columns e < columns: all requested before one is waited
     * for, and none waited for here. One that is not there is column 0. */
    __device__ __forceinline__ void places(int32_t first, int columns, int32_t (&place)[ONE_MOVES]) const {
#pragma unroll
        for (int q = 0; q < ONE_MOVES; q++) {
            const int e = threadIdx.x + ONE_BLOCK * q;
            place[q] = first + (e < columns ? e : 0);
        }
        if (perm)
#pragma unroll
            for (int q = 0; q < ONE_MOVES; q++)
                place[q] = perm[place[q]];
    }
};

/* What the blocks from `first` on have to do, if there are any: what a load or a store does for columns that
 * are in no branch. */
template <typename T> struct one_upper {
    int first;
    const int32_t *column; /* [count] */
    int32_t count;
    T *y, *z, *f, *u;        /* y(column) is the right-hand side; the rest is filled with ABSENT: */
    int64_t fronts, updates; /* rows of f and of u, and z, which has a row for each of the columns */
    gsv_stream_state *state;
    /* The vectors of a block's own right-hand side. */
    __device__ __forceinline__ void take_group(const gsv_device_plan &plan) {
        y = of_group(y, plan.one_vector);
        z = of_group(z, plan.one_upper);
        f = of_group(f, plan.one_upper);
        u = of_group(u, plan.one_upper);
        state = of_group(state, 1);
    }
};

template <typename T> __device__ __forceinline__ void make_absent(T *to) {
#pragma unroll
    for (int k = 0; k < int(sizeof(T) / 4); k++)
        reinterpret_cast<uint32_t *>(to)[k] = ~0u;
}

/* y(column) = b(column), and ABSENT where the sweeps want it (published.cuh). */
template <typename T>
__device__ __forceinline__ void load_upper_block(const one_upper<T> &upper, const one_vector<const T> &b) {
    const int64_t step = int64_t(gridDim.x - upper.first) * ONE_THREADS;
    const int64_t first = int64_t(blockIdx.x - upper.first) * ONE_THREADS + threadIdx.x;
    wait_for_vectors();
    if (first == 0)
        upper.state->broken = 0; /* the waits of the solve before have ended */
#pragma unroll 4
    for (int64_t k = first; k < upper.count; k += step) {
        const int32_t column = upper.column[k];
        upper.y[column] = *b.at(column);
        make_absent(&upper.z[k]);
    }
    for (int64_t k = first; k < upper.fronts; k += step)
        make_absent(&upper.f[k]);
    for (int64_t k = first; k < upper.updates; k += step)
        make_absent(&upper.u[k]);
}

/* x(column) = y(column) */
template <typename T>
__device__ __forceinline__ void store_upper_block(const one_upper<T> &upper, const one_vector<T> &x) {
    const int64_t step = int64_t(gridDim.x - upper.first) * ONE_THREADS;
    const int64_t first = int64_t(blockIdx.x - upper.first) * ONE_THREADS + threadIdx.x;
    wait_for_vectors();
#pragma unroll 4
    for (int64_t k = first; k < upper.count; k += step) {
        const int32_t column = upper.column[k];
        *x.at(column) = upper.y[column];
    }
}

} // namespace gsv
#endif
