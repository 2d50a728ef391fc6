/* Host launchers of the kernels in cuda_many.cuh for one precision: each cuda_many_<p>.cu makes its table
 * from here. */
#ifndef GSV_CUDA_MANY_LAUNCH_CUH
#define GSV_CUDA_MANY_LAUNCH_CUH

#include "../dense_kernels/overlap.cuh"
#include "cuda_branch.cuh"
#include "cuda_many.cuh"
#include "cuda_many_branch.cuh"

namespace gsv {

/* Blocks of a branch: so many that there are enough for all SMs, no more than groups of right-hand sides. */
inline int many_splits(int32_t branches, int groups) {
    int splits = 1;
    while (branches * splits < 1024 && 2 * splits <= groups && groups % (2 * splits) == 0)
        splits *= 2;
    return splits;
}

template <typename T> struct many_launcher {
    typedef typename traits<T>::real real;

    /* Tasks of level k: where they begin, and how many. */
    static const gsv_many_task *tasks_of(const gsv_plan *plan, const gsv_device_many *many, int list,
                                         int32_t k, int64_t *count) {
        const int64_t *ptr = plan->tiles->many.list[list].ptr;
        *count = ptr[k + 1] - ptr[k];
        return many->list[list] + ptr[k];
    }

    template <bool BACKWARD>
    static cudaError_t level(const gsv_plan *plan, const gsv_device_plan *device, const gsv_device_many *many,
                             const gsv_sweep_form *form, const gsv_many_vectors *v, int groups, int32_t k,
                             cudaStream_t stream) {
        constexpr int SHARES = GSV_MANY_ROWS / MANY_SUM_ROWS;
        T *y = static_cast<T *>(v->y), *x = static_cast<T *>(v->x), *u = static_cast<T *>(v->u);
        T *partial = static_cast<T *>(v->partial);
        int64_t tiles, sums;
        const gsv_many_task *tile =
            tasks_of(plan, many, BACKWARD ? GSV_MANY_BACKWARD : GSV_MANY_FORWARD, k, &tiles);
        const gsv_many_task *sum =
            tasks_of(plan, many, BACKWARD ? GSV_MANY_BACKWARD_SUMS : GSV_MANY_FORWARD_SUMS, k, &sums);
        int64_t narrows, assemblies = 0;
        const gsv_many_task *narrow = tasks_of(plan, many, GSV_MANY_NARROWS, k, &narrows),
                            *assembly = nullptr;
        cudaError_t error = cudaSuccess;
        if (BACKWARD && narrows > 0)
            error =
                launch_allowed(many_narrow_backward_kernel<T>, narrows * groups, BLOCK,
                               size_t(many_narrow_room<T>::BACKWARD), stream, *device, narrow, groups, x, y);
        if (!BACKWARD)
            assembly = tasks_of(plan, many, GSV_MANY_ASSEMBLIES, k, &assemblies);
        if (narrows + assemblies > 0 && !BACKWARD)
            error = launch_allowed(many_first_kernel<T>, (narrows + assemblies) * groups, BLOCK,
                                   narrows > 0 ? size_t(many_narrow_room<T>::FORWARD) : 0, stream, *device,
                                   narrow, int(narrows), assembly, groups, y, x, u);
        wide_pass turn = {0, form->passes[k]};
        for (; tiles > 0 && turn.pass < turn.passes && error == cudaSuccess; turn.pass++) {
            error = launch_allowed(turn.passes > 1 ? many_tile_kernel<T, BACKWARD, many_shape<T>::CHAINS>
                                                   : many_tile_kernel<T, BACKWARD, false>,
                                   tiles * groups, BLOCK, size_t(many_shape<T>::BYTES), stream, *device, tile,
                                   groups, y, x, u, partial, turn);
            if (error == cudaSuccess && sums > 0)
                error = launch_allowed(many_sum_kernel<T, BACKWARD>, sums * groups * SHARES, BLOCK, 0, stream,
                                       *device, sum, groups, y, x, u, partial, turn);
        }
        return error;
    }

    /* The branches, one sweep. */
    template <bool BACKWARD>
    static cudaError_t branches(const gsv_plan *plan, const gsv_device_plan *device,
                                const gsv_many_vectors *v, int groups, cudaStream_t stream) {
        const gsv_branches &branches = plan->tiles->branches;
        const int columns = groups * GSV_MANY_COLUMNS;
        T *y = static_cast<T *>(v->y), *x = static_cast<T *>(v->x), *u = static_cast<T *>(v->u);
        if (branches.count == 0)
            return cudaSuccess;
        if constexpr (on_tensor_cores<T, 8>::value) {
            const int room = many_branch_bytes(branches);
            const int splits = many_splits(branches.count, groups);
            const int64_t blocks = int64_t(branches.count) * splits;
            if (BACKWARD)
                return launch_allowed(many_branch_backward_kernel<1>, blocks, MANY_BRANCH_BLOCK, size_t(room),
                                      stream, *device, x, y, columns, splits, room);
            return launch_allowed(many_branch_forward_kernel<1>, blocks, MANY_BRANCH_BLOCK, size_t(room),
                                  stream, *device, y, x, u, columns, splits, room);
        } else {
            const branch_room room = make_branch_room<T, 4>(branches);
            if (BACKWARD)
                return launch_allowed(branch_backward_kernel<T, 4>, branches.count, BRANCH_BLOCK,
                                      size_t(room.bytes), stream, *device, x, y, columns, room);
            return launch_allowed(branch_forward_kernel<T, 4>, branches.count, BRANCH_BLOCK,
                                  size_t(room.bytes), stream, *device, y, x, u, columns, room);
        }
    }

    static cudaError_t forward(const gsv_plan *plan, const gsv_device_plan *device,
                               const gsv_device_many *many, const gsv_sweep_form *form,
                               const gsv_many_vectors *v, int groups, cudaStream_t stream) {
        cudaError_t error = branches<false>(plan, device, v, groups, stream);
        for (int32_t k = 0; k < plan->nlevels && error == cudaSuccess; k++)
            error = level<false>(plan, device, many, form, v, groups, k, stream);
        return error;
    }

    static cudaError_t backward(const gsv_plan *plan, const gsv_device_plan *device,
                                const gsv_device_many *many, const gsv_sweep_form *form,
                                const gsv_many_vectors *v, int groups, cudaStream_t stream) {
        cudaError_t error = cudaSuccess;
        for (int32_t k = plan->nlevels - 1; k >= 0 && error == cudaSuccess; k--)
            error = level<true>(plan, device, many, form, v, groups, k, stream);
        return error == cudaSuccess ? branches<true>(plan, device, v, groups, stream) : error;
    }

    static cudaError_t reserve(const gsv_branches *branches) {
        const void *tiles[] = {
            reinterpret_cast<const void *>(many_tile_kernel<T, false, false>),
            reinterpret_cast<const void *>(many_tile_kernel<T, true, false>),
            reinterpret_cast<const void *>(many_tile_kernel<T, false, many_shape<T>::CHAINS>),
            reinterpret_cast<const void *>(many_tile_kernel<T, true, many_shape<T>::CHAINS>),
        };
        cudaError_t error = cudaSuccess;
        for (int k = 0; k < 4 && error == cudaSuccess; k++)
            error = allow_shared(tiles[k], many_shape<T>::BYTES);
        if (error == cudaSuccess)
            error = allow_shared(reinterpret_cast<const void *>(many_first_kernel<T>),
                                 many_narrow_room<T>::FORWARD);
        if (error == cudaSuccess)
            error = allow_shared(reinterpret_cast<const void *>(many_narrow_backward_kernel<T>),
                                 many_narrow_room<T>::BACKWARD);
        if (error != cudaSuccess)
            return error;
        const void *kernels[2];
        size_t room;
        if constexpr (on_tensor_cores<T, 8>::value) {
            room = size_t(many_branch_bytes(*branches));
            kernels[0] = reinterpret_cast<const void *>(many_branch_forward_kernel<1>);
            kernels[1] = reinterpret_cast<const void *>(many_branch_backward_kernel<1>);
        } else {
            room = size_t(make_branch_room<T, 4>(*branches).bytes);
            kernels[0] = reinterpret_cast<const void *>(branch_forward_kernel<T, 4>);
            kernels[1] = reinterpret_cast<const void *>(branch_backward_kernel<T, 4>);
        }
        error = allow_shared(kernels[0], room);
        return error == cudaSuccess ? allow_shared(kernels[1], room) : error;
    }

    static dim3 transfer_blocks(int32_t n, int groups) {
        return dim3(unsigned((int64_t(n) + MANY_TRANSFER - 1) / MANY_TRANSFER),
                    unsigned(groups * (GSV_MANY_COLUMNS / MANY_TRANSFER)));
    }

    static cudaError_t load(int32_t n, const int32_t *inverse, gsv_device_dense from, void *to, int groups,
                            cudaStream_t stream) {
        many_load_kernel<T>
            <<<transfer_blocks(n, groups), BLOCK, 0, stream>>>(n, inverse, from, static_cast<T *>(to));
        return cudaGetLastError();
    }

    static cudaError_t store(int32_t n, const int32_t *inverse, const void *from, gsv_device_dense to,
                             int groups, cudaStream_t stream) {
        many_store_kernel<T>
            <<<transfer_blocks(n, groups), BLOCK, 0, stream>>>(n, inverse, static_cast<const T *>(from), to);
        return cudaGetLastError();
    }

    static cudaError_t scale(int32_t n, const void *d, void *v, int groups, cudaStream_t stream) {
        const int columns = groups * GSV_MANY_COLUMNS;
        const unsigned blocks = unsigned((int64_t(n) * columns + BLOCK - 1) / BLOCK);
        many_scale_kernel<T>
            <<<blocks, BLOCK, 0, stream>>>(n, static_cast<const real *>(d), static_cast<T *>(v), columns);
        return cudaGetLastError();
    }
};

/* clang-format off */
#define GSV_DEFINE_MANY(name, type)                                                                          \
    extern "C" const gsv_many_functions name = {                                                             \
        gsv::many_launcher<type>::forward, gsv::many_launcher<type>::backward,                               \
        gsv::many_launcher<type>::reserve, gsv::many_launcher<type>::load,                                   \
        gsv::many_launcher<type>::store, gsv::many_launcher<type>::scale}
/* clang-format on */

} // namespace gsv
#endif
