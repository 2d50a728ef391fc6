/** @file
 * gpusolve for C++17: the calls of gpusolve.h and gpusolve_selection.h with objects that free what they own, views of
 * containers, and exceptions. Header only; the library itself is C.
 *
 *      gpusolve::handle handle;                                                    the GPU if there is one, else the host
 *      gpusolve::factor factor(handle, gpusolve::supernodal(super, pi, px, s, x)); vectors, arrays or std::span
 *      gpusolve::solve(handle, factor, GPUSOLVE_A, b, solution);                   as often as wanted
 *
 * Objects. handle, factor, workspace, matrix and selection own one C object each. They are moved, not copied. get() is the C
 * object, for calls of the C headers; release() hands it over; the constructor that takes a pointer adopts it. An adapter's
 * objects come in this way:
 *
 *      gpusolve_factor *raw;
 *      gpusolve::check(handle, gpusolve_cholmod_import(handle.get(), L, &raw));
 *      gpusolve::factor factor(raw);
 *
 * Errors. A call that can fail has two forms, as in std::filesystem. Without a gpusolve_status & as its last argument it throws
 * gpusolve::error, whose what() is the sentence of gpusolve_last_error. With one it throws nothing, stores the status there,
 * GPUSOLVE_OK included, and makes an empty object on failure; handle.last_error() has the sentence. Where exceptions are
 * switched off (-fno-exceptions) the first forms do not exist. Only calls that return a vector or a string allocate memory in
 * this header, and so may throw std::bad_alloc in either form.
 *
 * Everything else is as the C headers say it: types, systems, lifetimes, threads, what may be in device memory.
 */
#ifndef GPUSOLVE_HPP
#define GPUSOLVE_HPP

#include "gpusolve_selection.h"
#include "gpusolve_store.h"
#include "gpusolve_views.hpp"

#include <string>
#include <utility>
#include <vector>

#if defined(__cpp_exceptions)
#define GPUSOLVE_HPP_THROWS 1
#include <stdexcept>
#else
#define GPUSOLVE_HPP_THROWS 0
#endif

namespace gpusolve {

/* ----------------------------------------------------------------------------------------------- owner --- */

namespace detail {

/** Owns one C object. */
template <class T, void (*Destroy)(T *)> class owner {
  public:
    owner() noexcept = default;
    explicit owner(T *adopted) noexcept : object(adopted) {}
    owner(owner &&other) noexcept : object(other.release()) {}
    owner &operator=(owner &&other) noexcept {
        reset(other.release());
        return *this;
    }
    owner(const owner &) = delete;
    owner &operator=(const owner &) = delete;
    ~owner() {
        Destroy(object);
    }

    /** The C object; nullptr: none. */
    T *get() const noexcept {
        return object;
    }
    explicit operator bool() const noexcept {
        return object != nullptr;
    }
    /** Hands the C object over: the caller destroys it. */
    T *release() noexcept {
        return std::exchange(object, nullptr);
    }
    /** Destroys what there is, and adopts. */
    void reset(T *adopted = nullptr) noexcept {
        if (adopted != object)
            Destroy(std::exchange(object, adopted));
    }

  protected:
    T *object = nullptr;
};

} // namespace detail

/* --------------------------------------------------------------------------------------------- errors --- */

#if GPUSOLVE_HPP_THROWS
class error : public std::runtime_error {
  public:
    error(gpusolve_status status, const char *text) : std::runtime_error(text), status_(status) {}

    gpusolve_status status() const noexcept {
        return status_;
    }

  private:
    gpusolve_status status_;
};
#endif

/* --------------------------------------------------------------------------------------------- handle --- */

/** One for each thread. */
class handle : public detail::owner<gpusolve_handle, gpusolve_destroy> {
  public:
    explicit handle(gpusolve_handle *adopted) noexcept : owner(adopted) {}
    handle(const gpusolve_options &wanted, gpusolve_status &status) noexcept {
        status = gpusolve_create(&object, &wanted);
    }
#if GPUSOLVE_HPP_THROWS
    handle() : handle(options()) {}
    explicit handle(const gpusolve_options &wanted) {
        const gpusolve_status status = gpusolve_create(&object, &wanted);
        if (status != GPUSOLVE_OK)
            throw error(status, gpusolve_status_message(status));
    }
#endif

