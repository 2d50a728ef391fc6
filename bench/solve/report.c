#define _POSIX_C_SOURCE 200809L
#include "report.h"

#include <inttypes.h>
#include <math.h>
#include <string.h>
#include <unistd.h>

#include "revision.h"

static const char *backend_name(const gpusolve_info *info) {
    return info->backend == GPUSOLVE_BACKEND_CUDA ? "cuda" : "host";
}

static char dtype_letter(gpusolve_dtype dtype) {
    return "sdcz"[dtype];
}

/* The type, and that of L's numbers where they are stored in another one. */
static const char *type_name(const bench_record *record) {
    static const char *const names[2][4] = {{"s", "d", "c", "z"}, {"s", "ds", "c", "zc"}};

    return names[record->problem->storage == GPUSOLVE_STORAGE_SINGLE][record->info->dtype];
}

/* The precision of L's numbers. */
static const char *storage_name(const bench_record *record) {
    const gpusolve_dtype dtype = record->info->dtype;

    return record->problem->storage == GPUSOLVE_STORAGE_SINGLE || dtype == GPUSOLVE_FLOAT ||
                   dtype == GPUSOLVE_COMPLEX_FLOAT
               ? "single"
               : "double";
}

void bench_report_progress(const char *name, const char *what) {
    if (!isatty(STDERR_FILENO))
        return;
    fputs("\r\033[K", stderr);
    if (name)
        fprintf(stderr, "%s: %s ...", name, what);
    fflush(stderr);
}

void bench_report_heading(const bench_device *device, const char *device_name, const bench_options *options) {
    static const char *const titles[BENCH_PEERS] = {
        "CHOLMOD ms", "PARDISO ms", "one level ms", "cuSPARSE ms", "cuDSS ms", "FP32 ms",
        "determ. ms", "refine2 ms", "CHOLMOD/r ms", "cuDSS/r ms",  "FP32/r ms"};
    static const char *const batch_titles[BENCH_BATCH_PEERS] = {"CHOLMOD us", "uniform us", "cuDSS us"};

    printf("gpusolve %s (%s) on %s%s%s, reading %.0f GB/s\n", gpusolve_version(), BENCH_REVISION, device_name,
           device->driver[0] ? ", driver " : "", device->driver, 1e-9 * device->bandwidth);
    printf("%-24s %9s %11s %7s %4s %5s %11s %10s %8s %10s %6s", "matrix", "n", "nnz(L)", "backend", "type",
           "nrhs", "prepare ms", "solve ms", "spread %", "wall ms", "wall %");
    for (int i = 0; i < BENCH_PEERS; i++)
        if (options->peers >> i & 1)
            printf(" %11s %8s %8s", titles[i], "spread %", "speed-up");
    printf(" %9s", "error");
    if (options->refine)
        printf(" %10s %7s %9s %11s %8s", "refine ms", "steps", "error", "residual ms", "wall ms");
    if (options->refine && options->storage == GPUSOLVE_STORAGE_SINGLE)
        printf(" %11s", "L double ms");
    if (options->select)
        printf(" %10s", "select ms");
    if (options->batch)
        printf(" %8s %9s %9s %9s %8s", "members", "packed us", "whole us", "wall us", "error");
    for (int i = 0; i < BENCH_BATCH_PEERS; i++)
        if (options->batch_peers >> i & 1)
            printf(" %11s %8s", batch_titles[i], "speed-up");
    if (options->determinant)
        printf(" %9s %10s", "logdet us", "rcond ms");
    if (options->sample)
        printf(" %9s %9s %9s %9s", "half us", "given us", "drawn us", "mean us");
    if (options->inverse)
        printf(" %10s %12s %9s %9s", "inverse ms", "predicted ms", "asked ms", "error");
    if (options->multiply)
        printf(" %10s %10s %10s %10s %9s %9s %9s", "L x us", "L' x us", "P' L x us", "A x us", "wall us",
               "A x wall", "error");
    if (options->saved)
        printf(" %9s %9s %9s %10s %8s", "save ms", "load ms", "map ms", "trusted ms", "bus ms");
    putchar('\n');
    fflush(stdout);
}

