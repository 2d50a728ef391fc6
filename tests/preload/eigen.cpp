/* A program of Eigen's users: one factor and many solves, the determinant from L itself, then other numbers. It ends with 0 if all
 * residuals are small. Nothing here knows of gpusolve. */
#include <Eigen/CholmodSupport>
#include <Eigen/Sparse>

#include <cmath>
#include <cstdio>
#include <vector>

template <typename Index> static int check(int side) {
    using Matrix = Eigen::SparseMatrix<double, Eigen::ColMajor, Index>;
    using Triplet = Eigen::Triplet<double, Index>;
    const int n = side * side;
    std::vector<Triplet> entries;
    for (int i = 0; i < n; i++) {
        entries.emplace_back(i, i, 4.2);
        if (i % side + 1 < side)
            entries.emplace_back(i + 1, i, -1), entries.emplace_back(i, i + 1, -1);
        if (i + side < n)
            entries.emplace_back(i + side, i, -1), entries.emplace_back(i, i + side, -1);
    }
    Matrix a(n, n);
    a.setFromTriplets(entries.begin(), entries.end());

    Eigen::CholmodSupernodalLLT<Matrix> solver;
    int wrong = 0;
    double determinant[2] = {0, 0};
    for (int round = 0; round < 3; round++) {
        if (round == 0)
            solver.compute(a);
        else
            solver.factorize(a);
        for (int k = 0; k < 20; k++) {
            const Eigen::MatrixXd b = Eigen::MatrixXd::Random(n, 1 + k % 5);
            const Eigen::MatrixXd x = solver.solve(b);
            const double residual = (a * x - b).norm() / b.norm();
            wrong += !(residual < 1e-13) || solver.info() != Eigen::Success;
        }
        const Eigen::VectorXd b = Eigen::VectorXd::Ones(n), x = solver.solve(b);
        wrong += !((a * x - b).norm() < 1e-12);
        determinant[round > 0] = solver.logDeterminant();
        /* A sparse right-hand side. */
        Eigen::SparseMatrix<double, Eigen::ColMajor, Index> unit(n, 3);
        for (int k = 0; k < 3; k++)
            unit.insert(7 * k, k) = 1;
        const Eigen::MatrixXd whole =
            Eigen::MatrixXd(a) * Eigen::MatrixXd(solver.solve(unit)) - Eigen::MatrixXd(unit);
        wrong += !(whole.norm() < 1e-12);
        a = a * 2.0;
    }
    /* Of 4 a beside a. */
    wrong += !(std::abs(determinant[1] - determinant[0] - n * std::log(4.0)) < 1e-9 * n);
    return wrong;
}

int main() {
    const int wrong = check<int>(24) + check<SuiteSparse_long>(20);
    std::printf("%d wrong\n", wrong);
    return wrong != 0;
}
