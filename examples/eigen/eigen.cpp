/* An Eigen program that solves with gpusolve: gpusolve::SupernodalLLT stands where Eigen::CholmodSupernodalLLT stood. */
#include <gpusolve_eigen.hpp>

#include <Eigen/IterativeLinearSolvers>

#include <cstdio>
#include <vector>

namespace {

using Matrix = Eigen::SparseMatrix<double>;
using Solver = gpusolve::SupernodalLLT<Matrix>; /* was Eigen::CholmodSupernodalLLT<Matrix> */

constexpr int width = 60;

/* A plate on springs of the stiffness s: the 5-point matrix of a grid plus s times the identity. */
Matrix plate(double s) {
    std::vector<Eigen::Triplet<double>> entries;
    for (int i = 0; i < width * width; ++i) {
        entries.emplace_back(i, i, 4 + s);
        for (int k : {i % width + 1 < width ? i + 1 : -1, i + width < width * width ? i + width : -1}) {
            if (k < 0)
                continue;
            entries.emplace_back(i, k, -1.0);
            entries.emplace_back(k, i, -1.0);
        }
    }
    Matrix a(width * width, width * width);
    a.setFromTriplets(entries.begin(), entries.end());
    return a;
}

/* The worst column's norm(b - A x) / norm(b). */
double error(const Matrix &a, const Eigen::MatrixXd &x, const Eigen::MatrixXd &b) {
    return ((b - a * x).colwise().norm().array() / b.colwise().norm().array()).maxCoeff();
}

bool check(const Solver &llt) {
    if (llt.info() == Eigen::Success)
        return true;
    std::fprintf(stderr, "%s\n", llt.lastError().c_str());
    return false;
}

} // namespace

int main() {
    const Matrix a = plate(0.1);
    const Eigen::MatrixXd b = Eigen::MatrixXd::Ones(a.rows(), 8);
    Solver llt(a);
    if (!check(llt))
        return 1;
    const Eigen::MatrixXd x = llt.solve(b);
    std::printf("%d unknowns, %d columns: error %.1e\n", static_cast<int>(a.rows()),
                static_cast<int>(b.cols()), error(a, x, b));
    double worst = error(a, x, b);

    /* stiffer springs: the same pattern, so the second factorisation is a refresh */
    const Matrix stiff = plate(0.2);
    llt.factorize(stiff);
    const Eigen::VectorXd y = llt.solve(b.col(0));
    std::printf("refreshed: error %.1e\n", error(stiff, y, b.col(0)));
    worst = std::max(worst, error(stiff, y, b.col(0)));

    /* the stiff plate's factor as the preconditioner for a soft one */
    Eigen::ConjugateGradient<Matrix, Eigen::Lower | Eigen::Upper, Solver> cg;
    cg.setTolerance(1e-10);
    const Matrix soft = plate(0.19);
    cg.compute(soft);
    cg.preconditioner().compute(stiff);
    const Eigen::VectorXd z = cg.solve(b.col(0));
    std::printf("conjugate gradients: %d steps, below 1e-09: %s\n", static_cast<int>(cg.iterations()),
                error(soft, z, b.col(0)) < 1e-9 ? "yes" : "no");

    /* not positive definite: info() says so, status() and lastError() say why */
    const Solver indefinite(plate(-9));
    std::printf("%s: %s\n", indefinite.info() == Eigen::NumericalIssue ? "NumericalIssue" : "another fault",
                gpusolve_status_name(indefinite.status()));
    return check(llt) && worst < 1e-12 && error(soft, z, b.col(0)) < 1e-9 ? 0 : 1;
}
