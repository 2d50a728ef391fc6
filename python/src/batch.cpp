/* A batch (gpusolve_batch.h) as the Python package holds it. */
#include <nanobind/stl/optional.h>
#include <nanobind/stl/vector.h>

#include <algorithm>
#include <cstring>
#include <memory>
#include <vector>

#include "arrays.h"
#include "driver.h"
#include "gpusolve_batch.h"
#include "rounded.h"
#include "shared.h"
#include "unlocked.h"

using namespace nb::literals;

namespace {

/* ----------------------------------------------------------------------------------------- the batch --- */

class BatchState final : public Shared {
    gpusolve_batch *batch_ = nullptr;

    gpusolve_status make_room(gpusolve_handle *handle, int64_t columns, void **memory) override;
    void free_room(void *memory) override;

  public:
    std::vector<int64_t> offsets; /* [count + 1] */

    BatchState(const Place &where, const std::vector<gpusolve_factor_data> &members);
    ~BatchState() override;

    gpusolve_batch *get() const {
        return batch_;
    }
    int64_t count() const {
        return static_cast<int64_t>(offsets.size()) - 1;
    }
    void refresh(int64_t first, const std::vector<gpusolve_factor_data> &members);
};

BatchState::BatchState(const Place &where, const std::vector<gpusolve_factor_data> &members)
    : Shared("batch") {
    Handle handle(where);
    place = handle.place();
    offsets.resize(members.size() + 1);
    gpusolve_status status;
    {
        const Unlocked unlocked;
        status = gpusolve_batch_create(handle, static_cast<int64_t>(members.size()), members.data(), nullptr,
                                       &batch_);
        if (status == GPUSOLVE_OK)
            status = gpusolve_batch_get_offsets(handle, batch_, offsets.data());
        if (status != GPUSOLVE_OK)
            gpusolve_batch_destroy(batch_); /* no destructor runs */
    }
    check(status, handle);
    n = offsets.back();
    if (!members.empty())
        dtype = members[0].dtype;
}

BatchState::~BatchState() {
    if (is_foreign())
        return;
    const Unlocked unlocked;
    const driver::Relaxed relaxed;
    free_rooms();
    gpusolve_batch_destroy(batch_);
}

gpusolve_status BatchState::make_room(gpusolve_handle *handle, int64_t columns, void **memory) {
    gpusolve_batch_workspace *made = nullptr;
    const gpusolve_status status = gpusolve_batch_workspace_create(handle, batch_, columns, &made);
    *memory = made;
    return status;
}

void BatchState::free_room(void *memory) {
    gpusolve_batch_workspace_destroy(static_cast<gpusolve_batch_workspace *>(memory));
}

void BatchState::refresh(int64_t first, const std::vector<gpusolve_factor_data> &members) {
    const Turn turn(*this, true);
    Handle handle(place);
    gpusolve_status status;
    {
        const Unlocked unlocked;
        status = gpusolve_batch_refresh(handle, batch_, first, static_cast<int64_t>(members.size()),
                                        members.data(), nullptr);
    }
    refreshes_++;
    check(status, handle);
}

/* -------------------------------------------------------------------------------------------- solves --- */

struct CoreBatch {
    std::shared_ptr<BatchState> state; /* empty when it is closed */

