// A second file with the header, in one program.
#include <gpusolve.hpp>

int solve_elsewhere(gpusolve::handle &handle, const gpusolve::factor &factor, std::vector<double> &x);

int solve_elsewhere(gpusolve::handle &handle, const gpusolve::factor &factor, std::vector<double> &x) {
    gpusolve_status status = GPUSOLVE_INTERNAL_ERROR;
    gpusolve::solve(handle, factor, GPUSOLVE_Pt, std::vector<double>(x.size(), 1), x, status);
    for (double value : x)
        if (value != 1)
            return -1;
    return status;
}
