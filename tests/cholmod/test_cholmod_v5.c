/* gpusolve_cholmod.h with the objects of CHOLMOD 5.x: double and single precision. */
#define MOCK_MAIN_VERSION 5
#include "cholmod_mock/check.h"

int main(void) {
    check_solve(CHOLMOD_INT, CHOLMOD_DOUBLE);
    check_solve(CHOLMOD_LONG, CHOLMOD_DOUBLE);
    check_solve(CHOLMOD_INT, CHOLMOD_SINGLE);
    check_solve(CHOLMOD_LONG, CHOLMOD_SINGLE);
    check_zomplex(CHOLMOD_DOUBLE);
    check_natural();
    check_mixed(CHOLMOD_DOUBLE);
    check_mixed(CHOLMOD_SINGLE);
    check_zomplex(CHOLMOD_SINGLE);
    check_operands(CHOLMOD_INT, CHOLMOD_DOUBLE);
    check_operands(CHOLMOD_LONG, CHOLMOD_DOUBLE);
    check_operands(CHOLMOD_INT, CHOLMOD_SINGLE);
    check_operands(CHOLMOD_LONG, CHOLMOD_SINGLE);
    check_zomplex_operands(CHOLMOD_DOUBLE);
    check_zomplex_operands(CHOLMOD_SINGLE);

    testing_in("CHOLMOD 5, a factor and a right-hand side of two precisions");
    cholmod_common common = {.itype = CHOLMOD_INT};
    cholmod_factor l = small_factor(CHOLMOD_INT, CHOLMOD_SINGLE);
    cholmod_dense b = small_dense(CHOLMOD_DOUBLE);
    gpusolve_status status = GPUSOLVE_OK;
    CHECK(!gpusolve_cholmod_solve_status(CHOLMOD_A, &l, &b, &common, &status, NULL));
    CHECK_STATUS(status, GPUSOLVE_TYPE_MISMATCH);
    return testing_done();
}
