/*
 * The same column has the same bits: however often it is solved, alone or among others, wherever it stands,
 * in either order, with any workspace, on any number of host threads, and from a factor imported again. On a device that
 * holds for handles with same_bits, whose columns are all tasks; test_cuda_block.c, test_cuda_tasks.c and test_cuda_side.c
 * are about the others.
 */
#include "testing.h"

#include "cholmod_helpers.h"
#include "gpusolve_cholmod.h"

enum { COLUMNS = 37 };

static const gpusolve_system systems[] = {GPUSOLVE_A, GPUSOLVE_L, GPUSOLVE_Lt};

typedef struct bits_case {
    const cholmod_factor *l;
    gpusolve_backend backend;
    gpusolve_dtype dtype;
    gpusolve_system system;
    gpusolve_dense b; /* COLUMNS columns */
    gpusolve_dense x; /* the bits they must have */
} bits_case;

/* Solve columns first .. first + cols - 1 and compare them. max_nrhs 0: the handle's own workspace. */
static void check_columns(const bits_case *bits, gpusolve_handle *handle, const gpusolve_factor *factor,
                          int64_t max_nrhs, int64_t first, int64_t cols, gpusolve_order order,
                          int on_device) {
    gpusolve_workspace *workspace = NULL;
    if (max_nrhs)
        REQUIRE(gpusolve_workspace_create(handle, factor, max_nrhs, &workspace) == GPUSOLVE_OK);
    gpusolve_dense b = testing_block(bits->dtype, order, bits->b.rows, cols, 1);
    gpusolve_dense x = testing_block(bits->dtype, order, bits->b.rows, cols, 2);
    for (int64_t j = 0; j < cols; j++)
        for (int64_t i = 0; i < b.rows; i++)
            testing_set(&b, i, j, testing_get(&bits->b, i, first + j));
    CHECK_STATUS(testing_solve(handle, factor, workspace, bits->system, &b, &x, on_device), GPUSOLVE_OK);
    if (!CHECK(testing_same_bits(&x, 0, &bits->x, first, cols)))
        printf("columns %d .. %d, max_nrhs %d, order %d, %s\n", (int)first, (int)(first + cols - 1),
               (int)max_nrhs, (int)order, on_device ? "on the device" : "on the host");
    free(b.values);
    free(x.values);
    gpusolve_workspace_destroy(workspace);
}

static void check_widths(const bits_case *bits, gpusolve_handle *handle, const gpusolve_factor *factor) {
    static const int64_t widths[] = {1, 2, 3, 4, 5, 7, 8, 9, 15, 16, 17, 31, 32, 33, COLUMNS};
    const int few = testing_few();
    for (int on_device = 0; on_device <= (bits->backend == GPUSOLVE_BACKEND_CUDA); on_device++) {
        for (int64_t j = 0; j < COLUMNS; j += few ? 9 : 1)
            check_columns(bits, handle, factor, 0, j, 1, GPUSOLVE_COL_MAJOR, on_device);
        for (size_t w = 0; w < sizeof widths / sizeof widths[0]; w += few ? 2 : 1) {
            check_columns(bits, handle, factor, widths[w], 0, COLUMNS, GPUSOLVE_COL_MAJOR, on_device);
            check_columns(bits, handle, factor, widths[w], 0, COLUMNS, GPUSOLVE_ROW_MAJOR, on_device);
            check_columns(bits, handle, factor, w % 2 ? 32 : 300, COLUMNS - widths[w], widths[w],
                          GPUSOLVE_ROW_MAJOR, on_device);
        }
        for (int repeat = 0; repeat < (few ? 2 : 5); repeat++)
            check_columns(bits, handle, factor, 0, 0, COLUMNS, GPUSOLVE_COL_MAJOR, on_device);
    }
}