    /** HOST or CUDA, never AUTO. */
    gpusolve_backend backend() const noexcept {
        return gpusolve_get_backend(object);
    }
    const char *device_name() const noexcept {
        return gpusolve_get_device_name(object);
    }
    /** The sentence of the last failed call, until the next call. */
    const char *last_error() const noexcept {
        return gpusolve_last_error(object);
    }
    /** stream: a cudaStream_t. */
    void set_stream(void *stream, gpusolve_status &status) noexcept {
        status = gpusolve_set_stream(object, stream);
    }
#if GPUSOLVE_HPP_THROWS
    void set_stream(void *stream);
#endif
};

#if GPUSOLVE_HPP_THROWS
/** Throws if a call of the C headers with this handle has failed. */
inline void check(const handle &handle, gpusolve_status status) {
    if (status == GPUSOLVE_OK)
        return;
    const char *text = handle.last_error();
    throw error(status, text && *text ? text : gpusolve_status_message(status));
}

inline void handle::set_stream(void *stream) {
    check(*this, gpusolve_set_stream(object, stream));
}
#endif

/* --------------------------------------------------------------------------------------------- factor --- */

/** det A = sign exp(logdet). */
struct determinant {
    double logdet = 0, sign = 1;
};

/** Immutable, but for refresh: any number of threads may solve with it, each with a handle of its own. */
class factor : public detail::owner<gpusolve_factor, gpusolve_factor_destroy> {
  public:
    factor() noexcept = default;
    explicit factor(gpusolve_factor *adopted) noexcept : owner(adopted) {}
    factor(handle &with, const gpusolve_factor_data &data, gpusolve_status &status) noexcept {
        status = gpusolve_factor_create(with.get(), &data, &object);
    }
    factor(handle &with, const factor_data &data, gpusolve_status &status) noexcept {
        status = data.fault ? gpusolve_report(with.get(), GPUSOLVE_INVALID_ARGUMENT, data.fault)
                            : gpusolve_factor_create(with.get(), &data, &object);
    }

    /** New numbers on the old pattern. */
    void refresh(handle &with, const gpusolve_factor_data &data, gpusolve_status &status) noexcept {
        status = gpusolve_factor_refresh(with.get(), object, &data);
    }
    void refresh(handle &with, const factor_data &data, gpusolve_status &status) noexcept {
        status = data.fault ? gpusolve_report(with.get(), GPUSOLVE_INVALID_ARGUMENT, data.fault)
                            : gpusolve_factor_refresh(with.get(), object, &data);
    }

    /** Sizes and times; workspace_bytes for max_nrhs columns. */
    gpusolve_info info(handle &with, std::int64_t max_nrhs, gpusolve_status &status) const noexcept {
        gpusolve_info info = {};
        info.size = sizeof info;
        status = gpusolve_factor_info(with.get(), object, max_nrhs, &info);
        return info;
    }

    /** What a solve should cost; bytes_per_s 0: that of the model's machine. */
    gpusolve_cost cost(handle &with, std::int64_t nrhs, double bytes_per_s,
                       gpusolve_status &status) const noexcept {
        gpusolve_cost cost = {};
        cost.size = sizeof cost;
        status = gpusolve_factor_cost(with.get(), object, nrhs, bytes_per_s, &cost);
        return cost;
    }

    /** Of A. */
    gpusolve::determinant determinant(handle &with, gpusolve_status &status) const noexcept {
        gpusolve::determinant answer;
        status = gpusolve_factor_logdet(with.get(), object, &answer.logdet, &answer.sign);
        return answer;
    }

    /** The reciprocal condition number, estimated; norm_1: of A. */
    double rcond(handle &with, double norm_1, gpusolve_status &status) const noexcept {
        double answer = 0;
        status = gpusolve_factor_rcond(with.get(), object, nullptr, nullptr, norm_1, &answer);
        return answer;
    }

    /** To a file, to rounding: gpusolve_store.h. */
    void save(handle &with, const std::string &path, gpusolve_status &status) const noexcept {
        status = gpusolve_factor_save(with.get(), object, path.c_str());
    }
    /** From a file. */
    static factor load(handle &with, const std::string &path, gpusolve_status &status) noexcept {
        factor loaded;
        status = gpusolve_factor_load(with.get(), path.c_str(), &loaded.object);
        return loaded;
    }
    /** The same, mapped; options: nullptr for the defaults. */
    static factor map(handle &with, const std::string &path, const gpusolve_map_options *options,
                      gpusolve_status &status) noexcept {
        factor mapped;
        status = gpusolve_factor_map(with.get(), path.c_str(), options, &mapped.object);
        return mapped;
    }

