/*
 * Dense calls on the host with arguments at random, of which many are wrong: enumerations that are none, sizes
 * and leading dimensions from negative to 2^63, NULL, pointers that are not aligned, operands that overlap. No
 * call crashes; one that is refused says why and changes nothing; one that is not refused writes B alone.
 *
 *      fuzz_dense_arguments [seconds] [seed]
 *          default 3 seconds
 */
#include "testing.h"

#include <time.h>

#include "gpusolve_dense.h"
#include "memory.h"

enum { BYTES = 1 << 15, CALLS = 12 };

static const char *const call_names[CALLS] = {"trsv",      "trsm",        "trmm",        "potrs",
                                              "potri",     "trsm staged", "trmm staged", "prepared",
                                              "trsm size", "trmm size",   "potrs size",  "trsv query"};

/* One argument of each kind; a call takes those that it has. */
typedef struct arguments {
    int call, dtype, side, uplo, trans, diag;
    int64_t m, n, lda, ldb;
    double alpha[2];
    char *a, *b, *workspace;
    size_t workspace_bytes;
    int no_alpha, no_result;
} arguments;

/* Its ldb is incx. */
static int has_increment(const arguments *p) {
    return p->call == 0 || p->call == 7;
}

/* Mostly sensible, and sometimes whatever a number can be. */
static int64_t random_size(uint64_t *state, int64_t least) {
    static const int64_t edges[] = {0,
                                    -1,
                                    1,
                                    INT32_MAX,
                                    (int64_t)INT32_MAX + 1,
                                    INT32_MIN,
                                    INT64_MAX,
                                    INT64_MIN,
                                    (int64_t)1 << 30,
                                    (int64_t)1 << 32,
                                    (int64_t)1 << 62};
    if (testing_random_below(state, 12) == 0)
        return edges[testing_random_below(state, sizeof edges / sizeof *edges)];
    return least + testing_random_below(state, 6);
}

static int random_enum(uint64_t *state, int count) {
    static const int wrong[] = {-1, 9, INT32_MAX, INT32_MIN};
    return testing_random_below(state, 40) == 0 ? wrong[testing_random_below(state, 4)]
                                                : (int)testing_random_below(state, count);
}

static char *random_place(uint64_t *state, char *arena, size_t number) {
    if (testing_random_below(state, 20) == 0)
        return NULL;
    const int64_t byte = testing_random_below(state, 20) == 0 ? testing_random_below(state, 16) : 0;
    return arena + BYTES / 2 + (size_t)testing_random_below(state, 200) * number + (size_t)byte;
}

static arguments random_arguments(uint64_t *state, char *arena) {
    static const double alphas[] = {0, 1, -1, 0.5, INFINITY, NAN};
    arguments p = {.call = (int)testing_random_below(state, CALLS)};
    p.dtype = random_enum(state, 4);
    p.side = random_enum(state, 2);
    p.uplo = testing_random_below(state, 30) == 0
                 ? random_enum(state, 3)
                 : (testing_random_below(state, 2) ? GPUSOLVE_LOWER : GPUSOLVE_UPPER);
    p.trans = random_enum(state, 3);
    p.diag = random_enum(state, 2);
    p.m = random_size(state, 0);
    p.n = random_size(state, 0);
    const int64_t larger = p.m > p.n ? p.m : p.n;
    p.lda = random_size(state, larger > 0 && larger < 10 ? larger : 1);
    p.ldb = random_size(state, p.m > 0 && p.m < 10 ? p.m : 1);
    if (has_increment(&p))
        p.ldb = (testing_random_below(state, 2) ? 1 : -1) * (p.ldb == INT64_MIN ? 1 : p.ldb);
    for (int k = 0; k < 2; k++)
        p.alpha[k] = alphas[testing_random_below(state, 6)];
    const size_t number = p.dtype >= 0 && p.dtype < 4 ? testing_bytes((gpusolve_dtype)p.dtype) : 8;
    p.a = random_place(state, arena, number);
    p.b = random_place(state, arena, number);
    if (testing_random_below(state, 3) == 0) {
        p.workspace = random_place(state, arena, 256);
        p.workspace_bytes = (size_t)random_size(state, 0);
    }
    p.no_alpha = testing_random_below(state, 40) == 0;
    p.no_result = testing_random_below(state, 20) == 0;
    return p;
}

