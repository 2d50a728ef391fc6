/*
 * Numbers handed from one thread block to another, where the data is the flag: memory holds ABSENT, a NaN
 * that no arithmetic gives, until the number is there. A reader polls the number itself, so a hand-over costs
 * one trip through L2 and no fence: nothing but the number is ordered, and a number is one aligned word of 4
 * or 8 bytes, which is read and written whole; a vector load or store may be torn between words. Complex
 * numbers are two such words, each asked for. Relaxed loads and stores of the device's scope are enough.
 *
 * Memory that is to be published in is filled with bytes of 0xff before, by an earlier kernel (absent_fill).
 */
#ifndef GSV_PUBLISHED_CUH
#define GSV_PUBLISHED_CUH

#include "scalar.cuh"

namespace gsv {

/* Polls until a reader gives up, about two seconds: what it waits for is lost, and it goes on with NaNs. */
#ifdef GSV_RACECHECK
enum { PATIENCE = 1 << 30 }; /* a program runs some thousand times as long under it */
#else
enum { PATIENCE = 1 << 22 };
#endif

/* Clocks until wait_published_warp gives up, about ten seconds. */
static const long long WAIT_LIMIT = 1LL << 34;

__device__ __forceinline__ bool is_absent(float a) {
    return __float_as_uint(a) == 0xffffffffu;
}

__device__ __forceinline__ bool is_absent(double a) {
    return __double2hiint(a) == -1;
}

template <typename R> __device__ __forceinline__ bool is_absent(complex<R> a) {
    return is_absent(a.re) || is_absent(a.im);
}

__device__ __forceinline__ float present(float a) {
    return is_absent(a) ? __uint_as_float(0x7fffffffu) : a;
}

__device__ __forceinline__ double present(double a) {
    return is_absent(a) ? __hiloint2double(0x7ff80000, 0) : a;
}

template <typename R> __device__ __forceinline__ complex<R> present(complex<R> a) {
    return {present(a.re), present(a.im)};
}

__device__ __forceinline__ void load_relaxed(const float *from, float &to) {
    asm volatile("ld.relaxed.gpu.global.f32 %0, [%1];" : "=f"(to) : "l"(from) : "memory");
}

__device__ __forceinline__ void load_relaxed(const double *from, double &to) {
    asm volatile("ld.relaxed.gpu.global.f64 %0, [%1];" : "=d"(to) : "l"(from) : "memory");
}

__device__ __forceinline__ void load_relaxed(const complex<float> *from, complex<float> &to) {
    asm volatile("ld.relaxed.gpu.global.v2.f32 {%0, %1}, [%2];"
                 : "=f"(to.re), "=f"(to.im)
                 : "l"(from)
                 : "memory");
}

__device__ __forceinline__ void load_relaxed(const complex<double> *from, complex<double> &to) {
    asm volatile("ld.relaxed.gpu.global.v2.f64 {%0, %1}, [%2];"
                 : "=d"(to.re), "=d"(to.im)
                 : "l"(from)
                 : "memory");
}

/* 16 bytes, aligned: 16 / sizeof(T) numbers. */
__device__ __forceinline__ void load_relaxed16(const float *from, float *to) {
    asm volatile("ld.relaxed.gpu.global.v4.f32 {%0, %1, %2, %3}, [%4];"
                 : "=f"(to[0]), "=f"(to[1]), "=f"(to[2]), "=f"(to[3])
                 : "l"(from)
                 : "memory");
}

__device__ __forceinline__ void load_relaxed16(const double *from, double *to) {
    asm volatile("ld.relaxed.gpu.global.v2.f64 {%0, %1}, [%2];"
                 : "=d"(to[0]), "=d"(to[1])
                 : "l"(from)
                 : "memory");
}

__device__ __forceinline__ void load_relaxed16(const complex<float> *from, complex<float> *to) {
    asm volatile("ld.relaxed.gpu.global.v4.f32 {%0, %1, %2, %3}, [%4];"
                 : "=f"(to[0].re), "=f"(to[0].im), "=f"(to[1].re), "=f"(to[1].im)
                 : "l"(from)
                 : "memory");
}

__device__ __forceinline__ void load_relaxed16(const complex<double> *from, complex<double> *to) {
    load_relaxed(from, *to);
}

/* N numbers in one load of 4, 8 or 16 bytes, aligned to it. */
template <typename T, int N> __device__ __forceinline__ void load_published(const T *from, T (&to)[N]) {
    if constexpr (N == 1) {
        load_relaxed(from, to[0]);
    } else if constexpr (N * sizeof(T) == 8) {
        asm volatile("ld.relaxed.gpu.global.v2.f32 {%0, %1}, [%2];"
                     : "=f"(to[0]), "=f"(to[1])
                     : "l"(from)
                     : "memory");
    } else {
        static_assert(N * sizeof(T) == 16, "4, 8 or 16 bytes");
        load_relaxed16(from, to);
    }
}

/* A number, never the absent pattern: a result that has it, which can only be a NaN of the caller's, becomes
 * the ordinary NaN. */
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

/* Two neighbouring numbers, aligned to their size. */
__device__ __forceinline__ void publish_pair(float *to, float a, float b) {
    asm volatile("st.relaxed.gpu.global.v2.f32 [%0], {%1, %2};" ::"l"(to), "f"(present(a)), "f"(present(b))
                 : "memory");
}

__device__ __forceinline__ void publish_pair(double *to, double a, double b) {
    asm volatile("st.relaxed.gpu.global.v2.f64 [%0], {%1, %2};" ::"l"(to), "d"(present(a)), "d"(present(b))
                 : "memory");
}

template <typename R>
__device__ __forceinline__ void publish_pair(complex<R> *to, complex<R> a, complex<R> b) {
    publish_pair(&to[0].re, a.re, a.im);
    publish_pair(&to[1].re, b.re, b.im);
}

/* Memory to be filled with ABSENT, in units of 16 bytes. */
struct absent_fill {
    int4 *at;
    int64_t units;
    /* A block's share, by all threads of all blocks of a launch. Nothing waits for the stores but the launch's end. */
    __device__ __forceinline__ void write_block() const {
        const int64_t step = int64_t(gridDim.x) * blockDim.x;
#pragma unroll 1 /* more would want a division */
        for (int64_t e = int64_t(blockIdx.x) * blockDim.x + threadIdx.x; e < units; e += step)
            at[e] = make_int4(-1, -1, -1, -1);
    }
};

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
