/*
 * Factors all of whose tree is in branches: with b and x on the device one launch solves (cuda/walk/whole.cuh). It must have the
 * bits of the sweeps one by one: chains and forests of one branch and of many, every precision, with and without a
 * permutation, in place and not, columns side by side, blocks by rows and by columns, from and to host memory. A tree with an
 * upper part takes four launches.
 */
#include "cuda_problem.h"
#include "tree_shapes.h"

#include "supernodal/api/executor.h"
#include "supernodal/schedule/schedule.h"

enum { COLUMNS = 5 };

static const gpusolve_dtype dtypes[] = {GPUSOLVE_FLOAT, GPUSOLVE_DOUBLE, GPUSOLVE_COMPLEX_FLOAT,
                                        GPUSOLVE_COMPLEX_DOUBLE};
static int seen[5]; /* factors by launches */

/* Numbers of this type, made from real ones. */
static void *numbers_as(gpusolve_dtype dtype, const double *real, size_t count) {
    char *x = malloc((count + 1) * testing_bytes(dtype));
    REQUIRE(x);
    for (size_t k = 0; k < count; k++) {
        const double imaginary = real[k] == 1 ? 0 : 0.5 * real[k];
        switch (dtype) {
        case GPUSOLVE_FLOAT:
            ((float *)x)[k] = (float)real[k];
            break;
        case GPUSOLVE_DOUBLE:
            ((double *)x)[k] = real[k];
            break;
        case GPUSOLVE_COMPLEX_FLOAT:
            ((float *)x)[2 * k] = (float)real[k];
            ((float *)x)[2 * k + 1] = (float)imaginary;
            break;
        default:
            ((double *)x)[2 * k] = real[k];
            ((double *)x)[2 * k + 1] = imaginary;
        }
    }
    return x;
}

/* Launches of a solve of A x = b for one column, counted in a graph. */
static size_t count_launches(const problem *p, const gpusolve_dense *b, const gpusolve_dense *x) {
    cudaStream_t stream = NULL;
    cudaGraph_t graph = NULL;
    size_t nodes = 0;
    gpusolve_workspace *workspace =
        workspace_for(p, COLUMNS); /* it cannot be made while the stream is captured */
    REQUIRE(cudaStreamCreateWithFlags(&stream, cudaStreamNonBlocking) == cudaSuccess);
    CHECK_STATUS(gpusolve_set_stream(p->handle, stream), GPUSOLVE_OK);
    REQUIRE(cudaStreamBeginCapture(stream, cudaStreamCaptureModeThreadLocal) == cudaSuccess);
    CHECK_STATUS(gpusolve_solve(p->handle, p->factor, workspace, GPUSOLVE_A, b, x), GPUSOLVE_OK);
    REQUIRE(cudaStreamEndCapture(stream, &graph) == cudaSuccess);
    CHECK(cudaGraphGetNodes(graph, NULL, &nodes) == cudaSuccess);
    CHECK_STATUS(gpusolve_set_stream(p->handle, NULL), GPUSOLVE_OK);
    cudaGraphDestroy(graph);
    cudaStreamDestroy(stream);
    return nodes;
}

/* x = P' L'\ (L \ P b) by four calls, on the device. */
static void solve_by_sweeps(const problem *p, const gpusolve_dense *b, const gpusolve_dense *x) {
    static const gpusolve_system systems[] = {GPUSOLVE_P, GPUSOLVE_L, GPUSOLVE_Lt, GPUSOLVE_Pt};
    gpusolve_dense other = on_device(x);
    const gpusolve_dense *from = b;
    for (int k = 0; k < 4; k++) {
        const gpusolve_dense *to = k % 2 ? x : &other;
        CHECK_STATUS(gpusolve_solve(p->handle, p->factor, workspace_for(p, COLUMNS), systems[k], from, to),
                     GPUSOLVE_OK);
        from = to;
    }
    device_delete(other.values);
}

static void check_bits(const problem *p, int64_t columns, gpusolve_order order, int in_place) {
    const gpusolve_dense b = testing_block(p->dtype, order, p->n, columns, 3),
                         x = testing_block(p->dtype, order, p->n, columns, 3),
                         one = testing_block(p->dtype, GPUSOLVE_COL_MAJOR, p->n, 1, 0),
                         wanted = testing_block(p->dtype, GPUSOLVE_COL_MAJOR, p->n, columns, 0);
    testing_fill(&b, 7);
    for (int64_t j = 0; j < columns; j++) { /* by sweeps, column by column */
        for (int64_t i = 0; i < p->n; i++)
            testing_set(&one, i, 0, testing_get(&b, i, j));
        const gpusolve_dense from = on_device(&one), to = on_device(&one);
        solve_by_sweeps(p, &from, &to);
        CHECK(device_read((char *)wanted.values + (size_t)(j * wanted.ld) * testing_bytes(p->dtype),
                          to.values, testing_block_bytes(&one)) == 0);
        device_delete(from.values);
        device_delete(to.values);
    }
    const gpusolve_dense device_b = on_device(&b), device_x = in_place ? device_b : on_device(&x);
    CHECK_STATUS(
        gpusolve_solve(p->handle, p->factor, workspace_for(p, COLUMNS), GPUSOLVE_A, &device_b, &device_x),
        GPUSOLVE_OK);
    CHECK(device_read(x.values, device_x.values, testing_block_bytes(&x)) == 0);
    for (int64_t j = 0; j < columns; j++)
        for (int64_t i = 0; i < p->n; i++) {
            const double _Complex got = testing_get(&x, i, j), expected = testing_get(&wanted, i, j);
            CHECK(creal(got) == creal(expected) && cimag(got) == cimag(expected)); /* no NaN is equal */
        }
    device_delete(device_b.values);
    if (!in_place)
        device_delete(device_x.values);
    free(b.values);
    free(x.values);
    free(one.values);
    free(wanted.values);
}

