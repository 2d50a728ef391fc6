/** @file
 * Batches for C++17: many factors, which one call solves with. gpusolve_batch.h says what each call does.
 *
 *      std::vector<gpusolve::factor_data> members;          gpusolve::supernodal(...) or gpusolve::simplicial(...) of each
 *      gpusolve::batch batch(handle, members);
 *      gpusolve::batch_workspace workspace(handle, batch, 1);
 *      gpusolve::solve(handle, batch, workspace, GPUSOLVE_A, b, x);        containers of blocks, one for each member
 *
 * Objects, operands and errors are as in gpusolve.hpp: without a gpusolve_status & as its last argument a call throws. Calls that take
 * a container of members or of blocks allocate memory, and so may throw std::bad_alloc in either form.
 */
#ifndef GPUSOLVE_BATCH_HPP
#define GPUSOLVE_BATCH_HPP

#include "gpusolve.hpp"
#include "gpusolve_batch.h"

namespace gpusolve {

/** The members' factors. */
class batch : public detail::owner<gpusolve_batch, gpusolve_batch_destroy> {
  public:
    batch() noexcept = default;
    explicit batch(gpusolve_batch *adopted) noexcept : owner(adopted) {}
    /** members: a container of factor_data, or of gpusolve_factor_data. */
    template <class Members> batch(handle &with, const Members &members, gpusolve_status &status) {
        std::vector<gpusolve_factor_data> data;
        status = take(with, members, data);
        if (status == GPUSOLVE_OK)
            status = gpusolve_batch_create(with.get(), detail::length(data), data.data(), nullptr, &object);
    }
    /** New values for members first, first + 1, ... */
    template <class Members>
    void refresh(handle &with, std::int64_t first, const Members &members, gpusolve_status &status) {
        std::vector<gpusolve_factor_data> data;
        status = take(with, members, data);
        if (status == GPUSOLVE_OK)
            status =
                gpusolve_batch_refresh(with.get(), object, first, detail::length(data), data.data(), nullptr);
    }
    /** Members. */
    std::int64_t size() const noexcept {
        return gpusolve_batch_get_count(object);
    }
    gpusolve_batch_info info(handle &with, std::int64_t max_nrhs, gpusolve_status &status) const noexcept {
        gpusolve_batch_info answer = {};
        answer.size = sizeof answer;
        status = gpusolve_batch_get_info(with.get(), object, max_nrhs, &answer);
        return answer;
    }
    /** Where each member's rows begin among those of all; the last one is their sum. */
    std::vector<std::int64_t> offsets(handle &with, gpusolve_status &status) const {
        std::vector<std::int64_t> answer(static_cast<std::size_t>(size()) + 1);
        status = gpusolve_batch_get_offsets(with.get(), object, answer.data());
        if (status != GPUSOLVE_OK)
            answer.clear();
        return answer;
    }
    /** All members as one factor, for calls of the C headers; it lives as long as the batch. */
    const gpusolve_factor *as_factor() const noexcept {
        return gpusolve_batch_get_factor(object);
    }
#if GPUSOLVE_HPP_THROWS
    template <class Members> batch(handle &with, const Members &members) {
        gpusolve_status status;
        *this = batch(with, members, status);
        check(with, status);
    }
    template <class Members> void refresh(handle &with, std::int64_t first, const Members &members) {
        gpusolve_status status;
        refresh(with, first, members, status);
        check(with, status);
    }
    gpusolve_batch_info info(handle &with, std::int64_t max_nrhs = 1) const {
        gpusolve_status status;
        const gpusolve_batch_info answer = info(with, max_nrhs, status);
        check(with, status);
        return answer;
    }
    std::vector<std::int64_t> offsets(handle &with) const {
        gpusolve_status status;
        std::vector<std::int64_t> answer = offsets(with, status);
        check(with, status);
        return answer;
    }
#endif

