/*
 * Real matrices: every one below that is on the search path, and some generated ones, factorised by CHOLMOD,
 * solved on every backend, the backward error of each column held against ten times CHOLMOD's. Refined by the automatic method, with L as it is
 * and with L in single precision, it is below four units of double precision.
 *
 *      test_matrices [--all] [MATRIX ...]      --all: also those whose factor has more than LIMIT entries
 *
 * A matrix that is not there is passed over: with no folder of matrices at all, the generated ones remain.
 */
#include "testing.h"

#include "cholmod_helpers.h"
#include "gpusolve_cholmod.h"
#include "gpusolve_refine.h"

enum { LIMIT = 10000000, SMALL = 1000000, COLUMNS = 5 };

static const char *const matrices[] = {
    "LFAT5", "LF10", "Trefethen_20b", "Trefethen_20", "bcsstk01", "bcsstk02", "nos4", "bcsstk03", "bcsstk04",
    "bcsstk22", "bcsstm22", "lund_a", "Trefethen_150", "bcsstk05", "bcsstm05", "Trefethen_200b", "nos1",
    "Trefethen_300", "bcsstk06", "bcsstk07", "bcsstm06", "bcsstm07", "bcsstm20", "494_bus", "685_bus",
    "Trefethen_700", "bcsstk19", "bcsstm19", "gr_30_30", "bcsstk08", "bcsstm08", "bcsstm09", "bcsstk10",
    "1138_bus", "mhd1280b", "bcsstm11", "bcsstk14", "bcsstk26", "bcsstm26", "Trefethen_2000", "Chem97ZtZ",
    "x_wathen_30_30", "bcsstm23", "bcsstk24", "bcsstm24", "bcsstk21", "bcsstm21", "s3rmt3m3", "ex15", "fv2",
    "x_dragon", "x_qp_CVXQP1_L", "bcsstk18", "x_ani5_crop", "bcsstm25", "gyro_m", "bodyy4", "Trefethen_20000",
    "wathen100", "mesh_4elt_b2", "mesh_copter2_herm", "G2_circuit", "mesh_copter2_b3",
    /* generated */
    "grid2d:100", "grid2d9:80", "grid3d:18", "grid3d27:14", "elasticity3d:9", "shell:24", "rgg2d:8000",
    "arrow:4000,24,16", "forest:3000", "tridiag:5000", "diag:2000", "grid2d:60@c", "elasticity3d:6@c"};

static const char *const not_positive_definite[] = {"bcsstm10", "Si2"};

static int found, too_large;
static double worst = 0; /* of our error to CHOLMOD's, where CHOLMOD's is above the unit roundoff */

/* One column's errors. Rounding the exact solution costs up to the unit roundoff: an error below counts as
 * that. */
static void check_column(const cholmod_sparse *a, double norm_a, const gpusolve_dense *x,
                         const cholmod_dense *cholmod_x, const gpusolve_dense *b, int64_t j) {
    int64_t n = x->rows;
    double complex *column = malloc((size_t)(3 * n) * sizeof *column);
    REQUIRE(column != NULL);
    double complex *ours = column, *theirs = column + n, *right = column + 2 * n;
    for (int64_t i = 0; i < n; i++) {
        ours[i] = testing_get(x, i, j);
        theirs[i] = testing_fetch(x->dtype, cholmod_x->x, i + j * n);
        right[i] = testing_get(b, i, j);
    }
    double their_error = fmax(testing_backward_error(a, norm_a, theirs, right), DBL_EPSILON / 2);
    double our_error = testing_backward_error(a, norm_a, ours, right);
    CHECK_BELOW(our_error, 10 * their_error);
    worst = our_error / their_error > worst ? our_error / their_error : worst;
    free(column);
}

