/** @file
 * Eigen's CholmodSupernodalLLT, solving with gpusolve. Header only, C++17; needs Eigen 3.4 or later and CHOLMOD, whose headers
 * must be on the search path (Debian: -I/usr/include/eigen3 -I/usr/include/suitesparse).
 *
 *      gpusolve::SupernodalLLT<Eigen::SparseMatrix<double>> llt(A);       CHOLMOD factorises, gpusolve imports the factor
 *      x = llt.solve(b);                                                  as often as wanted: vectors, matrices, sparse matrices
 *      llt.factorize(A2);                                                 new numbers on the old pattern: a refresh
 *
 * It has the interface of Eigen::CholmodSupernodalLLT: compute, analyzePattern, factorize, solve, info, determinant,
 * logDeterminant, setShift, cholmod. It derives from the same base class, Eigen::CholmodBase, and not from
 * CholmodSupernodalLLT itself, through which a call would reach CHOLMOD's solve. It can be the preconditioner of Eigen's
 * iterative solvers:
 *
 *      Eigen::ConjugateGradient<Eigen::SparseMatrix<double>, Eigen::Lower | Eigen::Upper,
 *                               gpusolve::SupernodalLLT<Eigen::SparseMatrix<double>>> cg;
 *
 * What differs:
 * - b may be column- or row-major. Where b and x are plain in memory (matrices, maps, blocks of them) nothing is copied on the
 *   host; x = llt.solve(x) works in place.
 * - With a real A, b may be complex. With a complex A, b must be.
 * - CHOLMOD prints nothing: cholmod().print is 0.
 * - If a factorisation or a solve fails, info() is not Success, status() and lastError() say why, and x is filled with NaN.
 * - L is held twice, in CHOLMOD's memory, of which logDeterminant reads it, and on the backend.
 *
 * Numbers are double or std::complex<double>, as in Eigen's class; A is column-major, or row-major if it is real; its indices
 * are int or SuiteSparse_long. An object serves one thread at a time.
 */
#ifndef GPUSOLVE_EIGEN_HPP
#define GPUSOLVE_EIGEN_HPP

#include <Eigen/CholmodSupport>
#include <Eigen/SparseCore>

#include "gpusolve.hpp"
#include "gpusolve_cholmod.h"

#include <limits>
#include <string>

namespace gpusolve {

template <class MatrixType_, int UpLo_ = Eigen::Lower>
class SupernodalLLT : public Eigen::CholmodBase<MatrixType_, UpLo_, SupernodalLLT<MatrixType_, UpLo_>> {
    using Base = Eigen::CholmodBase<MatrixType_, UpLo_, SupernodalLLT>;
    using Base::m_cholmod;
    using Base::m_cholmodFactor;
    using Base::m_factorizationIsOk;
    using Base::m_info;

  public:
    using MatrixType = MatrixType_;
    using Scalar = typename MatrixType::Scalar;
    using RealScalar = typename MatrixType::RealScalar;
    using StorageIndex = typename MatrixType::StorageIndex;
    using Index = Eigen::Index;

    /** wanted: backend, device, stream and threads, as in gpusolve.h. */
    explicit SupernodalLLT(const gpusolve_options &wanted = options()) : handle_(wanted, status_) {
        init();
    }
    explicit SupernodalLLT(const MatrixType &matrix, const gpusolve_options &wanted = options())
        : handle_(wanted, status_) {
        init();
        compute(matrix);
    }

    /** analyzePattern and factorize. */
    SupernodalLLT &compute(const MatrixType &matrix) {
        analyzePattern(matrix);
        factorize(matrix);
        return *this;
    }

    /** CHOLMOD orders A and plans its factor. */
    void analyzePattern(const MatrixType &matrix) {
        workspace_.reset();
        factor_.reset();
        Base::analyzePattern(matrix);
        size_ = matrix.rows();
        if (!m_cholmodFactor)
            fail(GPUSOLVE_INTERNAL_ERROR, "CHOLMOD cannot analyse the matrix");
    }

    /** CHOLMOD factorises A, whose pattern is that of the matrix that was analysed. gpusolve imports the factor, or refreshes the
     * one that it has. info(): NumericalIssue if A is not positive definite, InvalidInput for other faults. */
    void factorize(const MatrixType &matrix) {
        if (!m_cholmodFactor)
            return;
        Base::factorize(matrix);
        if (m_cholmod.status < CHOLMOD_OK) {
            fail(GPUSOLVE_INTERNAL_ERROR, "CHOLMOD cannot factorise the matrix");
        } else if (m_info != Eigen::Success) {
            fail(GPUSOLVE_NOT_POSITIVE_DEFINITE, whereItStops().c_str());
        } else if (handle_) {
            status_ = import();
            if (status_ != GPUSOLVE_OK)
                fail(status_, handle_.last_error());
            m_factorizationIsOk = true;
        } else {
            fail(status_, nullptr);
        }
    }