/* A, x, b and r, each read or written once, at the measured bandwidth: microseconds. */
static double residual_wall(const bench_record *record) {
    const bench_problem *problem = record->problem;
    const double number = (double)bench_problem_number_bytes(problem), n = (double)problem->n;
    const double bytes = (double)problem->nnz_a * (number + sizeof(int32_t)) + (n + 1) * sizeof(int64_t) +
                         3 * n * (double)record->nrhs * number;

    return 1e6 * bytes / record->device->bandwidth;
}

/* Steps as "2" or "1-3": that columns kept. */
static void report_refinement(const bench_record *record) {
    const bench_refinement *refinement = &record->refinement;
    char steps[32];

    if (refinement->least == refinement->most)
        (void)snprintf(steps, sizeof steps, "%d", refinement->most);
    else
        (void)snprintf(steps, sizeof steps, "%d-%d", refinement->least, refinement->most);
    printf(" %10.4f %7s %9.1e %11.4f %8.4f", 1e-3 * refinement->all.median, steps, refinement->error,
           1e-3 * refinement->residual.median, 1e-3 * residual_wall(record));
    if (record->problem->storage == GPUSOLVE_STORAGE_SINGLE)
        printf(" %11.4f", 1e-3 * refinement->whole.median);
}

/* What stands in the place of a peer's time, or NULL. */
static const char *why_not(const bench_peer *peer) {
    return peer->absent[0] ? "absent" : peer->refused[0] ? "refuses" : peer->untimed ? "untimed" : NULL;
}

/* Its blocks are packed. */
static void report_batch_peer(const bench_peer *peer, const bench_batch *batch) {
    if (why_not(peer))
        printf(" %11s %8s", why_not(peer), "-");
    else
        printf(" %11.1f %8.2f", peer->solve.median, peer->solve.median / batch->packed.median);
}

static void report_products(const bench_multiply *multiply) {
    double error = 0;

    for (int k = 0; k < BENCH_PRODUCTS; k++) {
        printf(" %10.1f", multiply->product[k].times.median);
        error = multiply->product[k].error <= error ? error : multiply->product[k].error; /* NaN stays */
    }
    printf(" %9.1f %9.1f %9.1e", multiply->product[BENCH_TIMES_L].wall_us,
           multiply->product[BENCH_TIMES_A].wall_us, error);
}

void bench_report_row(const bench_record *record, const bench_options *options) {
    const gpusolve_info *info = record->info;

    printf("%-24s %9" PRId64 " %11" PRId64 " %7s %4s %5" PRId64 " %11.2f %10.4f %8.1f %10.4f %6.1f",
           record->problem->name, info->n, info->nnz_l, backend_name(info), type_name(record), record->nrhs,
           info->plan_ms + info->prepare_ms, 1e-3 * record->solve.median, 100 * record->solve.spread,
           1e-3 * record->cost->wall_us, 100 * record->cost->wall_us / record->solve.median);
    for (int i = 0; i < BENCH_PEERS; i++) {
        const bench_peer *peer = &record->peers->peer[i];

        if (!(options->peers >> i & 1))
            continue;
        if (why_not(peer))
            printf(" %11s %8s %8s", why_not(peer), "-", "-");
        else
            printf(" %11.4f %8.1f %8.2f", 1e-3 * peer->solve.median, 100 * peer->solve.spread,
                   peer->solve.median /
                       (peer->refines ? record->refinement.all.median : record->solve.median));
    }
    printf(" %9.1e", record->error);
    if (record->refinement.wanted)
        report_refinement(record);
    if (record->selection.rows)
        printf(" %10.4f", 1e-3 * record->selection.solve.median);
    if (record->batch.count)
        printf(" %8" PRId64 " %9.1f %9.1f %9.1f %8.1e", record->batch.count, record->batch.packed.median,
               record->batch.whole.median, record->batch.wall_us, record->batch.error);
    for (int i = 0; i < BENCH_BATCH_PEERS; i++)
        if (options->batch_peers >> i & 1)
            report_batch_peer(&record->batch_peers->peer[i], &record->batch);
    if (record->determinant.wanted)
        printf(" %9.2f %10.4f", record->determinant.copy.median, 1e-3 * record->determinant.estimate.median);
    if (record->sample.wanted)
        printf(" %9.1f %9.1f %9.1f %9.1f", record->sample.half.median, record->sample.given.median,
               record->sample.drawn.median, record->sample.mean.median);
    if (record->inverse.wanted)
        printf(" %10.1f %12.1f %9.1f %9.1e", record->inverse.ms, record->inverse.predicted_ms,
               record->inverse.asked_ms, record->inverse.error);
    if (record->multiply.wanted)
        report_products(&record->multiply);
    if (record->saved.folder)
        printf(" %9.1f %9.1f %9.1f %10.1f %8.1f", record->saved.save_ms, record->saved.load_ms,
               record->saved.map_ms, record->saved.trusted_ms, 1e3 * record->saved.bytes / record->saved.bus);
    puts(record->ok ? "" : "  WRONG");
    fflush(stdout);
}