/* ------------------------------------------------------------------------------------------------ calls --- */

static gpusolve_status trsv(gpusolve_handle *h, const arguments *p) {
    const gpusolve_uplo uplo = (gpusolve_uplo)p->uplo;
    const gpusolve_trans trans = (gpusolve_trans)p->trans;
    const gpusolve_diag diag = (gpusolve_diag)p->diag;
    void *a = p->a, *b = p->b;
    switch (p->dtype & 3) {
    case 0:
        return gpusolve_strsv(h, uplo, trans, diag, p->m, a, p->lda, b, p->ldb);
    case 1:
        return gpusolve_dtrsv(h, uplo, trans, diag, p->m, a, p->lda, b, p->ldb);
    case 2:
        return gpusolve_ctrsv(h, uplo, trans, diag, p->m, a, p->lda, b, p->ldb);
    default:
        return gpusolve_ztrsv(h, uplo, trans, diag, p->m, a, p->lda, b, p->ldb);
    }
}

static gpusolve_status triangular(gpusolve_handle *h, const arguments *p, int multiply) {
    const gpusolve_side side = (gpusolve_side)p->side;
    const gpusolve_uplo uplo = (gpusolve_uplo)p->uplo;
    const gpusolve_trans trans = (gpusolve_trans)p->trans;
    const gpusolve_diag diag = (gpusolve_diag)p->diag;
    const float single[2] = {(float)p->alpha[0], (float)p->alpha[1]};
    const void *alpha = p->no_alpha ? NULL : (p->dtype & 3) == 2 ? (const void *)single : p->alpha;
    void *a = p->a, *b = p->b, *w = p->workspace;
    switch (p->dtype & 3) {
    case 0:
        return (multiply ? gpusolve_strmm : gpusolve_strsm)(h, side, uplo, trans, diag, p->m, p->n, single[0],
                                                            a, p->lda, b, p->ldb, w, p->workspace_bytes);
    case 1:
        return (multiply ? gpusolve_dtrmm : gpusolve_dtrsm)(
            h, side, uplo, trans, diag, p->m, p->n, p->alpha[0], a, p->lda, b, p->ldb, w, p->workspace_bytes);
    case 2:
        return (multiply ? gpusolve_ctrmm : gpusolve_ctrsm)(h, side, uplo, trans, diag, p->m, p->n, alpha, a,
                                                            p->lda, b, p->ldb, w, p->workspace_bytes);
    default:
        return (multiply ? gpusolve_ztrmm : gpusolve_ztrsm)(h, side, uplo, trans, diag, p->m, p->n, alpha, a,
                                                            p->lda, b, p->ldb, w, p->workspace_bytes);
    }
}

static gpusolve_status potrs(gpusolve_handle *h, const arguments *p) {
    const gpusolve_uplo uplo = (gpusolve_uplo)p->uplo;
    void *a = p->a, *b = p->b, *w = p->workspace;
    switch (p->dtype & 3) {
    case 0:
        return gpusolve_spotrs(h, uplo, p->m, p->n, a, p->lda, b, p->ldb, w, p->workspace_bytes);
    case 1:
        return gpusolve_dpotrs(h, uplo, p->m, p->n, a, p->lda, b, p->ldb, w, p->workspace_bytes);
    case 2:
        return gpusolve_cpotrs(h, uplo, p->m, p->n, a, p->lda, b, p->ldb, w, p->workspace_bytes);
    default:
        return gpusolve_zpotrs(h, uplo, p->m, p->n, a, p->lda, b, p->ldb, w, p->workspace_bytes);
    }
}

static gpusolve_status potri(gpusolve_handle *h, const arguments *p) {
    const gpusolve_uplo uplo = (gpusolve_uplo)p->uplo;
    void *b = p->b, *w = p->workspace;
    switch (p->dtype & 3) {
    case 0:
        return gpusolve_spotri(h, uplo, p->m, b, p->ldb, w, p->workspace_bytes);
    case 1:
        return gpusolve_dpotri(h, uplo, p->m, b, p->ldb, w, p->workspace_bytes);
    case 2:
        return gpusolve_cpotri(h, uplo, p->m, b, p->ldb, w, p->workspace_bytes);
    default:
        return gpusolve_zpotri(h, uplo, p->m, b, p->ldb, w, p->workspace_bytes);
    }
}

