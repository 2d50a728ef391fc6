/*
 * Operands in pageable memory that the handle's threads copy (cuda/staging.c): x has the bits that it has with operands on
 * the device, with either of them in host memory and with both, by rows and by columns, with padding, in place, in every
 * precision, for blocks smaller and larger than the ring of buffers; padding stays. Refinement, and a refresh after a
 * solve, which uses the same buffers. Where no buffers can be had, the driver copies.
 */
#include "cuda_problem.h"

#include "memory.h"
#include "supernodal/cuda/support.h"

static gpusolve_handle *new_handle(void) {
    gpusolve_options options = GPUSOLVE_OPTIONS_INIT;
    gpusolve_handle *handle;
    options.backend = GPUSOLVE_BACKEND_CUDA;
    options.threads = 4;
    REQUIRE(gpusolve_create(&handle, &options) == GPUSOLVE_OK);
    return handle;
}

static void solve(const problem *p, gpusolve_system system, const gpusolve_dense *b,
                  const gpusolve_dense *x) {
    CHECK_STATUS(gpusolve_solve(p->handle, p->factor, NULL, system, b, x), GPUSOLVE_OK);
}

/* b and x of the host: which of them is there, and what the device gives with both on it. */
static void check_places(const problem *p, gpusolve_system system, gpusolve_order order, int64_t columns,
                         int64_t padding) {
    const gpusolve_dense b = testing_block(p->dtype, order, p->n, columns, padding),
                         x = testing_block(p->dtype, order, p->n, columns, padding),
                         expected = testing_block(p->dtype, order, p->n, columns, padding);
    testing_fill(&b, 11);
    const gpusolve_dense device_b = on_device(&b), device_x = on_device(&x);
    solve(p, system, &device_b, &device_x);
    CHECK(device_read(expected.values, device_x.values, testing_block_bytes(&x)) == 0);
    for (int place = 1; place < 4; place++) {
        const int b_here = place & 1, x_here = place >> 1;
        memset(x.values, 0xff, testing_block_bytes(&x));
        CHECK(device_fill(device_x.values, 0xff, testing_block_bytes(&x)) == 0);
        solve(p, system, b_here ? &b : &device_b, x_here ? &x : &device_x);
        if (!x_here)
            CHECK(device_read(x.values, device_x.values, testing_block_bytes(&x)) == 0);
        CHECK(testing_same_bits(&x, 0, &expected, 0, columns));
        CHECK(testing_padding_untouched(&x));
    }
    solve(p, system, &b, &b); /* in place */
    CHECK(testing_same_bits(&b, 0, &expected, 0, columns));
    CHECK(testing_padding_untouched(&b));
    device_delete(device_b.values);
    device_delete(device_x.values);
    free(b.values);
    free(x.values);
    free(expected.values);
}

static void check_shapes(problem *p, gpusolve_dtype dtype) {
    static const int64_t columns[] = {1, 3, 8, 40, 300};
    import_as(p, dtype);
    for (int k = 0; k < 5; k++)
        for (int order = 0; order < 2; order++)
            for (int64_t padding = 0; padding <= 3; padding += 3) {
                testing_in("type %d, %d columns, order %d, padding %d", (int)dtype, (int)columns[k], order,
                           (int)padding);
                check_places(p, GPUSOLVE_A, order ? GPUSOLVE_ROW_MAJOR : GPUSOLVE_COL_MAJOR, columns[k],
                             padding);
            }
    check_places(p, GPUSOLVE_P, GPUSOLVE_COL_MAJOR, 8, 1);
    check_places(p, GPUSOLVE_Lt, GPUSOLVE_ROW_MAJOR, 8, 1);
}

