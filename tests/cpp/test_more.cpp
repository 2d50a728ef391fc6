// gpusolve_products.hpp and gpusolve_batch.hpp: samples, products, entries of the inverse, batches.
#include "checks.hpp"

#include <gpusolve_batch.hpp>
#include <gpusolve_products.hpp>

#include <array>
#include <cmath>
#include <cstring>

namespace {

// L is bidiagonal: `diagonal` and -1 below, so A = L L' is tridiagonal.
template <class T> struct bidiagonal {
    std::vector<int> start{0}, row;
    std::vector<T> value;

    bidiagonal(int n, double diagonal) {
        for (int j = 0; j < n; ++j) {
            row.push_back(j);
            value.push_back(T(diagonal));
            if (j + 1 < n) {
                row.push_back(j + 1);
                value.push_back(T(-1));
            }
            start.push_back(static_cast<int>(row.size()));
        }
    }
    gpusolve::factor_data data() const {
        return gpusolve::simplicial(GPUSOLVE_SIMPLICIAL_LL, start, row, value);
    }
};

template <class T> std::vector<T> times_l(double diagonal, const std::vector<T> &x) {
    std::vector<T> y(x.size());
    for (std::size_t i = 0; i < x.size(); ++i)
        y[i] = T(diagonal) * x[i] - (i > 0 ? x[i - 1] : T(0));
    return y;
}
template <class T> std::vector<T> times_lt(double diagonal, const std::vector<T> &x) {
    std::vector<T> y(x.size());
    for (std::size_t i = 0; i < x.size(); ++i)
        y[i] = T(diagonal) * x[i] - (i + 1 < x.size() ? x[i + 1] : T(0));
    return y;
}

template <class T> double distance(const std::vector<T> &x, const std::vector<T> &y) {
    double worst = x.size() == y.size() ? 0 : INFINITY;
    for (std::size_t i = 0; i < x.size() && !std::isnan(worst); ++i) {
        const double here = std::abs(x[i] - y[i]);
        worst = here <= worst ? worst : here;
    }
    return worst;
}

template <class T> std::vector<T> numbers(std::size_t count, double from) {
    std::vector<T> x(count);
    for (std::size_t i = 0; i < count; ++i)
        x[i] = T(from + 0.25 * static_cast<double>(i % 7));
    return x;
}

const double rounding = 1e-12;

template <class T> void multiplies(gpusolve::handle &handle) {
    enum { N = 40 };
    const bidiagonal<T> l(N, 2);
    gpusolve_status status = GPUSOLVE_INTERNAL_ERROR;
    const gpusolve::factor factor(handle, l.data(), status);
    CHECK(factor && status == GPUSOLVE_OK);
    const std::vector<T> x = numbers<T>(N, 1);
    std::vector<T> y(N);
    gpusolve::multiply(handle, factor, GPUSOLVE_TIMES_L, x, y, status);
    CHECK(status == GPUSOLVE_OK);
    CHECK_BELOW(distance(y, times_l(2, x)), rounding);
    gpusolve::multiply(handle, factor, GPUSOLVE_TIMES_Lt, x, y, status);
    CHECK(status == GPUSOLVE_OK);
    CHECK_BELOW(distance(y, times_lt(2, x)), rounding);
    std::vector<T> both(x);
    both.insert(both.end(), y.begin(), y.end());
    gpusolve::multiply(handle, factor, GPUSOLVE_TIMES_A, gpusolve::columns(both, 2),
                       gpusolve::columns(both, 2), status);
    CHECK(status == GPUSOLVE_OK);
    const std::vector<T> first(both.begin(), both.begin() + N), second(both.begin() + N, both.end());
    CHECK_BELOW(distance(first, times_l(2, times_lt(2, x))), rounding);
    CHECK_BELOW(distance(second, times_l(2, times_lt(2, y))), rounding);
    gpusolve::multiply(handle, factor, GPUSOLVE_TIMES_A, std::vector<T>(N - 1), y, status);
    CHECK(status == GPUSOLVE_INVALID_ARGUMENT && std::strstr(handle.last_error(), "x->rows"));
}

template <class T> void samples(gpusolve::handle &handle) {
    enum { N = 30, COLUMNS = 4 };
    const bidiagonal<T> l(N, 2);
    gpusolve_status status = GPUSOLVE_INTERNAL_ERROR;
    const gpusolve::factor factor(handle, l.data(), status);
    const gpusolve::workspace workspace(handle, factor, COLUMNS, status);
    std::vector<T> x(N * COLUMNS), one(N);
    const auto block = gpusolve::columns(x, COLUMNS);
    // z = L' x has these x, shifted by the mean
    const std::vector<T> wanted = numbers<T>(N, -1), mean = numbers<T>(N, 5), z = times_lt(2, wanted);
    gpusolve::sample(handle, factor, workspace, one, gpusolve::sample_by().z(z).mean(mean), status);
    CHECK(status == GPUSOLVE_OK);
    for (std::size_t i = 0; i < N; ++i)
        one[i] -= mean[i];
    CHECK_BELOW(distance(one, wanted), rounding);
    gpusolve::sample(handle, factor, block, gpusolve::sample_by().seed(7).first(2), status);
    CHECK(status == GPUSOLVE_OK);
    gpusolve::sample(handle, factor, workspace, one, gpusolve::sample_by().seed(7).first(2), status);
    CHECK(status == GPUSOLVE_OK && distance(one, std::vector<T>(x.begin(), x.begin() + N)) < rounding);
    CHECK(distance(one, std::vector<T>(x.begin() + N, x.begin() + 2 * N)) > 1e-3);
    gpusolve::sample(handle, factor, one, gpusolve::sample_by().mean(z.data(), N - 1), status);
    CHECK(status == GPUSOLVE_INVALID_ARGUMENT && std::strstr(handle.last_error(), "mean: must have as many"));
    gpusolve::sample(handle, factor, one, gpusolve::sample_by().mean(std::array<float, N>()), status);
    CHECK(status == GPUSOLVE_INVALID_ARGUMENT && std::strstr(handle.last_error(), "mean: has another dtype"));
    gpusolve::sample(handle, factor, one, gpusolve::sample_by().first(-1), status);
    CHECK(status == GPUSOLVE_INVALID_ARGUMENT);
}

template <class T> void inverts(gpusolve::handle &handle) {
    const bidiagonal<T> l(2, 2); // A = [4 -2; -2 5], inv(A) = [5 2; 2 4] / 16
    gpusolve_status status = GPUSOLVE_INTERNAL_ERROR;
    const gpusolve::factor factor(handle, l.data(), status);
    const std::vector<double> diagonal = gpusolve::inverse_diagonal(handle, factor, status);
    CHECK(status == GPUSOLVE_OK);
    CHECK_BELOW(distance(diagonal, std::vector<double>{5. / 16, 4. / 16}), rounding);
    const std::vector<std::int64_t> rows{1, 0, 0}, columns{0, 0, 1};
    std::vector<T> values(3);
    gpusolve::inverse_entries(handle, factor, rows, columns, values, status);
    CHECK(status == GPUSOLVE_OK);
    CHECK_BELOW(distance(values, std::vector<T>{T(2. / 16), T(5. / 16), T(2. / 16)}), rounding);
    std::vector<float> other(3);
    gpusolve::inverse_entries(handle, factor, rows, columns, other, status);
    CHECK(status == GPUSOLVE_TYPE_MISMATCH && std::strstr(handle.last_error(), "values"));
    values.pop_back();
    gpusolve::inverse_entries(handle, factor, rows, columns, values, status);
    CHECK(status == GPUSOLVE_INVALID_ARGUMENT && std::strstr(handle.last_error(), "one size"));
    gpusolve::inverse_diagonal(handle, gpusolve::factor(), status);
    CHECK(status == GPUSOLVE_INVALID_ARGUMENT);
}

template <class T> void batches(gpusolve::handle &handle) {
    const std::vector<bidiagonal<T>> l{{20, 2}, {20, 3}, {7, 4}};
    std::vector<gpusolve::factor_data> members;
    std::vector<std::vector<T>> wanted, b, x;
    for (const bidiagonal<T> &own : l) {
        members.push_back(own.data());
        wanted.push_back(numbers<T>(own.start.size() - 1, 2));
        const double d = std::abs(own.value[0]);
        b.push_back(times_l(d, times_lt(d, wanted.back())));
        x.emplace_back(wanted.back().size(), T(9));
    }
    gpusolve_status status = GPUSOLVE_INTERNAL_ERROR;
    gpusolve::batch batch(handle, members, status);
    CHECK(batch && status == GPUSOLVE_OK && batch.as_factor());
    CHECK(batch.size() == 3 && gpusolve::batch().size() == 0);
    CHECK(batch.info(handle, 1, status).n == 47 && status == GPUSOLVE_OK);
    CHECK((batch.offsets(handle, status) == std::vector<std::int64_t>{0, 20, 40, 47}) &&
          status == GPUSOLVE_OK);
    gpusolve::batch_workspace workspace(handle, batch, 2, status);
    CHECK(workspace && status == GPUSOLVE_OK);
    gpusolve::solve(handle, batch, workspace, GPUSOLVE_A, b, x, status);
    CHECK(status == GPUSOLVE_OK);
    for (std::size_t m = 0; m < 3; ++m)
        CHECK_BELOW(distance(x[m], wanted[m]), rounding);
    workspace.check_solves(handle, status);
    CHECK(status == GPUSOLVE_OK);

    // one left out, blocks of several columns
    const std::array<std::uint8_t, 3> active{1, 0, 1};
    std::vector<T> twice(b[0]), two(40, T(9));
    twice.insert(twice.end(), b[0].begin(), b[0].end());
    std::vector<T> one(20, T(9)), last(7, T(9));
    const std::vector<gpusolve::block<const T>> from{gpusolve::columns(std::as_const(twice), 2),
                                                     gpusolve::columns(std::as_const(b[1]), 1),
                                                     gpusolve::columns(std::as_const(b[2]), 1)};
    std::vector<gpusolve::block<T>> to{gpusolve::columns(two, 2), gpusolve::columns(one, 1),
                                       gpusolve::columns(last, 1)};
    gpusolve::solve(handle, batch, workspace, GPUSOLVE_A, from, to, active.data(), status);
    CHECK(status == GPUSOLVE_OK && one == std::vector<T>(20, T(9)));
    CHECK_BELOW(distance(last, wanted[2]), rounding);
    CHECK_BELOW(distance(std::vector<T>(two.begin() + 20, two.end()), wanted[0]), rounding);

    const bidiagonal<T> other(20, 5);
    batch.refresh(handle, 1, std::vector<gpusolve::factor_data>{other.data()}, status);
    CHECK(status == GPUSOLVE_OK);
    b[1] = times_l(5, times_lt(5, wanted[1]));
    gpusolve::solve(handle, batch, workspace, GPUSOLVE_A, b, x, status);
    CHECK(status == GPUSOLVE_OK);
    CHECK_BELOW(distance(x[1], wanted[1]), rounding);

    x.pop_back();
    gpusolve::solve(handle, batch, workspace, GPUSOLVE_A, b, x, status);
    CHECK(status == GPUSOLVE_INVALID_ARGUMENT && std::strstr(handle.last_error(), "for each member"));
    members[1].fault = "it is none";
    gpusolve::batch refused(handle, members, status);
    CHECK(!refused && status == GPUSOLVE_INVALID_ARGUMENT &&
          std::strstr(handle.last_error(), "members[1]: it is none"));
}

template <class T> void strides(gpusolve::handle &handle) {
    const std::vector<bidiagonal<T>> l{{10, 2}, {10, 3}};
    gpusolve_status status = GPUSOLVE_INTERNAL_ERROR;
    const gpusolve::batch batch(handle, std::array<gpusolve_factor_data, 2>{l[0].data(), l[1].data()},
                                status);
    const gpusolve::batch_workspace workspace(handle, batch, 1, status);
    const std::vector<T> wanted = numbers<T>(10, 1);
    std::vector<T> b, x(20);
    for (const double d : {2., 3.}) {
        const std::vector<T> own = times_l(d, times_lt(d, wanted));
        b.insert(b.end(), own.begin(), own.end());
    }
    gpusolve::solve_strided(handle, batch, workspace, GPUSOLVE_A, gpusolve::block<const T>(b.data(), 10), 10,
                            gpusolve::block<T>(x.data(), 10), 10, nullptr, status);
    CHECK(status == GPUSOLVE_OK);
    CHECK_BELOW(distance(std::vector<T>(x.begin(), x.begin() + 10), wanted), rounding);
    CHECK_BELOW(distance(std::vector<T>(x.begin() + 10, x.end()), wanted), rounding);
}

#if GPUSOLVE_HPP_THROWS
void throws_or_works(gpusolve::handle &handle) {
    const bidiagonal<double> l(12, 2);
    const gpusolve::factor factor(handle, l.data());
    std::vector<double> x = numbers<double>(12, 1), y(12), few(11);
    gpusolve::multiply(handle, factor, GPUSOLVE_TIMES_L, x, y);
    CHECK_BELOW(distance(y, times_l(2, x)), rounding);
    gpusolve::sample(handle, factor, y);
    gpusolve::sample(handle, factor, gpusolve::workspace(), x, gpusolve::sample_by());
    CHECK(distance(x, y) < rounding);
    CHECK(gpusolve::inverse_diagonal(handle, factor).size() == 12);
    std::array<double, 1> value{};
    gpusolve::inverse_entries(handle, factor, std::array<std::int64_t, 1>{11},
                              std::array<std::int64_t, 1>{11}, value);
    CHECK(value[0] > 0 && value[0] < 1);
    throws(GPUSOLVE_INVALID_ARGUMENT, [&] { gpusolve::multiply(handle, factor, GPUSOLVE_TIMES_L, few, y); });
    throws(GPUSOLVE_INVALID_ARGUMENT, [&] { gpusolve::sample(handle, factor, few); });
    throws(GPUSOLVE_INVALID_ARGUMENT, [&] { gpusolve::inverse_diagonal(handle, gpusolve::factor()); });
    throws(GPUSOLVE_INVALID_ARGUMENT, [&] {
        gpusolve::inverse_entries(handle, factor, std::array<std::int64_t, 1>{12},
                                  std::array<std::int64_t, 1>{0}, value);
    });

    std::vector<gpusolve::factor_data> members{l.data(), l.data()};
    gpusolve::batch batch(handle, members);
    gpusolve::batch_workspace workspace(handle, batch, 1);
    std::vector<std::vector<double>> b{y, y}, answer{y, y};
    gpusolve::solve(handle, batch, workspace, GPUSOLVE_A, b, answer);
    CHECK(answer[0] == answer[1] && batch.info(handle).count == 2 && batch.offsets(handle).back() == 24);
    gpusolve::solve_strided(handle, batch, workspace, GPUSOLVE_A, y, 0,
                            gpusolve::block<double>(std::vector<double>(24).data(), 12), 12);
    workspace.check_solves(handle);
    batch.refresh(handle, 0, members);
    throws(GPUSOLVE_INVALID_ARGUMENT, [&] { batch.refresh(handle, 1, members); });
    throws(GPUSOLVE_INVALID_ARGUMENT, [&] { gpusolve::batch_workspace(handle, gpusolve::batch(), 1); });
    throws(GPUSOLVE_INVALID_ARGUMENT, [&] { gpusolve::batch().info(handle); });
    b.pop_back();
    throws(GPUSOLVE_INVALID_ARGUMENT,
           [&] { gpusolve::solve(handle, batch, workspace, GPUSOLVE_A, b, answer); });
}
#endif

} // namespace

int main() {
    for (const gpusolve_backend backend : checks_backends()) {
        gpusolve::options options;
        options.backend = backend;
        gpusolve_status status = GPUSOLVE_INTERNAL_ERROR;
        gpusolve::handle handle(options, status);
        CHECK(status == GPUSOLVE_OK && handle.backend() == backend);
        multiplies<double>(handle);
        multiplies<std::complex<double>>(handle);
        samples<double>(handle);
        samples<std::complex<double>>(handle);
        inverts<double>(handle);
        inverts<std::complex<double>>(handle);
        batches<double>(handle);
        batches<std::complex<double>>(handle);
        strides<double>(handle);
        strides<std::complex<double>>(handle);
#if GPUSOLVE_HPP_THROWS
        throws_or_works(handle);
#endif
    }
    return checks_done("test_more");
}
