#include "factor.h"

#include <algorithm>
#include <chrono>
#include <cmath>
#include <mutex>
#include <new>

#include "driver.h"
#include "gpusolve_store.h"
#include "known.h"
#include "unlocked.h"

namespace {

double real_at(const gpusolve_factor_data &data, int64_t k) {
    switch (data.dtype) {
    case GPUSOLVE_FLOAT:
        return static_cast<const float *>(data.x)[k];
    case GPUSOLVE_DOUBLE:
        return static_cast<const double *>(data.x)[k];
    case GPUSOLVE_COMPLEX_FLOAT:
        return static_cast<const float *>(data.x)[data.z ? k : 2 * k];
    default:
        return static_cast<const double *>(data.x)[data.z ? k : 2 * k];
    }
}

int64_t index_at(const gpusolve_factor_data &data, const void *indices, int64_t k) {
    return data.itype == GPUSOLVE_INT32 ? static_cast<const int32_t *>(indices)[k]
                                        : static_cast<const int64_t *>(indices)[k];
}

/* Calls take with the diagonal entries of L, or of D, in order. */
template <typename Take> void for_each_pivot(const gpusolve_factor_data &data, const Take &take) {
    if (data.kind != GPUSOLVE_SUPERNODAL_LL) {
        for (int64_t j = 0; j < data.n; j++)
            take(real_at(data, index_at(data, data.p, j)));
        return;
    }
    for (int64_t k = 0; k < data.nsuper; k++) {
        const int64_t columns = index_at(data, data.super, k + 1) - index_at(data, data.super, k);
        const int64_t rows = index_at(data, data.pi, k + 1) - index_at(data, data.pi, k);
        const int64_t panel = index_at(data, data.px, k);
        for (int64_t j = 0; j < columns; j++)
            take(real_at(data, panel + j * rows + j));
    }
}

} // namespace

std::vector<double> diagonal_of(const gpusolve_factor_data &data) {
    std::vector<double> diagonal;
    diagonal.reserve(static_cast<size_t>(data.n));
    for_each_pivot(data, [&](double d) { diagonal.push_back(d); });
    return diagonal;
}

void measure_determinant(const gpusolve_factor_data &data, double *logarithm, double *sign) {
    const double power = data.kind == GPUSOLVE_SIMPLICIAL_LDL ? 1 : 2;
    *logarithm = 0;
    *sign = 1;
    for_each_pivot(data, [&](double d) {
        *logarithm += power * std::log(std::fabs(d));
        if (power < 2 && d < 0)
            *sign = -*sign;
    });
}

/* ---------------------------------------------------------------------------------------- the factor --- */

FactorState::FactorState(const Place &where, const gpusolve_factor_data &data) : Shared("factor") {
    Handle handle(where);
    place = handle.place();
    gpusolve_status status;
    {
        const Unlocked unlocked;
        status = gpusolve_factor_create(handle, &data, &factor_);
        if (status == GPUSOLVE_OK)
            status = gpusolve_factor_logdet(handle, factor_, &log_determinant, &sign);
        if (status != GPUSOLVE_OK)
            gpusolve_factor_destroy(factor_); /* no destructor runs */
    }
    check(status, handle);
    n = data.n;
    dtype = data.dtype;
}

FactorState::FactorState(const Place &where, const std::string &path, bool is_mapped, bool verify)
    : Shared("factor") {
    Handle handle(where);
    place = handle.place();
    gpusolve_map_options options = GPUSOLVE_MAP_OPTIONS_INIT;
    options.verify = verify;
    gpusolve_info info;
    info.size = sizeof info;
    gpusolve_status status;
    {
        const Unlocked unlocked;
        status = is_mapped ? gpusolve_factor_map(handle, path.c_str(), &options, &factor_)
                           : gpusolve_factor_load(handle, path.c_str(), &factor_);
        if (status == GPUSOLVE_OK)
            status = gpusolve_factor_info(handle, factor_, 1, &info);
        if (status == GPUSOLVE_OK)
            status = gpusolve_factor_logdet(handle, factor_, &log_determinant, &sign);
        if (status != GPUSOLVE_OK)
            gpusolve_factor_destroy(factor_); /* no destructor runs */
    }
    check(status, handle);
    n = info.n;
    dtype = info.dtype;
}

FactorState::~FactorState() {
    if (is_foreign())
        return;
    const Unlocked unlocked;
    const driver::Relaxed relaxed;
    free_rooms();
    gpusolve_factor_destroy(factor_);
}

gpusolve_status FactorState::make_room(gpusolve_handle *handle, int64_t columns, void **memory) {
    gpusolve_workspace *made = nullptr;
    const gpusolve_status status = gpusolve_workspace_create(handle, factor_, columns, &made);
    *memory = made;
    return status;
}

