/*
 * Host launchers of the kernels in cuda_sweep.cuh for one precision: each cuda_sweep_<p>.cu makes its table from here.
 * cuda_sweep_m.cu is for panels in single precision and vectors in double (scalar.cuh: mixed), where the upper tree is a
 * stream for blocks of right-hand sides; one right-hand side, and level by level, is for cuda_sweep_s.cu.
 */
#ifndef GSV_CUDA_LAUNCH_CUH
#define GSV_CUDA_LAUNCH_CUH

#include "cuda_block_stream.cuh"
#include "cuda_branch_cut.cuh"
#include "cuda_branch_one.cuh"
#include "cuda_level_launch.cuh"
#include "cuda_limb.h"
#include "cuda_lower.h"
#include "cuda_stream.cuh"

namespace gsv {

/* Call function<T, NR>(arguments ...) for the class nr. Complex numbers stop at 16, for registers' sake. */
#define GSV_DISPATCH_CLASS(function, nr, ...)    \
    switch (nr) {                                \
    case 1:                                      \
        return function<T, 1>(__VA_ARGS__);      \
    case 4:                                      \
        return function<T, 4>(__VA_ARGS__);      \
    case 8:                                      \
        return function<T, 8>(__VA_ARGS__);      \
    case 16:                                     \
        return function<T, 16>(__VA_ARGS__);     \
    case 32:                                     \
        if constexpr (!traits<T>::is_complex)    \
            return function<T, 32>(__VA_ARGS__); \
        break;                                   \
    }                                            \
    return cudaErrorInvalidValue

/* Are the branches walked, or are their supernodes solved level by level? */
inline bool walks_branches(const gsv_plan *plan, const gsv_sweep_form &form) {
    return plan->tiles->branches.count > 0 && !form.level_by_level;
}

/* The classes for which the upper tree can be a stream. Forward, sixteen right-hand sides are many (cuda_many.h). */
template <typename T, int NR, bool BACKWARD> struct has_stream {
    static const bool value =
        (NR == 1 && !std::is_same<T, mixed<float>>::value) ||
        (on_tensor_cores<T, NR>::value && NR <= (BACKWARD ? int(GSV_BLOCK_COLUMNS) : 8));
};

/* The numbers of a stream for blocks of right-hand sides. */
template <typename T>
using block_number = typename std::conditional<std::is_same<T, float>::value, mixed<float>, T>::type;

template <int NR> constexpr int class_index() {
    return NR == 1 ? 0 : NR == 4 ? 1 : NR == 8 ? 2 : NR == 16 ? 3 : 4;
}

/* Is the upper tree a stream? */
template <typename T, int NR, bool BACKWARD> bool walks_stream(const gsv_sweep_form &form) {
    return has_stream<T, NR, BACKWARD>::value && !form.level_by_level && !form.level_by_level_above &&
           (NR == 1 || NR <= form.block_columns) && form.stream_blocks[class_index<NR>()][BACKWARD] > 0;
}

/* Bytes that the forward sweep of a stream wants filled with ABSENT: f and, behind it, the upper rows of u, but for
 * several right-hand sides not those that limbs keep to themselves. */
template <typename N, int NR> int64_t forward_fill(const gsv_plan *plan, const gsv_device_vectors &vectors) {
    const gsv_tiles *tiles = plan->tiles;
    return static_cast<char *>(vectors.u) - static_cast<char *>(vectors.f) +
           (NR > 1 ? tiles->handed_updates : tiles->upper_updates) * NR * int64_t(sizeof(vector_number<N>));
}

/* Shared memory of so many blocks that walk branches for one right-hand side, of which six share an SM: spread evenly, but
 * forward not if that makes it five (grid2d:300: 2 % slower). */
template <typename T> size_t one_spread(const gsv_branches &branches, bool backward, int64_t blocks) {
    enum { RESIDENT = 6, SPREAD_FORWARD = 4 };
    const int bytes = one_bytes<T>(branches, backward);
    return size_t(backward || blocks <= SPREAD_FORWARD * MULTIPROCESSORS
                      ? spread_bytes(blocks, bytes, RESIDENT)
                      : bytes);
}

template <typename T, int NR>
cudaError_t forward_branches(const gsv_plan *plan, const gsv_device_plan &device, const gsv_sweep_form &form,
                             const gsv_device_vectors &vectors, cudaStream_t stream) {
    const gsv_branches &branches = plan->tiles->branches;
    if constexpr (on_tensor_cores<T, NR>::value) {
        if (!walks_stream<T, NR, false>(form))
            return gsv_lower_forward(&branches, &device, &vectors, 0, NR, stream);
        static_assert(NR * sizeof(vector_number<T>) % 16 == 0, "a fill ends where the upper rows of u do");
        const int64_t fill = forward_fill<T, NR>(plan, vectors);
        return (branches.team_forward ? gsv_team_forward : gsv_lower_forward)(&branches, &device, &vectors,
                                                                              fill, NR, stream);
    } else if constexpr (NR == 1) {
        return launch_allowed(branch_forward_one_kernel<T, false>, branches.count, ONE_THREADS,
                              one_spread<T>(branches, false, branches.count), stream, device,
                              one_vector<const T>{static_cast<const T *>(vectors.y), nullptr, 1, 0},
                              one_upper<T>{branches.count}, static_cast<T *>(vectors.x),
                              static_cast<T *>(vectors.u));
    } else {
        const branch_room room = make_branch_room<T, 4>(branches);
        return launch_allowed(branch_forward_kernel<T, 4>, branches.count, BRANCH_BLOCK, room.bytes, stream,
                              device, static_cast<const T *>(vectors.y), static_cast<T *>(vectors.x),
                              static_cast<T *>(vectors.u), NR, room);
    }
}

template <typename T, int NR>
cudaError_t backward_branches(const gsv_plan *plan, const gsv_device_plan &device, const gsv_sweep_form &form,
                              const gsv_device_vectors &vectors, cudaStream_t stream) {
    const gsv_branches &branches = plan->tiles->branches;
    if constexpr (on_tensor_cores<T, NR>::value) {
        return (walks_stream<T, NR, true>(form) ? gsv_team_backward : gsv_lower_backward)(
            &branches, &device, &vectors, NR, stream);
    } else if constexpr (NR == 1) {
        return launch_allowed(branch_backward_one_kernel<T, false>, branches.count, ONE_THREADS,
                              one_spread<T>(branches, true, branches.count), stream, device,
                              static_cast<const T *>(vectors.x), static_cast<const T *>(vectors.y),
                              one_vector<T>{static_cast<T *>(vectors.y), nullptr, 1, 0},
                              one_upper<T>{branches.count});
    } else {
        const branch_room room = make_branch_room<T, 4>(branches);
        return launch_allowed(branch_backward_kernel<T, 4>, branches.count, BRANCH_BLOCK, room.bytes, stream,
                              device, static_cast<const T *>(vectors.x), static_cast<T *>(vectors.y), NR,
                              room);
    }
}

template <typename T> cudaError_t reserve_branches(const gsv_branches &branches) {
    const int four = make_branch_room<T, 4>(branches).bytes;
    const struct {
        const void *kernel;
        int bytes;
    } kernels[] = {
        {reinterpret_cast<const void *>(branch_forward_one_kernel<T, false>), one_bytes<T>(branches, false)},
        {reinterpret_cast<const void *>(branch_forward_one_kernel<T, true>), one_bytes<T>(branches, false)},
        {reinterpret_cast<const void *>(branch_backward_one_kernel<T, false>), one_bytes<T>(branches, true)},
        {reinterpret_cast<const void *>(branch_backward_one_kernel<T, true>), one_bytes<T>(branches, true)},
        {reinterpret_cast<const void *>(branch_forward_kernel<T, 4>), four},
        {reinterpret_cast<const void *>(branch_backward_kernel<T, 4>), four},
    };
    cudaError_t error = cudaSuccess;
    for (size_t k = 0; k < sizeof kernels / sizeof *kernels && error == cudaSuccess; k++)
        error = allow_shared(kernels[k].kernel, size_t(kernels[k].bytes));
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
template <typename T, int NR, typename Launch> cudaError_t launch_side(bool side, Launch launch) {
    if constexpr (NR == GSV_SIDE_COLUMNS && has_stream<T, NR, false>::value)
        if (side)
            return launch(std::true_type());
    return launch(std::false_type());
}

/* One sweep of the upper tree. part: of a block of right-hand sides, forward, after limbs SECOND_OF_TWO. */
template <typename N, int NR, bool BACKWARD>
cudaError_t launch_stream(const gsv_device_plan &device, const gsv_sweep_form &form,
                          const gsv_device_vectors &vectors, cudaStream_t stream,
                          launch_part part = THE_ONLY) {
    const gsv_device_pieces &pieces = NR == 1    ? BACKWARD ? device.backward_pieces : device.forward_pieces
                                      : BACKWARD ? device.block_backward
                                                 : device.block_forward;
    typedef vector_number<N> T;
    typedef stream_shape<T, NR, BACKWARD> shape;
    const int most = form.stream_blocks[class_index<NR>()][BACKWARD] / vectors.groups;
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
        return launch_side<N, NR>(vectors.groups > 1, [&](auto side) {
            return launch_with(stream_kernel_of<N, NR, BACKWARD, side>(), part);
        });
}

/* Eight right-hand sides, forward: the limbs, and the stream above them. */
template <typename T>
cudaError_t forward_above(const gsv_plan *plan, const gsv_device_plan &device, const gsv_sweep_form &form,
                          const gsv_device_vectors &vectors, cudaStream_t stream) {
    const gsv_limbs *limbs = &plan->tiles->limbs;
    const cudaError_t error =
        gsv_limb_forward(limbs, &device, &vectors, form.stream_blocks[class_index<8>()][false], stream);
    return error != cudaSuccess ? error
                                : launch_stream<T, 8, false>(device, form, vectors, stream,
                                                             limbs->count > 0 ? SECOND_OF_TWO : THE_ONLY);
}

/* Blocks of one kernel that an SM runs at a time. */
template <typename T, int NR, bool BACKWARD> cudaError_t count_blocks(int most, int *each) {
    typedef stream_shape<T, NR, BACKWARD> shape;
    const auto kernel = stream_kernel_of<T, NR, BACKWARD>();
    *each = 0;
    if (most < shape::BYTES)
        return cudaSuccess;
    cudaError_t error = allow_shared(reinterpret_cast<const void *>(kernel), shape::BYTES);
    if constexpr (NR == GSV_SIDE_COLUMNS || NR == 1)
        if (error == cudaSuccess)
            error = allow_shared(reinterpret_cast<const void *>(stream_kernel_of<T, NR, BACKWARD, true>()),
                                 shape::BYTES);
    if (error == cudaSuccess)
        error = cudaOccupancyMaxActiveBlocksPerMultiprocessor(each, kernel, shape::THREADS, shape::BYTES);
    return error;
}

/* Of one class's, forward and backward: both, or none. */
template <typename T, int NR> cudaError_t count_class(int most, int processors, int (&blocks)[2]) {
    int each[2] = {0, 0};
    cudaError_t error = count_blocks<T, NR, false>(most, &each[0]);
    if (error == cudaSuccess)
        error = count_blocks<T, NR, true>(most, &each[1]);
    for (int k = 0; k < 2; k++)
        blocks[k] = each[0] > 0 && each[1] > 0 ? processors * each[k] : 0;
    return error;
}

/* The columns that are in no branch, and the blocks for them after the branches' own. */
template <typename T>
one_upper<T> upper_of(const gsv_plan *plan, const gsv_device_plan &device, const gsv_sweep_form &form,
                      const gsv_device_vectors &vectors, int64_t *blocks) {
    const gsv_tiles *tiles = plan->tiles;
    const int64_t most = tiles->branches.upper_columns > tiles->upper_updates ? tiles->branches.upper_columns
                                                                              : tiles->upper_updates;
    *blocks = tiles->branches.count + most / (ONE_THREADS * ONE_EACH) + 1;
    return {tiles->branches.count,
            device.upper_column,
            tiles->branches.upper_columns,
            static_cast<T *>(vectors.y),
            static_cast<T *>(vectors.z),
            static_cast<T *>(vectors.f),
            static_cast<T *>(vectors.u),
            tiles->stream.published,
            tiles->upper_updates,
            vectors.state,
            form.stamp};
}

/* The load and the forward sweep, for b's one right-hand side, or for as many as there are groups. */
template <typename T>
cudaError_t forward_from(const gsv_plan *plan, const gsv_device_plan &device, const gsv_sweep_form &form,
                         const gsv_device_vectors &vectors, const int32_t *perm, gsv_device_dense b,
                         cudaStream_t stream) {
    int64_t blocks = 0;
    const one_upper<T> upper = upper_of<T>(plan, device, form, vectors, &blocks);
    const size_t bytes = one_spread<T>(plan->tiles->branches, false, blocks * vectors.groups);
    const auto kernel =
        vectors.groups > 1 ? branch_forward_one_kernel<T, true> : branch_forward_one_kernel<T, false>;
    /* not before what is ahead of the solve on the stream has ended */
    kernel<<<dim3(unsigned(blocks), unsigned(vectors.groups)), ONE_THREADS, bytes, stream>>>(
        device, {static_cast<const T *>(b.values), perm, b.row_stride, b.column_stride}, upper,
        static_cast<T *>(vectors.x), static_cast<T *>(vectors.u));
    const cudaError_t error = cudaGetLastError();
    return error == cudaSuccess ? launch_stream<T, 1, false>(device, form, vectors, stream) : error;
}

/* The backward sweep and the store. */
template <typename T>
cudaError_t backward_to(const gsv_plan *plan, const gsv_device_plan &device, const gsv_sweep_form &form,
                        const gsv_device_vectors &vectors, const int32_t *perm, gsv_device_dense x,
                        cudaStream_t stream) {
    int64_t blocks = 0;
    const one_upper<T> upper = upper_of<T>(plan, device, form, vectors, &blocks);
    const cudaError_t error = launch_stream<T, 1, true>(device, form, vectors, stream);
    if (error != cudaSuccess)
        return error;
    const auto kernel =
        vectors.groups > 1 ? branch_backward_one_kernel<T, true> : branch_backward_one_kernel<T, false>;
    return launch_allowed(kernel, {blocks, vectors.groups}, ONE_THREADS,
                          one_spread<T>(plan->tiles->branches, true, blocks * vectors.groups), stream, device,
                          static_cast<const T *>(vectors.x), static_cast<const T *>(vectors.y),
                          one_vector<T>{static_cast<T *>(x.values), perm, x.row_stride, x.column_stride},
                          upper);
}

template <typename T> cudaError_t count_stream_blocks(const gsv_branches *branches, int (*blocks)[2]) {
    int device = 0, most = 0, processors = 0, major = 0;
    for (int k = 0; k < GSV_CLASSES; k++)
        blocks[k][0] = blocks[k][1] = 0;
    cudaError_t error = cudaGetDevice(&device);
    if (error == cudaSuccess)
        error = cudaDeviceGetAttribute(&major, cudaDevAttrComputeCapabilityMajor, device);
    if (error == cudaSuccess)
        error = cudaDeviceGetAttribute(&most, cudaDevAttrMaxSharedMemoryPerBlockOptin, device);
    if (error == cudaSuccess)
        error = cudaDeviceGetAttribute(&processors, cudaDevAttrMultiProcessorCount, device);
    if (error != cudaSuccess || major < 9)
        return error;
    if constexpr (has_stream<T, 1, false>::value)
        error = count_class<T, 1>(most, processors, blocks[0]);
    if constexpr (has_stream<T, 8, false>::value) {
        if (error == cudaSuccess &&
            (gsv_team_reserve(branches, sizeof(panel_number<T>) < sizeof(double)) != cudaSuccess ||
             gsv_limb_reserve() != cudaSuccess)) {
            cudaGetLastError(); /* no room for the kernels of branches or limbs beside these streams */
            return cudaSuccess;
        }
        if (error == cudaSuccess)
            error = count_class<T, 8>(most, processors, blocks[class_index<8>()]);
        if (error == cudaSuccess && blocks[class_index<8>()][true] > 0) {
            int *back = &blocks[class_index<16>()][true];
            error = count_blocks<T, 16, true>(most, back);
            *back *= processors;
        }
    }
    return error;
}

template <typename T, int NR>
cudaError_t forward_levels(const gsv_plan *plan, const gsv_device_plan &device, const gsv_sweep_form &form,
                           const gsv_device_vectors &vectors, cudaStream_t stream) {
    const bool branches = walks_branches(plan, form);
    cudaError_t error = branches ? forward_branches<T, NR>(plan, device, form, vectors, stream) : cudaSuccess;
    if constexpr (has_stream<T, NR, false>::value)
        if (error == cudaSuccess && walks_stream<T, NR, false>(form)) {
            if constexpr (NR == 1)
                return launch_stream<T, NR, false>(device, form, vectors, stream);
            else
                return forward_above<T>(plan, device, form, vectors, stream);
        }
    for (int32_t k = 0; k < plan->nlevels && error == cudaSuccess; k++) {
        level_part part =
            part_of(plan->tiles, device, form, branches, k, plan->tiles->assemble, device.assemble);
        if (part.leaf)
            part.task_count = 0; /* nothing to assemble */
        switch (mode_of(form, part)) {
        case MANY:
            error = forward_level<T, NR, MANY>(plan, device, vectors, k, part, stream);
            break;
        case FEW:
            error = forward_level<T, NR, FEW>(plan, device, vectors, k, part, stream);
            break;
        case SUBSTITUTE:
            error = forward_level<T, NR, SUBSTITUTE>(plan, device, vectors, k, part, stream);
            break;
        }
    }
    return error;
}

template <typename T, int NR>
cudaError_t backward_levels(const gsv_plan *plan, const gsv_device_plan &device, const gsv_sweep_form &form,
                            const gsv_device_vectors &vectors, cudaStream_t stream) {
    const bool branches = walks_branches(plan, form);
    cudaError_t error = cudaSuccess;
    if constexpr (has_stream<T, NR, true>::value)
        if (walks_stream<T, NR, true>(form)) {
            error = launch_stream<T, NR, true>(device, form, vectors, stream);
            return error == cudaSuccess && branches
                       ? backward_branches<T, NR>(plan, device, form, vectors, stream)
                       : error;
        }
    for (int32_t k = plan->nlevels - 1; k >= 0 && error == cudaSuccess; k--) {
        const level_part part =
            part_of(plan->tiles, device, form, branches, k, plan->tiles->backward, device.backward);
        if (blocks_of<MANY>(part) == 0)
            continue;
        switch (mode_of(form, part)) {
        case MANY:
            error = backward_level<T, NR, MANY>(device, vectors, part, stream);
            break;
        case FEW:
            error = backward_level<T, NR, FEW>(device, vectors, part, stream);
            break;
        case SUBSTITUTE:
            error = backward_level<T, NR, SUBSTITUTE>(device, vectors, part, stream);
            break;
        }
    }
    return error == cudaSuccess && branches ? backward_branches<T, NR>(plan, device, form, vectors, stream)
                                            : error;
}

template <typename T, int NR> unsigned vector_blocks(int32_t n) {
    return unsigned((int64_t(n) * NR + BLOCK - 1) / BLOCK);
}

template <typename T, int NR>
cudaError_t launch_load(const gsv_plan *plan, const gsv_sweep_form &form, const int32_t *perm,
                        const int32_t *inverse, gsv_device_dense from, void *to,
                        const gsv_device_vectors &vectors, cudaStream_t stream) {
    const int32_t n = plan->l.n;
    int64_t fill = 0; /* z, f and the upper rows of u stand side by side */
    if (walks_stream<T, NR, true>(form))
        fill = static_cast<char *>(vectors.f) - static_cast<char *>(vectors.z);
    if (walks_stream<T, NR, false>(form) &&
        (NR == 1 || !walks_branches(plan, form))) /* else forward_branches does */
        fill += forward_fill<T, NR>(plan, vectors);
    return launch_side<T, NR>(vectors.groups > 1, [&](auto side) {
        return launch_transfer<vector_number<T>, NR>(n, 1, [&](int64_t blocks, auto cut) {
            load_kernel<T, NR, cut, side>
                <<<dim3(unsigned(blocks), unsigned(vectors.groups)), BLOCK, 0, stream>>>(
                    n, perm, inverse, from, static_cast<vector_number<T> *>(to),
                    absent_fill{static_cast<int4 *>(vectors.z), (fill + 15) / 16}, vectors.state, form.stamp,
                    gsv_side_upper(plan));
            return cudaGetLastError();
        });
    });
}

template <typename T, int NR>
cudaError_t launch_store(int32_t n, const int32_t *inverse, const void *from, gsv_device_dense to, int groups,
                         cudaStream_t stream) {
    return launch_side<T, NR>(groups > 1, [&](auto side) {
        return launch_transfer<vector_number<T>, NR>(n, 1, [&](int64_t blocks, auto cut) {
            return launch(store_kernel<T, NR, cut, side>, {blocks, groups}, 0, stream, n, inverse,
                          static_cast<const vector_number<T> *>(from), to);
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
                               const gsv_sweep_form *form, const gsv_device_vectors *vectors, int nr,
                               cudaStream_t stream) {
        GSV_DISPATCH_CLASS(forward_levels, nr, plan, *device, *form, *vectors, stream);
    }
    static cudaError_t backward(const gsv_plan *plan, const gsv_device_plan *device,
                                const gsv_sweep_form *form, const gsv_device_vectors *vectors, int nr,
                                cudaStream_t stream) {
        GSV_DISPATCH_CLASS(backward_levels, nr, plan, *device, *form, *vectors, stream);
    }
    static cudaError_t from(const gsv_plan *plan, const gsv_device_plan *device, const gsv_sweep_form *form,
                            const gsv_device_vectors *vectors, const int32_t *perm, gsv_device_dense b,
                            cudaStream_t stream) {
        return forward_from<T>(plan, *device, *form, *vectors, perm, b, stream);
    }
    static cudaError_t to(const gsv_plan *plan, const gsv_device_plan *device, const gsv_sweep_form *form,
                          const gsv_device_vectors *vectors, const int32_t *perm, gsv_device_dense x,
                          cudaStream_t stream) {
        return backward_to<T>(plan, *device, *form, *vectors, perm, x, stream);
    }
    static cudaError_t reserve(const gsv_branches *branches) {
        cudaError_t error = reserve_branches<T>(*branches);
        if constexpr (on_tensor_cores<T, 8>::value)
            if (error == cudaSuccess)
                error = gsv_lower_reserve(branches, 0);
        return error;
    }
    static cudaError_t load(const gsv_plan *plan, const gsv_sweep_form *form, const int32_t *perm,
                            const int32_t *inverse, gsv_device_dense from, void *to,
                            const gsv_device_vectors *vectors, int nr, cudaStream_t stream) {
        GSV_DISPATCH_CLASS(launch_load, nr, plan, *form, perm, inverse, from, to, *vectors, stream);
    }
    static cudaError_t store(int32_t n, const int32_t *inverse, const void *from, gsv_device_dense to, int nr,
                             int groups, cudaStream_t stream) {
        GSV_DISPATCH_CLASS(launch_store, nr, n, inverse, from, to, groups, stream);
    }
    static cudaError_t scale(int32_t n, const void *d, void *v, int nr, cudaStream_t stream) {
        GSV_DISPATCH_CLASS(launch_scale, nr, n, d, v, stream);
    }
};

/* clang-format off */
#define GSV_DEFINE_SWEEP(name, type)                                                                         \
    extern "C" const gsv_sweep_functions name = {                                                            \
        {1, 4, 8, 16, gsv::traits<type>::is_complex ? 0 : 32},                                               \
        gsv::has_stream<gsv::block_number<type>, 8, false>::value ? 8 : 0,                                   \
        gsv::launcher<type>::forward, gsv::launcher<type>::backward, gsv::launcher<type>::from,              \
        gsv::launcher<type>::to, gsv::count_stream_blocks<type>, gsv::launcher<type>::reserve,               \
        gsv::launcher<type>::load, gsv::launcher<type>::store, gsv::launcher<type>::scale}
/* clang-format on */

} // namespace gsv
#endif