    Index rows() const {
        return size_;
    }
    Index cols() const {
        return size_;
    }

    /** Of the last call that factorised or solved; why it failed, in a sentence. */
    gpusolve_status status() const {
        return status_;
    }
    const std::string &lastError() const {
        return text_;
    }

    /** gpusolve's own objects, for its other calls: partial solves, refinement, selections. */
    gpusolve::handle &handle() const {
        return handle_;
    }
    const gpusolve::factor &factor() const {
        return factor_;
    }

#ifndef EIGEN_PARSED_BY_DOXYGEN
    template <class Rhs, class Dest>
    void _solve_impl(const Eigen::MatrixBase<Rhs> &b, Eigen::MatrixBase<Dest> &dest) const {
        using Number = typename Rhs::Scalar;
        using Plain = Eigen::Matrix<Number, Eigen::Dynamic, Eigen::Dynamic,
                                    Rhs::PlainObject::IsRowMajor ? Eigen::RowMajor : Eigen::ColMajor>;
        static_assert(std::is_same_v<typename Eigen::NumTraits<Number>::Real, RealScalar>,
                      "b is of A's precision");
        static_assert(Eigen::NumTraits<Number>::IsComplex || !Eigen::NumTraits<Scalar>::IsComplex,
                      "with a complex A, b is complex");
        eigen_assert(b.rows() == size_ && "b has as many rows as A");
        const Eigen::Ref<const Plain, 0, Eigen::OuterStride<>> plain_b(
            b.derived()); /* a copy if it must be */
        const gpusolve_dense right = describe<Number>(plain_b);
        if constexpr (isPlain<Dest, Number>()) {
            const gpusolve_dense left = describe<Number>(dest.derived());
            if (isSame(right, left) || !overlap(right, left)) {
                if (!run(right, left))
                    dest.derived().setConstant(nan<Number>());
                return;
            }
        }
        Plain x(size_, b.cols());
        if (!run(right, describe<Number>(x)))
            x.setConstant(nan<Number>());
        dest.derived() = x;
    }

    /** A sparse b, 32 columns at a time. */
    template <class Rhs, class Dest>
    void _solve_impl(const Eigen::SparseMatrixBase<Rhs> &b, Eigen::SparseMatrixBase<Dest> &dest) const {
        using Number = typename Rhs::Scalar;
        using Block = Eigen::Matrix<Number, Eigen::Dynamic, Eigen::Dynamic>;
        constexpr Index WIDTH = 32;
        const Eigen::SparseMatrix<Number, Eigen::ColMajor, typename Rhs::StorageIndex> columns(b.derived());
        Eigen::SparseMatrix<Number, Eigen::ColMajor, typename Dest::StorageIndex> x(size_, columns.cols());
        for (Index first = 0; first < columns.cols(); first += WIDTH) {
            const Index width = (std::min)(WIDTH, columns.cols() - first);
            Block block(columns.middleCols(first, width));
            _solve_impl(block, block);
            for (Index j = 0; j < width; ++j) {
                x.startVec(first + j);
                for (Index i = 0; i < size_; ++i)
                    if (!(block(i, j) == Number(0)))
                        x.insertBack(i, first + j) = block(i, j);
            }
        }
        x.finalize();
        dest.derived() = x;
    }
#endif

  private:
    void init() {
        m_cholmod.final_asis = 1;
        m_cholmod.supernodal = CHOLMOD_SUPERNODAL;
        m_cholmod.print = 0;
    }

    void fail(gpusolve_status status, const char *text) const {
        status_ = status;
        text_ = text && *text ? text : gpusolve_status_message(status);
        m_info = status == GPUSOLVE_NOT_POSITIVE_DEFINITE || status == GPUSOLVE_SINGULAR
                     ? Eigen::NumericalIssue
                     : Eigen::InvalidInput;
        factorizationFailed_ = true;
    }

    /** The column of A, though the factorisation was of P A P'. */
    std::string whereItStops() const {
        const std::size_t column = static_cast<std::size_t>(
            static_cast<const StorageIndex *>(m_cholmodFactor->Perm)[m_cholmodFactor->minor]);
        return "the factorisation stopped at column " + std::to_string(column) + " of " +
               std::to_string(size_) + ", counted from 0: not positive definite";
    }

