/*
 * Parts of a factor on the device (selection.c): panels are copied as they are, for a panel's form follows
 * from its rows and columns and from how its triangle was inverted; only where it stands differs. And rows
 * that move between a user's block and a part's vectors.
 *
 * Both kernels move each number once and wait for nothing. copy_pieces: a block of threads for each piece of
 * at most PIECE bytes, word after word. move_rows: a thread for each row of the list and, in the grid's
 * second dimension, column.
 */
#include "../../memory.h"
#include "../../recording.h"
#include "support.h"

namespace gsv {

enum { BLOCK = 256, PIECE = 1 << 18, MOST_COLUMNS = 65535 };

struct piece {
    const char *from;
    char *to;
    int64_t words; /* of four bytes */
};

static __global__ void __launch_bounds__(BLOCK) copy_pieces(const piece *pieces) {
    const piece p = pieces[blockIdx.x];
    const int32_t *from = reinterpret_cast<const int32_t *>(p.from);
    int32_t *to = reinterpret_cast<int32_t *>(p.to);
    for (int64_t i = threadIdx.x; i < p.words; i += BLOCK)
        to[i] = from[i];
}

/* to(t(k), c) = f(k) < 0 ? 0 : from(f(k), c); W is a word as long as a number. */
template <typename W>
static __global__ void __launch_bounds__(BLOCK)
    move_rows(int64_t count, const int32_t *f, const int32_t *t, gsv_device_dense from, gsv_device_dense to) {
    const int64_t k = int64_t(blockIdx.x) * BLOCK + threadIdx.x;
    if (k >= count)
        return;
    const int64_t source = f ? f[k] : k, target = t ? t[k] : k;
    for (int32_t c = blockIdx.y; c < to.columns; c += gridDim.y) {
        W word = W();
        if (source >= 0)
            word = static_cast<const W *>(from.values)[source * from.row_stride + c * from.column_stride];
        static_cast<W *>(to.values)[target * to.row_stride + c * to.column_stride] = word;
    }
}

/* --------------------------------------------------------------------------------------------- panels --- */

static int64_t count_pieces(int64_t bytes) {
    return (bytes + PIECE - 1) / PIECE;
}

/* Pieces of one run of bytes from list[at] on; returns where the next ones go. */
static int64_t cut(const char *from, char *to, int64_t bytes, piece *list, int64_t at) {
    for (int64_t done = 0; done < bytes; done += PIECE)
        list[at++] = piece{from + done, to + done, (bytes - done < PIECE ? bytes - done : PIECE) / 4};
    return at;
}

/* The numbers that the part takes over: each supernode's panel and columns of D. */
static int64_t list_pieces(const gpusolve_factor *whole, const int32_t *supernodes,
                           const gpusolve_factor *part, piece *list) {
    const gsv_cuda_factor *from = static_cast<const gsv_cuda_factor *>(whole->prepared);
    gsv_cuda_factor *to = static_cast<gsv_cuda_factor *>(part->prepared);
    const gsv_plan *plan = &part->plan;
    const int64_t number = int64_t(gsv_panel_bytes(part->numbers));
    const int64_t real = gsv_is_single(part->dtype) ? 4 : 8;
    int64_t at = 0;
    for (int32_t k = 0; k < plan->l.nsuper; k++) {
        const int32_t s = supernodes[k], nc = gsv_columns(plan, k);
        const int64_t bytes = gsv_panel_size(gsv_rows(plan, k), nc) * number;
        if (!list) {
            at += count_pieces(bytes) + (part->has_d ? count_pieces(nc * real) : 0);
            continue;
        }
        at = cut(static_cast<const char *>(from->plan.panels) + whole->plan.schedule->panel_ptr[s] * number,
                 static_cast<char *>(const_cast<void *>(to->plan.panels)) +
                     plan->schedule->panel_ptr[k] * number,
                 bytes, list, at);
        if (part->has_d)
            at = cut(static_cast<const char *>(from->plan.d) + whole->plan.l.first_column[s] * real,
                     static_cast<char *>(const_cast<void *>(to->plan.d)) + plan->l.first_column[k] * real,
                     nc * real, list, at);
    }
    return at;
}

static gpusolve_status copy_panels(gpusolve_handle *handle, const gpusolve_factor *whole,
                                   const int32_t *supernodes, const gpusolve_factor *part) {
    gsv_message *message = &handle->message;
    const int64_t count = list_pieces(whole, supernodes, part, nullptr);
    const int64_t bytes = count * int64_t(sizeof(piece));
    if (count == 0)
        return GPUSOLVE_OK;
    if (count > INT32_MAX)
        return gsv_fail(message, GPUSOLVE_TOO_LARGE, "selection: its panels are too many");
    piece *list = static_cast<piece *>(gsv_malloc(size_t(count), sizeof *list));
    void *memory = nullptr;
    gpusolve_status status = list
                                 ? gsv_cuda_malloc(&memory, bytes, message)
                                 : gsv_fail(message, GPUSOLVE_OUT_OF_MEMORY, "selection: out of host memory");
    if (status == GPUSOLVE_OK) {
        list_pieces(whole, supernodes, part, list);
        status = gsv_cuda_check(gsv_cuda_fill(memory, list, size_t(bytes)), "copying a list to the device",
                                message);
    }
    if (status == GPUSOLVE_OK) {
        copy_pieces<<<unsigned(count), BLOCK>>>(static_cast<const piece *>(memory));
        status = gsv_cuda_check(cudaGetLastError(), "copying panels", message);
    }
    if (status == GPUSOLVE_OK) /* the launch is on the legacy stream */
        status = gsv_cuda_check(cudaStreamSynchronize(cudaStreamLegacy), "copying panels", message);
    gsv_cuda_free(memory);
    gsv_free(list);
    return status;
}

/* Its triangles are as they are in the whole. */
static gpusolve_status place_nodes(const gpusolve_factor *whole, const int32_t *supernodes,
                                   gpusolve_factor *part, gsv_message *message) {
    gsv_cuda_factor *to = static_cast<gsv_cuda_factor *>(part->prepared);
    for (int32_t k = 0; k < part->plan.l.nsuper; k++)
        to->k[k] = static_cast<const gsv_cuda_factor *>(whole->prepared)->k[supernodes[k]];
    return gsv_cuda_place_nodes(part, to, message);
}

static gpusolve_status extract(gpusolve_handle *handle, const gpusolve_factor *whole,
                               const int32_t *supernodes, gpusolve_factor *part) {
    const int previous = gsv_cuda_enter(handle->device);
    gpusolve_status status = GPUSOLVE_OK;
    if (part->prepared) /* solves with the numbers that it had */
        status = gsv_cuda_synchronize_device("waiting for earlier solves", &handle->message);
    else
        status = gsv_cuda_prepare(handle, part, nullptr);
    if (status == GPUSOLVE_OK)
        status = copy_panels(handle, whole, supernodes, part);
    if (status == GPUSOLVE_OK && part->plan.l.n > 0)
        status = place_nodes(whole, supernodes, part, &handle->message);
    gsv_cuda_leave(previous);
    return status;
}

/* ----------------------------------------------------------------------------------------------- rows --- */

static gpusolve_status allocate(gpusolve_handle *handle, const void *from, size_t bytes, void **memory) {
    const int previous = gsv_cuda_enter(handle->device);
    gpusolve_status status = gsv_cuda_malloc(memory, int64_t(bytes), &handle->message);
    if (status == GPUSOLVE_OK && from && bytes > 0)
        status = gsv_cuda_check(gsv_cuda_fill(*memory, from, bytes), "copying rows", &handle->message);
    gsv_cuda_leave(previous);
    return status;
}

static void release(int device, void *memory) {
    const int previous = gsv_cuda_enter(device);
    gsv_cuda_free(memory);
    gsv_cuda_leave(previous);
}

template <typename W>
static cudaError_t launch_move(const gsv_row_list *list, gsv_device_dense from, gsv_device_dense to,
                               cudaStream_t stream) {
    if (list->count == 0 || to.columns == 0)
        return cudaSuccess;
    const unsigned columns = to.columns < MOST_COLUMNS ? unsigned(to.columns) : unsigned(MOST_COLUMNS);
    const dim3 grid(unsigned((list->count + BLOCK - 1) / BLOCK), columns);
    move_rows<W><<<grid, BLOCK, 0, stream>>>(list->count, list->from, list->to, from, to);
    return cudaGetLastError();
}

static cudaError_t move_on_device(const gsv_row_list *list, size_t number, gsv_device_dense from,
                                  gsv_device_dense to, cudaStream_t stream) {
    switch (number) {
    case 4:
        return launch_move<float>(list, from, to, stream);
    case 8:
        return launch_move<double>(list, from, to, stream);
    default:
        return launch_move<double2>(list, from, to, stream);
    }
}

/* A block in host memory goes through device memory that lives for this call, which waits then. */
static gpusolve_status move(gpusolve_handle *handle, const gsv_row_list *list, int clear,
                            const gpusolve_dense *from, const gpusolve_dense *to) {
    gsv_message *message = &handle->message;
    const int previous = gsv_cuda_enter(handle->device);
    const size_t number = gsv_dtype_bytes(to->dtype);
    const cudaStream_t stream = static_cast<cudaStream_t>(handle->stream);
    const int from_host = list->count > 0 && from->rows > 0 && !gsv_cuda_is_device(from->values);
    const int to_host = list->count > 0 && !gsv_cuda_is_device(to->values);
    const gpusolve_dense *host = from_host ? from : to;
    cudaStreamCaptureStatus capture = cudaStreamCaptureStatusNone;
    gpusolve_status status = GPUSOLVE_OK;
    void *staged = nullptr;
    if (from_host || to_host)
        status = gsv_cuda_check(cudaStreamIsCapturing(stream, &capture), "cudaStreamIsCapturing", message);
    if (status == GPUSOLVE_OK && capture != cudaStreamCaptureStatusNone)
        status = gsv_fail(message, GPUSOLVE_INVALID_ARGUMENT,
                          "%s is in host memory: a solve that is captured wants device memory",
                          from_host ? "b" : "x");
    if (status == GPUSOLVE_OK && (from_host || to_host))
        status = gsv_cuda_malloc(&staged, host->rows * host->cols * int64_t(number), message);
    cudaError_t error = cudaSuccess;
    if (status == GPUSOLVE_OK && clear && to->rows > 0)
        error = cudaMemsetAsync(to->values, 0, size_t(to->rows * to->cols) * number, stream);
    if (status == GPUSOLVE_OK && error == cudaSuccess && from_host)
        error = gsv_cuda_copy_block(handle, from, staged, cudaMemcpyHostToDevice);
    if (status == GPUSOLVE_OK && error == cudaSuccess)
        error = move_on_device(list, number, from_host ? gsv_cuda_packed(from, staged) : gsv_cuda_dense(from),
                               to_host ? gsv_cuda_packed(to, staged) : gsv_cuda_dense(to), stream);
    if (status == GPUSOLVE_OK && error == cudaSuccess && to_host)
        error = gsv_cuda_copy_block(handle, to, staged, cudaMemcpyDeviceToHost);
    if (status == GPUSOLVE_OK && error == cudaSuccess && (from_host || to_host))
        error = cudaStreamSynchronize(stream);
    gsv_cuda_free(staged);
    if (status == GPUSOLVE_OK)
        status = gsv_cuda_check(error, "moving rows", message);
    gsv_cuda_leave(previous);
    return status;
}

} // namespace gsv

extern "C" const gsv_selection_functions gsv_cuda_selection = {gsv::extract, gsv::allocate, gsv::release,
                                                               gsv::move};
