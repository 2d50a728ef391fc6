/*
 * Scalar traits: what the kernels need to know of a number, in one place. float, double, and complex<float>,
 * complex<double> with the memory layout of the C types.
 */
#ifndef GSV_SCALAR_CUH
#define GSV_SCALAR_CUH

#include <math.h>
#include <stdint.h>

namespace gsv {

template <typename R> struct alignas(2 * sizeof(R)) complex { R re, im; };

template <typename T> struct traits {
    typedef T real;
    static const bool is_complex = false;
};
template <typename R> struct traits<complex<R>> {
    typedef R real;
    static const bool is_complex = true;
};

/* A kind of numbers: those of panels, and of the caller, and those of a solve's vectors. */
template <typename N> struct numbers { typedef N panel, vector; };

/* P in double precision. */
template <typename P> struct wide { typedef double number; };
template <typename R> struct wide<complex<R>> { typedef complex<double> number; };
template <typename P> using wide_number = typename wide<P>::number;

/* Panels in single precision, P, and vectors in double: what a solve reads most has half the bytes, and every sum is one
 * of doubles, on the same tensor cores. */
template <typename P> struct mixed {};
template <typename P> struct numbers<mixed<P>> {
    typedef P panel;
    typedef wide_number<P> vector;
};
template <typename P> struct traits<mixed<P>> : traits<P> {};
template <typename N> using panel_number = typename numbers<N>::panel;
template <typename N> using vector_number = typename numbers<N>::vector;

template <typename T> __host__ __device__ __forceinline__ T make(typename traits<T>::real re) {
    if constexpr (traits<T>::is_complex)
        return T{re, 0};
    else
        return re;
}

/* What a result is where no right one can be given. */
template <typename T> __device__ __forceinline__ T not_a_number() {
    typedef typename traits<T>::real real;
    if constexpr (traits<T>::is_complex)
        return T{real(NAN), real(NAN)};
    else
        return real(NAN);
}

template <typename T> __device__ __forceinline__ T conjugate(T a) {
    if constexpr (traits<T>::is_complex)
        a.im = -a.im;
    return a;
}

template <typename T> __device__ __forceinline__ T add(T a, T b) {
    if constexpr (traits<T>::is_complex)
        return T{a.re + b.re, a.im + b.im};
    else
        return a + b;
}

template <typename T> __device__ __forceinline__ T negate(T a) {
    if constexpr (traits<T>::is_complex)
        return T{-a.re, -a.im};
    else
        return -a;
}

/* A number in another precision. */
template <typename To, typename From> __device__ __forceinline__ To number_as(From a) {
    if constexpr (traits<To>::is_complex)
        return To{typename traits<To>::real(a.re), typename traits<To>::real(a.im)};
    else
        return To(a);
}

/* sum + a b, always with fused multiply-adds, so that every kernel rounds alike. */
template <typename T> __device__ __forceinline__ T multiply_add(T sum, T a, T b) {
    if constexpr (traits<T>::is_complex) {
        sum.re = fma(a.re, b.re, sum.re);
        sum.im = fma(a.re, b.im, sum.im);
        sum.re = fma(-a.im, b.im, sum.re);
        sum.im = fma(a.im, b.re, sum.im);
        return sum;
    } else {
        return fma(a, b, sum);
    }
}

template <typename T> __device__ __forceinline__ T divide_real(T a, typename traits<T>::real b) {
    if constexpr (traits<T>::is_complex)
        return T{a.re / b, a.im / b};
    else
        return a / b;
}

/* a / b for the diagonal of a Cholesky factor, which is real. */
template <typename T> __device__ __forceinline__ T divide(T a, T b) {
    if constexpr (traits<T>::is_complex)
        return divide_real(a, b.re);
    else
        return a / b;
}

/* Within a factor sqrt(2) of the modulus. */
template <typename T> __device__ __forceinline__ typename traits<T>::real magnitude1(T a) {
    if constexpr (traits<T>::is_complex)
        return fabs(a.re) + fabs(a.im);
    else
        return fabs(a);
}

template <typename T> __device__ __forceinline__ T shuffle_xor(T a, int mask) {
    if constexpr (traits<T>::is_complex)
        return T{__shfl_xor_sync(~0u, a.re, mask), __shfl_xor_sync(~0u, a.im, mask)};
    else
        return __shfl_xor_sync(~0u, a, mask);
}

/* One number of a panel: read once a sweep, so it need not stay in L1, where the vectors are wanted. */
template <typename T> __device__ __forceinline__ T load_panel(const T *from) {
    if constexpr (sizeof(T) == 4) {
        uint32_t bits;
        asm("ld.global.nc.L1::no_allocate.b32 %0, [%1];" : "=r"(bits) : "l"(from));
        return *reinterpret_cast<T *>(&bits);
    } else if constexpr (sizeof(T) == 8) {
        uint64_t bits;
        asm("ld.global.nc.L1::no_allocate.b64 %0, [%1];" : "=l"(bits) : "l"(from));
        return *reinterpret_cast<T *>(&bits);
    } else {
        int4 bits;
        asm("ld.global.nc.L1::no_allocate.v4.b32 {%0, %1, %2, %3}, [%4];"
            : "=r"(bits.x), "=r"(bits.y), "=r"(bits.z), "=r"(bits.w)
            : "l"(from));
        return *reinterpret_cast<T *>(&bits);
    }
}

/* N consecutive numbers of a panel, aligned to their size, up to 16 bytes. */
template <typename T, int N> __device__ __forceinline__ void load_panel_run(const T *from, T (&to)[N]) {
    if constexpr (N > 1 && N * sizeof(T) % 16 == 0 && sizeof(T) < 16) {
#pragma unroll
        for (int k = 0; k < int(N * sizeof(T) / 16); k++) {
            int4 bits;
            asm("ld.global.nc.L1::no_allocate.v4.b32 {%0, %1, %2, %3}, [%4];"
                : "=r"(bits.x), "=r"(bits.y), "=r"(bits.z), "=r"(bits.w)
                : "l"(reinterpret_cast<const int4 *>(from) + k));
            reinterpret_cast<int4 *>(to)[k] = bits;
        }
    } else {
#pragma unroll
        for (int k = 0; k < N; k++)
            to[k] = load_panel(from + k);
    }
}

/* N consecutive numbers, 16 bytes at a time where a run of N fills them. from is aligned to the run, up to 16
 * bytes. */
template <typename T, int N> __device__ __forceinline__ void load_run(const T *from, T (&to)[N]) {
    if constexpr (N * sizeof(T) % 16 == 0) {
#pragma unroll
        for (int k = 0; k < int(N * sizeof(T) / 16); k++)
            reinterpret_cast<int4 *>(to)[k] = reinterpret_cast<const int4 *>(from)[k];
    } else {
#pragma unroll
        for (int k = 0; k < N; k++)
            to[k] = from[k];
    }
}

/* Two numbers of a panel that stand side by side, as those of vectors. */
__device__ __forceinline__ double2 load_two(const double *from) {
    return *reinterpret_cast<const double2 *>(from);
}
__device__ __forceinline__ double2 load_two(const float *from) {
    const float2 two = *reinterpret_cast<const float2 *>(from);
    return make_double2(two.x, two.y);
}

template <typename T> __device__ __forceinline__ void load_pair_of_panel(const T *from, T (&to)[2]) {
    load_run(from, to);
}
__device__ __forceinline__ void load_pair_of_panel(const float *from, double (&to)[2]) {
    const double2 two = load_two(from);
    to[0] = two.x;
    to[1] = two.y;
}
__device__ __forceinline__ void load_pair_of_panel(const complex<float> *from, complex<double> (&to)[2]) {
    complex<float> two[2];
    load_run(from, two);
    to[0] = number_as<complex<double>>(two[0]);
    to[1] = number_as<complex<double>>(two[1]);
}

template <typename T, int N> __device__ __forceinline__ void store_run(T *to, const T (&from)[N]) {
    if constexpr (N * sizeof(T) % 16 == 0) {
#pragma unroll
        for (int k = 0; k < int(N * sizeof(T) / 16); k++)
            reinterpret_cast<int4 *>(to)[k] = reinterpret_cast<const int4 *>(from)[k];
    } else {
#pragma unroll
        for (int k = 0; k < N; k++)
            to[k] = from[k];
    }
}

/* store_run to global memory. Without it the compiler makes two stores of eight bytes each. ONCE: nobody reads the numbers soon, so they
 * are the first to give way in L2. */
template <bool ONCE = false, typename T, int N>
__device__ __forceinline__ void store_run_global(T *to, const T (&from)[N]) {
    if constexpr (sizeof(typename traits<T>::real) == sizeof(double) && N * sizeof(T) % 16 == 0) {
#pragma unroll
        for (int k = 0; k < int(N * sizeof(T) / 16); k++) {
            double *at = reinterpret_cast<double *>(to) + 2 * k;
            const double *two = reinterpret_cast<const double *>(from) + 2 * k;
            if constexpr (ONCE)
                asm volatile("st.global.cs.v2.f64 [%0], {%1, %2};" ::"l"(at), "d"(two[0]), "d"(two[1])
                             : "memory");
            else
                asm volatile("st.global.v2.f64 [%0], {%1, %2};" ::"l"(at), "d"(two[0]), "d"(two[1])
                             : "memory");
        }
    } else
        store_run(to, from);
}

__device__ __forceinline__ void store_run_global(double *to, double2 two) {
    const double numbers[2] = {two.x, two.y};
    store_run_global(to, numbers);
}

} // namespace gsv
#endif
