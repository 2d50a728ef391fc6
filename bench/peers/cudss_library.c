#include "cudss_library.h"

#include <stdlib.h>

enum { MAJOR_VERSION = 0 };

static const char *const libraries[] = {"libcudss.so.1", "libcudss.so", NULL};

static int find_all(void *library, bench_cudss_functions *f, bench_solver_facts *facts) {
    return bench_library_find(library, "cudssGetProperty", &f->get_property, facts) ||
           bench_library_find(library, "cudssCreate", &f->create, facts) ||
           bench_library_find(library, "cudssDestroy", &f->destroy, facts) ||
           bench_library_find(library, "cudssSetStream", &f->set_stream, facts) ||
           bench_library_find(library, "cudssConfigCreate", &f->config_create, facts) ||
           bench_library_find(library, "cudssConfigDestroy", &f->config_destroy, facts) ||
           bench_library_find(library, "cudssConfigSet", &f->config_set, facts) ||
           bench_library_find(library, "cudssDataCreate", &f->data_create, facts) ||
           bench_library_find(library, "cudssDataDestroy", &f->data_destroy, facts) ||
           bench_library_find(library, "cudssDataGet", &f->data_get, facts) ||
           bench_library_find(library, "cudssMatrixCreateCsr", &f->create_csr, facts) ||
           bench_library_find(library, "cudssMatrixCreateDn", &f->create_dense, facts) ||
           bench_library_find(library, "cudssMatrixDestroy", &f->matrix_destroy, facts) ||
           bench_library_find(library, "cudssExecute", &f->execute, facts);
}

int bench_cudss_check(int status, const char *what, bench_solver_facts *facts) {
    static const char *const names[] = {"success",        "not initialised",  "allocation failed",
                                        "invalid value",  "not supported",    "execution failed",
                                        "internal error", "refinement failed"};
    const int known = status >= 0 && (size_t)status < sizeof names / sizeof names[0];

    return status ? bench_solver_explain(facts, "%s: status %d, %s", what, status,
                                         known ? names[status] : "unknown")
                  : 0;
}

int bench_cudss_open(bench_cudss *cudss, const bench_problem *problem, const bench_device *device,
                     bench_solver_facts *facts) {
    const cholmod_sparse *a = problem->matrix;
    const bench_cudss_functions *f = &cudss->f;
    int major = 0;

    *cudss = (bench_cudss){.device = device, .n = problem->n, .nnz = ((const int *)a->p)[problem->n]};
    cudss->value_type = a->xtype == CHOLMOD_COMPLEX ? BENCH_CUDSS_COMPLEX_DOUBLE : BENCH_CUDSS_REAL_DOUBLE;
    cudss->matrix_type = a->xtype == CHOLMOD_COMPLEX ? BENCH_CUDSS_HPD : BENCH_CUDSS_SPD;
    cudss->library = bench_library_load("GPUSOLVE_CUDSS", libraries);
    if (!cudss->library)
        return bench_solver_explain(facts, "not found: $GPUSOLVE_CUDSS may be the path of libcudss.so.1");
    if (find_all(cudss->library, &cudss->f, facts) ||
        bench_cudss_check(f->get_property(MAJOR_VERSION, &major), "its version", facts))
        return -1;
    if (major != 1)
        return bench_solver_explain(facts, "its version is %d, known is 1", major);
    return bench_cudss_check(f->create(&cudss->handle), "its handle", facts) ||
                   bench_cudss_check(f->set_stream(cudss->handle, device->stream), "its stream", facts) ||
                   bench_cudss_check(f->config_create(&cudss->config), "its settings", facts) ||
                   bench_cudss_check(f->data_create(cudss->handle, &cudss->data), "its data", facts)
               ? -1
               : 0;
}

void bench_cudss_drop_blocks(bench_cudss *cudss) {
    if (cudss->b)
        cudss->f.matrix_destroy(cudss->b);
    if (cudss->x)
        cudss->f.matrix_destroy(cudss->x);
    cudss->b = cudss->x = NULL;
}

int bench_cudss_execute(bench_cudss *cudss, int phase) {
    return cudss->f.execute(cudss->handle, phase, cudss->config, cudss->data, cudss->a, cudss->x, cudss->b);
}

void bench_cudss_close(bench_cudss *cudss) {
    bench_cudss_drop_blocks(cudss);
    if (cudss->a)
        cudss->f.matrix_destroy(cudss->a);
    if (cudss->data)
        cudss->f.data_destroy(cudss->handle, cudss->data);
    if (cudss->config)
        cudss->f.config_destroy(cudss->config);
    if (cudss->handle)
        cudss->f.destroy(cudss->handle);
    for (int i = 0; i < 3; i++)
        if (cudss->memory[i])
            cudss->device->release(cudss->memory[i]);
}

int bench_cudss_upload(bench_cudss *cudss, const bench_problem *problem, int64_t copies,
                       bench_solver_facts *facts) {
    const cholmod_sparse *a = problem->matrix;
    const size_t number = a->xtype == CHOLMOD_COMPLEX ? 16 : 8;
    const size_t bytes[] = {(size_t)(cudss->n + 1) * sizeof(int), (size_t)cudss->nnz * sizeof(int),
                            (size_t)cudss->nnz * number};
    double *owned;
    const double *values = bench_problem_upper(problem, &owned);
    const void *const from[] = {a->p, a->i, values};
    int failed = !values;

    for (int i = 0; i < 3 && !failed; i++) {
        const int64_t count = i == 2 ? copies : 1;

        cudss->memory[i] = cudss->device->allocate(bytes[i] * (size_t)count + 1);
        failed = !cudss->memory[i];
        for (int64_t k = 0; k < count && !failed; k++)
            failed =
                cudss->device->upload((char *)cudss->memory[i] + (size_t)k * bytes[i], from[i], bytes[i]);
    }
    free(owned);
    return failed ? bench_solver_explain(facts, "out of memory for the matrix") : 0;
}
