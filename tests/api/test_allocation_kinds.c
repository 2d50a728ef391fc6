/*
 * As test_allocation.c, with simplicial factors: L L' of complex numbers, and L D L'. On a device only the calls that depend on
 * the kind of the factor are tried.
 */
#include "faults_world.h"

int main(void) {
    cholmod_common common;
    cholmod_start(&common);
    check_table();
    gpusolve_backend backends[2];
    const int count = testing_backends(backends);
    for (int i = 0; i < count; i++) {
        check_world(backends[i], FAULT_ALLOCATION, "grid2d:12@c", GPUSOLVE_SIMPLICIAL_LL, &common);
        check_world(backends[i], FAULT_ALLOCATION, "grid2d:12", GPUSOLVE_SIMPLICIAL_LDL, &common);
    }
    cholmod_finish(&common);
    CHECK(gsv_live_allocations() == 0 && gsv_live_on_device() == 0);
    return testing_done();
}
