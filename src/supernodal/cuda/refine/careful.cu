/*
 * The residual R = B - A X with care: summed in twice the precision, or with its error by components |R| / (|A| |X| + |B|), or both.
 *
 * A sum is a pair of doubles: hi + p = s + e exactly (Knuth's TwoSum), p = a x with its error by a fused multiply-add, and lo collects the errors.
 *
 * Mapping: a block of 256 threads has 8 columns (grid's y), and 32 rows at a time (x, with the grid's stride); a thread has the sum of one
 * row and one column, entry by entry. So the bits of a column depend on nothing else. It is a simple kernel: a nearly full row takes as long as one thread
 * does. Traffic: A once for 8 columns, B, X and R once, X once more for each entry.
 *
 * Norms and the decision are those of residual.cu. Nothing waits for another block, so nothing can deadlock.
 */
#include "../shared/for_numbers.cuh"
#include "decide.cuh"
#include "residual_lane.cuh"

namespace gsv {

enum { CAREFUL_THREADS = 256, CAREFUL_COLUMNS = 8, CAREFUL_ROWS = CAREFUL_THREADS / CAREFUL_COLUMNS };

struct twofold {
    double hi, lo;
    /* + a b; by intrinsics, which are never contracted */
    __device__ __forceinline__ void add_product(double a, double b) {
        const double p = __dmul_rn(a, b), error = __fma_rn(a, b, -p), s = __dadd_rn(hi, p),
                     part = __dsub_rn(s, hi);
        lo =
            __dadd_rn(lo, __dadd_rn(__dadd_rn(__dsub_rn(hi, __dsub_rn(s, part)), __dsub_rn(p, part)), error));
        hi = s;
    }
    __device__ __forceinline__ double value(int twice) const {
        return twice ? __dadd_rn(hi, lo) : hi;
    }
};

/* The sum of one row, of real numbers and of complex ones. */
template <typename T> struct careful_sum {
    twofold sum;
    __device__ __forceinline__ explicit careful_sum(T b) : sum{double(b), 0} {}
    __device__ __forceinline__ void subtract(T a, T x) {
        sum.add_product(-double(a), double(x));
    }
    __device__ __forceinline__ T value(int twice) const {
        return T(sum.value(twice));
    }
};
template <typename R> struct careful_sum<complex<R>> {
    twofold re, im;
    __device__ __forceinline__ explicit careful_sum(complex<R> b)
        : re{double(b.re), 0}, im{double(b.im), 0} {}
    __device__ __forceinline__ void subtract(complex<R> a, complex<R> x) {
        re.add_product(-double(a.re), double(x.re));
        re.add_product(double(a.im), double(x.im));
        im.add_product(-double(a.re), double(x.im));
        im.add_product(-double(a.im), double(x.re));
    }
    __device__ __forceinline__ complex<R> value(int twice) const {
        return complex<R>{R(re.value(twice)), R(im.value(twice))};
    }
};

template <typename T>
__global__ void __launch_bounds__(CAREFUL_THREADS, 4) careful_kernel(const gsv_residual job) {
    const int column = blockIdx.y * CAREFUL_COLUMNS + threadIdx.x % CAREFUL_COLUMNS;
    const bool live[1] = {column < job.columns && (job.first || job.v.columns[column].active)};
    const T *x = static_cast<const T *>(job.x) + column, *values = static_cast<const T *>(job.a.values);
    unsigned long long norms[3][1] = {};
    if (live[0])
#pragma unroll 1
        for (int64_t i = int64_t(blockIdx.x) * CAREFUL_ROWS + threadIdx.x / CAREFUL_COLUMNS; i < job.n;
             i += int64_t(gridDim.x) * CAREFUL_ROWS) {
            const T b =
                static_cast<const T *>(job.b.values)[i * job.b.row_stride + column * job.b.column_stride];
            const T own = x[i * job.stride];
            careful_sum<T> sum(b);
            double size = 0; /* of |A| |X| */
#pragma unroll 2
            for (int64_t k = job.a.row_ptr[i]; k < job.a.row_ptr[i + 1]; k++) {
                const T a = values[k], y = x[job.a.columns[k] * job.stride];
                sum.subtract(a, y);
                size += magnitude(a) * magnitude(y);
            }
            const T r = sum.value(job.rule.twice);
            const double error = magnitude(r);
            raise(norms[0][0], job.rule.componentwise && error > 0 ? error / (size + magnitude(b)) : error);
            raise(norms[1][0], magnitude(own));
            if (job.first)
                raise(norms[2][0], magnitude(b));
            else if (job.change)
                raise(norms[2][0], magnitude(static_cast<const T *>(job.change)[i * job.stride + column]));
            static_cast<T *>(job.v.r)[i * job.stride + column] = r;
        }
    publish_norms<CAREFUL_COLUMNS>(job, threadIdx.x % CAREFUL_COLUMNS, live, norms);
    if (is_last_of(job.v.done, int(gridDim.x * gridDim.y)))
        decide(job.columns, job.first, job.rule, job.v.norms, job.v.columns, job.v.report_on_device);
}

template <typename T> cudaError_t careful(const gsv_residual *job, int multiprocessors, cudaStream_t stream) {
    const int64_t wanted = (int64_t(job->n) + CAREFUL_ROWS - 1) / CAREFUL_ROWS,
                  most = 16 * int64_t(multiprocessors);
    const dim3 grid(unsigned(wanted < most ? wanted : most),
                    unsigned((job->columns + CAREFUL_COLUMNS - 1) / CAREFUL_COLUMNS));
    careful_kernel<T><<<grid, CAREFUL_THREADS, 0, stream>>>(*job);
    return cudaGetLastError();
}

} // namespace gsv

cudaError_t gsv_refine_careful_residual(gpusolve_dtype dtype, const gsv_residual *job, int multiprocessors,
                                        cudaStream_t stream) {
    return gsv::for_numbers(
        dtype, [&](auto number) { return gsv::careful<decltype(number)>(job, multiprocessors, stream); });
}
