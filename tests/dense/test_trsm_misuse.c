/*
 * What TRSM, TRMM and their size queries refuse, one argument after the other in the order of declaration:
 * the status, that the message names the argument, and that B is as it was.
 */
#include "testing.h"

#include "triangular_cases.h"

typedef struct call_arguments {
    int side, uplo, trans, diag;
    int64_t m, n;
    const double *a;
    int64_t lda;
    double *b;
    int64_t ldb;
    void *workspace;
    size_t bytes;
} call_arguments;

static gpusolve_status call(gpusolve_handle *handle, int multiply, const call_arguments *c) {
    return (multiply ? gpusolve_dtrmm : gpusolve_dtrsm)(
        handle, (gpusolve_side)c->side, (gpusolve_uplo)c->uplo, (gpusolve_trans)c->trans,
        (gpusolve_diag)c->diag, c->m, c->n, 1, c->a, c->lda, c->b, c->ldb, c->workspace, c->bytes);
}

/* c and all arguments after the wrong one may be wrong too: the first is named. */
static void check_refused(gpusolve_handle *handle, const call_arguments *c, gpusolve_status expected,
                          const char *name) {
    for (int multiply = 0; multiply < 2; multiply++) {
        testing_in("%s: %s", testing_backend_name(gpusolve_get_backend(handle)), name);
        CHECK_STATUS(call(handle, multiply, c), expected);
        CHECK(strncmp(gpusolve_last_error(handle), name, strlen(name)) == 0);
        CHECK(gpusolve_last_error(handle)[strlen(name)] == ':');
    }
}

static void check_order(gpusolve_handle *handle, double *values) {
    const int on_device = gpusolve_get_backend(handle) == GPUSOLVE_BACKEND_CUDA;
    const size_t bytes = 12 * sizeof *values;
    double *a = on_device ? device_new(values, bytes) : values;
    double *b = on_device ? device_new(values, bytes) : values;
    REQUIRE(a && b);
    const int64_t huge = (int64_t)1 << 31;
    call_arguments c = {7, 7, 7, 7, -1, -1, NULL, 0, NULL, 0, NULL, 8};
    check_refused(handle, &c, GPUSOLVE_INVALID_ARGUMENT, "side");
    c.side = GPUSOLVE_LEFT;
    check_refused(handle, &c, GPUSOLVE_INVALID_ARGUMENT, "uplo");
    c.uplo = GPUSOLVE_FULL;
    check_refused(handle, &c, GPUSOLVE_INVALID_ARGUMENT, "uplo");
    c.uplo = GPUSOLVE_UPPER;
    check_refused(handle, &c, GPUSOLVE_INVALID_ARGUMENT, "trans");
    c.trans = GPUSOLVE_TRANS;
    check_refused(handle, &c, GPUSOLVE_INVALID_ARGUMENT, "diag");
    c.diag = GPUSOLVE_UNIT;
    check_refused(handle, &c, GPUSOLVE_INVALID_ARGUMENT, "m");
    c.m = huge;
    check_refused(handle, &c, GPUSOLVE_TOO_LARGE, "m");
    c.m = 3;
    check_refused(handle, &c, GPUSOLVE_INVALID_ARGUMENT, "n");
    c.n = huge;
    check_refused(handle, &c, GPUSOLVE_TOO_LARGE, "n");
    c.n = 2;
    check_refused(handle, &c, GPUSOLVE_INVALID_ARGUMENT, "A");
    if (on_device) {
        c.a = values;
        check_refused(handle, &c, GPUSOLVE_INVALID_ARGUMENT, "A");
    }
    c.a = a;
    check_refused(handle, &c, GPUSOLVE_INVALID_ARGUMENT, "lda");
    c.lda = 2;
    check_refused(handle, &c, GPUSOLVE_INVALID_ARGUMENT, "lda");
    c.lda = huge;
    check_refused(handle, &c, GPUSOLVE_TOO_LARGE, "lda");
    c.lda = 3;
    check_refused(handle, &c, GPUSOLVE_INVALID_ARGUMENT, "B");
    if (on_device) {
        c.b = values;
        check_refused(handle, &c, GPUSOLVE_INVALID_ARGUMENT, "B");
    }
    c.b = b;
    check_refused(handle, &c, GPUSOLVE_INVALID_ARGUMENT, "ldb");
    c.ldb = 2;
    check_refused(handle, &c, GPUSOLVE_INVALID_ARGUMENT, "ldb");
    c.ldb = huge;
    check_refused(handle, &c, GPUSOLVE_TOO_LARGE, "ldb");
    c.ldb = 3;
    check_refused(handle, &c, GPUSOLVE_INVALID_ARGUMENT, "workspace");
    if (on_device) {
        c.workspace = values;
        check_refused(handle, &c, GPUSOLVE_INVALID_ARGUMENT, "workspace");
        c.workspace = b + 1;
        check_refused(handle, &c, GPUSOLVE_INVALID_ARGUMENT, "workspace");
        double after[12] = {0};
        REQUIRE(device_read(after, b, bytes) == 0);
        CHECK(memcmp(after, values, bytes) == 0);
    }
    c.side = GPUSOLVE_RIGHT; /* on the right side the order is n */
    c.workspace = NULL;
    c.bytes = 0;
    c.lda = 1;
    check_refused(handle, &c, GPUSOLVE_INVALID_ARGUMENT, "lda");
    for (int k = 0; k < 12; k++)
        CHECK(values[k] == k);
    if (on_device) {
        device_delete(a);
        device_delete(b);
    }
}

