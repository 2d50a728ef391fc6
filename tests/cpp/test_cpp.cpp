// gpusolve.hpp: with exceptions, and without (-fno-exceptions), where the calls with a status are all there is.
#include "checks.hpp"

#include <gpusolve.hpp>

#include <array>
#include <cmath>
#include <cstring>
#include <filesystem>
#if __cplusplus >= 202002L
#include <span>
#endif
#include <unistd.h>

int solve_elsewhere(gpusolve::handle &handle, const gpusolve::factor &factor,
                    std::vector<double> &x); // other.cpp

namespace {

// Supernodes {0 1}, {2}, {3 4}; x[4] and x[12] stand above a diagonal.
enum { N = 5 };
const std::vector<std::int32_t> super{0, 2, 3, 5}, pi{0, 4, 6, 8}, px{0, 8, 10, 14},
    s{0, 1, 3, 4, 2, 3, 3, 4}, perm{2, 0, 4, 1, 3};
const double panels[14] = {2, 0.5, -1, 0.25, NAN, 3, 0.125, -0.5, 4, 1, 5, -2, NAN, 6};
// The same by columns.
const std::array<std::int64_t, N + 1> p{0, 4, 7, 9, 11, 12};
const std::array<std::int64_t, 12> rows_of{0, 1, 3, 4, 1, 3, 4, 2, 3, 3, 4, 4};
const double columns_of[12] = {2, 0.5, -1, 0.25, 3, 0.125, -0.5, 4, 1, 5, -2, 6};

std::vector<double> dense_l() {
    std::vector<double> l(N * N);
    for (std::size_t j = 0; j < N; ++j)
        for (auto k = static_cast<std::size_t>(p[j]); k < static_cast<std::size_t>(p[j + 1]); ++k)
            l[static_cast<std::size_t>(rows_of[k]) + N * j] = columns_of[k];
    return l;
}

// A with P A P' = L L', by columns; with a permutation or without.
std::vector<double> dense_a(bool permuted) {
    const std::vector<double> l = dense_l();
    std::vector<double> a(N * N);
    for (std::size_t i = 0; i < N; ++i)
        for (std::size_t j = 0; j < N; ++j)
            for (std::size_t k = 0; k < N; ++k) {
                const std::size_t row = permuted ? static_cast<std::size_t>(perm[i]) : i;
                const std::size_t column = permuted ? static_cast<std::size_t>(perm[j]) : j;
                a[row + N * column] += l[i + N * k] * l[j + N * k];
            }
    return a;
}

// A number of any type.
template <class T> T number(double value) {
    if constexpr (std::is_floating_point_v<T>)
        return static_cast<T>(value);
    else
        return T(static_cast<typename T::value_type>(value));
}

template <class T> std::vector<T> times(const std::vector<double> &a, const std::vector<T> &x) {
    std::vector<T> b(x.size());
    for (std::size_t c = 0; c < x.size() / N; ++c)
        for (std::size_t i = 0; i < N; ++i)
            for (std::size_t k = 0; k < N; ++k)
                b[i + N * c] += number<T>(a[i + N * k]) * x[k + N * c];
    return b;
}

template <class T> double distance(const std::vector<T> &x, const std::vector<T> &y) {
    double worst = x.size() == y.size() ? 0 : INFINITY;
    for (std::size_t i = 0; i < x.size() && !std::isnan(worst); ++i) {
        const double here = static_cast<double>(std::abs(x[i] - y[i]));
        worst = here <= worst ? worst : here;
    }
    return worst;
}

template <class T> std::vector<T> numbers(std::size_t columns) {
    std::vector<T> x(N * columns);
    for (std::size_t i = 0; i < x.size(); ++i)
        x[i] = number<T>(1 + 0.25 * static_cast<double>(i % 7));
    return x;
}

// Objects own; they are moved and not copied.
template <class Object> constexpr bool owns() {
    return !std::is_copy_constructible_v<Object> && !std::is_copy_assignable_v<Object> &&
           std::is_nothrow_move_constructible_v<Object> && std::is_nothrow_move_assignable_v<Object>;
}
static_assert(owns<gpusolve::handle>() && owns<gpusolve::factor>() && owns<gpusolve::workspace>());
static_assert(owns<gpusolve::matrix>() && owns<gpusolve::selection>());
static_assert(std::is_convertible_v<gpusolve::block<double>, gpusolve::block<const double>>);
static_assert(!std::is_convertible_v<gpusolve::block<const double>, gpusolve::block<double>>);

void owns_objects(gpusolve::handle &handle) {
    gpusolve_status status = GPUSOLVE_INTERNAL_ERROR;
    gpusolve::factor factor(handle, gpusolve::supernodal(super, pi, px, s, panels, perm), status);
    CHECK(status == GPUSOLVE_OK && factor && factor.get());
    gpusolve_factor *object = factor.get();
    gpusolve::factor other(std::move(factor));
    CHECK(other.get() == object && !factor);
    factor = std::move(other);
    CHECK(factor.get() == object && !other);
    factor = gpusolve::factor(factor.release());
    CHECK(factor.get() == object);
    factor.reset(factor.get());
    CHECK(factor.get() == object);
    factor.reset();
    CHECK(!factor);
    gpusolve::handle adopted(nullptr);
    CHECK(!adopted && adopted.backend() == GPUSOLVE_BACKEND_HOST);
}

void solves(gpusolve::handle &handle) {
    gpusolve_status status = GPUSOLVE_INTERNAL_ERROR;
    const gpusolve::factor factor(handle, gpusolve::supernodal(super, pi, px, s, panels, perm), status);
    const std::vector<double> a = dense_a(true);
    const std::vector<double> wanted = numbers<double>(1), b = times(a, wanted);
    std::vector<double> x(N);
    gpusolve::solve(handle, factor, GPUSOLVE_A, b, x, status);
    CHECK(status == GPUSOLVE_OK);
    CHECK_BELOW(distance(x, wanted), 1e-13);
    x = b;
    gpusolve::solve(handle, factor, GPUSOLVE_A, x, x, status); // in place
    CHECK(status == GPUSOLVE_OK);
    CHECK_BELOW(distance(x, wanted), 1e-13);
    CHECK(solve_elsewhere(handle, factor, x) == 0);

    // an array in, a part of another one out
    double in[N], out[N + 2] = {7, 0, 0, 0, 0, 0, 7};
    std::copy(b.begin(), b.end(), in);
    gpusolve::solve(handle, factor, GPUSOLVE_A, in, gpusolve::block<double>(out + 1, N), status);
    CHECK(status == GPUSOLVE_OK && out[0] == 7 && out[N + 1] == 7);
    CHECK_BELOW(distance(std::vector<double>(out + 1, out + 1 + N), wanted), 1e-13);
#if __cplusplus >= 202002L
    std::vector<double> spanned(N);
    gpusolve::solve(handle, factor, GPUSOLVE_A, std::span<const double>(b), std::span<double>(spanned),
                    status);
    CHECK(status == GPUSOLVE_OK);
    CHECK_BELOW(distance(spanned, wanted), 1e-13);
    const std::span<const std::int32_t> super_span(super);
    const gpusolve::factor by_span(handle, gpusolve::supernodal(super_span, pi, px, s, std::span(panels)),
                                   status);
    CHECK(status == GPUSOLVE_OK);
#endif

    // many columns, by columns with a workspace and by rows
    const std::vector<double> several = numbers<double>(3), right = times(a, several);
    std::vector<double> left(right.size()), by_rows(right.size());
    const gpusolve::workspace workspace(handle, factor, 3, status);
    CHECK(status == GPUSOLVE_OK && workspace);
    gpusolve::solve(handle, factor, workspace, GPUSOLVE_A, gpusolve::columns(right, 3),
                    gpusolve::columns(left, 3), status);
    CHECK(status == GPUSOLVE_OK);
    CHECK_BELOW(distance(left, several), 1e-13);
    for (std::size_t i = 0; i < N; ++i)
        for (std::size_t j = 0; j < 3; ++j)
            by_rows[3 * i + j] = right[i + N * j];
    gpusolve::solve(handle, factor, GPUSOLVE_A, gpusolve::rows(by_rows, 3), gpusolve::rows(by_rows, 3),
                    status);
    CHECK(status == GPUSOLVE_OK);
    for (std::size_t i = 0; i < N; ++i)
        for (std::size_t j = 0; j < 3; ++j)
            CHECK_BELOW(std::abs(by_rows[3 * i + j] - several[i + N * j]), 1e-13);

    // a system that is a part: L
    const std::vector<double> inner = times(dense_l(), wanted);
    gpusolve::solve(handle, factor, GPUSOLVE_L, inner, x, status);
    CHECK(status == GPUSOLVE_OK);
    CHECK_BELOW(distance(x, wanted), 1e-14);
}

// Every type of numbers and of indices, supernodal and by columns.
template <class T> void solves_in(gpusolve::handle &handle, double limit) {
    gpusolve_status status = GPUSOLVE_INTERNAL_ERROR;
    std::vector<T> values, by_column;
    for (double value : panels)
        values.push_back(number<T>(value));
    for (double value : columns_of)
        by_column.push_back(number<T>(value));
    const gpusolve::factor supernodal(handle, gpusolve::supernodal(super, pi, px, s, values), status);
    CHECK(status == GPUSOLVE_OK && supernodal.info(handle, 1, status).dtype == gpusolve::dtype_of<T>::value);
    const gpusolve::factor simplicial(
        handle, gpusolve::simplicial(GPUSOLVE_SIMPLICIAL_LL, p, rows_of, by_column), status);
    CHECK(status == GPUSOLVE_OK);
    const std::vector<T> wanted = numbers<T>(1), b = times(dense_a(false), wanted);
    for (const gpusolve::factor *factor : {&supernodal, &simplicial}) {
        std::vector<T> x(N);
        gpusolve::solve(handle, *factor, GPUSOLVE_A, b, x, status);
        CHECK(status == GPUSOLVE_OK);
        CHECK_BELOW(distance(x, wanted), limit);
    }
}

void refines_and_selects(gpusolve::handle &handle) {
    gpusolve_status status = GPUSOLVE_INTERNAL_ERROR;
    gpusolve::factor factor(handle, gpusolve::supernodal(super, pi, px, s, panels, perm), status);
    const std::vector<double> a = dense_a(true), wanted = numbers<double>(2), b = times(a, wanted);
    std::vector<int> ptr{0, 5, 10, 15, 20, 25}, index;
    for (int k = 0; k < N * N; ++k)
        index.push_back(k % N);
    const gpusolve::matrix matrix(handle, gpusolve::csc(GPUSOLVE_FULL, ptr, index, a), status);
    CHECK(status == GPUSOLVE_OK && matrix);
    std::vector<double> x(b.size());
    gpusolve::refinement answer =
        gpusolve::refine(handle, factor, matrix, gpusolve::columns(b, 2), gpusolve::columns(x, 2),
                         gpusolve::refine_options(), status);
    CHECK(status == GPUSOLVE_OK && answer.backward_error.size() == 2 && answer.steps.size() == 2);
    CHECK_BELOW(answer.backward_error[0], 3e-16);
    CHECK_BELOW(answer.backward_error[1], 3e-16);
    CHECK_BELOW(distance(x, wanted), 1e-13);

    // rows 3 and 1 of x for a b in row 2 alone
    std::vector<double> unit(N), whole(N);
    unit[2] = 2;
    gpusolve::solve(handle, factor, GPUSOLVE_A, unit, whole, status);
    const std::array<std::int64_t, 1> from{2};
    const std::vector<std::int64_t> to{3, 1};
    gpusolve::selection selection(handle, factor, GPUSOLVE_A, from, to, 1, status);
    CHECK(status == GPUSOLVE_OK && selection);
    const double two[1] = {2};
    std::vector<double> part(2);
    gpusolve::solve(handle, factor, selection, two, part, status);
    CHECK(status == GPUSOLVE_OK);
    CHECK_BELOW(distance(part, {whole[3], whole[1]}), 1e-15);
    gpusolve::selection all(handle, factor, GPUSOLVE_A, gpusolve::all_rows(), to, 1, status);
    CHECK(status == GPUSOLVE_OK);
    gpusolve::solve(handle, factor, all, unit, part, status);
    CHECK(status == GPUSOLVE_OK);
    CHECK_BELOW(distance(part, {whole[3], whole[1]}), 1e-15);
    std::vector<double> nothing; // no row of x is wanted
    gpusolve::selection none(handle, factor, GPUSOLVE_A, from, std::vector<std::int64_t>(), 1, status);
    if (status == GPUSOLVE_OK)
        gpusolve::solve(handle, factor, none, two, nothing, status);

    // new numbers: twice L, a quarter of x
    std::vector<double> doubled;
    for (double value : panels)
        doubled.push_back(2 * value);
    factor.refresh(handle, gpusolve::supernodal(super, pi, px, s, doubled, perm), status);
    CHECK(status == GPUSOLVE_OK);
    std::vector<double> quarter(N);
    gpusolve::solve(handle, factor, GPUSOLVE_A, unit, quarter, status);
    for (double &value : quarter)
        value *= 4;
    CHECK_BELOW(distance(quarter, whole), 1e-15);
}

void says_what_it_is(gpusolve::handle &handle) {
    gpusolve_status status = GPUSOLVE_INTERNAL_ERROR;
    const gpusolve::factor factor(handle, gpusolve::supernodal(super, pi, px, s, panels), status);
    CHECK(factor.info(handle, 4, status).max_nrhs == 4 && status == GPUSOLVE_OK);
    CHECK(factor.cost(handle, 2, 1e9, status).nrhs == 2 && status == GPUSOLVE_OK);
    const std::string text = factor.summary(handle, status);
    CHECK(status == GPUSOLVE_OK && text.find("n = 5, double") != std::string::npos &&
          text.size() == std::strlen(text.c_str()));
    CHECK(std::strlen(handle.device_name()) > 0);
    handle.set_stream(nullptr, status);
    CHECK(status == GPUSOLVE_OK);
}

// Refused: an empty object, the status, the sentence.
template <class Data> void refuses_data(gpusolve::handle &handle, const Data &data, const char *said) {
    gpusolve_status status = GPUSOLVE_OK;
    gpusolve::factor factor(handle, data, status);
    CHECK(status != GPUSOLVE_OK && !factor);
    CHECK(std::strstr(handle.last_error(), said) != nullptr);
#if GPUSOLVE_HPP_THROWS
    gpusolve_status thrown = GPUSOLVE_OK;
    try {
        gpusolve::factor another(handle, data);
    } catch (const gpusolve::error &error) {
        thrown = error.status();
        CHECK(std::strstr(error.what(), said) != nullptr);
    }
    CHECK(thrown == status);
#endif
}

std::filesystem::path file_of_this_process() {
    return std::filesystem::temp_directory_path() / ("gpusolve-cpp-" + std::to_string(getpid()));
}

// A factor through a file solves as it did.
void saves(gpusolve::handle &handle) {
    gpusolve_status status;
    const gpusolve::factor factor(handle, gpusolve::supernodal(super, pi, px, s, panels, perm), status);
    CHECK(status == GPUSOLVE_OK);
    const std::string file = file_of_this_process().string();
    const std::vector<double> wanted = numbers<double>(1), b = times(dense_a(true), wanted);
    std::vector<double> x(N);
    factor.save(handle, file, status);
    CHECK(status == GPUSOLVE_OK);
    gpusolve_map_options unverified = GPUSOLVE_MAP_OPTIONS_INIT;
    unverified.verify = 0;
    for (int way = 0; way < 3; way++) {
        const gpusolve::factor again =
            way == 0 ? gpusolve::factor::load(handle, file, status)
                     : gpusolve::factor::map(handle, file, way == 1 ? nullptr : &unverified, status);
        CHECK(status == GPUSOLVE_OK);
        x.assign(N, 0);
        gpusolve::solve(handle, again, GPUSOLVE_A, b, x, status);
        CHECK(status == GPUSOLVE_OK);
        CHECK_BELOW(distance(x, wanted), 1e-13);
    }
    std::filesystem::remove(file);
    CHECK(!gpusolve::factor::load(handle, file, status) && status == GPUSOLVE_FILE_ERROR);
    CHECK(!gpusolve::factor::map(handle, file, nullptr, status) && status == GPUSOLVE_FILE_ERROR);
    factor.save(handle, file + "/none", status);
    CHECK(status == GPUSOLVE_FILE_ERROR);
}

void refuses(gpusolve::handle &handle) {
    const std::vector<std::int32_t> empty, four{0, 1, 2, 3};
    refuses_data(handle, gpusolve::supernodal(empty, pi, px, s, panels),
                 "super, pi and px: must have one entry more");
    refuses_data(handle, gpusolve::supernodal(super, pi, std::vector<std::int32_t>{0, 8}, s, panels),
                 "super, pi and px");
    refuses_data(handle, gpusolve::supernodal(super, pi, px, s, panels, four),
                 "perm: must have as many entries");
    refuses_data(handle, gpusolve::simplicial(GPUSOLVE_SIMPLICIAL_LL, empty, four, panels),
                 "p: must have one entry more");
    refuses_data(handle, gpusolve::simplicial(GPUSOLVE_SIMPLICIAL_LL, four, four, panels),
                 "i: must have as many");
    const double short_x[3] = {2, 1, 1};
    refuses_data(handle, gpusolve::supernodal(super, pi, px, s, short_x), "xsize");
    gpusolve_factor_data raw = gpusolve::supernodal(super, pi, px, s, panels);
    raw.minor = 1;
    refuses_data(handle, raw, "not positive definite");

    gpusolve_status status = GPUSOLVE_OK;
    const gpusolve::matrix matrix(handle, gpusolve::csc(GPUSOLVE_LOWER, super, four, short_x), status);
    CHECK(status == GPUSOLVE_INVALID_ARGUMENT && !matrix && std::strstr(handle.last_error(), "index and x"));
    const gpusolve::factor factor(handle, gpusolve::supernodal(super, pi, px, s, panels), status);
    std::vector<double> b(N), x(N - 1), seven(7);
    gpusolve::solve(handle, factor, GPUSOLVE_A, b, x, status);
    CHECK(status == GPUSOLVE_INVALID_ARGUMENT);
    gpusolve::solve(handle, factor, GPUSOLVE_A, gpusolve::columns(seven, 2), gpusolve::columns(seven, 2),
                    status);
    CHECK(status == GPUSOLVE_INVALID_ARGUMENT);
    std::vector<float> single(N);
    gpusolve::solve(handle, factor, GPUSOLVE_A, single, single, status);
    CHECK(status == GPUSOLVE_TYPE_MISMATCH);
    const gpusolve::workspace workspace(handle, factor, 0, status);
    CHECK(status == GPUSOLVE_INVALID_ARGUMENT && !workspace);
    gpusolve::options wrong;
    wrong.threads = -1;
    const gpusolve::handle none(wrong, status);
    CHECK(status == GPUSOLVE_INVALID_ARGUMENT && !none);
}

#if GPUSOLVE_HPP_THROWS
// The same in the form that throws.
void throws_or_works(const gpusolve::options &options) {
    gpusolve::handle handle(options);
    gpusolve::factor factor(handle, gpusolve::supernodal(super, pi, px, s, panels, perm));
    const std::vector<double> a = dense_a(true), wanted = numbers<double>(1), b = times(a, wanted);
    std::vector<double> x(N);
    gpusolve::solve(handle, factor, GPUSOLVE_A, b, x);
    CHECK_BELOW(distance(x, wanted), 1e-13);
    gpusolve::workspace workspace(handle, factor, 1);
    x.assign(N, 0);
    gpusolve::solve(handle, factor, workspace, GPUSOLVE_A, b, x);
    CHECK_BELOW(distance(x, wanted), 1e-13);
    workspace.check_solves(handle);
    const std::vector<std::int64_t> rows{4};
    gpusolve::selection selection(handle, factor, GPUSOLVE_A, gpusolve::all_rows(), rows, 1);
    double last[1];
    gpusolve::solve(handle, factor, selection, b, last);
    CHECK_BELOW(std::abs(last[0] - wanted[4]), 1e-13);
    const std::vector<int> ptr{0, 5, 10, 15, 20, 25},
        index{0, 1, 2, 3, 4, 0, 1, 2, 3, 4, 0, 1, 2, 3, 4, 0, 1, 2, 3, 4, 0, 1, 2, 3, 4};
    const gpusolve::matrix matrix(handle, gpusolve::csc(GPUSOLVE_UPPER, ptr, index, a));
    CHECK_BELOW(gpusolve::refine(handle, factor, matrix, b, x).backward_error[0], 3e-16);
    CHECK_BELOW(gpusolve::refine(handle, factor, matrix, workspace, b, x).backward_error[0], 3e-16);
    factor.refresh(handle, gpusolve::supernodal(super, pi, px, s, panels, perm));
    CHECK(factor.determinant(handle).sign == 1 && std::isfinite(factor.determinant(handle).logdet));
    CHECK(factor.rcond(handle, 1) > 0);
    throws(GPUSOLVE_INVALID_ARGUMENT, [&] { factor.rcond(handle, -1); });
    throws(GPUSOLVE_INVALID_ARGUMENT, [&] { gpusolve::factor().determinant(handle); });
    const std::string file = file_of_this_process().string();
    factor.save(handle, file);
    CHECK(gpusolve::factor::load(handle, file) && gpusolve::factor::map(handle, file));
    std::filesystem::remove(file);
    throws(GPUSOLVE_FILE_ERROR, [&] { gpusolve::factor::load(handle, file); });
    throws(GPUSOLVE_FILE_ERROR, [&] { gpusolve::factor::map(handle, file); });
    throws(GPUSOLVE_FILE_ERROR, [&] { factor.save(handle, file + "/none"); });
    CHECK(factor.info(handle).n == N && factor.cost(handle).nrhs == 1 && !factor.summary(handle).empty());
    handle.set_stream(nullptr);
    gpusolve::check(handle, GPUSOLVE_OK);

    throws(GPUSOLVE_INVALID_ARGUMENT, [&] { gpusolve::workspace(handle, factor, 0); });
    throws(GPUSOLVE_TYPE_MISMATCH, [&] {
        std::vector<float> single(N);
        gpusolve::solve(handle, factor, GPUSOLVE_A, single, single);
    });
    throws(GPUSOLVE_INVALID_ARGUMENT, [&] { gpusolve::solve(handle, gpusolve::factor(), GPUSOLVE_A, b, x); });
    throws(GPUSOLVE_INVALID_ARGUMENT, [&] { gpusolve::refine(handle, factor, gpusolve::matrix(), b, x); });
    throws(GPUSOLVE_INVALID_ARGUMENT, [] {
        gpusolve::options wrong;
        wrong.threads = -1;
        gpusolve::handle none(wrong);
    });
    throws(GPUSOLVE_BUSY, [&] { gpusolve::check(handle, GPUSOLVE_BUSY); });
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
        owns_objects(handle);
        solves(handle);
        solves_in<double>(handle, 1e-13);
        solves_in<float>(handle, 1e-4);
        solves_in<std::complex<double>>(handle, 1e-13);
        solves_in<std::complex<float>>(handle, 1e-4);
        refines_and_selects(handle);
        says_what_it_is(handle);
        saves(handle);
        refuses(handle);
#if GPUSOLVE_HPP_THROWS
        throws_or_works(options);
#endif
    }
    return checks_done("test_cpp");
}
