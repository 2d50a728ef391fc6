// The same from C++: A = [4 2; 2 5] = L L' with L = [2 0; 1 2], A x = [8; 12].
#include <gpusolve.h>
#include <gpusolve_dense.h>

#include <iostream>
#include <memory>
#include <vector>

struct destroy {
    void operator()(gpusolve_handle *handle) const {
        gpusolve_destroy(handle);
    }
    void operator()(gpusolve_factor *factor) const {
        gpusolve_factor_destroy(factor);
    }
};

int main() {
    const std::vector<std::int64_t> super{0, 2}, pi{0, 2}, px{0, 4}, s{0, 1};
    const std::vector<double> panel{2, 1, 0, 2};
    std::vector<double> b{8, 12};

    gpusolve_handle *raw_handle = nullptr;
    if (gpusolve_status status = gpusolve_create(&raw_handle, nullptr)) {
        std::cerr << gpusolve_status_message(status) << '\n';
        return 1;
    }
    std::unique_ptr<gpusolve_handle, destroy> handle(raw_handle);

    gpusolve_factor_data data = GPUSOLVE_FACTOR_DATA_INIT;
    data.itype = GPUSOLVE_INT64;
    data.n = data.minor = 2;
    data.nsuper = 1;
    data.ssize = 2;
    data.xsize = 4;
    data.super = super.data();
    data.pi = pi.data();
    data.px = px.data();
    data.s = s.data();
    data.x = panel.data();
    gpusolve_factor *raw_factor = nullptr;
    gpusolve_status status = gpusolve_factor_create(handle.get(), &data, &raw_factor);
    std::unique_ptr<gpusolve_factor, destroy> factor(raw_factor);

    gpusolve_dense in_place{GPUSOLVE_DOUBLE, GPUSOLVE_COL_MAJOR, 2, 1, 2, b.data()};
    if (status == GPUSOLVE_OK)
        status = gpusolve_solve(handle.get(), factor.get(), nullptr, GPUSOLVE_A, &in_place, &in_place);
    if (status != GPUSOLVE_OK)
        std::cerr << gpusolve_last_error(handle.get()) << '\n';
    return status != GPUSOLVE_OK || b[0] != 1 || b[1] != 2;
}