    /** The plan in words. */
    std::string summary(handle &with, gpusolve_status &status) const {
        std::size_t needed = 0;
        std::string text;
        status = gpusolve_factor_summary(with.get(), object, nullptr, 0, &needed);
        if (status != GPUSOLVE_OK || needed == 0)
            return text;
        text.resize(needed); /* with its NUL */
        status = gpusolve_factor_summary(with.get(), object, text.data(), needed, nullptr);
        text.resize(status == GPUSOLVE_OK ? needed - 1 : 0);
        return text;
    }

#if GPUSOLVE_HPP_THROWS
    template <class Data> factor(handle &with, const Data &data) {
        gpusolve_status status;
        *this = factor(with, data, status);
        check(with, status);
    }
    template <class Data> void refresh(handle &with, const Data &data) {
        gpusolve_status status;
        refresh(with, data, status);
        check(with, status);
    }
    gpusolve_info info(handle &with, std::int64_t max_nrhs = 1) const {
        gpusolve_status status;
        const gpusolve_info answer = info(with, max_nrhs, status);
        check(with, status);
        return answer;
    }
    gpusolve_cost cost(handle &with, std::int64_t nrhs = 1, double bytes_per_s = 0) const {
        gpusolve_status status;
        const gpusolve_cost answer = cost(with, nrhs, bytes_per_s, status);
        check(with, status);
        return answer;
    }
    gpusolve::determinant determinant(handle &with) const {
        gpusolve_status status;
        const gpusolve::determinant answer = determinant(with, status);
        check(with, status);
        return answer;
    }
    void save(handle &with, const std::string &path) const {
        gpusolve_status status;
        save(with, path, status);
        check(with, status);
    }
    static factor load(handle &with, const std::string &path) {
        gpusolve_status status;
        factor loaded = load(with, path, status);
        check(with, status);
        return loaded;
    }
    static factor map(handle &with, const std::string &path, const gpusolve_map_options *options = nullptr) {
        gpusolve_status status;
        factor mapped = map(with, path, options, status);
        check(with, status);
        return mapped;
    }
    double rcond(handle &with, double norm_1) const {
        gpusolve_status status;
        const double answer = rcond(with, norm_1, status);
        check(with, status);
        return answer;
    }
    std::string summary(handle &with) const {
        gpusolve_status status;
        std::string text = summary(with, status);
        check(with, status);
        return text;
    }
#endif
};

/* ---------------------------------------------------------------------- workspace, matrix, selection --- */

/** One for each solve that is under way at the same time; for up to max_nrhs columns. */
class workspace : public detail::owner<gpusolve_workspace, gpusolve_workspace_destroy> {
  public:
    workspace() noexcept = default;
    explicit workspace(gpusolve_workspace *adopted) noexcept : owner(adopted) {}
    workspace(handle &with, const factor &of, std::int64_t max_nrhs, gpusolve_status &status) noexcept {
        status = gpusolve_workspace_create(with.get(), of.get(), max_nrhs, &object);
    }
    /** Whether a solve that has run gave up waiting on the device. */
    void check_solves(handle &with, gpusolve_status &status) noexcept {
        status = gpusolve_workspace_check(with.get(), object);
    }
#if GPUSOLVE_HPP_THROWS
    workspace(handle &with, const factor &of, std::int64_t max_nrhs) {
        check(with, gpusolve_workspace_create(with.get(), of.get(), max_nrhs, &object));
    }
    void check_solves(handle &with) {
        check(with, gpusolve_workspace_check(with.get(), object));
    }
#endif
};

/** A, for refinement. */
class matrix : public detail::owner<gpusolve_matrix, gpusolve_matrix_destroy> {
  public:
    matrix() noexcept = default;
    explicit matrix(gpusolve_matrix *adopted) noexcept : owner(adopted) {}
    matrix(handle &with, const matrix_data &data, gpusolve_status &status) noexcept {
        status = data.fault ? gpusolve_report(with.get(), GPUSOLVE_INVALID_ARGUMENT, data.fault)
                            : gpusolve_matrix_create(with.get(), &data, &object);
    }
#if GPUSOLVE_HPP_THROWS
    matrix(handle &with, const matrix_data &data) {
        gpusolve_status status;
        *this = matrix(with, data, status);
        check(with, status);
    }
#endif
};

/** All rows of b, or of x, in a selection. */
struct all_rows {};

/** Solves with few nonzero rows of b, and for few rows of x. Rows are containers of std::int64_t, or all_rows(). */
class selection : public detail::owner<gpusolve_selection, gpusolve_selection_destroy> {
  public:
    selection() noexcept = default;
    explicit selection(gpusolve_selection *adopted) noexcept : owner(adopted) {}
    template <class B, class X>
    selection(handle &with, const factor &of, gpusolve_system system, const B &b_rows, const X &x_rows,
              std::int64_t max_nrhs, gpusolve_status &status) noexcept {
        status =
            gpusolve_selection_create(with.get(), of.get(), system, count(of, with, b_rows), list(b_rows),
                                      count(of, with, x_rows), list(x_rows), max_nrhs, &object);
    }
#if GPUSOLVE_HPP_THROWS
    template <class B, class X>
    selection(handle &with, const factor &of, gpusolve_system system, const B &b_rows, const X &x_rows,
              std::int64_t max_nrhs) {
        gpusolve_status status;
        *this = selection(with, of, system, b_rows, x_rows, max_nrhs, status);
        check(with, status);
    }
#endif