void bench_report_explanation(const bench_record *record) {
    const gpusolve_cost *cost = record->cost;
    const double stored = 0.5 * (double)cost->bytes;

    printf("  nrhs %" PRId64 ": L twice %.3f MB, vectors %.3f MB, %.4g Gflop, %" PRId64 " hops", cost->nrhs,
           1e-6 * (double)cost->bytes, 1e-6 * (double)cost->vector_bytes, 1e-9 * (double)cost->flops,
           cost->hops);
    if (cost->launches)
        printf(", %" PRId64 " launches", cost->launches);
    printf("\n  wall %.4f ms, predicted %.4f ms, measured %.4f ms (%.0f%% of the prediction's speed)\n",
           1e-3 * cost->wall_us, 1e-3 * cost->predicted_us, 1e-3 * record->solve.median,
           100 * cost->predicted_us / record->solve.median);
    for (int i = 0; i < cost->tiers; i++)
        printf("  %-12s %9" PRId64 " supernodes %12.3f MB %6.1f%%\n", cost->tier[i].name,
               cost->tier[i].supernodes, 1e-6 * (double)cost->tier[i].bytes,
               stored > 0 ? 100 * (double)cost->tier[i].bytes / stored : 0);
}

/* ----------------------------------------------------------------------------------------------- JSON --- */

static void put_string(FILE *file, const char *key, const char *text) {
    fprintf(file, "\"%s\": \"", key);
    for (; *text; text++) {
        unsigned char c = (unsigned char)*text;

        if (c == '"' || c == '\\')
            fprintf(file, "\\%c", c);
        else if (c < 0x20)
            fprintf(file, "\\u%04x", c);
        else
            fputc(c, file);
    }
    fputs("\", ", file);
}

static void put_integer(FILE *file, const char *key, int64_t value) {
    fprintf(file, "\"%s\": %" PRId64 ", ", key, value);
}

/* JSON has no NaN. */
static void put_number(FILE *file, const char *key, double value) {
    if (isfinite(value))
        fprintf(file, "\"%s\": %.6g, ", key, value);
    else
        fprintf(file, "\"%s\": null, ", key);
}

/* Peers solve with factors of their own, in double. */
static void put_peer(FILE *file, const bench_record *record, const bench_peer *peer) {
    fprintf(file, "\"%s\": {", peer->name);
    if (peer->absent[0]) {
        put_string(file, "absent", peer->absent);
    } else if (peer->refused[0]) {
        put_string(file, "refused", peer->refused);
    } else {
        put_string(file, "dtype", record->problem->matrix->xtype == CHOLMOD_COMPLEX ? "z" : "d");
        if (!peer->untimed) {
            put_number(file, "solve_us", peer->solve.median);
            put_number(file, "solve_us_min", peer->solve.least);
            put_number(file, "spread", peer->solve.spread);
            put_number(file, "stream_us", peer->solve.stream);
            put_number(file, "graph_us", peer->solve.graph);
        }
        put_number(file, "factorise_ms", peer->factorise_ms);
        if (peer->nnz_l > 0)
            put_integer(file, "nnz_l", peer->nnz_l);
        if (peer->refines)
            put_integer(file, "refine_steps", peer->steps);
        put_number(file, "backward_error", peer->error);
    }
    fprintf(file, "\"name\": \"%s\"}", peer->name);
}