/* L in double precision, or stored in single. */
static void check_refined(gpusolve_handle *handle, const cholmod_sparse *a, const cholmod_factor *l,
                          gpusolve_storage storage, const gpusolve_dense *b) {
    const double most = 4 * DBL_EPSILON, norm_a = testing_sparse_norm(a);
    const int64_t n = b->rows;
    gpusolve_refine_options options = GPUSOLVE_REFINE_OPTIONS_INIT;
    options.method = GPUSOLVE_REFINE_AUTOMATIC;
    options.max_steps = 30;
    gpusolve_factor *factor = NULL;
    gpusolve_matrix *matrix = NULL;
    gpusolve_dense x = testing_block(b->dtype, b->order, n, b->cols, 0);
    double errors[COLUMNS];
    int steps[COLUMNS];
    double complex *column = malloc((size_t)(2 * n) * sizeof *column);
    REQUIRE(column != NULL);
    REQUIRE(gpusolve_cholmod_import_stored(handle, l, storage, &factor) == GPUSOLVE_OK);
    REQUIRE(gpusolve_cholmod_matrix(handle, a, &matrix) == GPUSOLVE_OK);
    CHECK_STATUS(gpusolve_refine(handle, factor, matrix, NULL, b, &x, &options, errors, steps), GPUSOLVE_OK);
    for (int64_t j = 0; j < b->cols; j++) {
        for (int64_t i = 0; i < n; i++) {
            column[i] = testing_get(&x, i, j);
            column[n + i] = testing_get(b, i, j);
        }
        CHECK_BELOW(errors[j], most);
        CHECK_BELOW(testing_backward_error(a, norm_a, column, column + n), most);
    }
    free(column);
    free(x.values);
    gpusolve_matrix_destroy(matrix);
    gpusolve_factor_destroy(factor);
}

static void check_backend(gpusolve_backend backend, const char *name, const cholmod_sparse *a,
                          const cholmod_factor *l, const cholmod_dense *cholmod_x, const gpusolve_dense *b) {
    testing_in("%s, %s, %s", name, l->is_super ? "supernodal" : "simplicial", testing_backend_name(backend));
    gpusolve_handle *handle = testing_handle(backend, 0);
    gpusolve_factor *factor = NULL;
    if (!CHECK_STATUS(gpusolve_cholmod_import(handle, l, &factor), GPUSOLVE_OK))
        printf("%s\n", gpusolve_last_error(handle));
    double norm_a = testing_sparse_norm(a);
    for (int on_device = 0; factor && on_device <= (backend == GPUSOLVE_BACKEND_CUDA); on_device++) {
        gpusolve_dense x = testing_block(b->dtype, b->order, b->rows, b->cols, 0);
        CHECK_STATUS(testing_solve(handle, factor, NULL, GPUSOLVE_A, b, &x, on_device), GPUSOLVE_OK);
        for (int64_t j = 0; j < b->cols; j++)
            check_column(a, norm_a, &x, cholmod_x, b, j);
        gpusolve_dense again = testing_block(b->dtype, b->order, b->rows, b->cols, 0);
        CHECK_STATUS(testing_solve(handle, factor, NULL, GPUSOLVE_A, b, &again, on_device), GPUSOLVE_OK);
        CHECK(testing_same_bits(&x, 0, &again, 0, b->cols));
        /* some of the columns once more: four, three, and one */
        gpusolve_dense first = *b, few = again, one = testing_block(b->dtype, b->order, b->rows, 3, 0);
        first.cols = few.cols = 4;
        CHECK_STATUS(testing_solve(handle, factor, NULL, GPUSOLVE_A, &first, &few, on_device), GPUSOLVE_OK);
        first.cols = 3;
        CHECK_STATUS(testing_solve(handle, factor, NULL, GPUSOLVE_A, &first, &one, on_device), GPUSOLVE_OK);
        for (int64_t j = 0; j < 4; j++) {
            check_column(a, norm_a, &few, cholmod_x, b, j);
            if (j < 3)
                check_column(a, norm_a, &one, cholmod_x, b, j);
        }
        if (backend == GPUSOLVE_BACKEND_HOST)
            CHECK(testing_same_bits(&few, 0, &one, 0, 3));
        first.cols = one.cols = 1;
        CHECK_STATUS(testing_solve(handle, factor, NULL, GPUSOLVE_A, &first, &one, on_device), GPUSOLVE_OK);
        check_column(a, norm_a, &one, cholmod_x, b, 0);
        if (backend == GPUSOLVE_BACKEND_HOST)
            CHECK(testing_same_bits(&x, 0, &one, 0, 1));
        free(x.values);
        free(again.values);
        free(one.values);
    }
    gpusolve_factor_destroy(factor);
    if (l->is_super) {
        check_refined(handle, a, l, GPUSOLVE_STORAGE_SAME, b);
        check_refined(handle, a, l, GPUSOLVE_STORAGE_SINGLE, b);
    }
    gpusolve_destroy(handle);
}