    gpusolve_status import() {
        factorizationFailed_ = false;
        text_.clear();
        if (factor_) {
            const gpusolve_status status =
                gpusolve_cholmod_refresh(handle_.get(), factor_.get(), m_cholmodFactor);
            if (status != GPUSOLVE_PATTERN_MISMATCH)
                return status;
        }
        gpusolve_factor *made = nullptr;
        const gpusolve_status status = gpusolve_cholmod_import(handle_.get(), m_cholmodFactor, &made);
        workspace_.reset();
        factor_.reset(made);
        return status;
    }

    /** Whether numbers can be written where they lie: an inner stride of one, as gpusolve wants it. */
    template <class Dest, class Number> static constexpr bool isPlain() {
        return (Eigen::internal::traits<Dest>::Flags & Eigen::DirectAccessBit) != 0 &&
               (Eigen::internal::traits<Dest>::Flags & Eigen::LvalueBit) != 0 &&
               Dest::InnerStrideAtCompileTime == 1 && std::is_same_v<typename Dest::Scalar, Number>;
    }

    /** x is described as dense memory, though it may be const: it is not written then. */
    template <class Number, class Block> gpusolve_dense describe(const Block &x) const {
        gpusolve_dense view;
        const Index inner = Block::IsRowMajor ? x.cols() : x.rows(),
                    outer = Block::IsRowMajor ? x.rows() : x.cols();
        view.dtype = dtype_of<Number>::value;
        view.order = Block::IsRowMajor ? GPUSOLVE_ROW_MAJOR : GPUSOLVE_COL_MAJOR;
        view.rows = x.rows();
        view.cols = x.cols();
        view.ld = (std::max)(outer > 1 ? x.outerStride() : inner, Index(1));
        view.values = const_cast<Number *>(x.data());
        return view;
    }

    static bool isSame(const gpusolve_dense &b, const gpusolve_dense &x) {
        return b.values == x.values && b.order == x.order && b.ld == x.ld;
    }

    /** Whether the memory from first to last number has a part in common. */
    static bool overlap(const gpusolve_dense &b, const gpusolve_dense &x) {
        const auto begin = [](const gpusolve_dense &block) {
            return reinterpret_cast<std::uintptr_t>(block.values);
        };
        const auto end = [&](const gpusolve_dense &block) {
            const std::int64_t outer = block.order == GPUSOLVE_ROW_MAJOR ? block.rows : block.cols;
            const bool wide = block.dtype == GPUSOLVE_COMPLEX_DOUBLE;
            return begin(block) + static_cast<std::uintptr_t>(outer * block.ld) * (wide ? 16 : 8);
        };
        return begin(b) < end(x) && begin(x) < end(b);
    }

    template <class Number> static Number nan() {
        return Number(std::numeric_limits<RealScalar>::quiet_NaN());
    }

    /** The workspace for more columns than the handle's own takes at a time; NULL for fewer, or if there is no memory for it. */
    gpusolve_workspace *room(std::int64_t columns) const {
        constexpr std::int64_t OWN = 32, MOST = 256;
        const std::int64_t wanted = (std::min)(columns, MOST);
        if (wanted > OWN && (!workspace_ || wanted > width_)) {
            gpusolve_status status;
            workspace_ = workspace(handle_, factor_, wanted, status);
            width_ = wanted;
        }
        return wanted > OWN ? workspace_.get() : nullptr;
    }

    bool run(const gpusolve_dense &b, const gpusolve_dense &x) const {
        if (factorizationFailed_ || !factor_)
            return false;
        status_ = gpusolve_solve(handle_.get(), factor_.get(), room(b.cols), GPUSOLVE_A, &b, &x);
        m_info = Eigen::Success;
        if (status_ != GPUSOLVE_OK) {
            fail(status_, handle_.last_error());
            factorizationFailed_ = false; /* the factor is as good as before */
        }
        return status_ == GPUSOLVE_OK;
    }

    mutable gpusolve_status status_ = GPUSOLVE_OK;
    mutable std::string text_;
    mutable bool factorizationFailed_ = false;
    mutable gpusolve::handle handle_;
    gpusolve::factor factor_;
    mutable workspace workspace_;
    mutable std::int64_t width_ = 0; /* columns of workspace_ */
    Index size_ = 0;
};

} // namespace gpusolve

#endif /* GPUSOLVE_EIGEN_HPP */