/* The first solve of a handle that has imported nothing makes the buffers, or finds that there is no memory for them. */
static void check_no_buffers(problem *p) {
    const gpusolve_dense b = new_block(p, 4), x = new_block(p, 4), expected = new_block(p, 4);
    gpusolve_workspace *workspace = NULL;
    gpusolve_handle *other = new_handle();
    testing_fill(&b, 2);
    solve(p, GPUSOLVE_A, &b, &expected);
    const gpusolve_dense device_x = on_device(&x); /* so that a solve asks for the buffers once */
    REQUIRE(gpusolve_workspace_create(other, p->factor, 4, &workspace) == GPUSOLVE_OK);
    const int64_t live = gsv_live_on_device();
    for (int k = 1; k <= 3; k++) {
        testing_in("allocation %d fails", k);
        CHECK(device_fill(device_x.values, 0xff, testing_block_bytes(&x)) == 0);
        gsv_fail_allocation(k);
        CHECK_STATUS(gpusolve_solve(other, p->factor, workspace, GPUSOLVE_A, &b, &device_x), GPUSOLVE_OK);
        gsv_fail_allocation(0);
        CHECK(gsv_live_on_device() == live);
        CHECK(device_read(x.values, device_x.values, testing_block_bytes(&x)) == 0);
        CHECK(testing_same_bits(&x, 0, &expected, 0, 4));
    }
    testing_in("and now none fails");
    memset(x.values, 0xff, testing_block_bytes(&x));
    CHECK_STATUS(gpusolve_solve(other, p->factor, workspace, GPUSOLVE_A, &b, &x), GPUSOLVE_OK);
    CHECK(gsv_live_on_device() > live); /* it was staged */
    CHECK(testing_same_bits(&x, 0, &expected, 0, 4));
    gpusolve_workspace_destroy(workspace);
    gpusolve_destroy(other);
    device_delete(device_x.values);
    free(b.values);
    free(x.values);
    free(expected.values);
}

/* An upload after a solve, and a solve after that, through the same buffers. */
static void check_refresh(problem *p) {
    testing_in("refresh");
    const gpusolve_dense b = new_block(p, 20), x = new_block(p, 20), expected = new_block(p, 20);
    testing_fill(&b, 4);
    solve(p, GPUSOLVE_A, &b, &expected);
    for (int k = 0; k < 5; k++) {
        memset(x.values, 0xff, testing_block_bytes(&x));
        CHECK_STATUS(gpusolve_cholmod_refresh(p->handle, p->factor, p->l), GPUSOLVE_OK);
        solve(p, GPUSOLVE_A, &b, &x);
        CHECK(testing_same_bits(&x, 0, &expected, 0, 20));
    }
    free(b.values);
    free(x.values);
    free(expected.values);
}

int main(void) {
    problem p;
    gpusolve_backend backends[2];
    if (testing_backends(backends) < 2) {
        printf("skipped: no CUDA device\n");
        return TESTING_SKIPPED;
    }
    open_problem(&p, "grid2d:50");
    gpusolve_factor_destroy(p.factor);
    p.factor = NULL;
    gpusolve_destroy(p.handle);
    p.handle = new_handle();
    gsv_cuda_stage_from(1);
    check_shapes(&p, GPUSOLVE_DOUBLE);
    check_no_buffers(&p);
    check_refresh(&p);
    close_problem(&p);

    open_kind(&p, "grid2d:100@c", GPUSOLVE_SUPERNODAL_LL, GPUSOLVE_COMPLEX_DOUBLE);
    gpusolve_factor_destroy(p.factor);
    p.factor = NULL;
    gpusolve_destroy(p.handle);
    p.handle = new_handle();
    import_as(&p, GPUSOLVE_COMPLEX_FLOAT);
    check_places(&p, GPUSOLVE_A, GPUSOLVE_COL_MAJOR, 3, 1);
    gsv_cuda_stage_from(0);
    import_as(&p, GPUSOLVE_COMPLEX_DOUBLE);
    testing_in("more than the ring holds"); /* 256 columns of 160 KB */
    check_places(&p, GPUSOLVE_A, GPUSOLVE_COL_MAJOR, 256, 0);
    check_places(&p, GPUSOLVE_A, GPUSOLVE_ROW_MAJOR, 256, 5);
    close_problem(&p);
    return testing_done();
}
