/* Every argument of the functions for batches, wrong once: the status, and a sentence that names it. Members that are no factors are named, too. */
#include "testing.h"

#include "gpusolve_batch.h"
#include "memory.h"

#define REFUSED(call, status, word) CHECK_REFUSED(w->handle, call, status, word)

enum { MEMBERS = 4 };

typedef struct batch_world {
    gpusolve_handle *handle;
    gpusolve_handle *other_backend; /* NULL where there is one backend alone */
    gpusolve_factor_data members[MEMBERS];
    gpusolve_batch *batch, *other;
    gpusolve_batch_workspace *workspace;
} batch_world;

static const gpusolve_status wrong = GPUSOLVE_INVALID_ARGUMENT;

/* [2 0; 1 3], and a matrix of order 1. */
static const int32_t p[] = {0, 2, 3}, i[] = {0, 1, 1};
static const double l[] = {2, 1, 3};

static gpusolve_factor_data member(int64_t n, const double *x) {
    gpusolve_factor_data data = GPUSOLVE_FACTOR_DATA_INIT;
    data.kind = GPUSOLVE_SIMPLICIAL_LL;
    data.n = data.minor = n;
    data.xsize = 3;
    data.p = p;
    data.i = i;
    data.x = x;
    return data;
}

static void *const somewhere = (void *)(uintptr_t)64; /* what an output must not keep when a call fails */

static gpusolve_status create(const batch_world *w, int64_t count, const gpusolve_factor_data *members,
                              gpusolve_status *statuses) {
    gpusolve_batch *batch = somewhere;
    const gpusolve_status status = gpusolve_batch_create(w->handle, count, members, statuses, &batch);
    CHECK((status == GPUSOLVE_OK) == (batch != NULL));
    gpusolve_batch_destroy(batch);
    return status;
}

/* One member is spoilt: it is named, and the others are not. */
static void check_spoilt(const batch_world *w, const gpusolve_factor_data *bad, gpusolve_status expected,
                         const char *word) {
    gpusolve_factor_data members[MEMBERS];
    for (int at = 0; at < MEMBERS; at++) {
        gpusolve_status statuses[MEMBERS];
        char name[32];
        memcpy(members, w->members, sizeof members);
        members[at] = *bad;
        snprintf(name, sizeof name, "members[%d]", at);
        REFUSED(create(w, MEMBERS, members, statuses), expected, word);
        CHECK(strstr(gpusolve_last_error(w->handle), name) != NULL);
        for (int m = 0; m < MEMBERS; m++)
            CHECK_STATUS(statuses[m], m == at ? expected : GPUSOLVE_OK);
        REFUSED(create(w, MEMBERS, members, NULL), expected, name);
    }
}

