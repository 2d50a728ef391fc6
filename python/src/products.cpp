#include <algorithm>
#include <memory>

#include "arrays.h"
#include "factor.h"
#include "gpusolve_inverse.h"
#include "gpusolve_product.h"
#include "gpusolve_sample.h"
#include "unlocked.h"

using namespace nb::literals;

namespace {

/* A vector whose numbers lie one behind the other. */
const void *numbers_of(const Operand &vector, const char *name, gpusolve_dtype dtype) {
    const gpusolve_dense &d = vector.dense;
    if (!vector.is_usable || d.dtype != dtype || d.cols != 1 || (d.order == GPUSOLVE_ROW_MAJOR && d.ld != 1))
        throw Failure(GPUSOLVE_TYPE_MISMATCH,
                      std::string(name) + ": must be a contiguous vector of the factor's dtype");
    return d.values;
}

/* False, with nothing done, if x or z cannot be taken as they are. */
bool sample(const CoreFactor &self, nb::handle z, nb::handle x, nb::handle mean, uint64_t seed, int64_t first,
            uintptr_t stream) {
    const std::shared_ptr<FactorState> kept = self.state;
    FactorState &state = self.open();
    const Operand to(x, "out", true, state.n);
    std::unique_ptr<Operand> from, shift;
    gpusolve_sample_options options = GPUSOLVE_SAMPLE_OPTIONS_INIT;
    options.seed = seed;
    options.first = first;
    if (!to.is_usable)
        return false;
    state.check_place(to, "out");
    if (!z.is_none()) {
        from = std::make_unique<Operand>(z, "z", false, state.n);
        if (!from->is_usable)
            return false;
        state.check_place(*from, "z");
        options.z = &from->dense;
    }
    if (!mean.is_none()) {
        shift = std::make_unique<Operand>(mean, "mean", false, state.n);
        state.check_place(*shift, "mean");
        options.mean = numbers_of(*shift, "mean", state.dtype);
    }
    void *const on = reinterpret_cast<void *>(stream);
    const Turn turn(state, false);
    Handle handle(state.place, on);
    const Room room = state.take_room(handle, std::max<int64_t>(1, to.dense.cols), on);
    gpusolve_status status;
    {
        const Unlocked unlocked;
        status = gpusolve_sample(handle, state.get(), room.workspace(), &options, &to.dense);
    }
    state.return_room(room);
    if (status == GPUSOLVE_TYPE_MISMATCH)
        return false;
    check(status, handle);
    return true;
}

/* False, with nothing done, if x or y cannot be taken as they are. */
bool multiply(const CoreFactor &self, nb::handle x, nb::handle y, int operation, uintptr_t stream) {
    const std::shared_ptr<FactorState> kept = self.state;
    FactorState &state = self.open();
    const Operand from(x, "x", false, state.n), to(y, "out", true, state.n);
    if (!from.is_usable || !to.is_usable)
        return false;
    state.check_place(from, "x");
    state.check_place(to, "out");
    const Turn turn(state, false);
    Handle handle(state.place, reinterpret_cast<void *>(stream));
    gpusolve_status status;
    {
        const Unlocked unlocked;
        status = gpusolve_multiply(handle, state.get(), static_cast<gpusolve_operator>(operation),
                                   &from.dense, &to.dense);
    }
    if (status == GPUSOLVE_TYPE_MISMATCH)
        return false;
    check(status, handle);
    return true;
}

nb::object inverse_diagonal(const CoreFactor &self) {
    const std::shared_ptr<FactorState> kept = self.state;
    FactorState &state = self.open();
    std::vector<double> diagonal(static_cast<size_t>(state.n));
    const Turn turn(state, false);
    Handle handle(state.place);
    gpusolve_status status;
    {
        const Unlocked unlocked;
        status = gpusolve_inverse_diagonal(handle, state.get(), diagonal.data());
    }
    check(status, handle);
    return copy_of<double>(diagonal.data(), diagonal.size());
}

/* values: [count] of the factor's dtype, in host memory. */
void inverse_entries(const CoreFactor &self, const Indices &rows, const Indices &columns, nb::handle values) {
    const std::shared_ptr<FactorState> kept = self.state;
    FactorState &state = self.open();
    const auto count = static_cast<int64_t>(rows.size());
    if (columns.size() != rows.size())
        throw Failure(GPUSOLVE_INVALID_ARGUMENT, "rows, columns: must be of one length");
    const Operand to(values, "values", true, count);
    void *const numbers = count > 0 ? const_cast<void *>(numbers_of(to, "values", state.dtype)) : nullptr;
    const Turn turn(state, false);
    Handle handle(state.place);
    gpusolve_status status;
    {
        const Unlocked unlocked;
        status = gpusolve_inverse_entries(handle, state.get(), count, rows.data(), columns.data(), numbers);
    }
    check(status, handle);
}

} // namespace

void bind_products(nb::module_ &m) {
    m.def("sample", &sample, "factor"_a, "z"_a.none(), "x"_a, "mean"_a.none(), "seed"_a, "first"_a,
          "stream"_a);
    m.def("multiply", &multiply);
    m.def("inverse_diagonal", &inverse_diagonal);
    m.def("inverse_entries", &inverse_entries);
}