static void put_peers(FILE *file, const bench_record *record, const char *key, const bench_peer *peers,
                      int count) {
    const char *separator = "";

    fprintf(file, "\"%s\": {", key);
    for (int i = 0; i < count; i++)
        if (peers[i].wanted) {
            fputs(separator, file);
            put_peer(file, record, &peers[i]);
            separator = ", ";
        }
    fputs("}, ", file);
}

static void put_tiers(FILE *file, const gpusolve_cost *cost) {
    fputs("\"tiers\": {", file);
    for (int i = 0; i < cost->tiers; i++)
        fprintf(file, "%s\"%s\": {\"supernodes\": %" PRId64 ", \"bytes\": %" PRId64 "}", i ? ", " : "",
                cost->tier[i].name, cost->tier[i].supernodes, cost->tier[i].bytes);
    fputs("}, ", file);
}

/* "double_": of a solve with L as it is, where the factor stores it in single precision. */
static void put_refinement(FILE *file, const bench_record *record) {
    const bench_refinement *refinement = &record->refinement;

    put_string(file, "refine_method", bench_refine_methods[refinement->method]);
    put_integer(file, "refine_most_steps", refinement->most_steps);
    put_integer(file, "refine_steps_min", refinement->least);
    put_integer(file, "refine_steps", refinement->most);
    put_number(file, "refine_backward_error", refinement->error);
    put_number(file, "refine_us", refinement->all.median);
    put_number(file, "refine_us_min", refinement->all.least);
    put_number(file, "refine_spread", refinement->all.spread);
    put_number(file, "refine_async_us", refinement->queued.median);
    put_number(file, "refine_async_stream_us", refinement->queued.stream);
    put_number(file, "residual_us", refinement->residual.median);
    put_number(file, "residual_wall_us", residual_wall(record));
    if (record->problem->storage == GPUSOLVE_STORAGE_SINGLE) {
        put_number(file, "double_solve_us", refinement->whole.median);
        put_number(file, "double_backward_error", refinement->whole_error);
    }
}

/* Each as "multiply_l_us" and so on. */
static void put_products(FILE *file, const bench_multiply *multiply) {
    static const char *const names[BENCH_PRODUCTS] = {"l", "lt", "ptl", "a"};
    static const char *const what[] = {"us", "us_min", "spread", "wall_us", "error"};

    for (int k = 0; k < BENCH_PRODUCTS; k++) {
        const bench_product *product = &multiply->product[k];
        const double values[] = {product->times.median, product->times.least, product->times.spread,
                                 product->wall_us, product->error};
        char key[40];

        for (size_t i = 0; i < sizeof what / sizeof *what; i++) {
            (void)snprintf(key, sizeof key, "multiply_%s_%s", names[k], what[i]);
            put_number(file, key, values[i]);
        }
        (void)snprintf(key, sizeof key, "multiply_%s_bytes", names[k]);
        put_integer(file, key, product->bytes);
    }
}

/* Of the calls beside the solve. */
static void put_calls(FILE *file, const bench_record *record) {
    if (record->batch.count) {
        put_integer(file, "batch_members", record->batch.count);
        put_number(file, "batch_packed_us", record->batch.packed.median);
        put_number(file, "batch_whole_us", record->batch.whole.median);
        put_number(file, "batch_wall_us", record->batch.wall_us);
        put_number(file, "batch_error", record->batch.error);
        if (record->batch_peers)
            put_peers(file, record, "batch_peers", record->batch_peers->peer, BENCH_BATCH_PEERS);
    }
    if (record->selection.rows) {
        put_integer(file, "selected_rows", record->selection.rows);
        put_integer(file, "selected_bytes", record->selection.bytes);
        put_number(file, "selected_us", record->selection.solve.median);
        put_number(file, "selected_stream_us", record->selection.solve.stream);
    }
    if (record->determinant.wanted) {
        put_number(file, "logdet", record->determinant.logdet);
        put_number(file, "logdet_us", record->determinant.copy.median);
        put_number(file, "logdet_stream_us", record->determinant.copy.stream);
        put_number(file, "rcond_us", record->determinant.estimate.median);
    }
    if (record->sample.wanted) {
        put_number(file, "half_us", record->sample.half.median);
        put_number(file, "sample_given_us", record->sample.given.median);
        put_number(file, "sample_drawn_us", record->sample.drawn.median);
        put_number(file, "sample_mean_us", record->sample.mean.median);
    }
    if (record->inverse.wanted) {
        put_number(file, "inverse_ms", record->inverse.ms);
        put_number(file, "inverse_predicted_ms", record->inverse.predicted_ms);
        put_number(file, "inverse_asked_ms", record->inverse.asked_ms);
        put_number(file, "inverse_bytes", record->inverse.bytes);
        put_number(file, "inverse_error", record->inverse.error);
    }
    if (record->multiply.wanted)
        put_products(file, &record->multiply);
    if (record->saved.folder) {
        put_number(file, "saved_bytes", record->saved.bytes);
        put_number(file, "save_ms", record->saved.save_ms);
        put_number(file, "load_ms", record->saved.load_ms);
        put_number(file, "map_ms", record->saved.map_ms);
        put_number(file, "map_trusted_ms", record->saved.trusted_ms);
        put_number(file, "bus_bytes_per_s", record->saved.bus);
    }
}

