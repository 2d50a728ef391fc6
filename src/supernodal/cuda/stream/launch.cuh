/*
 * Host launchers of the streams, of the branches beside them, and of load, store and scaling (cuda/stream/load_store.cuh) for one kind of
 * numbers: each launch_<p>.cu makes its table from here. Blocks of right-hand sides are for real numbers: double, and
 * panels in single precision with vectors in double (scalar.cuh: mixed), for which cuda/stream/launch_m.cu is. One right-hand side in
 * single precision is for cuda/stream/launch_s.cu. A factor that is stored in single precision, with b and x in double, has the
 * sweeps of cuda/stream/launch_m.cu for blocks, and for one right-hand side those of cuda/stream/launch_ds.cu or launch_zc.cu.
 */
#ifndef GSV_CUDA_STREAM_LAUNCH_CUH
#define GSV_CUDA_STREAM_LAUNCH_CUH

#include "block.cuh"
#include "load_store.cuh"
#include "one.cuh"
#include "../launchers.h"
#include "../walk/launches.cuh"
#include "../walk/walk.h"
#include "../walk/whole.cuh"

namespace gsv {

/* Is the upper tree a stream for one right-hand side of these numbers? For blocks of right-hand sides? */
template <typename N> constexpr bool has_one() {
    return !std::is_same<N, mixed<float>>::value;
}
template <typename N> constexpr bool has_blocks() {
    return std::is_same<N, double>::value || std::is_same<N, mixed<float>>::value;
}

/* Calls call(nr), with nr an integral constant, if these numbers have kernels for nr columns. */
template <typename N, typename Call> cudaError_t dispatch_columns(int nr, Call call) {
    if constexpr (has_one<N>())
        if (nr == 1)
            return call(std::integral_constant<int, 1>());
    if constexpr (has_blocks<N>()) {
        if (nr == GSV_SIDE_COLUMNS)
            return call(std::integral_constant<int, GSV_SIDE_COLUMNS>());
        if (nr == GSV_BLOCK_COLUMNS)
            return call(std::integral_constant<int, GSV_BLOCK_COLUMNS>());
    }
    return cudaErrorInvalidValue;
}

/* Bytes that the forward sweep of a stream wants filled with ABSENT: f and, behind it, the upper rows of u, but for
 * several right-hand sides not those that limbs keep to themselves. */
template <typename N, int NR> int64_t forward_fill(const gsv_launch &l) {
    const gsv_schedule *schedule = l.plan->schedule;
    static_assert(NR == 1 || NR * sizeof(vector_number<N>) % 16 == 0,
                  "a fill ends where the upper rows of u do");
    return static_cast<char *>(l.vectors.u) - static_cast<char *>(l.vectors.f) +
           (NR > 1 ? schedule->handed_updates : schedule->upper_updates) * NR *
               int64_t(sizeof(vector_number<N>));
}

/* Shared memory of each of `blocks` blocks that walk branches for one right-hand side. Six share an SM, or fewer, if there are
 * fewer: they are spread evenly; but not forward if that makes it five (grid2d:300: 2 % slower). */
template <typename N> size_t one_spread(const gsv_branches &branches, bool backward, int64_t blocks) {
    enum { RESIDENT = 6, SPREAD_FORWARD = 4 };
    const int bytes = one_bytes<N>(branches, backward);
    return size_t(backward || blocks <= SPREAD_FORWARD * MULTIPROCESSORS
                      ? spread_bytes(blocks, bytes, RESIDENT)
                      : bytes);
}

/* Let the branches' kernels for one right-hand side have their shared memory. */
template <typename N> cudaError_t reserve_one(const gsv_branches &branches, int most) {
    const struct {
        const void *kernel;
        bool backward;
    } kernels[] = {
        {reinterpret_cast<const void *>(branch_forward_one_kernel<N, false>), false},
        {reinterpret_cast<const void *>(branch_forward_one_kernel<N, true>), false},
        {reinterpret_cast<const void *>(branch_backward_one_kernel<N, false>), true},
        {reinterpret_cast<const void *>(branch_backward_one_kernel<N, true>), true},
    };
    cudaError_t error = cudaSuccess;
    for (size_t k = 0; k < sizeof kernels / sizeof *kernels && error == cudaSuccess; k++) {
        const int bytes = one_bytes<N>(branches, kernels[k].backward);
        error = bytes > most ? cudaErrorInvalidValue : allow_shared(kernels[k].kernel, size_t(bytes));
    }
    return error;
}

template <typename T, int NR, bool BACKWARD, bool SIDE = false> constexpr auto stream_kernel_of() {
    if constexpr (NR == 1)
        return stream_kernel<T, BACKWARD, SIDE>;
    else
        return block_stream_kernel<panel_number<T>, NR, BACKWARD, SIDE>;
}

/* A block of such a kernel. */
template <typename T, int NR, bool BACKWARD> struct stream_shape {
    static const int THREADS = block_room<NR, BACKWARD>::BLOCK, BYTES = block_room<NR, BACKWARD>::BYTES;
};
template <typename T, bool BACKWARD> struct stream_shape<T, 1, BACKWARD> {
    static const int THREADS = STREAM_BLOCK, BYTES = stream_room<T>::BYTES;
};

/* Calls launch(side), an integral constant: for several groups of right-hand sides (gsv_device_vectors.groups), or one. */
template <int NR, typename Launch> cudaError_t launch_side(bool side, Launch launch) {
    if constexpr (NR == GSV_SIDE_COLUMNS)
        if (side)
            return launch(std::true_type());
    return launch(std::false_type());
}

/* One sweep of the upper tree. part: of a block of right-hand sides, forward, after limbs SECOND_OF_TWO. */
template <typename N, int NR, bool BACKWARD>
cudaError_t launch_stream(const gsv_launch &l, launch_part part = THE_ONLY) {
    const gsv_device_pieces &pieces = NR == 1
                                          ? BACKWARD ? l.device->backward_pieces : l.device->forward_pieces
                                      : BACKWARD ? l.device->block_backward
                                                 : l.device->block_forward;
    typedef vector_number<N> T;
    typedef stream_shape<N, NR, BACKWARD> shape;
    const gsv_device_vectors &vectors = l.vectors;
    const int most = l.abilities.stream_blocks[gsv_class_of(NR)][BACKWARD] / vectors.groups;
    if (pieces.tasks == 0)
        return cudaSuccess;
    const auto launch_with = [&](auto kernel, auto... others) {
        return launch_allowed(kernel, {pieces.tasks < most ? pieces.tasks : most, vectors.groups},
                              shape::THREADS, shape::BYTES, l.stream, *l.device, pieces,
                              static_cast<const T *>(BACKWARD ? vectors.x : vectors.y),
                              static_cast<T *>(BACKWARD ? vectors.y : vectors.x),
                              static_cast<T *>(BACKWARD && NR == 1 ? vectors.f : vectors.u),
                              static_cast<T *>(BACKWARD ? vectors.z : vectors.f), vectors.state, others...);
    };
    if constexpr (NR == 1)
        return vectors.groups > 1 ? launch_with(stream_kernel_of<N, NR, BACKWARD, true>())
                                  : launch_with(stream_kernel_of<N, NR, BACKWARD>());
    else
        return launch_side<NR>(vectors.groups > 1, [&](auto side) {
            return launch_with(stream_kernel_of<N, NR, BACKWARD, side>(), part);
        });
}

/* Blocks of one kernel that the device runs at a time. */
template <typename T, int NR, bool BACKWARD> cudaError_t count_blocks(int most, int processors, int *blocks) {
    typedef stream_shape<T, NR, BACKWARD> shape;
    const auto kernel = stream_kernel_of<T, NR, BACKWARD>();
    *blocks = 0;
    if (most < shape::BYTES)
        return cudaSuccess;
    cudaError_t error = allow_shared(reinterpret_cast<const void *>(kernel), shape::BYTES);
    if constexpr (NR == GSV_SIDE_COLUMNS || NR == 1)
        if (error == cudaSuccess)
            error = allow_shared(reinterpret_cast<const void *>(stream_kernel_of<T, NR, BACKWARD, true>()),
                                 shape::BYTES);
    int each = 0;
    if (error == cudaSuccess)
        error = cudaOccupancyMaxActiveBlocksPerMultiprocessor(&each, kernel, shape::THREADS, shape::BYTES);
    *blocks = processors * each;
    return error;
}

/* Blocks of one class's kernels, forward and backward: both, or none. */
template <typename T, int NR> cudaError_t count_class(int most, int processors, int (&blocks)[2]) {
    cudaError_t error = count_blocks<T, NR, false>(most, processors, &blocks[0]);
    if (error == cudaSuccess)
        error = count_blocks<T, NR, true>(most, processors, &blocks[1]);
    if (blocks[0] == 0 || blocks[1] == 0)
        blocks[0] = blocks[1] = 0;
    return error;
}

/* The columns that are in no branch, and the blocks for them after the branches' own. */
template <typename T> one_upper<T> upper_of(const gsv_launch &l, int64_t *blocks) {
    const gsv_schedule *schedule = l.plan->schedule;
    const gsv_device_vectors &vectors = l.vectors;
    const int64_t most = schedule->branches.upper_columns > schedule->upper_updates
                             ? schedule->branches.upper_columns
                             : schedule->upper_updates;
    *blocks = schedule->branches.count + most / (ONE_THREADS * ONE_EACH) + 1;
    return {schedule->branches.count,         l.device->upper_column,
            schedule->branches.upper_columns, static_cast<T *>(vectors.y),
            static_cast<T *>(vectors.z),      static_cast<T *>(vectors.f),
            static_cast<T *>(vectors.u),      schedule->stream.published,
            schedule->upper_updates,          vectors.state};
}

/* The load and the forward sweep, for b's one right-hand side, or for as many as there are groups. */
template <typename N> cudaError_t forward_from(const gsv_launch *l, const int32_t *perm, gsv_device_dense b) {
    typedef vector_number<N> T;
    int64_t blocks = 0;
    const one_upper<T> upper = upper_of<T>(*l, &blocks);
    const int groups = l->vectors.groups;
    const size_t bytes = one_spread<N>(l->plan->schedule->branches, false, blocks * groups);
    const auto kernel = groups > 1 ? branch_forward_one_kernel<N, true> : branch_forward_one_kernel<N, false>;
    /* not before what is ahead of the solve on the stream has ended */
    kernel<<<dim3(unsigned(blocks), unsigned(groups)), ONE_THREADS, bytes, l->stream>>>(
        *l->device, {static_cast<const T *>(b.values), perm, b.row_stride, b.column_stride}, upper,
        static_cast<T *>(l->vectors.x), static_cast<T *>(l->vectors.u));
    const cudaError_t error = cudaGetLastError();
    return error == cudaSuccess ? launch_stream<N, 1, false>(*l) : error;
}

/* The backward sweep and the store. */
template <typename N> cudaError_t backward_to(const gsv_launch *l, const int32_t *perm, gsv_device_dense x) {
    typedef vector_number<N> T;
    int64_t blocks = 0;
    const one_upper<T> upper = upper_of<T>(*l, &blocks);
    const int groups = l->vectors.groups;
    const cudaError_t error = launch_stream<N, 1, true>(*l);
    if (error != cudaSuccess)
        return error;
    const auto kernel =
        groups > 1 ? branch_backward_one_kernel<N, true> : branch_backward_one_kernel<N, false>;
    return launch_allowed(
        kernel, {blocks, groups}, ONE_THREADS,
        one_spread<N>(l->plan->schedule->branches, true, blocks * groups), l->stream, *l->device,
        static_cast<const T *>(l->vectors.x), static_cast<const T *>(l->vectors.y),
        one_vector<T>{static_cast<T *>(x.values), perm, x.row_stride, x.column_stride}, upper);
}

/* The load, both sweeps and the store, of a tree that is all branches. */
template <typename N>
cudaError_t whole(const gsv_launch *l, const int32_t *perm, gsv_device_dense b, gsv_device_dense x) {
    typedef vector_number<N> T;
    const gsv_branches &branches = l->plan->schedule->branches;
    const int groups = l->vectors.groups;
    const auto kernel = groups > 1 ? branch_whole_one_kernel<N, true> : branch_whole_one_kernel<N, false>;
    kernel<<<dim3(unsigned(branches.count), unsigned(groups)), ONE_THREADS,
             size_t(branches.most_whole[gsv_number_size(sizeof(panel_number<N>), sizeof(T))]), l->stream>>>(
        *l->device, {static_cast<const T *>(b.values), perm, b.row_stride, b.column_stride},
        {static_cast<T *>(x.values), perm, x.row_stride, x.column_stride});
    return cudaGetLastError();
}

/* Count the blocks of each class's kernels that the device runs at a time. */
template <typename T, bool ONE = has_one<T>(), bool BLOCKS = has_blocks<T>()>
cudaError_t reserve(const gsv_branches *branches, int most, gsv_abilities *abilities) {
    int device = 0, processors = 0, major = 0;
    int(*blocks)[2] = abilities->stream_blocks;
    cudaError_t error = cudaGetDevice(&device);
    if (error == cudaSuccess)
        error = cudaDeviceGetAttribute(&major, cudaDevAttrComputeCapabilityMajor, device);
    if (error == cudaSuccess)
        error = cudaDeviceGetAttribute(&processors, cudaDevAttrMultiProcessorCount, device);
    if (error != cudaSuccess || major < 9)
        return error;
    if constexpr (ONE)
        if (has_room(reserve_one<T>(*branches, most)))
            error = count_class<T, 1>(most, processors, blocks[GSV_ONE]);
    if constexpr (BLOCKS) {
        const int floats = sizeof(panel_number<T>) < sizeof(double);
        if (error == cudaSuccess && has_room(gsv_team_reserve(branches, floats, GSV_SIDE_COLUMNS, most)) &&
            has_room(gsv_limb_reserve()))
            error = count_class<T, GSV_SIDE_COLUMNS>(most, processors, blocks[GSV_EIGHT]);
        if (error == cudaSuccess && blocks[GSV_EIGHT][true] > 0 &&
            has_room(gsv_team_reserve(branches, floats, GSV_BLOCK_COLUMNS, most)))
            error = count_blocks<T, GSV_BLOCK_COLUMNS, true>(most, processors, &blocks[GSV_SIXTEEN][true]);
    }
    return error;
}

/* Groups of eight: the branches, then the limbs, if there are any, and the stream. */
template <typename T> cudaError_t sweep_forward(const gsv_launch *l) {
    const gsv_branches *branches = &l->plan->schedule->branches;
    const gsv_limbs *limbs = &l->plan->schedule->limbs;
    cudaError_t error = cudaSuccess;
    if (branches->count > 0)
        error = gsv_team_forward(branches, l->device, &l->vectors, forward_fill<T, GSV_SIDE_COLUMNS>(*l),
                                 GSV_SIDE_COLUMNS, l->stream);
    if (error == cudaSuccess)
        error = gsv_limb_forward(limbs, l->device, &l->vectors, l->abilities.stream_blocks[GSV_EIGHT][false],
                                 l->stream);
    return error != cudaSuccess
               ? error
               : launch_stream<T, GSV_SIDE_COLUMNS, false>(*l, limbs->count > 0 ? SECOND_OF_TWO : THE_ONLY);
}

/* Groups of eight, or sixteen. */
template <typename T> cudaError_t sweep_back(const gsv_launch *l) {
    const gsv_branches *branches = &l->plan->schedule->branches;
    const int columns = l->run->columns;
    const cudaError_t error = columns == GSV_SIDE_COLUMNS ? launch_stream<T, GSV_SIDE_COLUMNS, true>(*l)
                                                          : launch_stream<T, GSV_BLOCK_COLUMNS, true>(*l);
    return error == cudaSuccess && branches->count > 0
               ? gsv_team_backward(branches, l->device, &l->vectors, columns, l->stream)
               : error;
}

template <typename T, int NR>
cudaError_t launch_load(const gsv_launch &l, const int32_t *perm, const int32_t *inverse,
                        gsv_device_dense from, void *to) {
    const gsv_device_vectors &vectors = l.vectors;
    const int32_t n = l.plan->l.n;
    int64_t fill = 0; /* z, f and the upper rows of u stand side by side */
    if (l.run->above[1] != GSV_TASKS)
        fill = static_cast<char *>(vectors.f) - static_cast<char *>(vectors.z);
    if (l.run->above[0] != GSV_TASKS &&
        (NR == 1 || l.plan->schedule->branches.count == 0)) /* else the branches' launch does */
        fill += forward_fill<T, NR>(l);
    return launch_side<NR>(vectors.groups > 1, [&](auto side) {
        return launch_transfer<vector_number<T>, NR>(n, 1, [&](int64_t blocks, auto cut) {
            load_kernel<T, NR, cut, side>
                <<<dim3(unsigned(blocks), unsigned(vectors.groups)), BLOCK, 0, l.stream>>>(
                    n, perm, inverse, from, static_cast<vector_number<T> *>(to),
                    absent_fill{static_cast<int4 *>(vectors.z), (fill + 15) / 16}, vectors.state,
                    gsv_side_upper(l.plan));
            return cudaGetLastError();
        });
    });
}

template <typename T>
cudaError_t load(const gsv_launch *l, const int32_t *perm, const int32_t *inverse, gsv_device_dense from,
                 void *to) {
    return dispatch_columns<T>(
        l->run->columns, [&](auto columns) { return launch_load<T, columns>(*l, perm, inverse, from, to); });
}

template <typename T>
cudaError_t store(const gsv_launch *l, const int32_t *inverse, const void *from, gsv_device_dense to) {
    const int32_t n = l->plan->l.n;
    const int groups = l->vectors.groups;
    return dispatch_columns<T>(l->run->columns, [&](auto columns) {
        return launch_side<columns>(groups > 1, [&](auto side) {
            return launch_transfer<vector_number<T>, columns>(n, 1, [&](int64_t blocks, auto cut) {
                return launch_allowed(store_kernel<T, columns, cut, side>, {blocks, groups}, BLOCK, 0,
                                      l->stream, n, inverse, static_cast<const vector_number<T> *>(from), to);
            });
        });
    });
}

template <typename T> cudaError_t scale(const gsv_launch *l, const void *d, void *v) {
    typedef typename traits<T>::real real;
    typedef vector_number<T> number;
    const int32_t n = l->plan->l.n;
    return dispatch_columns<T>(l->run->columns, [&](auto columns) {
        const int64_t group = columns > 1 ? l->device->side_vector : l->device->one_vector;
        cudaError_t error = cudaSuccess;
        for (int g = 0; g < l->vectors.groups && error == cudaSuccess; g++) {
            scale_kernel<T, columns>
                <<<unsigned((int64_t(n) * columns + BLOCK - 1) / BLOCK), BLOCK, 0, l->stream>>>(
                    n, static_cast<const real *>(d), static_cast<number *>(v) + g * group);
            error = cudaGetLastError();
        }
        return error;
    });
}

/* For numbers N. */
template <typename N> constexpr gsv_launchers stream_launchers() {
    gsv_launchers all = {};
    all.reserve = reserve<N>;
    all.load = load<N>;
    all.scale = scale<N>;
    all.store = store<N>;
    if constexpr (has_one<N>()) {
        all.forward_from = forward_from<N>;
        all.backward_to = backward_to<N>;
        all.whole = whole<N>;
    }
    if constexpr (has_blocks<N>()) {
        all.sweep[0] = sweep_forward<N>;
        all.sweep[1] = sweep_back<N>;
    }
    return all;
}

/* For panels of P and all else in double precision, groups of one. */
template <typename P> constexpr gsv_launchers stream_launchers_of_one() {
    typedef mixed<P> N;
    gsv_launchers all = {};
    all.reserve = reserve<N, true, false>;
    all.forward_from = forward_from<N>;
    all.backward_to = backward_to<N>;
    all.whole = whole<N>;
    return all;
}

} // namespace gsv
#endif