static void check_members(batch_world *w) {
    static const double zero[] = {2, 1, 0}, negative[] = {-2, 1, 3}, nan[] = {2, NAN, 3};
    static const int32_t unsorted[] = {1, 0, 1};
    gpusolve_factor_data bad = member(2, zero);
    check_spoilt(w, &bad, GPUSOLVE_SINGULAR, "L(1,1)");
    bad = member(2, negative);
    check_spoilt(w, &bad, GPUSOLVE_NOT_POSITIVE_DEFINITE, "L(0,0)");
    bad = member(2, nan);
    check_spoilt(w, &bad, GPUSOLVE_NOT_FINITE, "column 0");
    bad = member(2, l);
    bad.minor = 1;
    check_spoilt(w, &bad, GPUSOLVE_NOT_POSITIVE_DEFINITE, "minor");
    bad = member(2, l);
    bad.i = unsorted;
    check_spoilt(w, &bad, GPUSOLVE_INVALID_FACTOR, "i[0]");
    bad = member(2, NULL);
    check_spoilt(w, &bad, wrong, "x");
    bad = member(2, l);
    bad.size = 1;
    check_spoilt(w, &bad, wrong, "data->size");
    bad = member(2, l);
    bad.kind = (gpusolve_factor_kind)7;
    check_spoilt(w, &bad, wrong, "data->kind");
    bad = member(2, l);
    bad.storage = (gpusolve_storage)2;
    check_spoilt(w, &bad, wrong, "data->storage");

    /* other types than the first one's; a last member, as the first one is what the others are compared with */
    gpusolve_factor_data members[MEMBERS];
    gpusolve_status statuses[MEMBERS];
    memcpy(members, w->members, sizeof members);
    members[3].kind = GPUSOLVE_SIMPLICIAL_LDL;
    REFUSED(create(w, MEMBERS, members, statuses), GPUSOLVE_TYPE_MISMATCH, "members[3]: data->kind");
    CHECK(statuses[2] == GPUSOLVE_OK && statuses[3] == GPUSOLVE_TYPE_MISMATCH);
    memcpy(members, w->members, sizeof members);
    members[2].storage = GPUSOLVE_STORAGE_SINGLE;
    REFUSED(create(w, MEMBERS, members, statuses), GPUSOLVE_TYPE_MISMATCH, "members[2]: data->storage");
    CHECK(statuses[1] == GPUSOLVE_OK && statuses[2] == GPUSOLVE_TYPE_MISMATCH);
    members[3].kind = GPUSOLVE_SIMPLICIAL_LDL;
    members[1].dtype = GPUSOLVE_FLOAT;
    REFUSED(create(w, MEMBERS, members, statuses), GPUSOLVE_TYPE_MISMATCH, "members[1]: data->dtype");
    CHECK(statuses[1] == GPUSOLVE_TYPE_MISMATCH && statuses[3] == GPUSOLVE_TYPE_MISMATCH);

    /* too large for single precision */
    const double large[] = {2, 0x1p53, 3};
    for (int m = 0; m < MEMBERS; m++) {
        members[m] = w->members[m];
        members[m].storage = GPUSOLVE_STORAGE_SINGLE;
    }
    CHECK_STATUS(create(w, MEMBERS, members, NULL), GPUSOLVE_OK);
    members[2].x = large;
    REFUSED(create(w, MEMBERS, members, statuses), GPUSOLVE_NOT_SUPPORTED,
            "members[2]: data->storage: column 0");
    CHECK(statuses[1] == GPUSOLVE_OK && statuses[2] == GPUSOLVE_NOT_SUPPORTED && statuses[3] == GPUSOLVE_OK);

    REFUSED(create(w, -1, w->members, NULL), wrong, "count");
    REFUSED(create(w, INT64_MAX, w->members, NULL), GPUSOLVE_TOO_LARGE, "count");
    REFUSED(create(w, 1, NULL, NULL), wrong, "members");
    REFUSED(gpusolve_batch_create(w->handle, 1, w->members, NULL, NULL), wrong, "batch");
    gpusolve_batch *batch = somewhere;
    CHECK_STATUS(gpusolve_batch_create(NULL, 1, w->members, NULL, &batch), wrong);
    CHECK(batch == NULL);
}

static void check_refresh(batch_world *w) {
    static const double numbers[] = {2};
    static const int32_t one_p[] = {0, 1};
    static const int32_t more_p[] = {0, 3, 5, 6}, more_i[] = {0, 1, 2, 1, 2, 2};
    static const double more[] = {2, 1, 1, 2, 1, 2};
    gpusolve_factor_data bad = member(1, numbers);
    bad.p = one_p;
    bad.xsize = 1;
    REFUSED(gpusolve_batch_refresh(w->handle, NULL, 0, 1, w->members, NULL), wrong, "batch");
    REFUSED(gpusolve_batch_refresh(w->handle, w->batch, -1, 1, w->members, NULL), wrong, "first");
    REFUSED(gpusolve_batch_refresh(w->handle, w->batch, 5, 0, w->members, NULL), wrong, "first");
    REFUSED(gpusolve_batch_refresh(w->handle, w->batch, 3, 2, w->members, NULL), wrong, "count");
    REFUSED(gpusolve_batch_refresh(w->handle, w->batch, 3, -1, w->members, NULL), wrong, "count");
    REFUSED(gpusolve_batch_refresh(w->handle, w->batch, 3, 1, NULL, NULL), wrong, "members");
    gpusolve_status status = GPUSOLVE_OK;
    REFUSED(gpusolve_batch_refresh(w->handle, w->batch, 1, 1, &bad, &status), GPUSOLVE_PATTERN_MISMATCH,
            "members[1]");
    CHECK(status == GPUSOLVE_PATTERN_MISMATCH);
    bad = member(3, more);
    bad.p = more_p;
    bad.i = more_i;
    bad.xsize = 6;
    REFUSED(gpusolve_batch_refresh(w->handle, w->batch, 1, 1, &bad, NULL), GPUSOLVE_PATTERN_MISMATCH,
            "data->n");
    if (w->other_backend)
        CHECK_STATUS(gpusolve_batch_refresh(w->other_backend, w->batch, 0, 1, w->members, NULL), wrong);
    CHECK_STATUS(gpusolve_batch_refresh(w->handle, w->batch, 4, 0, NULL, NULL), GPUSOLVE_OK);
}

