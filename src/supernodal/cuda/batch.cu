/*
 * The blocks of a batch in device memory: between them and vectors over the rows of all members.
 *
 * Operation: vectors(i, c) = block of i's member (i - its first row, first_column + c), or the other way.
 *
 * Mapping: a thread for each number. Threads are neighbours along the direction in which the vectors' numbers are: rows, with columns in the
 * grid's second dimension, or columns first. Members' blocks mostly have the same direction, so both sides move in runs.
 *
 * Blocks at equal distances follow from the member's number. An array of them is in the launch's parameters, MOST members at a time:
 * so there is no copy of it whose time would have to be known, and a graph has it.
 *
 * Synchronisation: none; each number is read once and written once, and no thread waits.
 */
#include "../batch/move.h"
#include "support.h"

namespace gsv {

enum {
    BLOCK = 256,
    MOST_COLUMNS = 65535, /* of the grid */
    FEW = 120,            /* blocks of launches whose parameters have 4 KB */
#if CUDART_VERSION >= 12010
    MOST = 1000, /* and 32 KB */
#else
    MOST = FEW,
#endif
    BYTES = 4000 /* of an array that a launch brings */
};

/* Blocks at equal distances. */
struct strided_blocks {
    gsv_batch_block first;
    int64_t apart;
    __device__ __forceinline__ gsv_batch_block of(int32_t member, int32_t each) const {
        gsv_batch_block block = first;
        block.first_row = member * each;
        return block;
    }
    __device__ __forceinline__ int64_t start(int32_t member) const {
        return member * apart;
    }
};

/* Members first_member and on. */
template <int COUNT> struct listed_blocks {
    int32_t first_member;
    gsv_batch_block block[COUNT];
    __device__ __forceinline__ gsv_batch_block of(int32_t member, int32_t) const {
        return block[member - first_member];
    }
    __device__ __forceinline__ int64_t start(int32_t) const {
        return 0;
    }
};

/* The rest of what a launch is told. */
struct batch_rows {
    int64_t first_row, rows; /* that move */
    int32_t each;            /* rows of a member, or -1 */
    const int32_t *member_of;
    const uint8_t *active;
    int64_t first_column;
};

/* W is a word as long as a number. ACROSS: threads are neighbours along columns. */
template <typename W, bool GATHER, bool ACROSS, typename Blocks>
static __global__ void __launch_bounds__(BLOCK)
    move_blocks(const __grid_constant__ batch_rows list, const __grid_constant__ Blocks blocks,
                const __grid_constant__ gsv_batch_vectors vectors) {
    const int64_t e = int64_t(blockIdx.x) * BLOCK + threadIdx.x;
    const int64_t k = ACROSS ? e / vectors.columns : e;
    if (k >= list.rows)
        return;
    const int32_t row = int32_t(list.first_row + k);
    const int32_t member = list.each >= 0 ? row / list.each : list.member_of[row];
    if (!GATHER && list.active && !list.active[member])
        return;
    const gsv_batch_block block = blocks.of(member, list.each);
    W *user =
        static_cast<W *>(block.values) + blocks.start(member) + (row - block.first_row) * block.row_stride;
    W *vector = static_cast<W *>(vectors.values) + row * vectors.row_stride;
    const int32_t first = ACROSS ? int32_t(e % vectors.columns) : int32_t(blockIdx.y);
    const int32_t step = ACROSS ? vectors.columns : int32_t(gridDim.y);
    for (int32_t c = first; c < vectors.columns; c += step) {
        const int64_t column = list.first_column + c;
        const bool there = column < block.columns;
        if (GATHER)
            vector[c * vectors.column_stride] = there ? user[column * block.column_stride] : W();
        else if (there)
            user[column * block.column_stride] = vector[c * vectors.column_stride];
    }
}

template <typename W, bool GATHER, typename Blocks>
static cudaError_t launch_move(const batch_rows &list, const Blocks &blocks, const gsv_batch_vectors &vectors,
                               cudaStream_t stream) {
    const bool across = vectors.row_stride != 1 && vectors.columns > 1;
    const int64_t threads = across ? list.rows * vectors.columns : list.rows;
    const int columns = vectors.columns < MOST_COLUMNS ? vectors.columns : MOST_COLUMNS;
    const dim3 grid(unsigned((threads + BLOCK - 1) / BLOCK), unsigned(across ? 1 : columns));
    if (threads == 0)
        return cudaSuccess;
    if (across)
        move_blocks<W, GATHER, true><<<grid, BLOCK, 0, stream>>>(list, blocks, vectors);
    else
        move_blocks<W, GATHER, false><<<grid, BLOCK, 0, stream>>>(list, blocks, vectors);
    return cudaGetLastError();
}

/* Some members of an array. */
template <typename W, bool GATHER, int COUNT>
static cudaError_t move_listed(const gsv_batch_blocks *from, int64_t first, int64_t count, batch_rows list,
                               const gsv_batch_vectors &vectors, cudaStream_t stream) {
    listed_blocks<COUNT> blocks;
    blocks.first_member = int32_t(first);
    for (int64_t k = 0; k < COUNT; k++)
        blocks.block[k] = k < count ? from->block[first + k] : gsv_batch_block();
    list.first_row = blocks.block[0].first_row;
    list.rows =
        (first + count < from->count ? from->block[first + count].first_row : from->n) - list.first_row;
    return launch_move<W, GATHER>(list, blocks, vectors, stream);
}

template <typename W, bool GATHER>
static cudaError_t move(const gsv_batch_blocks *blocks, const gsv_batch_vectors &vectors,
                        cudaStream_t stream) {
    const batch_rows list = {
        0, blocks->n, int32_t(blocks->each), blocks->member_of, blocks->active, blocks->first_column};
    if (!blocks->block)
        return launch_move<W, GATHER>(list, strided_blocks{blocks->first, blocks->apart}, vectors, stream);
    cudaError_t error = cudaSuccess;
    for (int64_t first = 0; first < blocks->count && error == cudaSuccess; first += MOST) {
        const int64_t left = blocks->count - first, count = left < MOST ? left : MOST;
        error = count <= FEW ? move_listed<W, GATHER, FEW>(blocks, first, count, list, vectors, stream)
                             : move_listed<W, GATHER, MOST>(blocks, first, count, list, vectors, stream);
    }
    return error;
}

template <bool GATHER>
static gpusolve_status move_on_device(gpusolve_handle *handle, const gsv_batch_blocks *blocks,
                                      const gsv_batch_vectors *vectors) {
    const int previous = gsv_cuda_enter(handle->device);
    const cudaStream_t stream = static_cast<cudaStream_t>(handle->stream);
    const cudaError_t error = blocks->number == 4   ? move<float, GATHER>(blocks, *vectors, stream)
                              : blocks->number == 8 ? move<double, GATHER>(blocks, *vectors, stream)
                                                    : move<double2, GATHER>(blocks, *vectors, stream);
    const gpusolve_status status = gsv_cuda_check(error, "moving the members' blocks", &handle->message);
    gsv_cuda_leave(previous);
    return status;
}

static gpusolve_status gather(gpusolve_handle *handle, const gsv_batch_blocks *blocks,
                              const gsv_batch_vectors *vectors) {
    return move_on_device<true>(handle, blocks, vectors);
}

static gpusolve_status scatter(gpusolve_handle *handle, const gsv_batch_blocks *blocks,
                               const gsv_batch_vectors *vectors) {
    return move_on_device<false>(handle, blocks, vectors);
}

/* ---------------------------------------------------------------------------------------------- bytes --- */

struct bytes_of_launch {
    uint8_t byte[BYTES];
};

static __global__ void __launch_bounds__(BLOCK)
    put_bytes(const __grid_constant__ bytes_of_launch from, int count, uint8_t *to) {
    const int k = int(blockIdx.x) * BLOCK + int(threadIdx.x);
    if (k < count)
        to[k] = from.byte[k];
}

static cudaError_t put(const uint8_t *from, int64_t count, uint8_t *to, cudaStream_t stream) {
    cudaError_t error = cudaSuccess;
    for (int64_t first = 0; first < count && error == cudaSuccess; first += BYTES) {
        bytes_of_launch bytes;
        const int some = int(count - first < BYTES ? count - first : BYTES);
        for (int k = 0; k < BYTES; k++)
            bytes.byte[k] = k < some ? from[first + k] : 0;
        put_bytes<<<unsigned((some + BLOCK - 1) / BLOCK), BLOCK, 0, stream>>>(bytes, some, to + first);
        error = cudaGetLastError();
    }
    return error;
}

} // namespace gsv

