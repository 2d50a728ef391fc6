/* A wide panel of a batch (trsm/cuda/panels/inverse.h) as its kernels see it: its raw numbers, and W. */
#ifndef GSV_TRSM_CUDA_PANELS_VIEW_CUH
#define GSV_TRSM_CUDA_PANELS_VIEW_CUH

#include "inverse.h"
#include "product.cuh"

namespace gsv {

/* Start of column j of a raw panel, less j. */
__device__ __forceinline__ int64_t raw_column(int64_t nr, int64_t j) {
    return j * nr - j * (j - 1) / 2 - j;
}

/* The panel that block blockIdx.x of a launch works on, and the block's number there. */
struct own_panel {
    gsv_wide_panel p;
    int32_t index, block;
    /* By halves of thirty-two: each lane looks at one of the places that are left. */
    __device__ __forceinline__ own_panel(const gsv_wide_panel *panels, const int32_t *starts, int32_t count) {
        const int32_t wanted = int32_t(blockIdx.x), lane = threadIdx.x % 32;
        int32_t first = 0, end = count; /* starts[first] <= wanted < starts[end] */
        while (end - first > 1) {
            const int32_t step = (end - first + 31) / 32, at = first + lane * step;
            const bool below = at < end && starts[at] <= wanted;
            const int32_t last = 31 - __clz(int(__ballot_sync(~0u, below)));
            const int32_t next = first + last * step;
            end = min(next + step, end);
            first = next;
        }
        index = first;
        block = wanted - starts[first];
        p = panels[first];
    }
};

template <typename T> struct panel_view {
    const T *raw;
    T *inverse;
    int64_t nr, nc, order;
    __device__ __forceinline__ panel_view(const gsv_wide_panel &p, const void *raw_numbers, void *inverses)
        : raw(static_cast<const T *>(raw_numbers) + p.from), inverse(static_cast<T *>(inverses) + p.inverse),
          nr(p.nr), nc(p.nc), order(gsv_wide_order(p.nc)) {}
    __device__ __forceinline__ const T *l(int64_t i, int64_t j) const {
        return raw + raw_column(nr, j) + i;
    }
    __device__ __forceinline__ T *w(int64_t i, int64_t j) const {
        return inverse + i + j * order;
    }
    /* Rows of them, for product_block. */
    __device__ __forceinline__ raw_row<T> l_row(int64_t i, int64_t j) const {
        return {l(i, j), 2 * nr - 2 * j - 3};
    }
    __device__ __forceinline__ dense_row<T> w_row(int64_t i, int64_t j) const {
        return {w(i, j), 2 * order};
    }
};

} // namespace gsv
#endif
