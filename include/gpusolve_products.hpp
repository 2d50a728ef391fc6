/** @file
 * What a factor gives beside solutions, for C++17: samples of Gaussian fields, products with the factor, entries of the inverse.
 * gpusolve_sample.h, gpusolve_product.h and gpusolve_inverse.h say what each does.
 *
 *      gpusolve::sample(handle, factor, gpusolve::columns(x, 100), gpusolve::sample_by().seed(7));
 *      gpusolve::multiply(handle, factor, GPUSOLVE_TIMES_L, z, y);
 *      std::vector<double> variances = gpusolve::inverse_diagonal(handle, factor);
 *
 * Operands and errors are as in gpusolve.hpp: without a gpusolve_status & as its last argument a call throws.
 */
#ifndef GPUSOLVE_PRODUCTS_HPP
#define GPUSOLVE_PRODUCTS_HPP

#include "gpusolve.hpp"
#include "gpusolve_inverse.h"
#include "gpusolve_product.h"
#include "gpusolve_sample.h"

namespace gpusolve {

/* -------------------------------------------------------------------------------------------- samples --- */

/** A gpusolve_sample_options that is made in one expression. What z and mean are given is borrowed. */
class sample_by {
  public:
    sample_by &seed(std::uint64_t number) noexcept {
        options.seed = number;
        return *this;
    }
    /** Column j is sample first + j of the seed. */
    sample_by &first(std::int64_t sample) noexcept {
        options.first = sample;
        return *this;
    }
    /** The caller's numbers in place of drawn ones: a block, or a container of one column, rows in L's order. */
    template <class Z> sample_by &z(const Z &numbers) noexcept {
        own = detail::as_block(numbers).get();
        has_own = true;
        return *this;
    }
    /** Added to each sample: a container of n numbers of the factor's type. */
    template <class M> sample_by &mean(const M &numbers) noexcept {
        return mean(std::data(numbers), detail::length(numbers));
    }
    /** The same by pointer, for device memory. */
    template <class T> sample_by &mean(const T *numbers, std::int64_t count) noexcept {
        options.mean = numbers;
        mean_count = count;
        mean_dtype = dtype_of<T>::value;
        return *this;
    }

    /** Static text: why these options do not go with x, or nullptr. */
    const char *fault(const gpusolve_dense &x) const noexcept {
        if (options.mean && mean_count != x.rows)
            return "mean: must have as many entries as x has rows";
        return options.mean && mean_dtype != x.dtype ? "mean: has another dtype than x" : nullptr;
    }
    /** For the C call, as long as this object lives. */
    gpusolve_sample_options get() const noexcept {
        gpusolve_sample_options answer = options;
        answer.z = has_own ? &own : nullptr;
        return answer;
    }

  private:
    gpusolve_sample_options options = GPUSOLVE_SAMPLE_OPTIONS_INIT;
    gpusolve_dense own = {};
    bool has_own = false;
    std::int64_t mean_count = 0;
    gpusolve_dtype mean_dtype = GPUSOLVE_DOUBLE;
};

/** Samples of the field with the precision matrix A, a column each. Without a workspace the handle's own is used. */
template <class X>
void sample(handle &with, const factor &of, const workspace &in, X &&x, const sample_by &how,
            gpusolve_status &status) noexcept {
    const auto left = detail::as_solution(x);
    const gpusolve_sample_options wanted = how.get();
    const char *fault = how.fault(left.get());
    status = fault ? gpusolve_report(with.get(), GPUSOLVE_INVALID_ARGUMENT, fault)
                   : gpusolve_sample(with.get(), of.get(), in.get(), &wanted, &left.get());
}
template <class X>
void sample(handle &with, const factor &of, X &&x, const sample_by &how, gpusolve_status &status) noexcept {
    sample(with, of, workspace(), x, how, status);
}

/* ------------------------------------------------------------------------------------------- products --- */

/** y = operation x. y may be x itself. */
template <class X, class Y>
void multiply(handle &with, const factor &of, gpusolve_operator operation, const X &x, Y &&y,
              gpusolve_status &status) noexcept {
    const auto right = detail::as_block(x);
    const auto left = detail::as_solution(y);
    status = gpusolve_multiply(with.get(), of.get(), operation, &right.get(), &left.get());
}

/* -------------------------------------------------------------------------------------------- inverse --- */

/** The diagonal of inv(A). */
inline std::vector<double> inverse_diagonal(handle &with, const factor &of, gpusolve_status &status) {
    const gpusolve_info info = of.info(with, 1, status);
    std::vector<double> diagonal(status == GPUSOLVE_OK ? static_cast<std::size_t>(info.n) : 0);
    if (status == GPUSOLVE_OK)
        status = gpusolve_inverse_diagonal(with.get(), of.get(), diagonal.data());
    return diagonal;
}

/** values[k] = inv(A)(rows[k], columns[k]). Containers of one size: rows and columns of std::int64_t, values of the factor's type. */
template <class Rows, class Columns, class Values>
void inverse_entries(handle &with, const factor &of, const Rows &rows, const Columns &columns,
                     Values &&values, gpusolve_status &status) noexcept {
    const std::int64_t count = detail::length(rows);
    const gpusolve_info info = of.info(with, 1, status);
    if (status != GPUSOLVE_OK)
        return;
    if (detail::length(columns) != count || detail::length(values) != count)
        status = gpusolve_report(with.get(), GPUSOLVE_INVALID_ARGUMENT,
                                 "rows, columns and values: must be of one size");
    else if (info.dtype != dtype_of<detail::value<Values>>::value)
        status = gpusolve_report(with.get(), GPUSOLVE_TYPE_MISMATCH, "values: must be of the factor's type");
    else
        status = gpusolve_inverse_entries(with.get(), of.get(), count, std::data(rows), std::data(columns),
                                          std::data(values));
}

#if GPUSOLVE_HPP_THROWS
template <class X>
void sample(handle &with, const factor &of, const workspace &in, X &&x, const sample_by &how = sample_by()) {
    gpusolve_status status;
    sample(with, of, in, x, how, status);
    check(with, status);
}
template <class X> void sample(handle &with, const factor &of, X &&x, const sample_by &how = sample_by()) {
    sample(with, of, workspace(), x, how);
}
template <class X, class Y>
void multiply(handle &with, const factor &of, gpusolve_operator operation, const X &x, Y &&y) {
    gpusolve_status status;
    multiply(with, of, operation, x, y, status);
    check(with, status);
}
inline std::vector<double> inverse_diagonal(handle &with, const factor &of) {
    gpusolve_status status;
    std::vector<double> diagonal = inverse_diagonal(with, of, status);
    check(with, status);
    return diagonal;
}
template <class Rows, class Columns, class Values>
void inverse_entries(handle &with, const factor &of, const Rows &rows, const Columns &columns,
                     Values &&values) {
    gpusolve_status status;
    inverse_entries(with, of, rows, columns, values, status);
    check(with, status);
}
#endif

} // namespace gpusolve

#endif /* GPUSOLVE_PRODUCTS_HPP */