static void check_factor(const char *name, const cholmod_sparse *a, cholmod_factor *l,
                         cholmod_common *common) {
    int is_complex = a->xtype != CHOLMOD_REAL;
    gpusolve_dense b = testing_block(is_complex ? GPUSOLVE_COMPLEX_DOUBLE : GPUSOLVE_DOUBLE,
                                     GPUSOLVE_COL_MAJOR, (int64_t)a->nrow, COLUMNS, 0);
    testing_fill(&b, 3);
    cholmod_dense *cholmod_b = cholmod_allocate_dense(a->nrow, COLUMNS, a->nrow,
                                                      is_complex ? CHOLMOD_COMPLEX : CHOLMOD_REAL, common);
    REQUIRE(cholmod_b != NULL);
    memcpy(cholmod_b->x, b.values, testing_block_bytes(&b));
    cholmod_dense *cholmod_x = cholmod_solve(CHOLMOD_A, l, cholmod_b, common);
    REQUIRE(cholmod_x != NULL);

    gpusolve_backend backends[2];
    int count = testing_backends(backends);
    for (int i = 0; i < count; i++)
        check_backend(backends[i], name, a, l, cholmod_x, &b);
    cholmod_free_dense(&cholmod_b, common);
    cholmod_free_dense(&cholmod_x, common);
    free(b.values);
}

/* NULL where the matrix is not on the search path. */
static cholmod_sparse *load(const char *name, cholmod_common *common) {
    gsm_matrix matrix;
    char message[256];
    int status = gsm_load(name, &matrix, message, sizeof message);
    if (status == GSM_NOT_FOUND)
        return NULL;
    REQUIRE(status == GSM_SUCCESS);
    cholmod_sparse *a = testing_sparse(&matrix, common);
    gsm_free(&matrix);
    REQUIRE(a != NULL);
    return a;
}

static void check_matrix(const char *name, int all, cholmod_common *common) {
    testing_in("%s", name);
    cholmod_sparse *a = load(name, common);
    if (!a)
        return;
    found++;
    common->supernodal = CHOLMOD_SUPERNODAL;
    cholmod_factor *symbolic = cholmod_analyze(a, common);
    REQUIRE(symbolic != NULL);
    cholmod_free_factor(&symbolic, common);
    if (!all && common->lnz > LIMIT) {
        too_large++;
    } else {
        int kinds = common->lnz > SMALL ? 1 : 3;
        for (int kind = 0; kind < kinds; kind++) {
            cholmod_factor *l = testing_factorize(a, (gpusolve_factor_kind)kind, common);
            if (CHECK(l != NULL && l->minor == l->n))
                check_factor(name, a, l, common);
            cholmod_free_factor(&l, common);
        }
    }
    cholmod_free_sparse(&a, common);
}

static void check_refused(const char *name, cholmod_common *common) {
    testing_in("%s, which is not positive definite", name);
    cholmod_sparse *a = load(name, common);
    if (!a)
        return;
    found++;
    for (int kind = 0; kind < 2; kind++) {
        cholmod_factor *l = testing_factorize(a, (gpusolve_factor_kind)kind, common);
        REQUIRE(l != NULL && l->minor < l->n);
        gpusolve_backend backends[2];
        int count = testing_backends(backends);
        for (int i = 0; i < count; i++) {
            gpusolve_handle *handle = testing_handle(backends[i], 0);
            gpusolve_factor *factor;
            CHECK_STATUS(gpusolve_cholmod_import(handle, l, &factor), GPUSOLVE_NOT_POSITIVE_DEFINITE);
            CHECK(factor == NULL);
            CHECK(strstr(gpusolve_last_error(handle), "minor") != NULL);
            gpusolve_destroy(handle);
        }
        cholmod_free_factor(&l, common);
    }
    cholmod_free_sparse(&a, common);
}

int main(int argc, char **argv) {
    int all = argc > 1 && strcmp(argv[1], "--all") == 0;
    cholmod_common common;
    cholmod_start(&common);
    common.print = 0; /* it would announce each matrix that is not positive definite */
    if (argc > 1 + all) {
        for (int i = 1 + all; i < argc; i++)
            check_matrix(argv[i], all, &common);
    } else {
        for (size_t i = 0; i < sizeof matrices / sizeof matrices[0]; i += testing_few() ? 4 : 1)
            check_matrix(matrices[i], all, &common);
        for (size_t i = 0; i < sizeof not_positive_definite / sizeof not_positive_definite[0]; i++)
            check_refused(not_positive_definite[i], &common);
    }
    cholmod_finish(&common);
    printf("%d matrices, of which %d were too large without --all; worst error %.2f times CHOLMOD's\n", found,
           too_large, worst);
    return testing_done();
}