  private:
    template <class Rows>
    static std::int64_t count(const factor &of, handle &with, const Rows &rows) noexcept {
        if constexpr (std::is_same_v<Rows, all_rows>) {
            gpusolve_status status;
            return of.info(with, 1, status).n;
        } else {
            return detail::length(rows);
        }
    }
    template <class Rows> static const std::int64_t *list(const Rows &rows) noexcept {
        static const std::int64_t none = 0; /* NULL would mean all rows */
        if constexpr (std::is_same_v<Rows, all_rows>)
            return nullptr;
        else
            return std::size(rows) ? std::data(rows) : &none;
    }
};

/* ------------------------------------------------------------------------------------ solve, refine --- */

namespace detail {

/** x is written. */
template <class X> auto as_solution(X &&operand) noexcept {
    const auto block = as_block(operand);
    static_assert(!std::is_const_v<block_element<std::decay_t<decltype(block)>>>,
                  "x is written: it must not be const");
    return block;
}

} // namespace detail

/** x = system \ b. b and x are blocks, or containers of one column each. Without a workspace the handle's own is used. */
template <class B, class X>
void solve(handle &with, const factor &of, const workspace &in, gpusolve_system system, const B &b, X &&x,
           gpusolve_status &status) noexcept {
    const auto right = detail::as_block(b);
    const auto left = detail::as_solution(x);
    status = gpusolve_solve(with.get(), of.get(), in.get(), system, &right.get(), &left.get());
}
template <class B, class X>
void solve(handle &with, const factor &of, gpusolve_system system, const B &b, X &&x,
           gpusolve_status &status) noexcept {
    solve(with, of, workspace(), system, b, x, status);
}

/** What the selection selects: row k of b and x is the k-th row that it was made with. */
template <class B, class X>
void solve(handle &with, const factor &of, selection &selected, const B &b, X &&x,
           gpusolve_status &status) noexcept {
    const auto right = detail::as_block(b);
    const auto left = detail::as_solution(x);
    status = gpusolve_solve_selected(with.get(), of.get(), selected.get(), &right.get(), &left.get());
}

/** What refine returns, a number for each column. */
struct refinement {
    std::vector<double> backward_error;
    std::vector<int> steps; /**< corrections that were kept */
};

/** Iterative refinement against a; x must not be b. */
template <class B, class X>
refinement refine(handle &with, const factor &of, const matrix &a, const workspace &in, const B &b, X &&x,
                  const gpusolve_refine_options &wanted, gpusolve_status &status) {
    const auto right = detail::as_block(b);
    const auto left = detail::as_solution(x);
    const auto count = static_cast<std::size_t>(right.get().cols > 0 ? right.get().cols : 0);
    refinement answer{std::vector<double>(count), std::vector<int>(count)};
    status = gpusolve_refine(with.get(), of.get(), a.get(), in.get(), &right.get(), &left.get(), &wanted,
                             answer.backward_error.data(), answer.steps.data());
    return answer;
}
template <class B, class X>
refinement refine(handle &with, const factor &of, const matrix &a, const B &b, X &&x,
                  const gpusolve_refine_options &wanted, gpusolve_status &status) {
    return refine(with, of, a, workspace(), b, x, wanted, status);
}

#if GPUSOLVE_HPP_THROWS
template <class B, class X>
void solve(handle &with, const factor &of, const workspace &in, gpusolve_system system, const B &b, X &&x) {
    gpusolve_status status;
    solve(with, of, in, system, b, x, status);
    check(with, status);
}
template <class B, class X>
void solve(handle &with, const factor &of, gpusolve_system system, const B &b, X &&x) {
    gpusolve_status status;
    solve(with, of, workspace(), system, b, x, status);
    check(with, status);
}
template <class B, class X>
void solve(handle &with, const factor &of, selection &selected, const B &b, X &&x) {
    gpusolve_status status;
    solve(with, of, selected, b, x, status);
    check(with, status);
}
template <class B, class X>
refinement refine(handle &with, const factor &of, const matrix &a, const workspace &in, const B &b, X &&x,
                  const gpusolve_refine_options &wanted = refine_options()) {
    gpusolve_status status;
    refinement answer = refine(with, of, a, in, b, x, wanted, status);
    check(with, status);
    return answer;
}
template <class B, class X>
refinement refine(handle &with, const factor &of, const matrix &a, const B &b, X &&x,
                  const gpusolve_refine_options &wanted = refine_options()) {
    return refine(with, of, a, workspace(), b, x, wanted);
}
#endif

} // namespace gpusolve

#endif /* GPUSOLVE_HPP */
