/** @file
 * Refinement for C++17 beyond gpusolve::refine (gpusolve.hpp): options in one expression, room that is made beforehand, and
 * refinement that waits for nothing. gpusolve_refine.h says what each does.
 *
 *      gpusolve::refinement answer = gpusolve::refine(handle, factor, matrix, b, x, gpusolve::refine_by(GPUSOLVE_REFINE_CG).max_steps(20));
 *
 *      const gpusolve::refine_by how = gpusolve::refine_by().max_steps(2);
 *      gpusolve::refine_reserve(handle, factor, matrix, workspace, how);
 *      gpusolve::refine_async(handle, factor, matrix, workspace, b, x, how, errors, steps);     in the order of the handle's stream
 *
 * Errors are as in gpusolve.hpp: without a gpusolve_status & as its last argument a call throws. Nothing here allocates host
 * memory itself.
 */
#ifndef GPUSOLVE_REFINE_HPP
#define GPUSOLVE_REFINE_HPP

#include "gpusolve.hpp"

namespace gpusolve {

/** A gpusolve_refine_options that is made in one expression. What is not named has its default. */
class refine_by {
  public:
    explicit refine_by(gpusolve_refine_method method = GPUSOLVE_REFINE_RICHARDSON) noexcept {
        options.method = method;
    }

    /** Solves that a column may get after the first one; 0: only the backward error is computed. */
    refine_by &max_steps(int steps) noexcept {
        options.max_steps = steps;
        return *this;
    }
    /** A column at or below this backward error is done; 0: until it stagnates; GPUSOLVE_REFINE_EPSILON, the default. */
    refine_by &tolerance(double error) noexcept {
        options.tolerance = error;
        return *this;
    }
    /** A correction that lowers the backward error by a smaller factor ends the column. */
    refine_by &min_gain(double factor) noexcept {
        options.min_gain = factor;
        return *this;
    }
    /** false: x holds a first guess. */
    refine_by &solve_first(bool first) noexcept {
        options.solve_first = first;
        return *this;
    }
    /** Of FGMRES: steps of a cycle. */
    refine_by &restart(int steps) noexcept {
        options.restart = steps;
        return *this;
    }
    /** Residuals are summed in twice the precision, and x itself becomes accurate. */
    refine_by &twice(bool wanted = true) noexcept {
        options.twice = wanted;
        return *this;
    }
    /** The backward error is that of Oettli and Prager. */
    refine_by &componentwise(bool wanted = true) noexcept {
        options.componentwise = wanted;
        return *this;
    }

    gpusolve_refine_options get() const noexcept {
        return options;
    }
    /** So that every call takes it where it takes the options. */
    operator const gpusolve_refine_options &() const noexcept {
        return options;
    }

  private:
    refine_options options;
};

/** Room in the workspace for refinement with these options: gpusolve_refine_reserve. An empty a: without what A alone knows. */
inline void refine_reserve(handle &with, const factor &of, const matrix &a, const workspace &in,
                           const gpusolve_refine_options &wanted, gpusolve_status &status) noexcept {
    status = gpusolve_refine_reserve(with.get(), of.get(), a.get(), in.get(), &wanted);
}

/** gpusolve_refine_async, in a workspace that has room for it. On CUDA b, x, backward_error and steps are in device memory (blocks
 * by pointer) and must live until the work is done, and so must all objects. backward_error and steps have a number for each
 * column, or are nullptr. */
template <class B, class X>
void refine_async(handle &with, const factor &of, const matrix &a, const workspace &in, const B &b, X &&x,
                  const gpusolve_refine_options &wanted, double *backward_error, int *steps,
                  gpusolve_status &status) noexcept {
    const auto right = detail::as_block(b);
    const auto left = detail::as_solution(x);
    status = gpusolve_refine_async(with.get(), of.get(), a.get(), in.get(), &right.get(), &left.get(),
                                   &wanted, backward_error, steps);
}

#if GPUSOLVE_HPP_THROWS
inline void refine_reserve(handle &with, const factor &of, const matrix &a, const workspace &in,
                           const gpusolve_refine_options &wanted = refine_options()) {
    check(with, gpusolve_refine_reserve(with.get(), of.get(), a.get(), in.get(), &wanted));
}
template <class B, class X>
void refine_async(handle &with, const factor &of, const matrix &a, const workspace &in, const B &b, X &&x,
                  const gpusolve_refine_options &wanted = refine_options(), double *backward_error = nullptr,
                  int *steps = nullptr) {
    gpusolve_status status;
    refine_async(with, of, a, in, b, x, wanted, backward_error, steps, status);
    check(with, status);
}
#endif

} // namespace gpusolve

#endif /* GPUSOLVE_REFINE_HPP */