static void check_objects(batch_world *w) {
    gpusolve_batch_workspace *workspace = somewhere;
    gpusolve_batch_info info = {.size = sizeof info};
    int64_t offsets[MEMBERS + 1];
    REFUSED(gpusolve_batch_workspace_create(w->handle, NULL, 1, &workspace), wrong, "batch");
    CHECK(workspace == NULL);
    REFUSED(gpusolve_batch_workspace_create(w->handle, w->batch, 0, &workspace), wrong, "max_nrhs");
    REFUSED(gpusolve_batch_workspace_create(w->handle, w->batch, INT64_MAX, &workspace), GPUSOLVE_TOO_LARGE,
            "max_nrhs");
    REFUSED(gpusolve_batch_workspace_create(w->handle, w->batch, 1, NULL), wrong, "workspace");
    REFUSED(gpusolve_batch_workspace_check(w->handle, NULL), wrong, "workspace");
    REFUSED(gpusolve_batch_get_info(w->handle, NULL, 1, &info), wrong, "batch");
    REFUSED(gpusolve_batch_get_info(w->handle, w->batch, -1, &info), wrong, "max_nrhs");
    REFUSED(gpusolve_batch_get_info(w->handle, w->batch, 1, NULL), wrong, "info");
    info.size = 1;
    REFUSED(gpusolve_batch_get_info(w->handle, w->batch, 1, &info), wrong, "info->size");
    REFUSED(gpusolve_batch_get_offsets(w->handle, NULL, offsets), wrong, "batch");
    REFUSED(gpusolve_batch_get_offsets(w->handle, w->batch, NULL), wrong, "offsets");
    CHECK(gpusolve_batch_get_factor(NULL) == NULL);
    CHECK(gpusolve_batch_get_count(NULL) == 0 && gpusolve_batch_get_dtype(NULL) == GPUSOLVE_DOUBLE);
    gpusolve_batch_destroy(NULL);
    gpusolve_batch_workspace_destroy(NULL);
}

