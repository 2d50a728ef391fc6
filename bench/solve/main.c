/*
 * gpusolve-bench: for each matrix and number of right-hand sides, factorise with CHOLMOD, solve with
 * gpusolve, check the answer, time the solve, and say how far it is from the wall.
 *
 * The wall is the time to read the stored factor twice, once a sweep, at the bandwidth measured at the start,
 * or on CUDA the time of its flops at DGEMM's rate (57.5 TFLOP/s) if that is more. A factor that fits in a
 * cache can beat it. An answer is wrong if its backward error is not below 30 epsilons, or not within 10
 * times CHOLMOD's own (or epsilon, if that is larger) where CHOLMOD is a peer. With a factor that is stored in single precision
 * that holds for refined answers, and others must be below 30 epsilons of single precision.
 */
#include <float.h>
#include <math.h>
#include <omp.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "../machine/device.h"
#include "../machine/gate.h"
#include "list.h"
#include "options.h"
#include "../peers/batch.h"
#include "../peers/peers.h"
#include "problem.h"
#include "report.h"

/* OpenBLAS's own switch, where the BLAS is OpenBLAS: CHOLMOD gets as many threads as gpusolve. */
extern void openblas_set_num_threads(int threads) __attribute__((weak));

/* Everything one case needs; b and x are where the backend wants them, host_* on the host. */
typedef struct bench_case {
    gpusolve_handle *handle;
    bench_problem *problem;
    gpusolve_factor *factor;
    gpusolve_matrix *matrix;
    gpusolve_workspace *workspace;
    double created_ms; /* --prepare */
    int64_t factor_taken;
    int64_t nrhs;
    size_t bytes;
    void *host_b, *host_x, *device_b, *device_x;
    bench_inverse inverse; /* --inverse */
    bench_saved saved;     /* --saved */
    bench_peers *peers;
    bench_batch_peers *batch_peers; /* --batch-peers */
} bench_case;

static gpusolve_dense dense(const bench_case *c, void *values) {
    return (gpusolve_dense){c->problem->dtype,
                            GPUSOLVE_COL_MAJOR,
                            c->problem->n,
                            c->nrhs,
                            c->problem->n ? c->problem->n : 1,
                            values};
}

static int call_solve(void *context) {
    bench_case *c = context;
    gpusolve_dense b = dense(c, c->device_b), x = dense(c, c->device_x);

    return (int)gpusolve_solve(c->handle, c->factor, c->workspace, GPUSOLVE_A, &b, &x);
}

static int complain(const bench_case *c, const char *what) {
    const char *error = gpusolve_last_error(c->handle);

    bench_report_progress(NULL, NULL);
    fprintf(stderr, "gpusolve-bench: %s, %lld right-hand sides: %s failed%s%s\n", c->problem->name,
            (long long)c->nrhs, what, error[0] ? ": " : "", error);
    return -1;
}

/* The error of the solution in host_x. */
static int check(bench_case *c, double *error) {
    *error = bench_problem_error(c->problem, c->nrhs, c->host_b, c->host_x);
    return *error < 0 ? complain(c, "allocating memory") : 0;
}

/* The answer of the first solve is in host_x then, to be checked when the device is no longer held. */
static int measure_solve(const bench_device *device, int repeat, bench_case *c, bench_record *record) {
    if (call_solve(c))
        return complain(c, "solving");
    if (device->download(c->host_x, c->device_x, c->bytes))
        return complain(c, "copying the solution");
    if (device->time(device, call_solve, c, repeat, &record->solve))
        return complain(c, "timing the solve");
    return 0;
}

/* With the device to itself, like the solve. Each answer is checked when the device is no longer held. */
static int measure_refine(const bench_options *options, const bench_device *device, bench_case *c,
                          bench_refinement *refinement) {
    const gpusolve_dense b = dense(c, c->device_b), x = dense(c, c->device_x);
    const bench_refine_case refined = {device, c->handle, c->problem, c->factor, c->matrix,      c->workspace,
                                       &b,     &x,        c->host_x,  c->bytes,  options->repeat};
    const char *failed;

    if (!refinement->wanted)
        return 0;
    bench_gate_alone();
    failed = bench_refine_measure(&refined, refinement);
    bench_gate_leave();
    if (failed || check(c, &refinement->error))
        return failed ? complain(c, failed) : -1;
    if (c->problem->storage == GPUSOLVE_STORAGE_SAME)
        return 0;
    bench_gate_alone();
    failed = bench_refine_measure_whole(&refined, refinement);
    bench_gate_leave();
    return failed ? complain(c, failed) : check(c, &refinement->whole_error);
}