static gpusolve_status staged(gpusolve_staging *staging, const arguments *p, int multiply) {
    const float single[2] = {(float)p->alpha[0], (float)p->alpha[1]};
    const int is_single = p->dtype == GPUSOLVE_FLOAT || p->dtype == GPUSOLVE_COMPLEX_FLOAT;
    const void *alpha = p->no_alpha ? NULL : is_single ? (const void *)single : p->alpha;
    const gpusolve_status status = (multiply ? gpusolve_trmm_staged : gpusolve_trsm_staged)(
        staging, (gpusolve_dtype)p->dtype, (gpusolve_side)p->side, (gpusolve_uplo)p->uplo,
        (gpusolve_trans)p->trans, (gpusolve_diag)p->diag, p->m, p->n, alpha, p->a, p->lda, p->b, p->ldb);
    return status == GPUSOLVE_OK ? gpusolve_staging_wait(staging) : status;
}

static gpusolve_status prepared(gpusolve_handle *h, const arguments *p) {
    gpusolve_trsv *made = NULL;
    gpusolve_status status =
        gpusolve_trsv_prepare(h, (gpusolve_dtype)p->dtype, (gpusolve_uplo)p->uplo, (gpusolve_trans)p->trans,
                              (gpusolve_diag)p->diag, p->m, p->a, p->lda, p->no_result ? NULL : &made);
    if (status == GPUSOLVE_OK)
        status = gpusolve_trsv_solve(h, made, p->b, p->ldb);
    gpusolve_trsv_destroy(made);
    return status;
}

static gpusolve_status size_query(gpusolve_handle *h, const arguments *p) {
    const gpusolve_dtype dtype = (gpusolve_dtype)p->dtype;
    const gpusolve_side side = (gpusolve_side)p->side;
    size_t bytes = 1, *result = p->no_result ? NULL : &bytes;
    gpusolve_status status;
    switch (p->call) {
    case 8:
        status = gpusolve_trsm_workspace(h, dtype, side, p->m, p->n, result);
        break;
    case 9:
        status = gpusolve_trmm_workspace(h, dtype, side, p->m, p->n, result);
        break;
    case 10:
        status = gpusolve_potrs_workspace(h, dtype, p->m, p->n, result);
        break;
    default:
        status = p->side & 1 ? gpusolve_potri_workspace(h, dtype, p->m, result)
                             : gpusolve_trsv_query(h, dtype, p->m, result);
    }
    CHECK(p->no_result || bytes == 0);
    CHECK(status != GPUSOLVE_OK || !p->no_result);
    return status;
}

static gpusolve_status call(gpusolve_handle *h, gpusolve_staging *staging, const arguments *p) {
    switch (p->call) {
    case 0:
        return trsv(h, p);
    case 1:
    case 2:
        return triangular(h, p, p->call == 2);
    case 3:
        return potrs(h, p);
    case 4:
        return potri(h, p);
    case 5:
    case 6:
        return staged(staging, p, p->call == 6);
    case 7:
        return prepared(h, p);
    default:
        return size_query(h, p);
    }
}

/* --------------------------------------------------------------------------------------------- judgement --- */

static int is_legal(int64_t size) {
    return size >= 0 && size <= INT32_MAX;
}

/*
 * Sizes that are legal one by one and name memory that is not there: such a call is the caller's fault, and
 * nobody can see it. Sizes beyond 64 bits are seen.
 */
static int is_lie(const arguments *p) {
    const int has_n = p->call != 4 && !has_increment(p), has_a = p->call != 4;
    if (p->call >= 8 || !is_legal(p->m) || (has_n && !is_legal(p->n)) || (has_a && !is_legal(p->lda)) ||
        p->ldb < -INT32_MAX || p->ldb > INT32_MAX)
        return 0;
    if (p->m == 0 || (has_n && p->n == 0)) /* nothing is looked at */
        return 0;
    const int left = !has_n || p->call == 3 || p->side != GPUSOLVE_RIGHT;
    const int64_t order = left ? p->m : p->n, step = p->ldb < 0 ? -p->ldb : p->ldb;
    const int64_t columns = has_n ? p->n : p->m, rows = has_increment(p) ? 1 : p->m;
    const double number = (double)testing_bytes((gpusolve_dtype)(p->dtype & 3)); /* doubles: no overflow */
    const double a = has_a ? ((double)order * (double)p->lda + (double)order) * number : 0;
    const double b = ((double)columns * (double)step + (double)rows) * number;
    return (a > BYTES / 4 && a < 0x1p63) || (b > BYTES / 4 && b < 0x1p63);
}

