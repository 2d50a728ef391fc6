/*
 * The store of tasks (cuda/tasks/transfer.cuh) that adds the mean of samples: x(i, c) = mean(i) + y(i, c), each number read once and written once. By
 * itself the sum would read x and write it once more. Mapping and waits are those of that store.
 *
 * Rounding: y is rounded to x's precision first, as the store does it without a mean, so that the bits are those of a sum in x.
 */
#include "../tasks/launch.cuh"
#include "products.h"

namespace gsv {

template <typename Kind, int W, int CUT>
static __global__ void __launch_bounds__(BLOCK, TASKS_TRANSFERS)
    store_mean_kernel(int32_t n, const int32_t *inverse, const vector_number<Kind> *from,
                      const panel_number<Kind> *mean, gsv_device_dense to, int columns, int *counters,
                      int64_t count) {
    typedef panel_number<Kind> P;
    typedef vector_number<Kind> T;
    typedef gsv::transfer<T, W, CUT> transfer;
    const int groups = columns / W, c0 = blockIdx.x % groups * W;
    const int64_t first = int64_t(blockIdx.x / groups) * transfer::ROWS;
    store_changed_block<transfer>(
        n, inverse, first, from, columns, c0, static_cast<P *>(to.values),
        [&]() {
            for (int64_t k = int64_t(blockIdx.x) * BLOCK + threadIdx.x; k < count;
                 k += int64_t(gridDim.x) * BLOCK)
                counters[k] = 0;
            return transfer::share_of_thread(to, n, first, c0);
        },
        [&](const int32_t(&row)[transfer::RUNS], T(&run)[transfer::RUNS][transfer::RUN]) {
            P of_row[transfer::RUNS];
#pragma unroll
            for (int k = 0; k < transfer::RUNS; k++)
                of_row[k] = row[k] >= 0 ? mean[first + transfer::run_row(k)] : make<P>(0);
#pragma unroll
            for (int k = 0; k < transfer::RUNS; k++)
#pragma unroll
                for (int j = 0; j < transfer::RUN; j++)
                    run[k][j] = number_as<T>(add(number_as<P>(run[k][j]), of_row[k]));
        });
}

template <typename Kind>
static cudaError_t store_mean(const gsv_launch &l, const int32_t *inverse, const void *from, const void *mean,
                              gsv_device_dense to) {
    typedef vector_number<Kind> T;
    const int32_t n = l.plan->l.n;
    const int columns = l.run->columns;
    return tasks_launcher<Kind>::transfer_by(columns, [&](auto width) {
        return launch_transfer<T, width>(n, columns / width, [&](int64_t blocks, auto cut) {
            return launch_allowed(store_mean_kernel<Kind, width, cut>, blocks, BLOCK, 0, l.stream, n, inverse,
                                  static_cast<const T *>(from), static_cast<const panel_number<Kind> *>(mean),
                                  to, columns, l.vectors.counters, gsv_task_counters(l.plan));
        });
    });
}

} // namespace gsv

extern "C" cudaError_t gsv_cuda_store_mean(gpusolve_dtype dtype, const gsv_launch *launch,
                                           const int32_t *inverse, const void *from, const void *mean,
                                           gsv_device_dense to) {
    switch (dtype) {
    case GPUSOLVE_FLOAT:
        return gsv::store_mean<gsv::mixed<float>>(*launch, inverse, from, mean, to);
    case GPUSOLVE_DOUBLE:
        return gsv::store_mean<double>(*launch, inverse, from, mean, to);
    case GPUSOLVE_COMPLEX_FLOAT:
        return gsv::store_mean<gsv::mixed<gsv::complex<float>>>(*launch, inverse, from, mean, to);
    case GPUSOLVE_COMPLEX_DOUBLE:
        return gsv::store_mean<gsv::complex<double>>(*launch, inverse, from, mean, to);
    }
    return cudaErrorInvalidValue;
}