static void check_solve(batch_world *w) {
    double b_numbers[4 * MEMBERS] = {0}, x_numbers[4 * MEMBERS] = {0};
    gpusolve_dense b[MEMBERS], x[MEMBERS], bad[MEMBERS];
    for (int m = 0; m < MEMBERS; m++) {
        b[m] = (gpusolve_dense){GPUSOLVE_DOUBLE, GPUSOLVE_COL_MAJOR, 2, 1, 2, b_numbers + 2 * m};
        x[m] = (gpusolve_dense){GPUSOLVE_DOUBLE, GPUSOLVE_COL_MAJOR, 2, 1, 2, x_numbers + 2 * m};
        b_numbers[2 * m] = 8;
        b_numbers[2 * m + 1] = 22;
    }
#define SOLVE(batch, workspace, system, b, x) \
    gpusolve_batch_solve(w->handle, batch, workspace, (gpusolve_system)(system), b, x, NULL)
    CHECK_STATUS(gpusolve_batch_solve(NULL, w->batch, w->workspace, GPUSOLVE_A, b, x, NULL), wrong);
    REFUSED(SOLVE(NULL, w->workspace, GPUSOLVE_A, b, x), wrong, "batch");
    REFUSED(SOLVE(w->batch, NULL, GPUSOLVE_A, b, x), wrong, "workspace");
    REFUSED(SOLVE(w->other, w->workspace, GPUSOLVE_A, b, x), wrong, "workspace");
    REFUSED(SOLVE(w->batch, w->workspace, 9, b, x), wrong, "system");
    REFUSED(SOLVE(w->batch, w->workspace, GPUSOLVE_A, NULL, x), wrong, "b: is NULL");
    REFUSED(SOLVE(w->batch, w->workspace, GPUSOLVE_A, b, NULL), wrong, "x: is NULL");
    memcpy(bad, b, sizeof bad);
    bad[2].rows = 1;
    REFUSED(SOLVE(w->batch, w->workspace, GPUSOLVE_A, bad, x), wrong, "member 2: b->rows");
    memcpy(bad, x, sizeof bad);
    bad[3].cols = 2;
    REFUSED(SOLVE(w->batch, w->workspace, GPUSOLVE_A, b, bad), wrong, "member 3: x->cols");
    memcpy(bad, x, sizeof bad);
    bad[1].values = b_numbers + 3;
    REFUSED(SOLVE(w->batch, w->workspace, GPUSOLVE_A, b, bad), wrong, "member 1: x->values");
    memcpy(bad, b, sizeof bad);
    bad[1].dtype = GPUSOLVE_FLOAT;
    REFUSED(SOLVE(w->batch, w->workspace, GPUSOLVE_A, bad, x), GPUSOLVE_TYPE_MISMATCH, "member 1: b->dtype");
    if (w->other_backend)
        CHECK_STATUS(gpusolve_batch_solve(w->other_backend, w->batch, w->workspace, GPUSOLVE_A, b, x, NULL),
                     wrong);
    CHECK_STATUS(SOLVE(w->batch, w->workspace, GPUSOLVE_A, b, x), GPUSOLVE_OK);
#undef SOLVE
#define STRIDED(b, b_stride, x, x_stride)                                                                 \
    gpusolve_batch_solve_strided(w->handle, w->batch, w->workspace, GPUSOLVE_A, b, b_stride, x, x_stride, \
                                 NULL)
    REFUSED(STRIDED(NULL, 2, x, 2), wrong, "b: is NULL");
    REFUSED(STRIDED(b, 2, NULL, 2), wrong, "x: is NULL");
    REFUSED(STRIDED(b, -2, x, 2), wrong, "b_stride");
    REFUSED(STRIDED(b, 2, x, -2), wrong, "x_stride");
    REFUSED(STRIDED(b, 2, x, 0), wrong, "x_stride");
    REFUSED(STRIDED(b, 2, x, 1), wrong, "x_stride");
    REFUSED(STRIDED(b, INT64_MAX, x, 2), GPUSOLVE_TOO_LARGE, "b_stride");
    REFUSED(STRIDED(b, 2, x, INT64_MAX / 8), GPUSOLVE_TOO_LARGE, "x_stride");
    REFUSED(STRIDED(b, 0, b, 2), wrong, "x_stride");
    CHECK_STATUS(STRIDED(b, 2, x, 2), GPUSOLVE_OK);
    CHECK_STATUS(STRIDED(b, 0, x, 4), GPUSOLVE_OK);
    REFUSED(gpusolve_batch_solve_strided(w->handle, w->other, w->workspace, GPUSOLVE_A, b, 2, x, 2, NULL),
            wrong, "workspace");
    gpusolve_batch_workspace *workspace;
    REQUIRE(gpusolve_batch_workspace_create(w->handle, w->other, 1, &workspace) == GPUSOLVE_OK);
    REFUSED(gpusolve_batch_solve_strided(w->handle, w->other, workspace, GPUSOLVE_A, b, 2, x, 2, NULL),
            GPUSOLVE_NOT_SUPPORTED, "different orders");
    gpusolve_batch_workspace_destroy(workspace);
#undef STRIDED
}

int main(void) {
    static const double one[] = {2};
    static const int32_t one_p[] = {0, 1};
    gpusolve_backend backends[2];
    const int count = testing_backends(backends);
    for (int k = 0; k < count; k++) {
        testing_in("%s", testing_backend_name(backends[k]));
        batch_world world = {.handle = testing_handle(backends[k], 2)}, *w = &world;
        if (count > 1)
            w->other_backend = testing_handle(backends[1 - k], 2);
        for (int m = 0; m < MEMBERS; m++)
            w->members[m] = member(2, l);
        gpusolve_factor_data mixed[] = {member(2, l), member(1, one)};
        mixed[1].p = one_p;
        mixed[1].xsize = 1;
        REQUIRE(gpusolve_batch_create(w->handle, MEMBERS, w->members, NULL, &w->batch) == GPUSOLVE_OK);
        REQUIRE(gpusolve_batch_create(w->handle, 2, mixed, NULL, &w->other) == GPUSOLVE_OK);
        REQUIRE(gpusolve_batch_workspace_create(w->handle, w->batch, 1, &w->workspace) == GPUSOLVE_OK);
        check_members(w);
        check_refresh(w);
        check_objects(w);
        check_solve(w);
        gpusolve_batch_workspace_destroy(w->workspace);
        gpusolve_batch_destroy(w->batch);
        gpusolve_batch_destroy(w->other);
        gpusolve_destroy(w->handle);
        gpusolve_destroy(w->other_backend);
    }
    CHECK(gsv_live_allocations() == 0);
    return testing_done();
}