/* May the call have written the byte at this address? B is small, or the call was refused. */
static int is_written(const arguments *p, const char *byte) {
    const int64_t number = (int64_t)testing_bytes((gpusolve_dtype)(p->dtype & 3)), offset = byte - p->b;
    const int64_t rows = has_increment(p) ? 1 : p->m;
    const int64_t columns = has_increment(p) || p->call == 4 ? p->m : p->n;
    const int64_t step = number * (p->ldb < 0 ? -p->ldb : p->ldb);
    return p->b && offset >= 0 && offset / step < columns && offset % step < rows * number;
}

static const char *starts(const char *text) {
    static const char *const names[] = {"A",     "B",        "x",    "alpha", "bytes", "diag",
                                        "dtype", "incx",     "lda",  "ldb",   "m",     "n",
                                        "nrhs",  "prepared", "side", "trans", "uplo",  "workspace"};
    for (size_t k = 0; k < sizeof names / sizeof *names; k++)
        if (strncmp(text, names[k], strlen(names[k])) == 0 && text[strlen(names[k])] == ':')
            return names[k];
    return NULL;
}

int main(int argc, char **argv) {
    const double seconds = argc > 1 ? atof(argv[1]) : 3;
    uint64_t state = argc > 2 ? strtoull(argv[2], NULL, 10) | 1 : 20261127;
    static _Alignas(256) char arena[BYTES], before[BYTES];
    gpusolve_handle *handle = testing_handle(GPUSOLVE_BACKEND_HOST, 1);
    gpusolve_staging *staging = NULL;
    REQUIRE(gpusolve_staging_create(handle, NULL, &staging) == GPUSOLVE_OK);
    long taken[CALLS] = {0}, refused[CALLS] = {0}, rounds = 0;
    const int64_t live = gsv_live_allocations();
    const clock_t end = clock() + (clock_t)(seconds * CLOCKS_PER_SEC);
    for (; rounds < 20000 || clock() < end; rounds++) {
        for (int k = 0; k < BYTES / 8; k++)
            testing_store(GPUSOLVE_DOUBLE, arena, k, testing_random(&state));
        memcpy(before, arena, BYTES);
        arguments p = random_arguments(&state, arena);
        while (is_lie(&p))
            p = random_arguments(&state, arena);
        testing_in("round %ld: %s, dtype %d, %d %d %d %d, m %lld, n %lld, lda %lld, ldb %lld", rounds,
                   call_names[p.call], p.dtype, p.side, p.uplo, p.trans, p.diag, (long long)p.m,
                   (long long)p.n, (long long)p.lda, (long long)p.ldb);
        const gpusolve_status status = call(handle, staging, &p);
        const int is_staged = p.call == 5 || p.call == 6;
        if (status == GPUSOLVE_NOT_SUPPORTED) { /* no CBLAS: arguments alone are tried */
            taken[p.call]++;
        } else if (status != GPUSOLVE_OK) {
            refused[p.call]++;
            CHECK(status == GPUSOLVE_INVALID_ARGUMENT || status == GPUSOLVE_TOO_LARGE ||
                  status == GPUSOLVE_SINGULAR);
            CHECK(starts(is_staged ? gpusolve_staging_last_error(staging) : gpusolve_last_error(handle)) !=
                  NULL);
            CHECK(memcmp(arena, before, BYTES) == 0);
        } else {
            taken[p.call]++;
            int clean = 1;
            for (int k = 0; k < BYTES; k++)
                clean &= arena[k] == before[k] || (p.call < 8 && is_written(&p, arena + k));
            CHECK(clean);
        }
    }
    testing_in("all rounds");
    CHECK(gsv_live_allocations() == live);
    printf("%ld calls:", rounds);
    for (int k = 0; k < CALLS; k++) {
        printf(" %s %ld of %ld,", call_names[k], taken[k], taken[k] + refused[k]);
        CHECK(taken[k] > 20 && refused[k] > 20);
    }
    printf(" the others refused\n");
    gpusolve_staging_destroy(staging);
    gpusolve_destroy(handle);
    return testing_done();
}