    BatchState &open() const {
        if (!state)
            throw Failure(GPUSOLVE_INVALID_ARGUMENT, "the batch is closed");
        state->check_process();
        return *state;
    }
};

/* Calls run(handle, workspace). False, with nothing done, if the library does not take the operands' types. */
template <typename Run> bool in_room(BatchState &state, int64_t columns, void *stream, const Run &run) {
    const Turn turn(state, false);
    Handle handle(state.place, stream);
    const Room room = state.take_room(handle, std::max<int64_t>(1, columns), stream);
    gpusolve_status status;
    {
        const Unlocked unlocked;
        status =
            run(static_cast<gpusolve_handle *>(handle), static_cast<gpusolve_batch_workspace *>(room.memory));
    }
    state.return_room(room);
    if (status == GPUSOLVE_TYPE_MISMATCH)
        return false;
    check(status, handle);
    return true;
}

/* b and x: a view for each member. active: address of a byte for each member; 0: none. */
bool solve(const CoreBatch &self, const std::vector<nb::object> &b, const std::vector<nb::object> &x,
           int system, uintptr_t active, uintptr_t stream) {
    const std::shared_ptr<BatchState> kept = self.state;
    BatchState &state = self.open();
    const auto count = static_cast<size_t>(state.count());
    if (b.size() != count || x.size() != count)
        throw Failure(GPUSOLVE_INVALID_ARGUMENT,
                      "b, out: must have a block for each of " + std::to_string(count) + " members");
    std::vector<Operand> operands; /* of b and x in turn: they hold what they have borrowed */
    std::vector<gpusolve_dense> from, to;
    int64_t columns = 0;
    operands.reserve(2 * count);
    for (size_t m = 0; m < count; m++) {
        const int64_t rows = state.offsets[m + 1] - state.offsets[m];
        operands.emplace_back(b[m], "b", false, rows);
        operands.emplace_back(x[m], "out", true, rows);
        const Operand &own_b = operands[2 * m], &own_x = operands[2 * m + 1];
        if (!own_b.is_usable || !own_x.is_usable)
            return false;
        state.check_place(own_b, "b");
        state.check_place(own_x, "out");
        from.push_back(own_b.dense);
        to.push_back(own_x.dense);
        columns = std::max(columns, own_b.dense.cols);
    }
    return in_room(state, columns, reinterpret_cast<void *>(stream),
                   [&](gpusolve_handle *handle, gpusolve_batch_workspace *workspace) {
                       return gpusolve_batch_solve(handle, state.get(), workspace,
                                                   static_cast<gpusolve_system>(system), from.data(),
                                                   to.data(), reinterpret_cast<const uint8_t *>(active));
                   });
}

/* The first member's block of a stack, and the distance to the second one's. */
struct Stacked {
    const Operand first;
    int64_t stride = 0;
    bool is_usable;

    Stacked(const BatchState &state, nb::handle of_first, nb::handle of_second, const char *name,
            bool writable)
        : first(of_first, name, writable, state.offsets[1]), is_usable(first.is_usable) {
        if (!is_usable)
            return;
        state.check_place(first, name);
        const gpusolve_dense &d = first.dense;
        const auto unit = static_cast<int64_t>(bytes_of(d.dtype));
        const bool by_columns = d.order == GPUSOLVE_COL_MAJOR;
        const int64_t run = by_columns ? d.rows : d.cols, runs = by_columns ? d.cols : d.rows,
                      extent = runs > 0 && run > 0 ? (runs - 1) * d.ld + run : 0;
        if (of_second.is_none()) {
            stride = extent;
            return;
        }
        const Operand second(of_second, name, writable, state.offsets[1]);
        const int64_t apart =
            static_cast<const char *>(second.dense.values) - static_cast<const char *>(d.values);
        stride = apart / unit;
        /* members that reach into each other are copied; all may have the same b */
        is_usable = second.is_usable && apart % unit == 0 && (stride >= extent || (stride == 0 && !writable));
    }
};

/* Members of one order: b0 and b1 are the blocks of the first two members, b1 is None if there is one alone. */
bool solve_stack(const CoreBatch &self, nb::handle b0, nb::handle b1, nb::handle x0, nb::handle x1,
                 int system, uintptr_t active, uintptr_t stream) {
    const std::shared_ptr<BatchState> kept = self.state;
    BatchState &state = self.open();
    if (state.count() < 1)
        throw Failure(GPUSOLVE_INVALID_ARGUMENT, "the batch has no members");
    const Stacked b(state, b0, b1, "b", false), x(state, x0, x1, "out", true);
    if (!b.is_usable || !x.is_usable)
        return false;
    return in_room(state, b.first.dense.cols, reinterpret_cast<void *>(stream),
                   [&](gpusolve_handle *handle, gpusolve_batch_workspace *workspace) {
                       return gpusolve_batch_solve_strided(handle, state.get(), workspace,
                                                           static_cast<gpusolve_system>(system),
                                                           &b.first.dense, b.stride, &x.first.dense, x.stride,
                                                           reinterpret_cast<const uint8_t *>(active));
                   });
}

bool are_equal(const void *a, const void *b, int64_t count) {
    return a == b || (a && b && std::memcmp(a, b, static_cast<size_t>(count) * sizeof(int64_t)) == 0);
}

/* A member in compressed columns whose index arrays hold what the one before has gets that one's: so the library sees it at once. */
void share_pattern(const gpusolve_factor_data &before, gpusolve_factor_data *data) {
    const bool is_same = data->kind != GPUSOLVE_SUPERNODAL_LL && data->kind == before.kind &&
                         data->n == before.n && data->xsize == before.xsize &&
                         are_equal(data->perm, before.perm, data->n) &&
                         are_equal(data->p, before.p, data->n + 1) &&
                         are_equal(data->i, before.i, data->xsize) && are_equal(data->nz, before.nz, data->n);
    if (!is_same)
        return;
    data->perm = before.perm;
    data->p = before.p;
    data->i = before.i;
    data->nz = before.nz;
}

/* Factors of CHOLMOD's as the library takes them, rounded if that is wanted. */
struct Members {
    std::vector<Rounded> rounded;
    std::vector<gpusolve_factor_data> data;

