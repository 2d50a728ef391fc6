/*
 * Host launchers of the streams, of the branches beside them, and of load, store and scaling (cuda/stream/load_store.cuh) for one kind of
 * numbers: each launch_<p>.cu makes its table from here. Blocks of right-hand sides are for real numbers: double, and
 * panels in single precision with vectors in double (scalar.cuh: mixed), for which cuda/stream/launch_m.cu is. One right-hand side in
 * single precision is for cuda/stream/launch_s.cu.
 */
#ifndef GSV_CUDA_STREAM_LAUNCH_CUH
#define GSV_CUDA_STREAM_LAUNCH_CUH

#include "block.cuh"
#include "../walk/launches.cuh"
#include "../walk/whole.cuh"
#include "../walk/limb.h"
#include "one.cuh"
#include "load_store.cuh"
#include "../walk/team.h"

namespace gsv {

/* Is the upper tree a stream for one right-hand side of these numbers? For blocks of right-hand sides? */
template <typename N> constexpr bool has_one() {
    return !std::is_same<N, mixed<float>>::value;
}
template <typename N> constexpr bool has_blocks() {
    return std::is_same<N, double>::value || std::is_same<N, mixed<float>>::value;
}

/* Calls call(nr), an integral constant, of those that there are for these numbers. */
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

/* Blocks of right-hand sides forward: sixteen of them are many (cuda/tasks/tasks.h). */
template <int NR, bool BACKWARD> constexpr bool has_sweep() {
    return BACKWARD || NR <= GSV_SIDE_COLUMNS;
}

/* Is the upper tree a stream? */
template <int NR, bool BACKWARD> bool walks_stream(const gsv_abilities &abilities) {
    return has_sweep<NR, BACKWARD>() && (NR == 1 || NR <= abilities.block_columns) &&
           abilities.stream_blocks[gsv_class_of(NR)][BACKWARD] > 0;
}

/* Bytes that the forward sweep of a stream wants filled with ABSENT: f and, behind it, the upper rows of u, but for
 * several right-hand sides not those that limbs keep to themselves. */
template <typename N, int NR> int64_t forward_fill(const gsv_plan *plan, const gsv_device_vectors &vectors) {
    const gsv_schedule *schedule = plan->schedule;
    return static_cast<char *>(vectors.u) - static_cast<char *>(vectors.f) +
           (NR > 1 ? schedule->handed_updates : schedule->upper_updates) * NR *
               int64_t(sizeof(vector_number<N>));
}

/* Shared memory of `blocks` blocks that walk branches for one right-hand side, of which six share an SM: spread evenly, but
 * forward not if that makes it five (grid2d:300: 2 % slower). */
template <typename T> size_t one_spread(const gsv_branches &branches, bool backward, int64_t blocks) {
    enum { RESIDENT = 6, SPREAD_FORWARD = 4 };
    const int bytes = one_bytes<T>(branches, backward);
    return size_t(backward || blocks <= SPREAD_FORWARD * MULTIPROCESSORS
                      ? spread_bytes(blocks, bytes, RESIDENT)
                      : bytes);
}

/* The branches' part of a sweep. */
template <typename T, int NR>
cudaError_t forward_branches(const gsv_plan *plan, const gsv_device_plan &device,
                             const gsv_device_vectors &vectors, cudaStream_t stream) {
    const gsv_branches &branches = plan->schedule->branches;
    if (branches.count == 0)
        return cudaSuccess;
    if constexpr (NR == 1) {
        return launch_allowed(branch_forward_one_kernel<T, false>, branches.count, ONE_THREADS,
                              one_spread<T>(branches, false, branches.count), stream, device,
                              one_vector<const T>{static_cast<const T *>(vectors.y), nullptr, 1, 0},
                              one_upper<T>{branches.count}, static_cast<T *>(vectors.x),
                              static_cast<T *>(vectors.u));
    } else {
        static_assert(NR * sizeof(vector_number<T>) % 16 == 0, "a fill ends where the upper rows of u do");
        return gsv_team_forward(&branches, &device, &vectors, forward_fill<T, NR>(plan, vectors), NR, stream);
    }
}

template <typename T, int NR>
cudaError_t backward_branches(const gsv_plan *plan, const gsv_device_plan &device,
                              const gsv_device_vectors &vectors, cudaStream_t stream) {
    const gsv_branches &branches = plan->schedule->branches;
    if (branches.count == 0)
        return cudaSuccess;
    if constexpr (NR == 1) {
        return launch_allowed(branch_backward_one_kernel<T, false>, branches.count, ONE_THREADS,
                              one_spread<T>(branches, true, branches.count), stream, device,
                              static_cast<const T *>(vectors.x), static_cast<const T *>(vectors.y),
                              one_vector<T>{static_cast<T *>(vectors.y), nullptr, 1, 0},
                              one_upper<T>{branches.count});
    } else {
        return gsv_team_backward(&branches, &device, &vectors, NR, stream);
    }
}

/* Let the branches' kernels for one right-hand side have their shared memory. */
template <typename T> cudaError_t reserve_one(const gsv_branches &branches, int most) {
    const struct {
        const void *kernel;
        bool backward;
    } kernels[] = {
        {reinterpret_cast<const void *>(branch_forward_one_kernel<T, false>), false},
        {reinterpret_cast<const void *>(branch_forward_one_kernel<T, true>), false},
        {reinterpret_cast<const void *>(branch_backward_one_kernel<T, false>), true},
        {reinterpret_cast<const void *>(branch_backward_one_kernel<T, true>), true},
    };
    cudaError_t error = cudaSuccess;
    for (size_t k = 0; k < sizeof kernels / sizeof *kernels && error == cudaSuccess; k++) {
        const int bytes = one_bytes<T>(branches, kernels[k].backward);
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
cudaError_t launch_stream(const gsv_device_plan &device, const gsv_abilities &abilities,
                          const gsv_device_vectors &vectors, cudaStream_t stream,
                          launch_part part = THE_ONLY) {
    const gsv_device_pieces &pieces = NR == 1    ? BACKWARD ? device.backward_pieces : device.forward_pieces
                                      : BACKWARD ? device.block_backward
                                                 : device.block_forward;
    typedef vector_number<N> T;
    typedef stream_shape<T, NR, BACKWARD> shape;
    const int most = abilities.stream_blocks[gsv_class_of(NR)][BACKWARD] / vectors.groups;
    if (pieces.tasks == 0)
        return cudaSuccess;
    const auto launch_with = [&](auto kernel, auto... others) {
        return launch_allowed(kernel, {pieces.tasks < most ? pieces.tasks : most, vectors.groups},
                              shape::THREADS, shape::BYTES, stream, device, pieces,
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

/* Eight right-hand sides, forward: the limbs, and the stream above them. */
template <typename T>
cudaError_t forward_above(const gsv_plan *plan, const gsv_device_plan &device, const gsv_abilities &abilities,
                          const gsv_device_vectors &vectors, cudaStream_t stream) {
    const gsv_limbs *limbs = &plan->schedule->limbs;
    const cudaError_t error =
        gsv_limb_forward(limbs, &device, &vectors, abilities.stream_blocks[GSV_EIGHT][false], stream);
    return error != cudaSuccess ? error
                                : launch_stream<T, 8, false>(device, abilities, vectors, stream,
                                                             limbs->count > 0 ? SECOND_OF_TWO : THE_ONLY);
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
template <typename T>
one_upper<T> upper_of(const gsv_plan *plan, const gsv_device_plan &device, const gsv_abilities &abilities,
                      const gsv_device_vectors &vectors, int64_t *blocks) {
    const gsv_schedule *schedule = plan->schedule;
    const int64_t most = schedule->branches.upper_columns > schedule->upper_updates
                             ? schedule->branches.upper_columns
                             : schedule->upper_updates;
    *blocks = schedule->branches.count + most / (ONE_THREADS * ONE_EACH) + 1;
    return {schedule->branches.count,         device.upper_column,
            schedule->branches.upper_columns, static_cast<T *>(vectors.y),
            static_cast<T *>(vectors.z),      static_cast<T *>(vectors.f),
            static_cast<T *>(vectors.u),      schedule->stream.published,
            schedule->upper_updates,          vectors.state};
}

/* The load and the forward sweep, for b's one right-hand side, or for as many as there are groups. */
template <typename T>
cudaError_t forward_from(const gsv_plan *plan, const gsv_device_plan &device, const gsv_abilities &abilities,
                         const gsv_device_vectors &vectors, const int32_t *perm, gsv_device_dense b,
                         cudaStream_t stream) {
    int64_t blocks = 0;
    const one_upper<T> upper = upper_of<T>(plan, device, abilities, vectors, &blocks);
    const size_t bytes = one_spread<T>(plan->schedule->branches, false, blocks * vectors.groups);
    const auto kernel =
        vectors.groups > 1 ? branch_forward_one_kernel<T, true> : branch_forward_one_kernel<T, false>;
    /* not before what is ahead of the solve on the stream has ended */
    kernel<<<dim3(unsigned(blocks), unsigned(vectors.groups)), ONE_THREADS, bytes, stream>>>(
        device, {static_cast<const T *>(b.values), perm, b.row_stride, b.column_stride}, upper,
        static_cast<T *>(vectors.x), static_cast<T *>(vectors.u));
    const cudaError_t error = cudaGetLastError();
    return error == cudaSuccess ? launch_stream<T, 1, false>(device, abilities, vectors, stream) : error;
}

/* The backward sweep and the store. */
template <typename T>
cudaError_t backward_to(const gsv_plan *plan, const gsv_device_plan &device, const gsv_abilities &abilities,
                        const gsv_device_vectors &vectors, const int32_t *perm, gsv_device_dense x,
                        cudaStream_t stream) {
    int64_t blocks = 0;
    const one_upper<T> upper = upper_of<T>(plan, device, abilities, vectors, &blocks);
    const cudaError_t error = launch_stream<T, 1, true>(device, abilities, vectors, stream);
    if (error != cudaSuccess)
        return error;
    const auto kernel =
        vectors.groups > 1 ? branch_backward_one_kernel<T, true> : branch_backward_one_kernel<T, false>;
    return launch_allowed(kernel, {blocks, vectors.groups}, ONE_THREADS,
                          one_spread<T>(plan->schedule->branches, true, blocks * vectors.groups), stream,
                          device, static_cast<const T *>(vectors.x), static_cast<const T *>(vectors.y),
                          one_vector<T>{static_cast<T *>(x.values), perm, x.row_stride, x.column_stride},
                          upper);
}

/* The load, both sweeps and the store, of a tree that is all branches. */
template <typename T>
cudaError_t whole(const gsv_plan *plan, const gsv_device_plan &device, int groups, const int32_t *perm,
                  gsv_device_dense b, gsv_device_dense x, cudaStream_t stream) {
    const gsv_branches &branches = plan->schedule->branches;
    const auto kernel = groups > 1 ? branch_whole_one_kernel<T, true> : branch_whole_one_kernel<T, false>;
    kernel<<<dim3(unsigned(branches.count), unsigned(groups)), ONE_THREADS,
             size_t(branches.most_whole[gsv_number_size(sizeof(T))]), stream>>>(
        device, {static_cast<const T *>(b.values), perm, b.row_stride, b.column_stride},
        {static_cast<T *>(x.values), perm, x.row_stride, x.column_stride});
    return cudaGetLastError();
}

/* Is there room for these kernels? If not, nothing is left of the error. */
inline bool has_room(cudaError_t reserved) {
    if (reserved != cudaSuccess)
        cudaGetLastError();
    return reserved == cudaSuccess;
}

template <typename T>
cudaError_t count_stream_blocks(const gsv_branches *branches, int most, int (*blocks)[2]) {
    int device = 0, processors = 0, major = 0;
    for (int k = 0; k < GSV_CLASSES; k++)
        blocks[k][0] = blocks[k][1] = 0;
    cudaError_t error = cudaGetDevice(&device);
    if (error == cudaSuccess)
        error = cudaDeviceGetAttribute(&major, cudaDevAttrComputeCapabilityMajor, device);
    if (error == cudaSuccess)
        error = cudaDeviceGetAttribute(&processors, cudaDevAttrMultiProcessorCount, device);
    if (error != cudaSuccess || major < 9)
        return error;
    if constexpr (has_one<T>())
        if (has_room(reserve_one<T>(*branches, most)))
            error = count_class<T, 1>(most, processors, blocks[GSV_ONE]);
    if constexpr (has_blocks<T>()) {
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

/* The branches, then the limbs, if there are any, and the stream. */
template <typename T, int NR>
cudaError_t sweep_forward(const gsv_plan *plan, const gsv_device_plan &device, const gsv_abilities &abilities,
                          const gsv_device_vectors &vectors, cudaStream_t stream) {
    if constexpr (!has_sweep<NR, false>())
        return cudaErrorInvalidValue;
    else {
        const cudaError_t error = forward_branches<T, NR>(plan, device, vectors, stream);
        if (error != cudaSuccess)
            return error;
        if constexpr (NR == 1)
            return launch_stream<T, NR, false>(device, abilities, vectors, stream);
        else
            return forward_above<T>(plan, device, abilities, vectors, stream);
    }
}

template <typename T, int NR>
cudaError_t sweep_back(const gsv_plan *plan, const gsv_device_plan &device, const gsv_abilities &abilities,
                       const gsv_device_vectors &vectors, cudaStream_t stream) {
    const cudaError_t error = launch_stream<T, NR, true>(device, abilities, vectors, stream);
    return error == cudaSuccess ? backward_branches<T, NR>(plan, device, vectors, stream) : error;
}

template <typename T, int NR> unsigned vector_blocks(int32_t n) {
    return unsigned((int64_t(n) * NR + BLOCK - 1) / BLOCK);
}

template <typename T, int NR>
cudaError_t launch_load(const gsv_plan *plan, const gsv_abilities &abilities, const int32_t *perm,
                        const int32_t *inverse, gsv_device_dense from, void *to,
                        const gsv_device_vectors &vectors, cudaStream_t stream) {
    const int32_t n = plan->l.n;
    int64_t fill = 0; /* z, f and the upper rows of u stand side by side */
    if (walks_stream<NR, true>(abilities))
        fill = static_cast<char *>(vectors.f) - static_cast<char *>(vectors.z);
    if (walks_stream<NR, false>(abilities) &&
        (NR == 1 || plan->schedule->branches.count == 0)) /* else forward_branches does */
        fill += forward_fill<T, NR>(plan, vectors);
    return launch_side<NR>(vectors.groups > 1, [&](auto side) {
        return launch_transfer<vector_number<T>, NR>(n, 1, [&](int64_t blocks, auto cut) {
            load_kernel<T, NR, cut, side>
                <<<dim3(unsigned(blocks), unsigned(vectors.groups)), BLOCK, 0, stream>>>(
                    n, perm, inverse, from, static_cast<vector_number<T> *>(to),
                    absent_fill{static_cast<int4 *>(vectors.z), (fill + 15) / 16}, vectors.state,
                    gsv_side_upper(plan));
            return cudaGetLastError();
        });
    });
}

template <typename T, int NR>
cudaError_t launch_store(int32_t n, const int32_t *inverse, const void *from, gsv_device_dense to, int groups,
                         cudaStream_t stream) {
    return launch_side<NR>(groups > 1, [&](auto side) {
        return launch_transfer<vector_number<T>, NR>(n, 1, [&](int64_t blocks, auto cut) {
            return launch_allowed(store_kernel<T, NR, cut, side>, {blocks, groups}, BLOCK, 0, stream, n,
                                  inverse, static_cast<const vector_number<T> *>(from), to);
        });
    });
}

template <typename T, int NR>
cudaError_t launch_scale(int32_t n, const void *d, void *v, cudaStream_t stream) {
    typedef typename traits<T>::real real;
    scale_kernel<T, NR><<<vector_blocks<T, NR>(n), BLOCK, 0, stream>>>(n, static_cast<const real *>(d),
                                                                       static_cast<vector_number<T> *>(v));
    return cudaGetLastError();
}

template <typename T> struct launcher {
    static cudaError_t forward(const gsv_plan *plan, const gsv_device_plan *device,
                               const gsv_abilities *abilities, const gsv_device_vectors *vectors, int nr,
                               cudaStream_t stream) {
        return dispatch_columns<T>(nr, [&](auto columns) {
            return sweep_forward<T, columns>(plan, *device, *abilities, *vectors, stream);
        });
    }
    static cudaError_t backward(const gsv_plan *plan, const gsv_device_plan *device,
                                const gsv_abilities *abilities, const gsv_device_vectors *vectors, int nr,
                                cudaStream_t stream) {
        return dispatch_columns<T>(nr, [&](auto columns) {
            return sweep_back<T, columns>(plan, *device, *abilities, *vectors, stream);
        });
    }
    static cudaError_t from(const gsv_plan *plan, const gsv_device_plan *device,
                            const gsv_abilities *abilities, const gsv_device_vectors *vectors,
                            const int32_t *perm, gsv_device_dense b, cudaStream_t stream) {
        return forward_from<T>(plan, *device, *abilities, *vectors, perm, b, stream);
    }
    static cudaError_t to(const gsv_plan *plan, const gsv_device_plan *device, const gsv_abilities *abilities,
                          const gsv_device_vectors *vectors, const int32_t *perm, gsv_device_dense x,
                          cudaStream_t stream) {
        return backward_to<T>(plan, *device, *abilities, *vectors, perm, x, stream);
    }
    static cudaError_t up_and_down(const gsv_plan *plan, const gsv_device_plan *device, int groups,
                                   const int32_t *perm, gsv_device_dense b, gsv_device_dense x,
                                   cudaStream_t stream) {
        return whole<T>(plan, *device, groups, perm, b, x, stream);
    }
    static gsv_sweep_whole_function *whole_one() {
        if constexpr (has_one<T>())
            return up_and_down;
        return NULL;
    }
    static gsv_sweep_one_function *from_one() {
        if constexpr (has_one<T>())
            return from;
        return NULL;
    }
    static gsv_sweep_one_function *to_one() {
        if constexpr (has_one<T>())
            return to;
        return NULL;
    }
    static cudaError_t load(const gsv_plan *plan, const gsv_abilities *abilities, const int32_t *perm,
                            const int32_t *inverse, gsv_device_dense from, void *to,
                            const gsv_device_vectors *vectors, int nr, cudaStream_t stream) {
        return dispatch_columns<T>(nr, [&](auto columns) {
            return launch_load<T, columns>(plan, *abilities, perm, inverse, from, to, *vectors, stream);
        });
    }
    static cudaError_t store(int32_t n, const int32_t *inverse, const void *from, gsv_device_dense to, int nr,
                             int groups, cudaStream_t stream) {
        return dispatch_columns<T>(
            nr, [&](auto columns) { return launch_store<T, columns>(n, inverse, from, to, groups, stream); });
    }
    static cudaError_t scale(int32_t n, const void *d, void *v, int nr, cudaStream_t stream) {
        return dispatch_columns<T>(nr,
                                   [&](auto columns) { return launch_scale<T, columns>(n, d, v, stream); });
    }
};

/* clang-format off */
#define GSV_DEFINE_SWEEP(name, ...)                                                                          \
    extern "C" const gsv_sweep_functions name = {                                                            \
        gsv::launcher<__VA_ARGS__>::forward, gsv::launcher<__VA_ARGS__>::backward,                           \
        gsv::launcher<__VA_ARGS__>::from_one(), gsv::launcher<__VA_ARGS__>::to_one(),                        \
        gsv::launcher<__VA_ARGS__>::whole_one(),                                                             \
        gsv::count_stream_blocks<__VA_ARGS__>, gsv::launcher<__VA_ARGS__>::load,                             \
        gsv::launcher<__VA_ARGS__>::store, gsv::launcher<__VA_ARGS__>::scale}
/* clang-format on */

} // namespace gsv
#endif