static int is_right(const bench_record *record) {
    double epsilon = bench_problem_epsilon(record->problem);
    const bench_peer *cholmod = &record->peers->peer[BENCH_CHOLMOD];
    double limit = cholmod->wanted ? 10 * fmax(cholmod->error, epsilon) : 30 * epsilon;
    const bench_refinement *refinement = &record->refinement;
    int is_stored_single = record->problem->storage == GPUSOLVE_STORAGE_SINGLE;
    double unrefined = is_stored_single ? 30 * (double)FLT_EPSILON : limit;

    return record->error < unrefined && (!refinement->wanted || refinement->error < limit) &&
           (!refinement->wanted || !is_stored_single || refinement->whole_error < limit) &&
           (!record->selection.rows || record->selection.same) &&
           (!record->batch.count || record->batch.error < unrefined) &&
           (!record->determinant.wanted ||
            bench_determinant_is_right(record->problem, &record->determinant)) &&
           (!record->sample.wanted || record->sample.same) && (!record->saved.folder || record->saved.same) &&
           (!record->multiply.wanted || bench_multiply_is_right(record->problem, &record->multiply)) &&
           (!record->inverse.wanted || bench_inverse_is_right(record->problem, &record->inverse));
}

/* May be called again. */
static void release_device(const bench_device *device, bench_case *c) {
    bench_gate_share();
    gpusolve_workspace_destroy(c->workspace);
    device->release(c->device_b);
    device->release(c->device_x);
    bench_gate_leave();
    c->workspace = NULL;
    c->device_b = c->device_x = NULL;
}

static void release_case(const bench_device *device, bench_case *c) {
    release_device(device, c);
    free(c->host_b);
    free(c->host_x);
}

static int make_right_sides(bench_case *c) {
    c->bytes = (size_t)(c->problem->n * c->nrhs) * bench_problem_number_bytes(c->problem);
    c->host_b = malloc(c->bytes + 1);
    c->host_x = malloc(c->bytes + 1);
    if (!c->host_b || !c->host_x || bench_problem_right_side(c->problem, c->nrhs, c->host_b))
        return complain(c, "allocating memory");
    return 0;
}

static int prepare_case(const bench_device *device, bench_case *c, bench_record *record) {
    int64_t before;

    c->device_b = device->allocate(c->bytes + 1);
    c->device_x = device->allocate(c->bytes + 1);
    if (!c->device_b || !c->device_x)
        return complain(c, "allocating memory");
    if (device->upload(c->device_b, c->host_b, c->bytes))
        return complain(c, "copying the right-hand sides");
    before = device->taken();
    if (gpusolve_workspace_create(c->handle, c->factor, c->nrhs, &c->workspace))
        return complain(c, "making a workspace");
    record->workspace_taken = before < 0 ? -1 : device->taken() - before;
    return 0;
}

/* What is done on the device with gpusolve, the device being this process's alone. */
static int measure_alone(const bench_options *options, const bench_device *device, bench_case *c,
                         bench_record *record, gpusolve_info *info, gpusolve_cost *cost) {
    if (prepare_case(device, c, record))
        return -1;
    if (gpusolve_factor_info(c->handle, c->factor, c->nrhs, info) ||
        gpusolve_factor_cost(c->handle, c->factor, c->nrhs, device->bandwidth, cost))
        return complain(c, "asking about the factor");
    if (measure_solve(device, options->repeat, c, record))
        return -1;
    const char *failed = bench_determinant_measure(device, c->handle, c->factor, c->workspace,
                                                   options->repeat, &record->determinant);
    return failed ? complain(c, failed) : 0;
}

/* Samples and products, which overwrite x. */
static int measure_more(const bench_options *options, const bench_device *device, bench_case *c,
                        bench_record *record, const gpusolve_info *info) {
    const gpusolve_dense b = dense(c, c->device_b), x = dense(c, c->device_x);

    bench_gate_alone();
    const char *failed = bench_sample_measure(device, c->handle, c->factor, c->workspace, &b, &x,
                                              options->repeat, &record->sample);
    if (!failed)
        failed = bench_multiply_measure(device, c->handle, c->factor, c->problem, &b, &x, options->repeat,
                                        info->stored_bytes, &record->multiply);
    bench_gate_leave();
    return failed ? complain(c, failed) : 0;
}