void FactorState::free_room(void *memory) {
    gpusolve_workspace_destroy(static_cast<gpusolve_workspace *>(memory));
}

void FactorState::refresh(const gpusolve_factor_data &data) {
    const Turn turn(*this, true);
    Handle handle(place);
    double logarithm = 0, new_sign = 1;
    gpusolve_status status;
    {
        const Unlocked unlocked;
        status = gpusolve_factor_refresh(handle, factor_, &data);
        if (status == GPUSOLVE_OK)
            status = gpusolve_factor_logdet(handle, factor_, &logarithm, &new_sign);
    }
    refreshes_++;
    check(status, handle);
    log_determinant = logarithm;
    sign = new_sign;
}

void FactorState::save(const std::string &path) {
    const Turn turn(*this, false);
    Handle handle(place);
    gpusolve_status status;
    {
        const Unlocked unlocked;
        status = gpusolve_factor_save(handle, factor_, path.c_str());
    }
    check(status, handle);
}

/* ------------------------------------------------------------------------------------------- solves --- */

namespace {

/* The operands of a solve. A pair that is usable has as many columns in x as in b, in memory that the factor's backend reads. */
struct Pair {
    const Operand b, x;
    const bool is_usable; /* false: a copy in another layout or dtype is needed */

    Pair(const FactorState &state, nb::handle from, int64_t b_rows, nb::handle to, int64_t x_rows)
        : Pair(state, Operand(from, "b", false, b_rows), Operand(to, "out", true, x_rows)) {}
    Pair(const FactorState &state, Operand from, Operand to)
        : b(std::move(from)), x(std::move(to)), is_usable(b.is_usable && x.is_usable) {
        if (!is_usable)
            return;
        state.check_place(b, "b");
        state.check_place(x, "out");
        if (b.dense.cols != x.dense.cols)
            throw Failure(GPUSOLVE_INVALID_ARGUMENT, "out: has " + std::to_string(x.dense.cols) +
                                                         " columns, b has " + std::to_string(b.dense.cols));
    }
    int64_t columns() const {
        return b.dense.cols;
    }
};

bool solve_pair(FactorState &state, const Pair &pair, int system, void *stream) {
    if (!pair.is_usable)
        return false;
    const Turn turn(state, false);
    Handle handle(state.place, stream);
    const Room room = state.take_room(handle, std::max<int64_t>(1, pair.columns()), stream);
    gpusolve_status status;
    {
        const Unlocked unlocked;
        status = gpusolve_solve(handle, state.get(), room.workspace(), static_cast<gpusolve_system>(system),
                                &pair.b.dense, &pair.x.dense);
    }
    state.return_room(room);
    if (status == GPUSOLVE_TYPE_MISMATCH)
        return false;
    check(status, handle);
    return true;
}

} // namespace

bool solve(const std::shared_ptr<FactorState> &state, nb::handle b, nb::handle x, int system,
           uintptr_t stream) {
    const Pair pair(*state, b, state->n, x, state->n);
    return solve_pair(*state, pair, system, reinterpret_cast<void *>(stream));
}

bool solve_into(const std::shared_ptr<FactorState> &state, nb::handle b, nb::handle x, int system) {
    ArrayView from{}, to{};
    void *stream = nullptr;
    if (!known::read(b, x, &from, &to, &stream))
        return false;
    const bool is_alike = from.dimensions == to.dimensions && from.shape[0] == state->n &&
                          to.shape[0] == state->n && from.shape[1] == to.shape[1] &&
                          from.dtype == state->dtype && to.dtype == state->dtype;
    if (!is_alike || from.dimensions > 2)
        return false;
    const Pair pair(*state, Operand(from, "b", state->n), Operand(to, "out", state->n));
    return solve_pair(*state, pair, system, stream);
}

double time_calls(const std::shared_ptr<FactorState> &state, nb::handle b, nb::handle x, int system,
                  uintptr_t stream, int count) {
    const Pair pair(*state, b, state->n, x, state->n);
    if (!pair.is_usable || count < 1)
        throw Failure(GPUSOLVE_INVALID_ARGUMENT, "time_calls: its operands cannot be taken as they are");
    void *const on = reinterpret_cast<void *>(stream);
    const Turn turn(*state, false);
    Handle handle(state->place, on);
    const Room room = state->take_room(handle, std::max<int64_t>(1, pair.columns()), on);
    gpusolve_status status = GPUSOLVE_OK;
    const auto start = std::chrono::steady_clock::now();
    for (int k = 0; k < count && status == GPUSOLVE_OK; k++)
        status = gpusolve_solve(handle, state->get(), room.workspace(), static_cast<gpusolve_system>(system),
                                &pair.b.dense, &pair.x.dense);
    const std::chrono::duration<double> passed = std::chrono::steady_clock::now() - start;
    state->return_room(room);
    check(status, handle);
    return passed.count() / count;
}

