/*
 * Operands of dense calls at random places of one small array, against marking every byte. A call is refused
 * exactly if a byte that it writes is also one that it reads otherwise, or one of the workspace; then nothing
 * has changed. If it is not refused, the answer is that of the same call with operands of their own, and
 * no byte outside of B has changed. Pointers that are not aligned to their numbers are refused.
 */
#include "testing.h"

#include "triangular_cases.h"
#include "trsv_cases.h"

enum { ARENA = 8192, HOST_CASES = 60000, DEVICE_CASES = 1500, READ = 1, WRITTEN = 2, SCRATCH = 4 };

typedef enum operation { TRSM, TRMM, POTRS, TRSV, POTRI } operation;

/* A call; a, b and workspace are offsets in bytes. TRSV: b is x, n = 1 column. POTRI has no b. */
typedef struct random_call {
    operation operation;
    triangular_case c;
    int64_t lda, ldb, incx;
    int64_t a, b, workspace, workspace_bytes; /* workspace < 0: NULL */
} random_call;

static gpusolve_status potrs(gpusolve_handle *h, const random_call *r, const void *a, void *b, void *w) {
    const gpusolve_uplo uplo = r->c.uplo;
    const int64_t n = r->c.m, nrhs = r->c.n;
    const size_t bytes = (size_t)r->workspace_bytes;
    switch (r->c.dtype) {
    case GPUSOLVE_FLOAT:
        return gpusolve_spotrs(h, uplo, n, nrhs, a, r->lda, b, r->ldb, w, bytes);
    case GPUSOLVE_DOUBLE:
        return gpusolve_dpotrs(h, uplo, n, nrhs, a, r->lda, b, r->ldb, w, bytes);
    case GPUSOLVE_COMPLEX_FLOAT:
        return gpusolve_cpotrs(h, uplo, n, nrhs, a, r->lda, b, r->ldb, w, bytes);
    default:
        return gpusolve_zpotrs(h, uplo, n, nrhs, a, r->lda, b, r->ldb, w, bytes);
    }
}

static gpusolve_status potri(gpusolve_handle *h, const random_call *r, void *a, void *w) {
    const size_t bytes = (size_t)r->workspace_bytes;
    switch (r->c.dtype) {
    case GPUSOLVE_FLOAT:
        return gpusolve_spotri(h, r->c.uplo, r->c.m, a, r->lda, w, bytes);
    case GPUSOLVE_DOUBLE:
        return gpusolve_dpotri(h, r->c.uplo, r->c.m, a, r->lda, w, bytes);
    case GPUSOLVE_COMPLEX_FLOAT:
        return gpusolve_cpotri(h, r->c.uplo, r->c.m, a, r->lda, w, bytes);
    default:
        return gpusolve_zpotri(h, r->c.uplo, r->c.m, a, r->lda, w, bytes);
    }
}

/* The call with A at a_base + a, and so on. */
static gpusolve_status call(gpusolve_handle *handle, const random_call *r, char *a_base, char *b_base,
                            char *w_base) {
    void *a = a_base + r->a, *b = b_base + r->b,
         *w = w_base && r->workspace >= 0 ? w_base + r->workspace : NULL;
    random_call without = *r;
    if (!w)
        without.workspace_bytes = 0;
    const trsv_case v = {.dtype = r->c.dtype,
                         .uplo = r->c.uplo,
                         .trans = r->c.trans,
                         .diag = r->c.diag,
                         .n = r->c.m,
                         .lda = r->lda,
                         .incx = r->incx};
    switch (r->operation) {
    case TRSV:
        return trsv_call(handle, &v, a, b);
    case POTRS:
        return potrs(handle, &without, a, b, w);
    case POTRI:
        return potri(handle, &without, a, w);
    default:
        return case_call(handle, &r->c, a, r->lda, b, r->ldb, w, (size_t)without.workspace_bytes);
    }
}

/* ------------------------------------------------------------------------------------------------ cases --- */