/* One number of right-hand sides: 0 if all is right. */
static int run_case(const bench_options *options, const bench_device *device, bench_case *c, int threads,
                    FILE *json) {
    bench_record record = {.problem = c->problem,
                           .device = device,
                           .device_name = gpusolve_get_device_name(c->handle),
                           .threads = threads,
                           .nrhs = c->nrhs,
                           .created_ms = c->created_ms,
                           .factor_taken = c->factor_taken,
                           .refinement = {.wanted = options->refine,
                                          .method = options->refine_method,
                                          .most_steps = options->refine_steps},
                           .batch = {.explain = options->explain, .count = options->batch},
                           .selection = {.rows = options->select},
                           .determinant = {.wanted = options->determinant},
                           .sample = {.wanted = options->sample},
                           .inverse = c->inverse,
                           .multiply = {.wanted = options->multiply},
                           .saved = c->saved,
                           .peers = c->peers,
                           .batch_peers = c->batch_peers};
    gpusolve_info info = {.size = sizeof info};
    gpusolve_cost cost = {.size = sizeof cost};
    int status = make_right_sides(c);

    bench_report_progress(c->problem->name, "solving");
    if (!status) {
        bench_gate_alone();
        status = measure_alone(options, device, c, &record, &info, &cost);
        bench_gate_leave();
    }
    if (!status)
        status = check(c, &record.error);
    if (!status)
        status = measure_more(options, device, c, &record, &info);
    if (!status)
        status = measure_refine(options, device, c, &record.refinement);
    if (!status) {
        const char *failed = bench_selection_measure(device, c->handle, c->factor, c->problem, c->nrhs,
                                                     options->repeat, &record.selection);

        status = failed ? complain(c, failed) : 0;
    }
    if (!status) {
        bench_gate_alone();
        const char *failed = bench_batch_measure(device, c->handle, c->problem, c->nrhs, c->host_b,
                                                 options->repeat, info.stored_bytes, &record.batch);
        bench_gate_leave();
        status = failed ? complain(c, failed) : 0;
    }
    release_device(device, c); /* peers want memory, too */
    if (!status) {
        const char *failed = bench_peers_measure(c->peers, c->nrhs, c->host_b, options->repeat,
                                                 record.refinement.error, options->refine_steps);

        if (!failed)
            failed = bench_batch_peers_measure(c->batch_peers, c->nrhs, c->host_b, options->repeat);
        status = failed ? complain(c, failed) : 0;
    }
    bench_report_progress(NULL, NULL);
    if (!status) {
        record.info = &info;
        record.cost = &cost;
        record.ok = is_right(&record);
        bench_report_row(&record, options);
        if (options->explain)
            bench_report_explanation(&record);
        if (json)
            bench_report_json(json, &record);
    }
    release_case(device, c);
    return status || !record.ok;
}

static void print_summary(const bench_case *c) {
    static char text[8192]; /* what is longer is cut off */

    if (!gpusolve_factor_summary(c->handle, c->factor, text, sizeof text, NULL))
        fputs(text, stdout);
}

/* Makes the factor; with --prepare once more, when the library has its threads and its pinned memory, and times that. */
static int make_factor(const bench_options *options, const bench_device *device, bench_case *c) {
    gpusolve_factor_data data = bench_problem_factor(c->problem);
    int64_t before;
    double begin;

    data.in_place = options->in_place;
    if (gpusolve_factor_create(c->handle, &data, &c->factor))
        return complain(c, "importing the factor");
    if (!options->prepare)
        return 0;
    gpusolve_factor_destroy(c->factor);
    c->factor = NULL;
    before = device->taken();
    begin = bench_now_us();
    if (gpusolve_factor_create(c->handle, &data, &c->factor))
        return complain(c, "importing the factor once more");
    c->created_ms = 1e-3 * (bench_now_us() - begin);
    c->factor_taken = before < 0 ? -1 : device->taken() - before;
    return 0;
}

static int save_factor(const bench_options *options, const bench_device *device, bench_case *c) {
    const char *failed =
        bench_saved_measure(device, c->handle, c->factor, c->problem, options->repeat, &c->saved);

    return failed ? complain(c, failed) : 0;
}

/* What wants A on the backend. */
static int use_matrix(const bench_options *options, bench_case *c) {
    gpusolve_matrix_data data = bench_problem_matrix(c->problem);
    const char *failed = NULL;

    if (!options->refine && !options->inverse)
        return 0;
    if (gpusolve_matrix_create(c->handle, &data, &c->matrix))
        return complain(c, "importing the matrix");
    bench_gate_alone();
    failed = bench_inverse_measure(c->handle, c->factor, c->matrix, c->problem, &c->inverse);
    bench_gate_leave();
    return failed ? complain(c, failed) : 0;
}