/* Operands in host memory pass through one place on the device, in either order. */
static void check_host(const problem *p, gpusolve_order of_b, gpusolve_order of_x) {
    const gpusolve_dense b = testing_block(p->dtype, of_b, p->n, COLUMNS, 0),
                         x = testing_block(p->dtype, of_x, p->n, COLUMNS, 0),
                         expected = testing_block(p->dtype, GPUSOLVE_COL_MAJOR, p->n, COLUMNS, 0);
    testing_fill(&b, 3);
    for (int64_t i = 0; i < p->n; i++)
        for (int64_t j = 0; j < COLUMNS; j++)
            testing_set(&expected, i, j, testing_get(&b, i, j));
    for (int64_t j = 0; j < COLUMNS; j++) { /* a column in host memory is solved in several launches */
        const gpusolve_dense column = columns_of(&expected, j, 1);
        CHECK_STATUS(
            gpusolve_solve(p->handle, p->factor, workspace_for(p, COLUMNS), GPUSOLVE_A, &column, &column),
            GPUSOLVE_OK);
    }
    CHECK_STATUS(gpusolve_solve(p->handle, p->factor, workspace_for(p, COLUMNS), GPUSOLVE_A, &b, &x),
                 GPUSOLVE_OK);
    for (int64_t j = 0; j < COLUMNS; j++)
        CHECK(testing_same_bits(&x, j, &expected, j, 1));
    free(b.values);
    free(x.values);
    free(expected.values);
}

static void check_tree(tree t, const char *name) {
    gpusolve_factor_data data = tree_factor(&t);
    const double *real = data.x;
    int32_t *perm = malloc((size_t)data.n * sizeof *perm);
    REQUIRE(perm);
    for (int64_t i = 0; i < data.n; i++)
        perm[i] = (int32_t)(data.n - 1 - i);
    for (int k = 0; k < 8; k++) {
        problem p = {.handle = tuned_handle(GPUSOLVE_BACKEND_CUDA, 0), .dtype = dtypes[k / 2], .n = data.n};
        data.dtype = p.dtype;
        data.x = numbers_as(p.dtype, real, (size_t)data.xsize);
        data.perm = k % 2 ? perm : NULL;
        testing_in("%s, dtype %d, %s", name, (int)p.dtype, k % 2 ? "permuted" : "as it is");
        CHECK_STATUS(gpusolve_factor_create(p.handle, &data, &p.factor), GPUSOLVE_OK);
        const gpusolve_dense block = new_block(&p, 1);
        testing_fill(&block, 1);
        const gpusolve_dense b = on_device(&block), x = on_device(&block);
        const gsv_branches *branches = &p.factor->plan.schedule->branches;
        const size_t launches = count_launches(&p, &b, &x);
        CHECK((launches == 1) ==
              gsv_branches_are_all(branches, testing_bytes(p.dtype), testing_bytes(p.dtype)));
        CHECK(launches == 1 || launches == 2 || launches == 4);
        seen[launches < 5 ? launches : 0]++;
        gpusolve_cost cost = {.size = sizeof cost};
        CHECK_STATUS(gpusolve_factor_cost(p.handle, p.factor, 1, 0, &cost), GPUSOLVE_OK);
        CHECK(cost.launches == (int64_t)launches);
        for (int64_t columns = 1; columns <= COLUMNS; columns++) {
            check_bits(&p, columns, GPUSOLVE_COL_MAJOR, 0);
            check_bits(&p, columns, GPUSOLVE_ROW_MAJOR, 1);
        }
        for (int o = 0; o < 4; o++)
            check_host(&p, o % 2 ? GPUSOLVE_ROW_MAJOR : GPUSOLVE_COL_MAJOR,
                       o / 2 ? GPUSOLVE_ROW_MAJOR : GPUSOLVE_COL_MAJOR);
        forget_workspaces();
        device_delete(b.values);
        device_delete(x.values);
        free(block.values);
        free((void *)data.x);
        gpusolve_factor_destroy(p.factor);
        gpusolve_destroy(p.handle);
    }
    free(perm);
    data.x = real;
    tree_factor_free(&data);
    tree_free(&t);
}

int main(void) {
    gpusolve_backend backends[2];
    if (testing_backends(backends) < 2) {
        printf("skipped: no CUDA device\n");
        return TESTING_SKIPPED;
    }
    check_tree(tree_chains(1, 1, 1, 0, 0), "one number");
    check_tree(tree_chains(1, 1, 30, 0, 0), "one supernode");
    check_tree(tree_chains(3000, 1, 1, 0, 0), "a diagonal");
    check_tree(tree_chains(400, 3, 4, 5, 0), "a forest of chains");
    check_tree(tree_chains(1, 9, 3, 4, 0), "a chain");
    check_tree(tree_star(12, 2, 3, 4), "a star");
    check_tree(tree_bush(4, 3, 3, 3, 1.2), "a bush");
    check_tree(tree_chains(2, 40, 20, 20, 1), "long chains");
    CHECK(seen[1] > 0 && seen[4] > 0);
    return testing_done();
}