void bench_report_json(FILE *file, const bench_record *record) {
    const gpusolve_info *info = record->info;
    const gpusolve_cost *cost = record->cost;

    fputc('{', file);
    put_string(file, "git", BENCH_REVISION);
    put_string(file, "version", gpusolve_version());
    put_string(file, "operation", "solve");
    put_string(file, "matrix", record->problem->name);
    put_string(file, "ordering", record->problem->ordering);
    put_integer(file, "n", info->n);
    put_integer(file, "nnz_a", record->problem->nnz_a);
    put_integer(file, "nnz_l", info->nnz_l);
    put_integer(file, "stored_bytes", info->stored_bytes);
    put_integer(file, "supernodes", info->supernodes);
    put_integer(file, "levels", info->levels);
    put_string(file, "backend", backend_name(info));
    put_string(file, "device", record->device_name);
    put_string(file, "driver", record->device->driver);
    put_integer(file, "threads", record->threads);
    put_string(file, "dtype", (char[]){dtype_letter(info->dtype), 0});
    put_string(file, "storage", storage_name(record));
    put_integer(file, "nrhs", record->nrhs);
    put_number(file, "factorise_ms", record->problem->factorise_ms);
    put_number(file, "plan_ms", info->plan_ms);
    put_number(file, "prepare_ms", info->prepare_ms);
    put_integer(file, "split_supernodes", info->split_supernodes);
    put_integer(file, "split_slices", info->split_slices);
    put_integer(file, "split_levels", info->split_levels);
    put_number(file, "split_ms", info->split_ms);
    put_integer(file, "factor_bytes", info->factor_bytes);
    put_integer(file, "prepare_bytes", info->prepare_bytes);
    put_integer(file, "workspace_bytes", info->workspace_bytes);
    if (record->created_ms > 0) {
        put_number(file, "create_ms", record->created_ms);
        put_integer(file, "factor_taken", record->factor_taken);
        put_integer(file, "workspace_taken", record->workspace_taken);
    }
    put_number(file, "solve_us", record->solve.median);
    put_number(file, "solve_us_min", record->solve.least);
    put_number(file, "spread", record->solve.spread);
    put_number(file, "stream_us", record->solve.stream);
    put_integer(file, "bytes", cost->bytes);
    put_number(file, "gb_per_s", 1e-3 * (double)cost->bytes / record->solve.median);
    put_integer(file, "flops", cost->flops);
    put_number(file, "gflop_per_s", 1e-3 * (double)cost->flops / record->solve.median);
    put_integer(file, "hops", cost->hops);
    put_integer(file, "launches", cost->launches);
    put_number(file, "predicted_us", cost->predicted_us);
    put_tiers(file, cost);
    put_number(file, "bandwidth_gb_per_s", 1e-9 * record->device->bandwidth);
    put_number(file, "wall_us", record->cost->wall_us);
    put_number(file, "wall_fraction", record->cost->wall_us / record->solve.median);
    put_number(file, "backward_error", record->error);
    if (record->refinement.wanted)
        put_refinement(file, record);
    put_calls(file, record);
    put_peers(file, record, "peers", record->peers->peer, BENCH_PEERS);
    fprintf(file, "\"ok\": %s}\n", record->ok ? "true" : "false");
    fflush(file);
}