bool refine(const std::shared_ptr<FactorState> &state, const Matrix &matrix, nb::handle b, nb::handle x,
            const gpusolve_refine_options &options, uintptr_t stream, double *errors, int *steps,
            int64_t columns) {
    const Pair pair(*state, b, state->n, x, state->n);
    if (!pair.is_usable)
        return false;
    if (pair.columns() != columns)
        throw Failure(GPUSOLVE_INVALID_ARGUMENT, "errors, steps: must have one entry for each column of b");
    void *const on = reinterpret_cast<void *>(stream);
    const Turn turn(*state, false);
    Handle handle(state->place, on);
    const Room room = state->take_room(handle, std::max<int64_t>(1, columns), on);
    gpusolve_status status;
    {
        const Unlocked unlocked;
        status = gpusolve_refine(handle, state->get(), matrix.matrix, room.workspace(), &pair.b.dense,
                                 &pair.x.dense, &options, errors, steps);
    }
    state->return_room(room);
    if (status == GPUSOLVE_TYPE_MISMATCH)
        return false;
    check(status, handle);
    return true;
}

double estimate_rcond(const std::shared_ptr<FactorState> &state, const Matrix &matrix) {
    const Turn turn(*state, false);
    Handle handle(state->place);
    const Room room = state->take_room(handle, 2, nullptr);
    double rcond = 0;
    gpusolve_status status;
    {
        const Unlocked unlocked;
        status = gpusolve_factor_rcond(handle, state->get(), room.workspace(), matrix.matrix, 0, &rcond);
    }
    state->return_room(room);
    check(status, handle);
    return rcond;
}

Matrix::Matrix(const Place &place, const gpusolve_matrix_data &data) : place_(place) {
    Handle handle(place);
    gpusolve_status status;
    {
        const Unlocked unlocked;
        status = gpusolve_matrix_create(handle, &data, &matrix);
    }
    check(status, handle);
}

Matrix::~Matrix() {
    if (place_.backend == GPUSOLVE_BACKEND_CUDA && generation_ != process_generation())
        return;
    const driver::Relaxed relaxed;
    gpusolve_matrix_destroy(matrix);
}

/* ---------------------------------------------------------------------------------------- selections --- */

Selection::Selection(std::shared_ptr<FactorState> state, int system, int64_t b_count, const int64_t *b_rows,
                     int64_t x_count, const int64_t *x_rows, int64_t max_nrhs)
    : state_(std::move(state)), b_count_(b_rows ? b_count : state_->n),
      x_count_(x_rows ? x_count : state_->n) {
    const Turn turn(*state_, false);
    Handle handle(state_->place);
    gpusolve_status status;
    {
        const Unlocked unlocked;
        status = gpusolve_selection_create(handle, state_->get(), static_cast<gpusolve_system>(system),
                                           b_count_, b_rows, x_count_, x_rows, max_nrhs, &selection_);
    }
    check(status, handle);
}

Selection::~Selection() {
    if (state_->is_on_device()) {
        if (generation_ != process_generation())
            return;
        const driver::Relaxed relaxed;
        driver::wait_for_device(state_->place.device);
        gpusolve_selection_destroy(selection_);
        return;
    }
    gpusolve_selection_destroy(selection_);
}

bool Selection::solve(nb::handle b, nb::handle x, uintptr_t stream) {
    const Pair pair(*state_, b, b_count_, x, x_count_);
    if (!pair.is_usable)
        return false;
    void *const on = reinterpret_cast<void *>(stream);
    const Turn turn(*state_, false);
    if (generation_ != process_generation()) {
        lock_.release();
        lock_ = std::make_unique<std::mutex>();
        generation_ = process_generation();
    }
    Handle handle(state_->place, on);
    gpusolve_status status;
    {
        const Unlocked unlocked;
        const std::lock_guard<std::mutex> alone(*lock_); /* it holds what one solve writes */
        if (state_->is_on_device() && stream_ != on) {
            driver::wait_for_device(state_->place.device);
            stream_ = on;
        }
        status = gpusolve_solve_selected(handle, state_->get(), selection_, &pair.b.dense, &pair.x.dense);
    }
    if (status == GPUSOLVE_TYPE_MISMATCH)
        return false;
    check(status, handle);
    return true;
}

gpusolve_selection_info Selection::info() {
    gpusolve_selection_info info{};
    info.size = sizeof info;
    Handle handle(state_->place);
    check(gpusolve_selection_get_info(handle, selection_, &info), handle);
    return info;
}
