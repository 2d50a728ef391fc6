/*
 * The hand-over of published.cuh, a number at a time and by whole warps. Relaxed loads and stores of the
 * device's scope are enough, for nothing is ordered against anything else, and a vector load may be torn
 * between numbers. publish() never stores the absent pattern: a result that has it, which can only be a NaN
 * of the caller's, becomes the ordinary NaN.
 */
#ifndef GSV_TRSV_PUBLISH_CUH
#define GSV_TRSV_PUBLISH_CUH

#include "published.cuh"

namespace gsv {

/* A wait that is longer than this many clocks (about ten seconds) is given up. */
static const long long WAIT_LIMIT = 1LL << 34;

__device__ __forceinline__ void publish(float *to, float v) {
    v = present(v);
    asm volatile("st.relaxed.gpu.global.f32 [%0], %1;" ::"l"(to), "f"(v) : "memory");
}
__device__ __forceinline__ void publish(double *to, double v) {
    v = present(v);
    asm volatile("st.relaxed.gpu.global.f64 [%0], %1;" ::"l"(to), "d"(v) : "memory");
}
__device__ __forceinline__ void publish(complex<float> *to, complex<float> v) {
    v.re = present(v.re);
    v.im = present(v.im);
    asm volatile("st.relaxed.gpu.global.v2.f32 [%0], {%1, %2};" ::"l"(to), "f"(v.re), "f"(v.im) : "memory");
}
__device__ __forceinline__ void publish(complex<double> *to, complex<double> v) {
    v.re = present(v.re);
    v.im = present(v.im);
    asm volatile("st.relaxed.gpu.global.v2.f64 [%0], {%1, %2};" ::"l"(to), "d"(v.re), "d"(v.im) : "memory");
}

/* N numbers in one load of 4, 8 or 16 bytes. */
template <typename T, int N> __device__ __forceinline__ void load_published(const T *from, T (&to)[N]) {
    if constexpr (N * sizeof(T) == 4) {
        asm volatile("ld.relaxed.gpu.global.f32 %0, [%1];" : "=f"(to[0]) : "l"(from) : "memory");
    } else if constexpr (N * sizeof(T) == 8) {
        uint2 v;
        asm volatile("ld.relaxed.gpu.global.v2.u32 {%0, %1}, [%2];"
                     : "=r"(v.x), "=r"(v.y)
                     : "l"(from)
                     : "memory");
        *reinterpret_cast<uint2 *>(to) = v;
    } else {
        static_assert(N * sizeof(T) == 16, "4, 8 or 16 bytes");
        uint4 v;
        asm volatile("ld.relaxed.gpu.global.v4.u32 {%0, %1, %2, %3}, [%4];"
                     : "=r"(v.x), "=r"(v.y), "=r"(v.z), "=r"(v.w)
                     : "l"(from)
                     : "memory");
        *reinterpret_cast<uint4 *>(to) = v;
    }
}

/*
 * Called by a whole warp that has loaded v from `from`: poll until no number of any lane is absent. The wait
 * ends, since whoever computes the numbers has drawn its row before (trsv_grid.cuh), and after WAIT_LIMIT
 * clocks in any case: then the numbers are NaNs and *gave_up is set. sleep: nanoseconds between polls.
 */
template <typename T, int N>
__device__ __forceinline__ void wait_published_warp(const T *from, T (&v)[N], unsigned sleep,
                                                    unsigned *gave_up) {
    bool empty = false;
#pragma unroll
    for (int i = 0; i < N; i++)
        empty |= is_absent(v[i]);
    if (!__any_sync(~0u, empty))
        return;
    const long long begin = clock64();
    for (;;) {
        if (sleep)
            __nanosleep(sleep);
        load_published(from, v);
        empty = false;
#pragma unroll
        for (int i = 0; i < N; i++)
            empty |= is_absent(v[i]);
        if (!__any_sync(~0u, empty))
            return;
        if (__any_sync(~0u, clock64() - begin > WAIT_LIMIT)) {
#pragma unroll
            for (int i = 0; i < N; i++)
                v[i] = not_a_number<T>();
            *gave_up = 1;
            return;
        }
    }
}

} // namespace gsv
#endif