static random_call random_case(uint64_t *state, int on_device) {
    static const double alphas[] = {1, 1, -0.5, 0};
    random_call r = {.operation = (operation)testing_random_below(state, 5)};
    triangular_case *c = &r.c;
    c->dtype = (gpusolve_dtype)testing_random_below(state, 4);
    c->side = r.operation <= TRMM ? (gpusolve_side)testing_random_below(state, 2) : GPUSOLVE_LEFT;
    c->uplo = testing_random_below(state, 2) ? GPUSOLVE_LOWER : GPUSOLVE_UPPER;
    c->trans = (gpusolve_trans)testing_random_below(state, 3);
    c->diag = r.operation >= POTRS && r.operation != TRSV ? GPUSOLVE_NON_UNIT
                                                          : (gpusolve_diag)testing_random_below(state, 2);
    c->m = testing_random_below(state, 6);
    c->n = r.operation == TRSV ? 1 : testing_random_below(state, 6);
    c->alpha = r.operation <= TRMM ? alphas[testing_random_below(state, 4)] : 1;
    c->multiply = r.operation == TRMM;
    const int64_t order = case_order(c), number = (int64_t)testing_bytes(c->dtype);
    r.lda = (order > 1 ? order : 1) + testing_random_below(state, 6);
    r.ldb = (c->m > 1 ? c->m : 1) + testing_random_below(state, 6);
    if (testing_random_below(state, 2) && r.lda >= c->m)
        r.ldb = r.lda > 1 ? r.lda : 1;
    /* along A's columns, its rows, its diagonal, or anyhow, in both directions */
    const int64_t steps[] = {1, r.lda, r.lda + 1, 1 + testing_random_below(state, 9)};
    r.incx = steps[testing_random_below(state, 4)] * (testing_random_below(state, 2) ? 1 : -1);
    r.a = 1024 + testing_random_below(state, 40) * number;
    r.b = 1024 + testing_random_below(state, 40) * number;
    if (!on_device && testing_is_complex(c->dtype) && testing_random_below(state, 4) == 0)
        r.b += number / 2; /* aligned to a real number */
    r.workspace = testing_random_below(state, 2) ? -1 : 256 * testing_random_below(state, 8);
    r.workspace_bytes = r.workspace < 0 || r.operation == TRSV ? 0 : testing_random_below(state, 700);
    return r;
}

/* Where B's number (i, j) is, in bytes. */
static int64_t place_b(const random_call *r, int64_t i, int64_t j) {
    const int64_t number = (int64_t)testing_bytes(r->c.dtype);
    if (r->operation == TRSV)
        return r->b + number * (r->incx > 0 ? i * r->incx : (i - r->c.m + 1) * r->incx);
    return r->b + number * (i + j * r->ldb);
}

static int mark(unsigned char *marks, int64_t place, size_t bytes, int mine, int others) {
    int found = 0;
    for (size_t k = 0; k < bytes; k++) {
        found |= marks[(size_t)place + k] & others;
        marks[(size_t)place + k] = (unsigned char)(marks[(size_t)place + k] | mine);
    }
    return found != 0;
}

static int is_empty(const random_call *r) {
    return r->c.m == 0 || (r->operation != POTRI && r->c.n == 0);
}

/* Marks what the call touches. The name that its refusal must begin with, or NULL. */
static const char *expectation(const random_call *r, unsigned char *marks) {
    const size_t number = testing_bytes(r->c.dtype);
    const int64_t order = r->operation == POTRI ? r->c.m : case_order(&r->c);
    int b_on_a = 0, scratch = 0;
    memset(marks, 0, ARENA);
    if (is_empty(r))
        return NULL;
    for (int64_t j = 0; j < order && r->c.alpha != 0; j++)
        for (int64_t i = 0; i < order; i++)
            if (case_reads(&r->c, i, j))
                mark(marks, r->a + (int64_t)number * (i + j * r->lda), number,
                     r->operation == POTRI ? WRITTEN : READ, 0);
    for (int64_t j = 0; j < r->c.n && r->operation != POTRI; j++)
        for (int64_t i = 0; i < r->c.m; i++)
            b_on_a |= mark(marks, place_b(r, i, j), number, WRITTEN, READ);
    if (r->workspace >= 0)
        scratch = mark(marks, r->workspace, (size_t)r->workspace_bytes, SCRATCH, READ | WRITTEN);
    return b_on_a    ? r->operation == TRSV ? "x: overlaps A" : "B: overlaps A"
           : scratch ? "workspace: overlaps "
                     : NULL;
}

/* Random numbers everywhere, and a diagonal that is far from zero. */
static void fill(const random_call *r, uint64_t *state, char *arena) {
    const int64_t number = (int64_t)testing_bytes(r->c.dtype);
    const int64_t order = r->operation == POTRI ? r->c.m : case_order(&r->c);
    for (int64_t k = 0; k < ARENA / number; k++)
        testing_store(r->c.dtype, arena, k, CMPLX(testing_random(state), testing_random(state)));
    if (r->b % number != 0) /* fill B at its own places */
        for (int64_t k = 0; k < 100; k++)
            testing_store(r->c.dtype, arena + r->b, k, CMPLX(testing_random(state), testing_random(state)));
    for (int64_t i = 0; i < order; i++)
        testing_store(r->c.dtype, arena + r->a, i * (r->lda + 1), 2 + testing_random(state) / 2);
}

/* B as it came out of the array against B as it should be, and everything else as it was. */
static void check_answer(const random_call *r, const char *before, const char *after, const char *right,
                         const unsigned char *marks) {
    const double epsilon = testing_epsilon(r->c.dtype);
    const int64_t columns = r->operation == POTRI ? r->c.m : r->c.n;
    double worst = 0;
    for (int64_t j = 0; j < columns && !is_empty(r); j++)
        for (int64_t i = 0; i < r->c.m; i++) {
            const int64_t place = r->operation == POTRI
                                      ? r->a + (int64_t)testing_bytes(r->c.dtype) * (i + j * r->lda)
                                      : place_b(r, i, j);
            if (r->operation == POTRI && !case_reads(&r->c, i, j))
                continue;
            const double complex got = testing_fetch(r->c.dtype, after + place, 0);
            const double complex expected = testing_fetch(r->c.dtype, right + place, 0);
            worst = testing_worse(worst, cabs(got - expected) / (1 + cabs(expected)));
        }
    CHECK_BELOW(worst, 1e4 * epsilon);
    int same = 1;
    for (int k = 0; k < ARENA; k++)
        same &= (marks[k] & (WRITTEN | SCRATCH)) != 0 || before[k] == after[k];
    CHECK(same);
}

