/* gpusolve_cholmod.h with the objects of CHOLMOD 4.x: double precision alone. */
#define MOCK_MAIN_VERSION 4
#include "cholmod_mock/check.h"

int main(void) {
    check_solve(CHOLMOD_INT, CHOLMOD_DOUBLE);
    check_solve(CHOLMOD_LONG, CHOLMOD_DOUBLE);
    check_zomplex(CHOLMOD_DOUBLE);
    check_natural();
    check_mixed(CHOLMOD_DOUBLE);
    check_operands(CHOLMOD_INT, CHOLMOD_DOUBLE);
    check_operands(CHOLMOD_LONG, CHOLMOD_DOUBLE);
    check_zomplex_operands(CHOLMOD_DOUBLE);

    testing_in("CHOLMOD 4, single");
    cholmod_common common = {.itype = CHOLMOD_INT};
    cholmod_factor l = small_factor(CHOLMOD_INT, CHOLMOD_SINGLE);
    cholmod_dense b = small_dense(CHOLMOD_SINGLE);
    gpusolve_status status = GPUSOLVE_OK;
    CHECK(!gpusolve_cholmod_solve_status(CHOLMOD_A, &l, &b, &common, &status, NULL));
    CHECK_STATUS(status, GPUSOLVE_NOT_SUPPORTED);
    CHECK(common.status == CHOLMOD_INVALID);
    return testing_done();
}