  private:
    static const char *fault_of(const factor_data &data) noexcept {
        return data.fault;
    }
    static const char *fault_of(const gpusolve_factor_data &) noexcept {
        return nullptr;
    }
    template <class Members>
    static gpusolve_status take(handle &with, const Members &members,
                                std::vector<gpusolve_factor_data> &data) {
        for (const auto &member : members) {
            if (const char *fault = fault_of(member)) {
                const std::string text = "members[" + std::to_string(data.size()) + "]: " + fault;
                return gpusolve_report(with.get(), GPUSOLVE_INVALID_ARGUMENT, text.c_str());
            }
            data.push_back(member);
        }
        return GPUSOLVE_OK;
    }
};

/** One for each solve that is under way at the same time; for up to max_nrhs columns of each member. */
class batch_workspace : public detail::owner<gpusolve_batch_workspace, gpusolve_batch_workspace_destroy> {
  public:
    batch_workspace() noexcept = default;
    explicit batch_workspace(gpusolve_batch_workspace *adopted) noexcept : owner(adopted) {}
    batch_workspace(handle &with, const batch &of, std::int64_t max_nrhs, gpusolve_status &status) noexcept {
        status = gpusolve_batch_workspace_create(with.get(), of.get(), max_nrhs, &object);
    }
    /** Whether a solve that has run gave up waiting on the device. */
    void check_solves(handle &with, gpusolve_status &status) noexcept {
        status = gpusolve_batch_workspace_check(with.get(), object);
    }
#if GPUSOLVE_HPP_THROWS
    batch_workspace(handle &with, const batch &of, std::int64_t max_nrhs) {
        check(with, gpusolve_batch_workspace_create(with.get(), of.get(), max_nrhs, &object));
    }
    void check_solves(handle &with) {
        check(with, gpusolve_batch_workspace_check(with.get(), object));
    }
#endif
};

/**
 * x[i] = system \ b[i] for every member i. b and x are containers of blocks (gpusolve::block, gpusolve::columns), or of containers of one
 * column each. active: a byte for each member, in host or device memory, 0 where x[i] is left as it was; nullptr: all members.
 */
template <class B, class X>
void solve(handle &with, const batch &of, const batch_workspace &in, gpusolve_system system, const B &b,
           X &&x, const std::uint8_t *active, gpusolve_status &status) {
    std::vector<gpusolve_dense> right, left;
    for (const auto &each : b)
        right.push_back(detail::as_block(each).get());
    for (auto &each : x)
        left.push_back(detail::as_solution(each).get());
    const std::int64_t count = of.size();
    status =
        detail::length(right) != count || detail::length(left) != count
            ? gpusolve_report(with.get(), GPUSOLVE_INVALID_ARGUMENT,
                              "b and x: must have a block for each member")
            : gpusolve_batch_solve(with.get(), of.get(), in.get(), system, right.data(), left.data(), active);
}
template <class B, class X>
void solve(handle &with, const batch &of, const batch_workspace &in, gpusolve_system system, const B &b,
           X &&x, gpusolve_status &status) {
    solve(with, of, in, system, b, x, nullptr, status);
}

/** Members of one order: b and x are the first member's blocks, the others follow at these distances, in numbers. */
template <class B, class X>
void solve_strided(handle &with, const batch &of, const batch_workspace &in, gpusolve_system system,
                   const B &b, std::int64_t b_stride, X &&x, std::int64_t x_stride,
                   const std::uint8_t *active, gpusolve_status &status) noexcept {
    const auto right = detail::as_block(b);
    const auto left = detail::as_solution(x);
    status = gpusolve_batch_solve_strided(with.get(), of.get(), in.get(), system, &right.get(), b_stride,
                                          &left.get(), x_stride, active);
}

#if GPUSOLVE_HPP_THROWS
template <class B, class X>
void solve(handle &with, const batch &of, const batch_workspace &in, gpusolve_system system, const B &b,
           X &&x, const std::uint8_t *active = nullptr) {
    gpusolve_status status;
    solve(with, of, in, system, b, x, active, status);
    check(with, status);
}
template <class B, class X>
void solve_strided(handle &with, const batch &of, const batch_workspace &in, gpusolve_system system,
                   const B &b, std::int64_t b_stride, X &&x, std::int64_t x_stride,
                   const std::uint8_t *active = nullptr) {
    gpusolve_status status;
    solve_strided(with, of, in, system, b, b_stride, x, x_stride, active, status);
    check(with, status);
}
#endif

} // namespace gpusolve

#endif /* GPUSOLVE_BATCH_HPP */
