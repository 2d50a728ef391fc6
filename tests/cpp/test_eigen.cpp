// gpusolve_eigen.hpp beside Eigen's own CholmodSupernodalLLT.
#include "checks.hpp"

#include <gpusolve_eigen.hpp>

#include <Eigen/IterativeLinearSolvers>

namespace {

using Complex = std::complex<double>;
constexpr double RIGHT = 30 * std::numeric_limits<double>::epsilon(); // what every test of solves allows
gpusolve::options wanted;                                             // the backend of the pass that runs

// Of a grid with 5-point neighbours, Hermitian if the numbers are complex; weight is added to the diagonal.
template <class Sparse> Sparse grid(int width, double weight = 0.25) {
    using Scalar = typename Sparse::Scalar;
    const int n = width * width;
    std::vector<Eigen::Triplet<Scalar, typename Sparse::StorageIndex>> entries;
    const auto add = [&](int i, int k) {
        Scalar value(-1);
        if constexpr (Eigen::NumTraits<Scalar>::IsComplex)
            value = Scalar(-0.6, 0.8);
        entries.emplace_back(i, k, value);
        entries.emplace_back(k, i, Eigen::numext::conj(value));
    };
    for (int i = 0; i < n; ++i) {
        entries.emplace_back(i, i, Scalar(4 + weight * (1 + i % 5)));
        if ((i + 1) % width)
            add(i + 1, i);
        if (i + width < n)
            add(i + width, i);
    }
    Sparse a(n, n);
    a.setFromTriplets(entries.begin(), entries.end());
    return a;
}

// norm(b - A x) over norm(A) norm(x), in the maximum norm; A is not above 10 in it.
template <class A, class X, class B> double error(const A &a, const X &x, const B &b) {
    return (b - a * x).cwiseAbs().maxCoeff() / (10 * x.cwiseAbs().maxCoeff());
}

template <class Sparse, int UpLo> void solves_like_cholmod() {
    using Scalar = typename Sparse::Scalar;
    using Vector = Eigen::Matrix<Scalar, Eigen::Dynamic, 1>;
    using Matrix = Eigen::Matrix<Scalar, Eigen::Dynamic, Eigen::Dynamic>;
    const Sparse a = grid<Sparse>(13);
    Sparse triangle = a.template triangularView<UpLo>(); // the other one is not read
    Eigen::CholmodSupernodalLLT<Sparse, UpLo> theirs(triangle);
    gpusolve::SupernodalLLT<Sparse, UpLo> ours(triangle, wanted);
    CHECK(ours.info() == Eigen::Success && ours.status() == GPUSOLVE_OK && ours.lastError().empty());
    CHECK(ours.rows() == a.rows() && ours.cols() == a.cols());
    CHECK(ours.handle().backend() == wanted.backend);
    const Vector b = Vector::Random(a.rows());
    const Vector x = ours.solve(b), y = theirs.solve(b);
    CHECK_BELOW(error(a, x, b), RIGHT);
    CHECK_BELOW((x - y).cwiseAbs().maxCoeff(), 1e-14);
    for (int columns : {0, 1, 3, 33, 300}) {
        const Matrix many = Matrix::Random(a.rows(), columns);
        const Matrix solution = ours.solve(many);
        CHECK(solution.cols() == columns && solution.rows() == a.rows());
        if (columns)
            CHECK_BELOW(error(a, solution, many), RIGHT);
    }
    CHECK(ours.logDeterminant() == theirs.logDeterminant());
    CHECK(ours.determinant() == theirs.determinant());
    ours.setShift(0.5).compute(triangle);
    theirs.setShift(0.5).compute(triangle);
    CHECK_BELOW((ours.solve(b) - theirs.solve(b)).cwiseAbs().maxCoeff(), 1e-14);
    CHECK_BELOW(error(a, Vector(ours.solve(b)), Vector(b - Scalar(0.5) * ours.solve(b))), RIGHT);
}

// Where b and x may lie, and what is in place or overlaps.
template <class Scalar> void takes_every_operand() {
    using Sparse = Eigen::SparseMatrix<Scalar>;
    using Vector = Eigen::Matrix<Scalar, Eigen::Dynamic, 1>;
    using ByColumns = Eigen::Matrix<Scalar, Eigen::Dynamic, Eigen::Dynamic>;
    using ByRows = Eigen::Matrix<Scalar, Eigen::Dynamic, Eigen::Dynamic, Eigen::RowMajor>;
    const Sparse a = grid<Sparse>(9);
    const Eigen::Index n = a.rows();
    const gpusolve::SupernodalLLT<Sparse> llt(a, wanted);
    const ByColumns b = ByColumns::Random(n, 5), x = llt.solve(b);
    const auto same = [&](const auto &other) { return (ByColumns(other) - x).cwiseAbs().maxCoeff(); };
    CHECK_BELOW(error(a, x, b), RIGHT);
    const ByRows rows = b;
    CHECK_BELOW(same(ByRows(llt.solve(rows))), 1e-14);
    CHECK_BELOW(same(ByColumns(llt.solve(rows))), 1e-14);
    CHECK_BELOW(same(ByRows(llt.solve(b))), 1e-14);
    CHECK_BELOW(same(ByColumns(llt.solve(b + b) / Scalar(2))), 1e-14);
    CHECK_BELOW(same(ByColumns(llt.solve(ByRows(b.transpose()).transpose()))), 1e-14);

    // parts of larger memory: what lies around is not written
    ByColumns large = ByColumns::Constant(n + 7, 9, Scalar(7));
    large.block(3, 2, n, 5) = b;
    large.block(3, 2, n, 5) = llt.solve(large.block(3, 2, n, 5)); // in place
    CHECK_BELOW(same(large.block(3, 2, n, 5)), 1e-14);
    large.block(3, 2, n, 5).setConstant(Scalar(7));
    CHECK((large.array() == Scalar(7)).all());
    ByRows broad = ByRows::Constant(n, 9, Scalar(7));
    broad.middleCols(1, 5) = llt.solve(rows);
    CHECK_BELOW(same(broad.middleCols(1, 5)), 1e-14);
    CHECK((broad.col(0).array() == Scalar(7)).all() && (broad.rightCols(3).array() == Scalar(7)).all());
    large.block(0, 0, n, 5) = b;
    large.block(5, 2, n, 5) = llt.solve(large.block(0, 0, n, 5)); // they overlap
    CHECK_BELOW(same(large.block(5, 2, n, 5)), 1e-14);

    // strides that gpusolve does not know
    std::vector<Scalar> spread(static_cast<std::size_t>(2 * n), Scalar(7));
    Eigen::Map<Vector, 0, Eigen::InnerStride<2>> apart(spread.data(), n);
    apart = b.col(0);
    apart = llt.solve(apart);
    CHECK_BELOW((apart - x.col(0)).cwiseAbs().maxCoeff(), 1e-14);
    CHECK(spread[1] == Scalar(7));
    Vector in_place = b.col(3);
    in_place = llt.solve(in_place);
    CHECK_BELOW((in_place - x.col(3)).cwiseAbs().maxCoeff(), 1e-14);
    ByColumns columns(2, n);
    columns.row(1) = llt.solve(b.col(2)).transpose();
    CHECK_BELOW((columns.row(1).transpose() - x.col(2)).cwiseAbs().maxCoeff(), 1e-14);
    const Eigen::Matrix<Scalar, Eigen::Dynamic, 5> fixed = llt.solve(b);
    CHECK_BELOW(same(fixed), 1e-14);
}

template <class Scalar> void takes_sparse_right_sides() {
    using Sparse = Eigen::SparseMatrix<Scalar>;
    const Sparse a = grid<Sparse>(8);
    const gpusolve::SupernodalLLT<Sparse> llt(a, wanted);
    Sparse identity(a.rows(), a.rows());
    identity.setIdentity();
    const Sparse inverse = llt.solve(identity);
    const Eigen::Matrix<Scalar, Eigen::Dynamic, Eigen::Dynamic> rest = a * inverse - identity;
    CHECK_BELOW(rest.cwiseAbs().maxCoeff(), 1e-14);
    Eigen::SparseVector<Scalar> b(a.rows());
    b.insert(5) = Scalar(2);
    const Eigen::SparseVector<Scalar> x = llt.solve(b);
    const Eigen::Matrix<Scalar, Eigen::Dynamic, 1> dense = x, column = inverse.col(5);
    CHECK_BELOW((dense - 2 * column).cwiseAbs().maxCoeff(), 1e-14);
}

void takes_complex_right_sides() {
    const auto a = grid<Eigen::SparseMatrix<double>>(8);
    const gpusolve::SupernodalLLT<Eigen::SparseMatrix<double>> llt(a, wanted);
    const Eigen::MatrixXcd b = Eigen::MatrixXcd::Random(a.rows(), 3), x = llt.solve(b);
    CHECK_BELOW(error(a, x, b), RIGHT);
}

void refreshes() {
    using Sparse = Eigen::SparseMatrix<double>;
    const Sparse a = grid<Sparse>(12);
    gpusolve::SupernodalLLT<Sparse> llt(wanted);
    const Eigen::VectorXd b = Eigen::VectorXd::Random(a.rows());
    llt.analyzePattern(a);
    llt.factorize(a);
    const gpusolve_factor *factor = llt.factor().get();
    CHECK_BELOW(error(a, Eigen::VectorXd(llt.solve(b)), b), RIGHT);
    for (double weight : {0.5, 1.0}) {
        const Sparse other = grid<Sparse>(12, weight);
        llt.factorize(other);
        CHECK(llt.info() == Eigen::Success && llt.factor().get() == factor);
        CHECK_BELOW(error(other, Eigen::VectorXd(llt.solve(b)), b), RIGHT);
    }
    // a factor that failed, then a good one on the same pattern
    Sparse bad = a;
    for (int i = 0; i < 144; ++i)
        if (i != 7 && bad.coeff(i, 7) != 0)
            bad.coeffRef(i, 7) = bad.coeffRef(7, i) = 0; // nothing else depends on it
    bad.coeffRef(7, 7) = -1;
    llt.factorize(bad);
    CHECK(llt.info() == Eigen::NumericalIssue && llt.status() == GPUSOLVE_NOT_POSITIVE_DEFINITE);
    CHECK(llt.lastError() ==
          "the factorisation stopped at column 7 of 144, counted from 0: not positive definite");
    const Eigen::VectorXd nothing = llt.solve(b);
    CHECK(nothing.array().isNaN().all() && llt.info() == Eigen::NumericalIssue);
    llt.factorize(a);
    CHECK(llt.info() == Eigen::Success && llt.factor().get() == factor && llt.lastError().empty());
    CHECK_BELOW(error(a, Eigen::VectorXd(llt.solve(b)), b), RIGHT);
    // another order: another factor
    const Sparse small = grid<Sparse>(5);
    llt.compute(small);
    const Eigen::VectorXd c = Eigen::VectorXd::Random(25);
    CHECK(llt.rows() == 25);
    CHECK_BELOW(error(small, Eigen::VectorXd(llt.solve(c)), c), RIGHT);
    // a NaN does not get in
    bad = small;
    bad.coeffRef(3, 3) = std::numeric_limits<double>::quiet_NaN();
    llt.factorize(bad);
    CHECK(llt.info() != Eigen::Success);
}

// With gpusolve as the preconditioner, of A itself and of another matrix of its kind.
template <class Scalar> void preconditions() {
    using Sparse = Eigen::SparseMatrix<Scalar>;
    using Vector = Eigen::Matrix<Scalar, Eigen::Dynamic, 1>;
    const Sparse a = grid<Sparse>(20, 0.01), near = grid<Sparse>(20, 0.02);
    const Vector b = Vector::Random(a.rows());
    Eigen::ConjugateGradient<Sparse, Eigen::Lower | Eigen::Upper, gpusolve::SupernodalLLT<Sparse>> cg;
    cg.setTolerance(1e-12);
    cg.compute(a);
    Vector x = cg.solve(b);
    CHECK(cg.info() == Eigen::Success && cg.iterations() <= 2);
    CHECK_BELOW((b - a * x).norm() / b.norm(), 1e-12);

    cg.preconditioner().compute(near);
    x = cg.solve(b);
    CHECK(cg.info() == Eigen::Success && cg.iterations() > 2 && cg.iterations() < 20);
    CHECK_BELOW((b - a * x).norm() / b.norm(), 1e-12);
}

void has_no_device() {
    using Sparse = Eigen::SparseMatrix<double>;
    gpusolve::options other;
    other.backend = GPUSOLVE_BACKEND_CUDA;
    other.device = 4711;
    const gpusolve::SupernodalLLT<Sparse> llt(grid<Sparse>(4), other);
    CHECK(llt.info() == Eigen::InvalidInput && llt.status() != GPUSOLVE_OK && !llt.lastError().empty());
    const Eigen::VectorXd x = llt.solve(Eigen::VectorXd::Ones(16));
    CHECK(x.array().isNaN().all());
}

} // namespace

int main() {
    using Long = Eigen::SparseMatrix<double, Eigen::ColMajor, SuiteSparse_long>;
    for (const gpusolve_backend backend : checks_backends()) {
        wanted.backend = backend;
        solves_like_cholmod<Eigen::SparseMatrix<double>, Eigen::Lower>();
        solves_like_cholmod<Eigen::SparseMatrix<double>, Eigen::Upper>();
        solves_like_cholmod<Eigen::SparseMatrix<double, Eigen::RowMajor>, Eigen::Lower>();
        solves_like_cholmod<Eigen::SparseMatrix<double, Eigen::RowMajor>, Eigen::Upper>();
        solves_like_cholmod<Eigen::SparseMatrix<Complex>, Eigen::Lower>();
        solves_like_cholmod<Eigen::SparseMatrix<Complex>, Eigen::Upper>();
        solves_like_cholmod<Long, Eigen::Lower>();
        takes_every_operand<double>();
        takes_every_operand<Complex>();
        takes_sparse_right_sides<double>();
        takes_sparse_right_sides<Complex>();
        takes_complex_right_sides();
        refreshes();
        preconditions<double>();
        preconditions<Complex>();
    }
    has_no_device();
    return checks_done("test_eigen");
}
