/** @file
 * What gpusolve.hpp passes to the C calls: numbers and index arrays of containers, as blocks of right-hand sides, as factors and
 * as matrices. Nothing here owns or copies an array; a container must live until the call that takes it has returned.
 *
 * A container is whatever std::data and std::size know: std::vector, std::array, a C array, std::span, a class of the user's.
 */
#ifndef GPUSOLVE_VIEWS_HPP
#define GPUSOLVE_VIEWS_HPP

#include "gpusolve.h"

#if !defined(__cplusplus) || __cplusplus < 201703L
#error "gpusolve.hpp needs C++17"
#endif

#include <algorithm>
#include <complex>
#include <cstddef>
#include <cstdint>
#include <iterator>
#include <type_traits>

namespace gpusolve {

/* ---------------------------------------------------------------------------------- types of numbers --- */

/** The gpusolve_dtype of float, double, std::complex<float> and std::complex<double>. */
template <class T> struct dtype_of;
template <> struct dtype_of<float> : std::integral_constant<gpusolve_dtype, GPUSOLVE_FLOAT> {};
template <> struct dtype_of<double> : std::integral_constant<gpusolve_dtype, GPUSOLVE_DOUBLE> {};
template <>
struct dtype_of<std::complex<float>> : std::integral_constant<gpusolve_dtype, GPUSOLVE_COMPLEX_FLOAT> {};
template <>
struct dtype_of<std::complex<double>> : std::integral_constant<gpusolve_dtype, GPUSOLVE_COMPLEX_DOUBLE> {};

/** The gpusolve_itype of a signed integer of 32 or 64 bits. */
template <class T>
struct itype_of : std::integral_constant<gpusolve_itype, sizeof(T) == 4 ? GPUSOLVE_INT32 : GPUSOLVE_INT64> {
    static_assert(std::is_integral_v<T> && std::is_signed_v<T> && (sizeof(T) == 4 || sizeof(T) == 8),
                  "indices are signed integers of 32 or 64 bits");
};

/** The C structs with their defaults. */
struct options : gpusolve_options {
    options() noexcept : gpusolve_options(GPUSOLVE_OPTIONS_INIT) {}
};

struct refine_options : gpusolve_refine_options {
    refine_options() noexcept : gpusolve_refine_options(GPUSOLVE_REFINE_OPTIONS_INIT) {}
};

struct factor_data : gpusolve_factor_data {
    /** Static text: what makes these arrays no factor; the factor is refused with it. */
    const char *fault = nullptr;
    factor_data() noexcept : gpusolve_factor_data(GPUSOLVE_FACTOR_DATA_INIT) {}
};

struct matrix_data : gpusolve_matrix_data {
    const char *fault = nullptr;
    matrix_data() noexcept : gpusolve_matrix_data() {
        size = sizeof(gpusolve_matrix_data);
    }
};

namespace detail {

/** What a container or an array holds. */
template <class C> using element = std::remove_pointer_t<decltype(std::data(std::declval<C &>()))>;
template <class C> using value = std::remove_cv_t<element<C>>;

template <class C> std::int64_t length(const C &container) noexcept {
    return static_cast<std::int64_t>(std::size(container));
}

} // namespace detail

/* ------------------------------------------------------------------------------------ dense operands --- */

/**
 * A block of right-hand sides or solutions: a gpusolve_dense that knows its type. T is const for what is read alone. It borrows
 * the numbers, which may be in device memory (then by the constructor with a pointer).
 */
template <class T> class block {
  public:
    using value_type = std::remove_const_t<T>;

    /** rows x cols numbers; ld 0: without gaps. */
    block(T *values, std::int64_t rows, std::int64_t cols = 1, gpusolve_order order = GPUSOLVE_COL_MAJOR,
          std::int64_t ld = 0) noexcept
        : dense{dtype_of<value_type>::value, order, rows, cols, ld, const_cast<value_type *>(values)} {
        const std::int64_t inner = order == GPUSOLVE_COL_MAJOR ? rows : cols;
        if (ld == 0)
            dense.ld = inner > 1 ? inner : 1;
    }

    /** What may be written may be read. */
    template <class U, class = std::enable_if_t<std::is_same_v<const U, T> && !std::is_const_v<U>>>
    block(const block<U> &other) noexcept : dense(other.get()) {}

    const gpusolve_dense &get() const noexcept {
        return dense;
    }

  private:
    gpusolve_dense dense;
};

/** A container as a block of cols columns, one after the other, or of rows of cols numbers. If its size is no multiple of
 * cols the call that takes it refuses it. */
template <class C> auto columns(C &&container, std::int64_t cols) noexcept {
    using T = detail::element<C>;
    const std::int64_t size = detail::length(container);
    return block<T>(std::data(container), cols > 0 && size % cols == 0 ? size / cols : -1, cols);
}
template <class C> auto rows(C &&container, std::int64_t cols) noexcept {
    using T = detail::element<C>;
    const std::int64_t size = detail::length(container);
    return block<T>(std::data(container), cols > 0 && size % cols == 0 ? size / cols : -1, cols,
                    GPUSOLVE_ROW_MAJOR);
}

namespace detail {

template <class C> struct is_block : std::false_type {};
template <class T> struct is_block<block<T>> : std::true_type {};
template <class C> struct block_element_of;
template <class T> struct block_element_of<block<T>> { using type = T; };
template <class C> using block_element = typename block_element_of<C>::type;

/** A block itself, or a container as one column. */
template <class C> auto as_block(C &&operand) noexcept {
    if constexpr (is_block<std::decay_t<C>>::value)
        return operand;
    else
        return block<element<C>>(std::data(operand), length(operand));
}

} // namespace detail

/* ------------------------------------------------------------------------------------- factors' arrays --- */

namespace detail {

template <class First, class... Rest> constexpr gpusolve_itype itype() {
    static_assert((std::is_same_v<value<First>, value<Rest>> && ...), "all index arrays have one type");
    return itype_of<value<First>>::value;
}

template <class Perm> void set_perm(factor_data &data, const Perm &perm) noexcept {
    data.perm = std::data(perm);
    if (length(perm) != data.n)
        data.fault = "perm: must have as many entries as L has columns";
}

} // namespace detail

/** A supernodal factor L L' from containers, which must live until the call that takes it has returned. Their sizes are
 * checked then; gpusolve.h says what they hold. */
template <class Super, class Pi, class Px, class S, class X>
factor_data supernodal(const Super &super, const Pi &pi, const Px &px, const S &s, const X &x) noexcept {
    factor_data data;
    data.kind = GPUSOLVE_SUPERNODAL_LL;
    data.dtype = dtype_of<detail::value<const X>>::value;
    data.itype = detail::itype<const Super, const Pi, const Px, const S>();
    data.nsuper = detail::length(super) - 1;
    data.n = data.minor = data.nsuper >= 0 ? static_cast<std::int64_t>(std::data(super)[data.nsuper]) : 0;
    data.ssize = detail::length(s);
    data.xsize = detail::length(x);
    data.super = std::data(super);
    data.pi = std::data(pi);
    data.px = std::data(px);
    data.s = std::data(s);
    data.x = std::data(x);
    if (data.nsuper < 0 || detail::length(pi) != data.nsuper + 1 || detail::length(px) != data.nsuper + 1)
        data.fault = "super, pi and px: must have one entry more than there are supernodes";
    return data;
}

/** The same with a permutation. */
template <class Super, class Pi, class Px, class S, class X, class Perm>
factor_data supernodal(const Super &super, const Pi &pi, const Px &px, const S &s, const X &x,
                       const Perm &perm) noexcept {
    factor_data data = supernodal(super, pi, px, s, x);
    (void)detail::itype<const Super, const Perm>();
    detail::set_perm(data, perm);
    return data;
}

/** A simplicial factor in compressed columns, of the kind L L' or L D L'. */
template <class P, class I, class X>
factor_data simplicial(gpusolve_factor_kind kind, const P &p, const I &i, const X &x) noexcept {
    factor_data data;
    data.kind = kind;
    data.dtype = dtype_of<detail::value<const X>>::value;
    data.itype = detail::itype<const P, const I>();
    data.n = data.minor = detail::length(p) - 1;
    data.xsize = detail::length(x);
    data.p = std::data(p);
    data.i = std::data(i);
    data.x = std::data(x);
    if (data.n < 0)
        data.fault = "p: must have one entry more than there are columns";
    else if (detail::length(i) < data.xsize)
        data.fault = "i: must have as many entries as x";
    return data;
}

template <class P, class I, class X, class Perm>
factor_data simplicial(gpusolve_factor_kind kind, const P &p, const I &i, const X &x,
                       const Perm &perm) noexcept {
    factor_data data = simplicial(kind, p, i, x);
    (void)detail::itype<const P, const Perm>();
    detail::set_perm(data, perm);
    return data;
}

/** A sparse symmetric (Hermitian) matrix in compressed columns, for refinement; borrowed as above. */
template <class Ptr, class Index, class X>
matrix_data csc(gpusolve_triangle triangle, const Ptr &ptr, const Index &index, const X &x) noexcept {
    matrix_data data;
    data.format = GPUSOLVE_CSC;
    data.triangle = triangle;
    data.dtype = dtype_of<detail::value<const X>>::value;
    data.itype = detail::itype<const Ptr, const Index>();
    data.n = detail::length(ptr) - 1;
    data.ptr = std::data(ptr);
    data.index = std::data(index);
    data.x = std::data(x);
    if (data.n < 0)
        data.fault = "ptr: must have one entry more than there are columns";
    else if (static_cast<std::int64_t>(std::data(ptr)[data.n]) >
             std::min(detail::length(index), detail::length(x)))
        data.fault = "index and x: must have as many entries as the last one of ptr says";
    return data;
}

} // namespace gpusolve

#endif /* GPUSOLVE_VIEWS_HPP */