    Members(const std::vector<const cholmod::Numeric *> &numerics, bool is_single, bool stored_in_single) {
        for (const cholmod::Numeric *numeric : numerics) {
            gpusolve_factor_data own = numeric->describe();
            own.storage = stored_in_single ? GPUSOLVE_STORAGE_SINGLE : GPUSOLVE_STORAGE_SAME;
            if (is_single) {
                rounded.emplace_back(own);
                own = rounded.back().data; /* its numbers stay where they are when the vector grows */
            }
            if (!data.empty())
                share_pattern(data.back(), &own);
            data.push_back(own);
        }
    }
};

nb::dict info_of(BatchState &state) {
    gpusolve_batch_info info{};
    info.size = sizeof info;
    const Turn turn(state, false);
    const Handle handle(state.place);
    check(gpusolve_batch_get_info(handle, state.get(), 1, &info), handle);
    nb::dict d;
    d["device"] = gpusolve_get_device_name(handle);
    d["count"] = info.count;
    d["n"] = info.n;
    d["patterns"] = info.patterns;
    d["factor_bytes"] = info.factor_bytes;
    d["workspace_bytes"] = info.workspace_bytes;
    d["host_bytes"] = info.host_bytes;
    return d;
}

} // namespace

void bind_batch(nb::module_ &m) {
    nb::class_<CoreBatch>(m, "Batch", nb::is_weak_referenceable())
        .def_static(
            "from_numerics",
            [](int backend, int device, int threads, bool same_bits,
               const std::vector<const cholmod::Numeric *> &numerics, bool is_single, bool stored_in_single) {
                const Members members(numerics, is_single, stored_in_single);
                return CoreBatch{std::make_shared<BatchState>(place_of(backend, device, threads, same_bits),
                                                              members.data)};
            })
        .def("refresh",
             [](const CoreBatch &self, int64_t first, const std::vector<const cholmod::Numeric *> &numerics) {
                 const std::shared_ptr<BatchState> kept = self.state;
                 BatchState &state = self.open();
                 const bool is_single =
                     state.dtype == GPUSOLVE_FLOAT || state.dtype == GPUSOLVE_COMPLEX_FLOAT;
                 state.refresh(first, Members(numerics, is_single, false).data);
             })
        .def("solve", &solve)
        .def("solve_stack", &solve_stack, "b0"_a, "b1"_a.none(), "x0"_a, "x1"_a.none(), "system"_a,
             "active"_a, "stream"_a)
        .def("close", [](CoreBatch &self) { self.state.reset(); })
        .def_prop_ro("closed", [](const CoreBatch &self) { return !self.state; })
        .def_prop_ro("dtype", [](const CoreBatch &self) { return static_cast<int>(self.open().dtype); })
        .def_prop_ro("is_on_device", [](const CoreBatch &self) { return self.open().is_on_device(); })
        .def_prop_ro("device", [](const CoreBatch &self) { return self.open().place.device; })
        .def_prop_ro("offsets",
                     [](const CoreBatch &self) {
                         const std::vector<int64_t> &offsets = self.open().offsets;
                         return copy_of<int64_t>(offsets.data(), offsets.size());
                     })
        .def("info", [](const CoreBatch &self) { return info_of(self.open()); });
}
