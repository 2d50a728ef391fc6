/*
 * Calls on operands in host memory: the steps that they are cut into, what the calls refuse, and their
 * results, on every backend. test_cuda_staged.c has what only a device can go wrong with.
 */
#include "testing.h"

#include "trsm/staged/plan.h"
#include "triangular_cases.h"
#include "staged_cases.h"

/* ----------------------------------------------------------------------------------------------- plan --- */

/* Every tile of the triangle once, in an order in which what a step reads is there. */
static void check_steps(const gsv_triangular *p, const gsv_staged_plan *plan) {
    const int64_t blocks = plan->blocks;
    int32_t *seen = calloc((size_t)(blocks * blocks), sizeof *seen), *written = calloc((size_t)blocks, 4);
    REQUIRE(seen && written);
    for (int64_t k = 0; k < plan->steps; k++) {
        const gsv_staged_step *s = &plan->step[k];
        REQUIRE(0 <= s->from && s->from <= s->to && s->rows >= 1 && s->to + s->rows <= blocks &&
                s->count >= 1);
        REQUIRE(s->from == s->to ? s->count == 1 && s->rows == 1 : s->from + s->count <= s->to);
        CHECK(s->count <= GSV_STEP_TILES && s->rows <= GSV_STEP_TILES);
        for (int32_t to = s->to; to < s->to + s->rows; to++)
            for (int32_t from = s->from; from < s->from + s->count; from++) {
                CHECK(seen[to * blocks + from]++ == 0);
                if (p->operation == GSV_SOLVE)
                    CHECK(from == to ? written[from] == from : written[from] == from + 1);
                else
                    CHECK(from == to ? written[from] == 0 : written[from] == 0 && written[to] > 0);
            }
        for (int32_t to = s->to; to < s->to + s->rows; to++) {
            written[to] += s->count;
            CHECK(s->last == (written[to] == to + 1));
        }
    }
    for (int64_t block = 0; block < blocks; block++)
        CHECK(written[block] == block + 1);
    free(seen);
    free(written);
}

/* Sizes within the limit, chunks and slots enough, and no slot for two steps that follow one another. */
static void check_fits(const gsv_triangular *p, const gsv_staged_plan *plan, int64_t bytes) {
    CHECK(plan->slots * plan->tile_bytes + plan->buffers * plan->buffer_bytes <= bytes);
    CHECK((plan->chunks - 1) * plan->width < p->vectors && p->vectors <= plan->chunks * plan->width);
    CHECK(plan->resident == plan->slots || plan->slots - plan->resident == GSV_TILE_RING);
    int stay = 1;
    for (int64_t k = 0; k < plan->steps; k++) {
        const gsv_staged_step *s = &plan->step[k], *before = k ? s - 1 : NULL;
        const int32_t tiles = s->rows * s->count;
        CHECK(0 <= s->slot && s->slot + tiles <= plan->slots);
        CHECK(s->slot >= plan->resident || s->slot + tiles <= plan->resident);
        CHECK(!before || s->slot >= before->slot + before->rows * before->count ||
              s->slot + tiles <= before->slot);
        stay &= s->slot < plan->resident;
        CHECK(stay == (s->slot < plan->resident)); /* the first steps */
        CHECK(gsv_staged_comes(plan, 0, s) && gsv_staged_comes(plan, 1, s) == !stay);
    }
    int64_t rows = 0;
    for (int64_t block = 0; block < plan->blocks; block++)
        rows += gsv_staged_size(p, plan, block);
    CHECK(rows == p->order);
}

