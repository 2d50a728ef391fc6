/* gpusolve from C++17: objects that free what they own, containers as operands, exceptions.
 *
 * A is tridiagonal, 2 on the diagonal and -1 beside it, so its Cholesky factor has two entries a column. */
#include <gpusolve_refine.hpp> /* it includes gpusolve.hpp */

#include <cmath>
#include <cstdio>
#include <vector>

namespace {

constexpr int n = 1000;

struct columns_of_l { /* compressed columns, the diagonal first */
    std::vector<int> start, row;
    std::vector<double> value;
};

columns_of_l factorise() {
    columns_of_l l;
    double below = 0; /* the entry left of the diagonal in the row that is next */
    for (int j = 0; j < n; ++j) {
        const double diagonal = std::sqrt(2 - below * below);
        l.start.push_back(static_cast<int>(l.row.size()));
        l.row.push_back(j);
        l.value.push_back(diagonal);
        below = -1 / diagonal;
        if (j < n - 1) {
            l.row.push_back(j + 1);
            l.value.push_back(below);
        }
    }
    l.start.push_back(static_cast<int>(l.row.size()));
    return l;
}

/* The lower triangle of A, for refinement. */
columns_of_l triangle_of_a() {
    columns_of_l a = factorise(); /* the same pattern */
    for (std::size_t k = 0; k < a.value.size(); ++k)
        a.value[k] = k % 2 ? -1 : 2;
    return a;
}

} // namespace

int main() {
    try {
        gpusolve::handle handle; /* the GPU if there is one, else the host */
        const columns_of_l l = factorise(), a = triangle_of_a();
        const gpusolve::factor factor(handle,
                                      gpusolve::simplicial(GPUSOLVE_SIMPLICIAL_LL, l.start, l.row, l.value));
        const gpusolve::matrix matrix(handle, gpusolve::csc(GPUSOLVE_LOWER, a.start, a.row, a.value));

        /* one column: a container by itself. x(j) = (j + 1) (n - j) / 2 */
        const std::vector<double> ones(n, 1.0);
        std::vector<double> x(n);
        gpusolve::solve(handle, factor, GPUSOLVE_A, ones, x);
        std::printf("x(%d) = %.3f, should be %.3f\n", n / 2, x[n / 2], (n / 2 + 1) * (n / 2) / 2.0);

        /* four columns in one container, in place */
        std::vector<double> four(4 * n, 1.0);
        const auto block = gpusolve::columns(four, 4);
        gpusolve::solve(handle, factor, gpusolve::workspace(handle, factor, 4), GPUSOLVE_A, block, block);
        std::printf("the last of four columns has x(%d) = %.3f\n", n / 2, four[3 * n + n / 2]);

        const gpusolve::refinement refined = gpusolve::refine(handle, factor, matrix, ones, x);
        std::printf("refined: backward error %.1e\n", refined.backward_error[0]);

        /* with L in single precision, and options by name */
        gpusolve::factor_data data = gpusolve::simplicial(GPUSOLVE_SIMPLICIAL_LL, l.start, l.row, l.value);
        data.storage = GPUSOLVE_STORAGE_SINGLE;
        const gpusolve::factor single(handle, data);
        const gpusolve::refinement again = gpusolve::refine(
            handle, single, matrix, ones, x, gpusolve::refine_by(GPUSOLVE_REFINE_AUTOMATIC).tolerance(1e-15));
        std::printf("from L in single precision: %s 1e-15\n",
                    again.backward_error[0] <= 1e-15 ? "at most" : "above");

        /* what cannot be done is said */
        gpusolve_status status;
        std::vector<double> short_x(n - 1);
        gpusolve::solve(handle, factor, GPUSOLVE_A, ones, short_x, status); /* this form does not throw */
        std::printf("%s: %s\n", gpusolve_status_name(status), handle.last_error());
        return refined.backward_error[0] < 1e-14 && again.backward_error[0] <= 1e-15
                   ? 0
                   : 1; /* a NaN is not below it */
    } catch (const gpusolve::error &error) {
        std::fprintf(stderr, "%s: %s\n", gpusolve_status_name(error.status()), error.what());
        return 1;
    }
}