extern "C" gpusolve_status gsv_cuda_batch_put(gpusolve_handle *handle, const uint8_t *from, int64_t count,
                                              uint8_t *to) {
    const int previous = gsv_cuda_enter(handle->device);
    const gpusolve_status status =
        gsv_cuda_check(gsv::put(from, count, to, static_cast<cudaStream_t>(handle->stream)),
                       "bringing active", &handle->message);
    gsv_cuda_leave(previous);
    return status;
}

extern "C" gpusolve_status gsv_cuda_batch_get(gpusolve_handle *handle, const uint8_t *from, int64_t count,
                                              uint8_t *to) {
    const int previous = gsv_cuda_enter(handle->device);
    const cudaStream_t stream = static_cast<cudaStream_t>(handle->stream);
    int capturing = 0;
    gpusolve_status status = gsv_cuda_is_capturing(handle, &capturing);
    if (status == GPUSOLVE_OK && capturing)
        status = gsv_fail(&handle->message, GPUSOLVE_INVALID_ARGUMENT,
                          "x is in host memory: a solve that is captured wants device memory");
    if (status == GPUSOLVE_OK)
        status = gsv_cuda_check(cudaMemcpyAsync(to, from, size_t(count), cudaMemcpyDeviceToHost, stream),
                                "copying active", &handle->message);
    if (status == GPUSOLVE_OK)
        status = gsv_cuda_check(cudaStreamSynchronize(stream), "copying active", &handle->message);
    gsv_cuda_leave(previous);
    return status;
}

extern "C" const gsv_batch_functions gsv_cuda_batch = {gsv::gather, gsv::scatter, gsv_cuda_solve_apart};