static void check_plans(void) {
    static const int64_t orders[] = {1, 64, 65, 300, 1024, 1025, 5000}, vectors[] = {1, 100, 3000};
    static const int64_t limits[] = {600000, 3 << 20, 1 << 30};
    for (int variant = 0; variant < 4; variant++)
        for (int i = 0; i < 7; i++)
            for (int j = 0; j < 3; j++)
                for (int l = 0; l < 3; l++) {
                    testing_in("plan %d: n %lld, %lld vectors, %lld bytes", variant, (long long)orders[i],
                               (long long)vectors[j], (long long)limits[l]);
                    const gsv_triangular p = {.operation = variant & 1 ? GSV_SOLVE : GSV_MULTIPLY,
                                              .dtype = GPUSOLVE_DOUBLE,
                                              .uplo = variant & 2 ? GPUSOLVE_LOWER : GPUSOLVE_UPPER,
                                              .order = orders[i],
                                              .vectors = vectors[j]};
                    gsv_staged_plan plan;
                    CHECK_STATUS(gsv_staged_plan_make(&p, (gsv_number){1, 0}, 0, 0, limits[l], &plan, NULL),
                                 GPUSOLVE_OK);
                    check_steps(&p, &plan);
                    check_fits(&p, &plan, limits[l]);
                    gsv_staged_plan_free(&plan);
                }
    testing_in("plan: too little");
    const gsv_triangular p = {.dtype = GPUSOLVE_DOUBLE, .uplo = GPUSOLVE_LOWER, .order = 5000, .vectors = 2};
    gsv_staged_plan plan;
    CHECK_STATUS(gsv_staged_plan_make(&p, (gsv_number){1, 0}, 0, 0, 300000, &plan, NULL),
                 GPUSOLVE_OUT_OF_DEVICE_MEMORY);
    gsv_staged_plan_free(&plan);
}

/* --------------------------------------------------------------------------------------------- misuse --- */

typedef struct arguments {
    int dtype, side, uplo, trans, diag;
    int64_t m, n;
    const double *alpha, *a;
    int64_t lda;
    double *b;
    int64_t ldb;
} arguments;

static void check_refused(gpusolve_staging *staging, const arguments *c, gpusolve_status expected,
                          const char *name) {
    for (int multiply = 0; multiply < 2; multiply++) {
        testing_in("misuse: %s", name);
        CHECK_STATUS((multiply ? gpusolve_trmm_staged : gpusolve_trsm_staged)(
                         staging, (gpusolve_dtype)c->dtype, (gpusolve_side)c->side, (gpusolve_uplo)c->uplo,
                         (gpusolve_trans)c->trans, (gpusolve_diag)c->diag, c->m, c->n, c->alpha, c->a, c->lda,
                         c->b, c->ldb),
                     expected);
        const char *message = gpusolve_staging_last_error(staging);
        CHECK(strncmp(message, name, strlen(name)) == 0 && message[strlen(name)] == ':');
        CHECK_STATUS(gpusolve_staging_wait(staging), GPUSOLVE_OK);
    }
}

static void check_order(gpusolve_staging *staging) {
    const int64_t huge = (int64_t)1 << 31;
    double values[12] = {0}, one = 1;
    arguments c = {7, 7, 7, 7, 7, -1, -1, NULL, NULL, 0, NULL, 0};
    check_refused(staging, &c, GPUSOLVE_INVALID_ARGUMENT, "dtype");
    c.dtype = GPUSOLVE_DOUBLE;
    check_refused(staging, &c, GPUSOLVE_INVALID_ARGUMENT, "side");
    c.side = GPUSOLVE_LEFT;
    check_refused(staging, &c, GPUSOLVE_INVALID_ARGUMENT, "uplo");
    c.uplo = GPUSOLVE_LOWER;
    check_refused(staging, &c, GPUSOLVE_INVALID_ARGUMENT, "trans");
    c.trans = GPUSOLVE_TRANS;
    check_refused(staging, &c, GPUSOLVE_INVALID_ARGUMENT, "diag");
    c.diag = GPUSOLVE_UNIT;
    check_refused(staging, &c, GPUSOLVE_INVALID_ARGUMENT, "m");
    c.m = huge;
    check_refused(staging, &c, GPUSOLVE_TOO_LARGE, "m");
    c.m = 3;
    check_refused(staging, &c, GPUSOLVE_INVALID_ARGUMENT, "n");
    c.n = 2;
    check_refused(staging, &c, GPUSOLVE_INVALID_ARGUMENT, "alpha");
    c.alpha = &one;
    check_refused(staging, &c, GPUSOLVE_INVALID_ARGUMENT, "A");
    c.a = values;
    check_refused(staging, &c, GPUSOLVE_INVALID_ARGUMENT, "lda");
    c.lda = 3;
    check_refused(staging, &c, GPUSOLVE_INVALID_ARGUMENT, "B");
    c.b = values;
    check_refused(staging, &c, GPUSOLVE_INVALID_ARGUMENT, "ldb");
    c.ldb = huge;
    check_refused(staging, &c, GPUSOLVE_TOO_LARGE, "ldb");
    for (int k = 0; k < 12; k++)
        CHECK(values[k] == 0);
    testing_in("misuse: empty, and no staging");
    c.m = 0;
    c.a = c.b = NULL;
    c.ldb = 1;
    CHECK_STATUS(gpusolve_trsm_staged(staging, GPUSOLVE_DOUBLE, GPUSOLVE_LEFT, GPUSOLVE_LOWER, 0, 0, 0, 2,
                                      &one, NULL, 1, NULL, 1),
                 GPUSOLVE_OK);
    CHECK_STATUS(gpusolve_trsm_staged(NULL, GPUSOLVE_DOUBLE, GPUSOLVE_LEFT, GPUSOLVE_LOWER, 0, 0, 0, 2, &one,
                                      NULL, 1, NULL, 1),
                 GPUSOLVE_INVALID_ARGUMENT);
    CHECK_STATUS(gpusolve_staging_wait(NULL), GPUSOLVE_INVALID_ARGUMENT);
    CHECK(gpusolve_staging_is_done(NULL) == 1);
    CHECK(gpusolve_staging_last_error(NULL)[0] == '\0');
    gpusolve_staging_destroy(NULL);
}

