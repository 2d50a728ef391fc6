/*
 * TRSM and TRMM on every backend: every side, uplo, trans and diag in every precision, sizes around the
 * blocks' edges, alpha 0, 1, -1 and complex, triangles too ill-conditioned to be inverted; unread entries and
 * padding hold NaNs.
 */
#include "testing.h"

#include "triangular_cases.h"

static void check_sizes(gpusolve_handle *handle, int multiply) {
    static const int64_t sizes[][2] = {{1, 1},   {2, 3},   {15, 1},  {16, 2},   {17, 16},  {33, 17},
                                       {64, 15}, {65, 16}, {64, 33}, {127, 10}, {129, 31}, {200, 5}};
    for (int dtype = 0; dtype < 4; dtype++)
        for (size_t k = 0; k < sizeof sizes / sizeof *sizes; k += testing_few() ? 3 : 1) {
            const triangular_case c = {.multiply = multiply,
                                       .dtype = (gpusolve_dtype)dtype,
                                       .m = sizes[k][0],
                                       .n = sizes[k][1],
                                       .alpha = k % 2       ? 1
                                                : dtype < 2 ? -0.5
                                                            : CMPLX(0.25, -1),
                                       .lda_padding = (int64_t)k % 3,
                                       .ldb_padding = (int64_t)(k + 1) % 3};
            case_variants(handle, c, (int)k % 2);
        }
}

/* Deep enough for the recursion and its products. */
static void check_deep(gpusolve_handle *handle, int multiply) {
    for (int dtype = 0; dtype < 4; dtype++) {
        const triangular_case c = {.multiply = multiply,
                                   .dtype = (gpusolve_dtype)dtype,
                                   .m = dtype == 1 ? 643 : 513,
                                   .n = 3,
                                   .alpha = -1,
                                   .lda_padding = 1,
                                   .ldb_padding = 2};
        case_variants(handle, c, 0);
        case_variants(handle, c, 1);
    }
}

static void check_wild(gpusolve_handle *handle) {
    for (int dtype = 0; dtype < 4; dtype++) {
        const triangular_case c = {.dtype = (gpusolve_dtype)dtype, .m = 75, .n = 9, .alpha = 1, .wild = 1};
        case_variants(handle, c, 1);
    }
}

/* alpha == 0: A is not read (it may be NULL) and B becomes zero, NaNs and all; its padding stays. */
static void check_zero(gpusolve_handle *handle, int multiply) {
    for (int dtype = 0; dtype < 4; dtype++)
        for (int side = 0; side < 2; side++) {
            const triangular_case c = {.multiply = multiply,
                                       .dtype = (gpusolve_dtype)dtype,
                                       .side = (gpusolve_side)side,
                                       .uplo = GPUSOLVE_LOWER,
                                       .m = 70,
                                       .n = 37,
                                       .ldb_padding = 3};
            testing_in("%s: %s", testing_backend_name(gpusolve_get_backend(handle)), case_name(&c));
            const gpusolve_dense b = testing_block(c.dtype, GPUSOLVE_COL_MAJOR, c.m, c.n, c.ldb_padding);
            const int on_device = gpusolve_get_backend(handle) == GPUSOLVE_BACKEND_CUDA;
            void *values = on_device ? device_new(b.values, testing_block_bytes(&b)) : b.values;
            REQUIRE(values);
            CHECK_STATUS(case_call(handle, &c, NULL, 70, values, b.ld, NULL, 0), GPUSOLVE_OK);
            if (on_device) {
                CHECK(device_read(b.values, values, testing_block_bytes(&b)) == 0);
                device_delete(values);
            }
            int zeros = 1;
            for (int64_t j = 0; j < c.n; j++)
                for (int64_t i = 0; i < c.m; i++)
                    zeros &= testing_get(&b, i, j) == 0;
            CHECK(zeros);
            CHECK(testing_padding_untouched(&b));
            free(b.values);
        }
}

int main(void) {
    gpusolve_backend backends[2];
    const int count = testing_backends(backends);
    for (int k = 0; k < count; k++) {
        gpusolve_handle *handle = testing_handle(backends[k], 0);
        for (int multiply = 0; multiply < 2; multiply++) {
            check_zero(handle, multiply);
            check_sizes(handle, multiply);
            check_deep(handle, multiply);
        }
        check_wild(handle);
        gpusolve_destroy(handle);
    }
    return testing_done();
}
