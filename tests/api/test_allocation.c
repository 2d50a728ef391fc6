/*
 * Nothing is left to be had, in every public call: the k-th allocation, of host memory or of anything on a
 * device, is made to fail for k = 1, 2, ... until the call gets by without, and so is the k-th creation of a
 * thread. Each time a status says so, or the call does without; nothing is left behind; the same call with
 * the same handle then works; and the factor answers as before.
 *
 * A public function that is missing in the table of faults_world.h fails the test. Simplicial factors are in
 * test_allocation_kinds.c, so that the two run side by side: on a device each takes minutes.
 */
#include "faults_world.h"

int main(void) {
    cholmod_common common;
    cholmod_start(&common);
    check_table();
    gpusolve_backend backends[2];
    const int count = testing_backends(backends);
    for (int i = 0; i < count; i++) {
        check_world(backends[i], FAULT_ALLOCATION, "elasticity3d:5", GPUSOLVE_SUPERNODAL_LL, &common);
        check_world(backends[i], FAULT_THREAD, "elasticity3d:12", GPUSOLVE_SUPERNODAL_LL, &common);
    }
    cholmod_finish(&common);
    CHECK(gsv_live_allocations() == 0 && gsv_live_on_device() == 0);
    return testing_done();
}
