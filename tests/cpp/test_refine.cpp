// gpusolve_refine.hpp: the options by name, each method, room made beforehand, and refinement that does not wait.
#include "checks.hpp"

#include <gpusolve_refine.hpp>

#include <cmath>
#include <cstring>

namespace {

enum { N = 60, COLUMNS = 3 };

// A is tridiagonal, 2.5 on the diagonal and -1 below; i below where numbers are complex.
template <class T> T below() {
    if constexpr (std::is_floating_point_v<T>)
        return T(-1);
    else
        return T(0, 1);
}
template <class T> T conjugate(T value) {
    if constexpr (std::is_floating_point_v<T>)
        return value;
    else
        return std::conj(value);
}

template <class T> struct by_columns { // the diagonal first
    std::vector<int> start{0}, row;
    std::vector<T> value;

    void add(int j, T diagonal, T under) {
        row.push_back(j);
        value.push_back(diagonal);
        if (j < N - 1) {
            row.push_back(j + 1);
            value.push_back(under);
        }
        start.push_back(static_cast<int>(row.size()));
    }
};

template <class T> by_columns<T> lower_of_a() {
    by_columns<T> a;
    for (int j = 0; j < N; ++j)
        a.add(j, T(2.5), below<T>());
    return a;
}

// Of a matrix near A, whose diagonal is larger by the shift.
template <class T> by_columns<T> factor_of_a(double shift) {
    by_columns<T> l;
    double left = 0; // the square of the entry left of the diagonal
    for (int j = 0; j < N; ++j) {
        const double diagonal = std::sqrt(2.5 + shift - left);
        l.add(j, T(diagonal), below<T>() / T(diagonal));
        left = 1 / (diagonal * diagonal);
    }
    return l;
}

template <class T> std::vector<T> times_a(const std::vector<T> &x) {
    std::vector<T> b(x.size());
    for (std::size_t i = 0; i < x.size(); ++i) {
        b[i] = T(2.5) * x[i];
        if (i % N > 0)
            b[i] += below<T>() * x[i - 1];
        if (i % N < N - 1)
            b[i] += conjugate(below<T>()) * x[i + 1];
    }
    return b;
}

template <class T> double distance(const std::vector<T> &x, const std::vector<T> &y) {
    double worst = x.size() == y.size() ? 0 : INFINITY;
    for (std::size_t i = 0; i < x.size() && !std::isnan(worst); ++i) {
        const double here = std::abs(x[i] - y[i]);
        worst = here <= worst ? worst : here;
    }
    return worst;
}

template <class T> struct system_of {
    gpusolve_status status = GPUSOLVE_INTERNAL_ERROR;
    const by_columns<T> l, a = lower_of_a<T>();
    const gpusolve::factor factor;
    const gpusolve::matrix matrix;
    std::vector<T> wanted = std::vector<T>(N * COLUMNS), b;

    system_of(gpusolve::handle &handle, double shift)
        : l(factor_of_a<T>(shift)),
          factor(handle, gpusolve::simplicial(GPUSOLVE_SIMPLICIAL_LL, l.start, l.row, l.value), status),
          matrix(handle, gpusolve::csc(GPUSOLVE_LOWER, a.start, a.row, a.value), status) {
        CHECK(factor && matrix && status == GPUSOLVE_OK);
        for (std::size_t i = 0; i < wanted.size(); ++i)
            wanted[i] = T(1 + 0.125 * static_cast<double>(i % 11));
        b = times_a(wanted);
    }
};

void names_options() {
    const gpusolve_refine_options defaults = GPUSOLVE_REFINE_OPTIONS_INIT;
    const gpusolve_refine_options plain = gpusolve::refine_by().get();
    CHECK(plain.size == defaults.size && plain.method == defaults.method &&
          plain.max_steps == defaults.max_steps && plain.solve_first == 1 &&
          plain.restart == defaults.restart && plain.min_gain == defaults.min_gain &&
          plain.tolerance == defaults.tolerance && plain.twice == 0 && plain.componentwise == 0);
    const gpusolve::refine_by how = gpusolve::refine_by(GPUSOLVE_REFINE_FGMRES)
                                        .max_steps(7)
                                        .tolerance(1e-9)
                                        .min_gain(3)
                                        .solve_first(false)
                                        .restart(5)
                                        .twice()
                                        .componentwise();
    const gpusolve_refine_options &o = how;
    CHECK(how.get().size == sizeof o && o.size == sizeof o && o.method == GPUSOLVE_REFINE_FGMRES &&
          o.max_steps == 7);
    CHECK(o.tolerance == 1e-9 && o.min_gain == 3 && o.solve_first == 0 && o.restart == 5);
    CHECK(o.twice == 1 && o.componentwise == 1);
    CHECK(gpusolve::refine_by(how).twice(false).componentwise(false).solve_first(true).get().solve_first ==
          1);
}

// With the factor of another matrix each method comes to A's own x.
template <class T> void refines(gpusolve::handle &handle) {
    const system_of<T> s(handle, 0.05);
    gpusolve_status status = GPUSOLVE_INTERNAL_ERROR;
    for (const gpusolve_refine_method method : {GPUSOLVE_REFINE_RICHARDSON, GPUSOLVE_REFINE_CG,
                                                GPUSOLVE_REFINE_FGMRES, GPUSOLVE_REFINE_AUTOMATIC}) {
        std::vector<T> x(s.b.size());
        const gpusolve::refinement answer = gpusolve::refine(
            handle, s.factor, s.matrix, gpusolve::columns(s.b, COLUMNS), gpusolve::columns(x, COLUMNS),
            gpusolve::refine_by(method).max_steps(40), status);
        CHECK(status == GPUSOLVE_OK);
        for (std::size_t j = 0; j < COLUMNS; ++j) {
            CHECK_BELOW(answer.backward_error[j], 4e-16);
            CHECK(answer.steps[j] > 1 && answer.steps[j] <= 40);
        }
        CHECK_BELOW(distance(x, s.wanted), 1e-13);
    }
}

// Room first. On the host the bits are those of the call that waits; on a device host memory is refused.
template <class T> void does_not_wait(gpusolve::handle &handle) {
    const system_of<T> s(handle, 0.05);
    gpusolve_status status = GPUSOLVE_INTERNAL_ERROR;
    const gpusolve::workspace workspace(handle, s.factor, COLUMNS, status);
    const gpusolve::refine_by how = gpusolve::refine_by(GPUSOLVE_REFINE_CG).max_steps(12);
    std::vector<T> x(s.b.size()), same(s.b.size());
    std::vector<double> errors(COLUMNS, -1);
    std::vector<int> steps(COLUMNS, -1);
    const auto b = gpusolve::columns(s.b, COLUMNS);
    gpusolve::refine_reserve(handle, s.factor, gpusolve::matrix(), workspace, how, status);
    CHECK(status == GPUSOLVE_OK);
    gpusolve::refine_reserve(handle, s.factor, s.matrix, workspace, how, status);
    CHECK(status == GPUSOLVE_OK);
    gpusolve::refine_async(handle, s.factor, s.matrix, workspace, b, gpusolve::columns(x, COLUMNS), how,
                           errors.data(), steps.data(), status);
    if (handle.backend() == GPUSOLVE_BACKEND_CUDA) {
        CHECK(status == GPUSOLVE_INVALID_ARGUMENT &&
              std::strstr(handle.last_error(), "b->values: is in host memory"));
        return;
    }
    CHECK(status == GPUSOLVE_OK);
    const gpusolve::refinement answer = gpusolve::refine(handle, s.factor, s.matrix, workspace, b,
                                                         gpusolve::columns(same, COLUMNS), how, status);
    CHECK(status == GPUSOLVE_OK && answer.backward_error == errors && answer.steps == steps);
    CHECK(std::memcmp(x.data(), same.data(), x.size() * sizeof x[0]) == 0);
    CHECK_BELOW(distance(x, s.wanted), 1e-13);
    // one column by itself, and nobody asks for errors
    std::vector<T> one(N), of_b(s.b.begin(), s.b.begin() + N);
    gpusolve::refine_async(handle, s.factor, s.matrix, workspace, of_b, one, how, nullptr, nullptr, status);
    CHECK(status == GPUSOLVE_OK && std::memcmp(one.data(), x.data(), N * sizeof one[0]) == 0);
}

void refuses(gpusolve::handle &handle) {
    const system_of<double> s(handle, 0);
    gpusolve_status status = GPUSOLVE_OK;
    std::vector<double> x(N), b(N, 1);
    const gpusolve::workspace workspace(handle, s.factor, 1, status);
    gpusolve::refine_reserve(handle, s.factor, s.matrix, workspace, gpusolve::refine_by().max_steps(-1),
                             status);
    CHECK(status == GPUSOLVE_INVALID_ARGUMENT &&
          std::strstr(handle.last_error(), "options->max_steps: is -1"));
    gpusolve::refine_reserve(handle, s.factor, s.matrix, gpusolve::workspace(), gpusolve::refine_by(),
                             status);
    CHECK(status == GPUSOLVE_INVALID_ARGUMENT && std::strstr(handle.last_error(), "workspace"));
    gpusolve::refine_async(handle, s.factor, gpusolve::matrix(), workspace, b, x, gpusolve::refine_by(),
                           nullptr, nullptr, status);
    CHECK(status == GPUSOLVE_INVALID_ARGUMENT && std::strstr(handle.last_error(), "matrix"));
}

#if GPUSOLVE_HPP_THROWS
void throws_or_works(gpusolve::handle &handle) {
    const system_of<double> s(handle, 0);
    std::vector<double> x(N), b(s.b.begin(), s.b.begin() + N);
    const gpusolve::workspace workspace(handle, s.factor, 1);
    gpusolve::refine_reserve(handle, s.factor, s.matrix, workspace);
    gpusolve::refine_reserve(handle, s.factor, s.matrix, workspace,
                             gpusolve::refine_by(GPUSOLVE_REFINE_FGMRES));
    const auto refine = [&] { gpusolve::refine_async(handle, s.factor, s.matrix, workspace, b, x); };
    if (handle.backend() == GPUSOLVE_BACKEND_CUDA) {
        throws(GPUSOLVE_INVALID_ARGUMENT, refine);
    } else {
        refine();
        CHECK_BELOW(distance(x, std::vector<double>(s.wanted.begin(), s.wanted.begin() + N)), 1e-13);
    }
    throws(GPUSOLVE_INVALID_ARGUMENT,
           [&] { gpusolve::refine_reserve(handle, s.factor, s.matrix, gpusolve::workspace()); });
    throws(GPUSOLVE_INVALID_ARGUMENT, [&] {
        gpusolve::refine_async(handle, s.factor, s.matrix, workspace, b, x, gpusolve::refine_by().restart(0));
    });
}
#endif

} // namespace

int main() {
    names_options();
    for (const gpusolve_backend backend : checks_backends()) {
        gpusolve::options options;
        options.backend = backend;
        gpusolve_status status = GPUSOLVE_INTERNAL_ERROR;
        gpusolve::handle handle(options, status);
        CHECK(status == GPUSOLVE_OK && handle.backend() == backend);
        refines<double>(handle);
        refines<std::complex<double>>(handle);
        does_not_wait<double>(handle);
        does_not_wait<std::complex<double>>(handle);
        refuses(handle);
#if GPUSOLVE_HPP_THROWS
        throws_or_works(handle);
#endif
    }
    return checks_done("test_refine");
}