/* Nothing to do: no pointer is looked at. */
static void check_empty(gpusolve_handle *handle) {
    testing_in("empty");
    for (int multiply = 0; multiply < 2; multiply++)
        for (int side = 0; side < 2; side++)
            for (int shape = 1; shape < 4; shape++) {
                const call_arguments c = {
                    side, GPUSOLVE_LOWER, 0, 0, shape & 1 ? 0 : 4, shape & 2 ? 0 : 4, NULL, 4, NULL,
                    4,    NULL,           0};
                CHECK_STATUS(call(handle, multiply, &c), GPUSOLVE_OK);
            }
}

static void check_complex_alpha(gpusolve_handle *handle) {
    testing_in("alpha");
    const gpusolve_status expected = GPUSOLVE_INVALID_ARGUMENT;
    CHECK_STATUS(gpusolve_ctrsm(handle, GPUSOLVE_LEFT, GPUSOLVE_LOWER, GPUSOLVE_TRANS, GPUSOLVE_UNIT, 1, 1,
                                NULL, NULL, 1, NULL, 1, NULL, 0),
                 expected);
    CHECK(strncmp(gpusolve_last_error(handle), "alpha:", 6) == 0);
    CHECK_STATUS(gpusolve_ztrmm(handle, GPUSOLVE_LEFT, GPUSOLVE_LOWER, GPUSOLVE_TRANS, GPUSOLVE_UNIT, 1, 1,
                                NULL, NULL, 1, NULL, 1, NULL, 0),
                 expected);
    CHECK(strncmp(gpusolve_last_error(handle), "alpha:", 6) == 0);
}

static void check_query(gpusolve_handle *handle) {
    gpusolve_status (*const queries[])(gpusolve_handle *, gpusolve_dtype, gpusolve_side, int64_t, int64_t,
                                       size_t *) = {gpusolve_trsm_workspace, gpusolve_trmm_workspace};
    for (int k = 0; k < 2; k++) {
        testing_in("query %d", k);
        size_t bytes = 1;
        CHECK_STATUS(queries[k](NULL, GPUSOLVE_DOUBLE, GPUSOLVE_LEFT, 1, 1, &bytes),
                     GPUSOLVE_INVALID_ARGUMENT);
        CHECK(bytes == 0);
        CHECK_STATUS(queries[k](handle, (gpusolve_dtype)4, (gpusolve_side)2, -1, -1, NULL),
                     GPUSOLVE_INVALID_ARGUMENT);
        CHECK(strncmp(gpusolve_last_error(handle), "dtype:", 6) == 0);
        CHECK_STATUS(queries[k](handle, GPUSOLVE_FLOAT, (gpusolve_side)2, -1, -1, NULL),
                     GPUSOLVE_INVALID_ARGUMENT);
        CHECK(strncmp(gpusolve_last_error(handle), "side:", 5) == 0);
        CHECK_STATUS(queries[k](handle, GPUSOLVE_FLOAT, GPUSOLVE_RIGHT, -1, -1, NULL),
                     GPUSOLVE_INVALID_ARGUMENT);
        CHECK(strncmp(gpusolve_last_error(handle), "m:", 2) == 0);
        CHECK_STATUS(queries[k](handle, GPUSOLVE_FLOAT, GPUSOLVE_RIGHT, 0, -1, NULL),
                     GPUSOLVE_INVALID_ARGUMENT);
        CHECK(strncmp(gpusolve_last_error(handle), "n:", 2) == 0);
        CHECK_STATUS(queries[k](handle, GPUSOLVE_FLOAT, GPUSOLVE_RIGHT, 0, 0, NULL),
                     GPUSOLVE_INVALID_ARGUMENT);
        CHECK(strncmp(gpusolve_last_error(handle), "bytes:", 6) == 0);
        CHECK_STATUS(queries[k](handle, GPUSOLVE_FLOAT, GPUSOLVE_RIGHT, 300, 500, &bytes), GPUSOLVE_OK);
        if (queries[k] == gpusolve_trsm_workspace) /* a product may need none */
            CHECK((bytes > 0) == (gpusolve_get_backend(handle) == GPUSOLVE_BACKEND_CUDA));
    }
}

int main(void) {
    gpusolve_backend backends[2];
    const int count = testing_backends(backends);
    const call_arguments none = {0, GPUSOLVE_LOWER, 0, 0, 1, 1, NULL, 1, NULL, 1, NULL, 0};
    CHECK_STATUS(call(NULL, 0, &none), GPUSOLVE_INVALID_ARGUMENT);
    CHECK_STATUS(call(NULL, 1, &none), GPUSOLVE_INVALID_ARGUMENT);
    for (int k = 0; k < count; k++) {
        gpusolve_handle *handle = testing_handle(backends[k], 0);
        double values[12];
        for (int i = 0; i < 12; i++)
            values[i] = i;
        check_order(handle, values);
        check_empty(handle);
        check_complex_alpha(handle);
        check_query(handle);
        gpusolve_destroy(handle);
    }
    return testing_done();
}