static void check_case(const bits_case *bits) {
    gpusolve_handle *handle = testing_handle_bits(bits->backend, 2, 1);
    gpusolve_factor *factor, *again;
    REQUIRE(gpusolve_cholmod_import(handle, bits->l, &factor) == GPUSOLVE_OK);
    gpusolve_workspace *workspace;
    REQUIRE(gpusolve_workspace_create(handle, factor, COLUMNS, &workspace) == GPUSOLVE_OK);
    CHECK_STATUS(gpusolve_solve(handle, factor, workspace, bits->system, &bits->b, &bits->x), GPUSOLVE_OK);
    gpusolve_workspace_destroy(workspace);
    check_widths(bits, handle, factor);
    REQUIRE(gpusolve_cholmod_import(handle, bits->l, &again) == GPUSOLVE_OK);
    check_columns(bits, handle, again, 0, 0, COLUMNS, GPUSOLVE_COL_MAJOR, 0);
    gpusolve_factor_destroy(again);

    for (int threads = 1; threads <= 5 && bits->backend == GPUSOLVE_BACKEND_HOST; threads++) {
        gpusolve_handle *other = testing_handle(bits->backend, threads);
        check_columns(bits, other, factor, 0, 0, COLUMNS, GPUSOLVE_COL_MAJOR, 0);
        check_columns(bits, other, factor, 5, 0, COLUMNS, GPUSOLVE_ROW_MAJOR, 0);
        check_columns(bits, other, factor, 0, 3, 1, GPUSOLVE_COL_MAJOR, 0);
        /* and a factor that this handle has imported */
        REQUIRE(gpusolve_cholmod_import(other, bits->l, &again) == GPUSOLVE_OK);
        check_columns(bits, other, again, 0, 0, COLUMNS, GPUSOLVE_COL_MAJOR, 0);
        gpusolve_factor_destroy(again);
        gpusolve_destroy(other);
    }
    gpusolve_factor_destroy(factor);
    gpusolve_destroy(handle);
}

static void check_matrix(const char *spec, gpusolve_factor_kind kind, cholmod_common *common) {
    testing_in("%s", spec);
    cholmod_sparse *a = testing_load(spec, common);
    REQUIRE(a != NULL);
    cholmod_factor *l = testing_factorize(a, kind, common);
    REQUIRE(l != NULL && l->minor == l->n);
    gpusolve_dtype dtype = a->xtype == CHOLMOD_REAL ? GPUSOLVE_DOUBLE : GPUSOLVE_COMPLEX_DOUBLE;
    gpusolve_backend backends[2];
    int count = testing_backends(backends);
    for (int i = 0; i < count; i++)
        for (size_t s = 0; s < sizeof systems / sizeof systems[0]; s++) {
            testing_in("%s, kind %d, %s, system %d", spec, (int)kind, testing_backend_name(backends[i]),
                       (int)systems[s]);
            bits_case bits = {l,
                              backends[i],
                              dtype,
                              systems[s],
                              testing_block(dtype, GPUSOLVE_COL_MAJOR, (int64_t)a->nrow, COLUMNS, 0),
                              testing_block(dtype, GPUSOLVE_COL_MAJOR, (int64_t)a->nrow, COLUMNS, 0)};
            testing_fill(&bits.b, 23);
            check_case(&bits);
            free(bits.b.values);
            free(bits.x.values);
        }
    cholmod_free_factor(&l, common);
    cholmod_free_sparse(&a, common);
}

int main(void) {
    cholmod_common common;
    cholmod_start(&common);
    check_matrix("grid2d:60", GPUSOLVE_SUPERNODAL_LL, &common);
    check_matrix("elasticity3d:8", GPUSOLVE_SUPERNODAL_LL, &common);
    check_matrix("grid3d:12@c", GPUSOLVE_SUPERNODAL_LL, &common);
    check_matrix("grid3d:10", GPUSOLVE_SIMPLICIAL_LDL, &common);
    cholmod_finish(&common);
    return testing_done();
}