static void check_cases(gpusolve_backend backend, int cases) {
    gpusolve_handle *handle = testing_handle(backend, 1);
    const int on_device = backend == GPUSOLVE_BACKEND_CUDA;
    static _Alignas(256) char before[ARENA], after[ARENA], own_a[ARENA], own_b[ARENA];
    unsigned char marks[ARENA];
    uint64_t state = 91;
    int refused[5] = {0}, taken[5] = {0};
    for (int k = 0; k < cases; k++) {
        const random_call r = random_case(&state, on_device);
        const char *name = expectation(&r, marks);
        testing_in("%s, case %d: operation %d, %s", testing_backend_name(backend), k, (int)r.operation,
                   case_name(&r.c));
        fill(&r, &state, before);
        memcpy(after, before, ARENA);
        memcpy(own_a, before, ARENA);
        memcpy(own_b, before, ARENA);
        char *arena = on_device ? device_new(before, ARENA) : after;
        REQUIRE(arena != NULL);
        const gpusolve_status status = call(handle, &r, arena, arena, arena);
        if (on_device) {
            CHECK(device_read(after, arena, ARENA) == 0);
            device_delete(arena);
        }
        (name ? refused : taken)[r.operation]++;
        if (name) {
            CHECK_STATUS(status, GPUSOLVE_INVALID_ARGUMENT);
            CHECK(strncmp(gpusolve_last_error(handle), name, strlen(name)) == 0);
            CHECK(memcmp(before, after, ARENA) == 0);
            continue;
        }
        if (!CHECK_STATUS(status, GPUSOLVE_OK))
            continue;
        gpusolve_handle *host = on_device ? testing_handle(GPUSOLVE_BACKEND_HOST, 1) : handle;
        CHECK_STATUS(call(host, &r, own_a, own_b, NULL), GPUSOLVE_OK);
        check_answer(&r, before, after, r.operation == POTRI ? own_a : own_b, marks);
        if (on_device)
            gpusolve_destroy(host);
    }
    for (int k = 0; k < 5; k++) {
        testing_in("operation %d: %d refused, %d taken", k, refused[k], taken[k]);
        CHECK(refused[k] > cases / 200 && taken[k] > cases / 50);
    }
    gpusolve_destroy(handle);
}

/* --------------------------------------------------------------------------------------------- alignment --- */

static void check_alignment(gpusolve_backend backend) {
    gpusolve_handle *handle = testing_handle(backend, 1);
    const int on_device = backend == GPUSOLVE_BACKEND_CUDA;
    static _Alignas(256) char zeros[1024], host[1024];
    char *arena = on_device ? device_new(zeros, sizeof zeros) : host;
    REQUIRE(arena != NULL);
    for (int dtype = 0; dtype < 4; dtype++)
        for (int k = 0; k < 5; k++) {
            random_call r = {.operation = (operation)k, .lda = 2, .ldb = 2, .incx = 1, .workspace = -1};
            r.c = (triangular_case){.multiply = k == TRMM,
                                    .dtype = (gpusolve_dtype)dtype,
                                    .uplo = GPUSOLVE_UPPER,
                                    .m = 2,
                                    .n = 1,
                                    .alpha = 1};
            const int64_t number = (int64_t)testing_bytes(r.c.dtype);
            const int64_t unit = testing_is_complex(r.c.dtype) && !on_device ? number / 2 : number;
            for (int64_t shift = 1; shift < unit; shift++) {
                testing_in("%s, dtype %d, operation %d, %lld bytes off", testing_backend_name(backend), dtype,
                           k, (long long)shift);
                r.a = shift;
                r.b = 512 + shift;
                CHECK_REFUSED(handle, call(handle, &r, arena, arena, NULL), GPUSOLVE_INVALID_ARGUMENT,
                              "A: is not aligned");
                r.a = 0;
                if (k != POTRI)
                    CHECK_REFUSED(handle, call(handle, &r, arena, arena, NULL), GPUSOLVE_INVALID_ARGUMENT,
                                  k == TRSV ? "x: is not aligned" : "B: is not aligned");
            }
        }
    if (on_device)
        device_delete(arena);
    gpusolve_destroy(handle);
}

int main(void) {
    gpusolve_backend backends[2];
    const int count = testing_backends(backends);
    if (!trsv_is_supported(GPUSOLVE_BACKEND_HOST)) {
        printf("skipped: no CBLAS to compare with\n");
        return TESTING_SKIPPED;
    }
    for (int k = 0; k < count; k++) {
        check_cases(backends[k], backends[k] == GPUSOLVE_BACKEND_CUDA ? DEVICE_CASES : HOST_CASES);
        check_alignment(backends[k]);
    }
    return testing_done();
}