static int run_matrix(const bench_options *options, const bench_device *device, gpusolve_handle *handle,
                      int threads, const char *spec, FILE *json) {
    bench_problem problem;
    bench_peers peers;
    bench_batch_peers batch_peers;
    bench_case base = {.handle = handle,
                       .problem = &problem,
                       .nrhs = options->nrhs[0],
                       .inverse = {.wanted = options->inverse},
                       .saved = {.folder = options->saved},
                       .peers = &peers,
                       .batch_peers = &batch_peers};
    int failures = 0;

    bench_report_progress(spec, "factorising");
    if (bench_problem_create(spec, options->dtype, &options->relax, &problem))
        return 1;
    problem.storage = options->storage;
    bench_gate_share();
    bench_peers_open(options->peers, &problem, device, threads, &peers);
    bench_batch_peers_open(options->batch_peers, options->batch, &problem, device, threads, &batch_peers);
    bench_gate_leave();
    for (int i = 0; i < BENCH_PEERS; i++)
        peers.peer[i].untimed = options->untimed >> i & 1;
    bench_report_progress(spec, "preparing");
    bench_gate_alone();
    failures += make_factor(options, device, &base) || save_factor(options, device, &base);
    bench_gate_leave();
    if (!failures)
        failures += use_matrix(options, &base) != 0;
    for (int i = 0; i < options->nrhs_count && !failures; i++) {
        bench_case one = base;

        if (options->explain && i == 0)
            print_summary(&one);
        one.nrhs = options->nrhs[i];
        failures += run_case(options, device, &one, threads, json);
    }
    bench_gate_share(); /* memory is given back */
    gpusolve_matrix_destroy(base.matrix);
    gpusolve_factor_destroy(base.factor);
    bench_peers_close(&peers);
    bench_batch_peers_close(&batch_peers);
    bench_gate_leave();
    bench_problem_destroy(&problem);
    return failures;
}

static int run_all(const bench_options *options, gpusolve_handle *handle, int threads, FILE *json) {
    bench_device device;
    int failures = 0;

    if (options->bandwidth > 0)
        bench_gate_share();
    else
        bench_gate_alone();
    failures = bench_device_open(&device, handle, threads, options->bandwidth) != 0;
    bench_gate_leave();
    if (failures)
        return 1;
    if (gpusolve_set_stream(handle, device.stream))
        failures++;
    bench_report_heading(&device, gpusolve_get_device_name(handle), options);
    for (int i = 0; i < options->matrix_count; i++)
        failures += run_matrix(options, &device, handle, threads, options->matrices[i], json) != 0;
    /* the handle's last work is on this stream */
    gpusolve_set_stream(handle, NULL);
    device.close(&device);
    if (failures)
        fprintf(stderr, "gpusolve-bench: %d of %d matrices failed\n", failures, options->matrix_count);
    return failures;
}

int main(int argc, char **argv) {
    bench_options options;
    gpusolve_options create = GPUSOLVE_OPTIONS_INIT;
    gpusolve_handle *handle;
    gpusolve_status status;
    FILE *json = NULL;
    int failures;

    if (bench_options_parse(argc, argv, &options)) {
        bench_options_usage();
        return 2;
    }
    if (options.help) {
        bench_options_usage();
        return 0;
    }
    if (options.list) {
        bench_list();
        return 0;
    }
    if (!options.threads)
        options.threads = omp_get_max_threads();
    if (!options.blas_threads)
        options.blas_threads = options.threads;
    omp_set_num_threads(options.blas_threads); /* CHOLMOD's */
    if (openblas_set_num_threads)
        openblas_set_num_threads(options.blas_threads);
    if (bench_gate_open(options.gate)) {
        perror(options.gate);
        return 1;
    }

    create.backend = options.backend;
    create.threads = options.threads;
    bench_gate_share();
    status = gpusolve_create(&handle, &create);
    bench_gate_leave();
    if (status) {
        fprintf(stderr, "gpusolve-bench: %s\n", gpusolve_status_message(status));
        return 1;
    }
    if (options.json && !(json = fopen(options.json, "a"))) {
        perror(options.json);
        gpusolve_destroy(handle);
        return 1;
    }
    failures = run_all(&options, handle, options.threads, json);
    if (json && fclose(json)) {
        perror(options.json);
        failures++;
    }
    bench_gate_share(); /* until the process has ended, and with it what it has on the device */
    gpusolve_destroy(handle);
    return failures != 0;
}