static void check_create(gpusolve_handle *handle) {
    testing_in("create");
    gpusolve_staging_options options = GPUSOLVE_STAGING_OPTIONS_INIT;
    gpusolve_staging *staging = (gpusolve_staging *)&options;
    CHECK_STATUS(gpusolve_staging_create(NULL, &options, &staging), GPUSOLVE_INVALID_ARGUMENT);
    CHECK(staging == NULL);
    options.size--;
    CHECK_STATUS(gpusolve_staging_create(handle, &options, NULL), GPUSOLVE_INVALID_ARGUMENT);
    CHECK(strncmp(gpusolve_last_error(handle), "options:", 8) == 0);
    options.size++;
    CHECK_STATUS(gpusolve_staging_create(handle, &options, NULL), GPUSOLVE_INVALID_ARGUMENT);
    CHECK(strncmp(gpusolve_last_error(handle), "staging:", 8) == 0);

    /* as little pinned memory as can be, and more of the device's than there is */
    const triangular_case c = {
        .dtype = GPUSOLVE_DOUBLE, .uplo = GPUSOLVE_LOWER, .m = 900, .n = 5, .alpha = 1};
    options.pinned_bytes = 1;
    options.device_bytes = 8 << 20;
    REQUIRE(gpusolve_staging_create(handle, &options, &staging) == GPUSOLVE_OK);
    staged_check(staging, &c, STAGED_PAGEABLE, STAGED_PAGEABLE);
    gpusolve_staging_destroy(staging);
    testing_in("all the memory that a number can name");
    options.device_bytes = SIZE_MAX;
    const gpusolve_status expected =
        gpusolve_get_backend(handle) == GPUSOLVE_BACKEND_CUDA ? GPUSOLVE_OUT_OF_DEVICE_MEMORY : GPUSOLVE_OK;
    CHECK_STATUS(gpusolve_staging_create(handle, &options, &staging), expected);
    CHECK((staging == NULL) == (expected != GPUSOLVE_OK));
    gpusolve_staging_destroy(staging);
}

int main(void) {
    check_plans();
    gpusolve_backend backends[2];
    const int count = testing_backends(backends);
    for (int k = 0; k < count; k++) {
        gpusolve_handle *handle = testing_handle(backends[k], 2);
        check_create(handle);
        gpusolve_staging *staging = staged_new(handle, 8 << 20);
        check_order(staging);
        for (int dtype = 0; dtype < 4; dtype++)
            for (int multiply = 0; multiply < 2; multiply++) {
                triangular_case c = {.multiply = multiply,
                                     .dtype = (gpusolve_dtype)dtype,
                                     .m = 130,
                                     .n = 21,
                                     .alpha = dtype < 2 ? -0.5 : CMPLX(0.25, -1),
                                     .lda_padding = 1,
                                     .ldb_padding = 2};
                staged_variants(staging, &c, STAGED_PAGEABLE, STAGED_PAGEABLE, 1);
                c.alpha = 0;
                staged_variants(staging, &c, STAGED_PAGEABLE, STAGED_PAGEABLE, 7);
            }
        gpusolve_destroy(handle); /* staging has one of its own */
        triangular_case c = {.dtype = GPUSOLVE_DOUBLE, .uplo = GPUSOLVE_LOWER, .m = 9, .n = 3, .alpha = 1};
        staged_check(staging, &c, STAGED_PAGEABLE, STAGED_PAGEABLE);
        gpusolve_staging_destroy(staging);
    }
    return testing_done();
}
