/*
 * What a factor costs before its first solve: gpusolve_factor_create and gpusolve_factor_refresh, beside what
 * they cannot do without, the transfer of the factor and the flops of its inversion.
 *
 *      gpusolve-prepare-bench [--backend host|cuda] [--threads T] [--repeat R] [--busy N] [--json FILE]
 *                             [--nrhs 1,8,32] [--relax LIST] MATRIX ...
 *
 * With --busy N processes that only spin run beside it: what an import costs on a busy machine.
 *
 * CHOLMOD orders with METIS and gives the supernodes; the numbers are made up, for they cost nothing and the
 * time does not depend on them: L(j, j) = 1, and rows below it that are small in sum. So L' 1 and b = L (L'
 * 1) are known, and the solution of L L' x = b is checked before and after a refresh. With --nrhs solves are timed
 * too (solve.h), of which the same is true.
 *
 *      flops = sum over supernodes of nc^3 / 3 + (nr - nc) nc^2    for W = inv(L1) and M = L2 W
 *      target = 2 bytes / 55 GB/s + flops / (57.5 / 2 Tflop/s)     bytes: of the stored lower trapezoids
 */
#define _DEFAULT_SOURCE /* kill */
#include <cholmod.h>
#include <getopt.h>
#include <math.h>
#include <omp.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "gpusolve.h"
#include "bench/machine/measure.h"
#include "bench/solve/relax.h"
#include "matrices/matrix.h"
#include "solve.h"
#include "revision.h"

static const double TRANSFER = 55e9, DGEMM = 57.5e12;

enum { MOST_BUSY = 1024 };

typedef struct options {
    gpusolve_backend backend;
    int threads, repeat, busy;
    const char *nrhs;
    bench_relax relax;
    FILE *json;
} options;

typedef struct example {
    cholmod_common common;
    cholmod_factor *l; /* the pattern alone */
    double *x;
    double *b, *solution; /* [n] */
    double flops;
    int64_t numbers; /* of the stored lower trapezoids */
    gpusolve_factor_data data;
} example;

/* The pattern of the factor; 0 on success. */
static int analyse(const char *spec, const bench_relax *relax, example *e) {
    char message[256];
    gsm_matrix a;
    if (gsm_load(spec, &a, message, sizeof message)) {
        fprintf(stderr, "gpusolve-prepare-bench: %s\n", message);
        return -1;
    }
    cholmod_common *c = &e->common;
    cholmod_start(c);
    c->print = 0;
    c->supernodal = CHOLMOD_SUPERNODAL;
    c->nmethods = 1;
    c->method[0].ordering = CHOLMOD_METIS;
    bench_relax_apply(relax, c);
    cholmod_sparse *matrix =
        cholmod_allocate_sparse((size_t)a.n, (size_t)a.n, (size_t)a.nnz, 1, 1, -1, CHOLMOD_PATTERN, c);
    if (matrix) {
        for (int64_t j = 0; j <= a.n; j++)
            ((int *)matrix->p)[j] = (int)a.colptr[j];
        for (int64_t k = 0; k < a.nnz; k++)
            ((int *)matrix->i)[k] = (int)a.rowidx[k];
        e->l = cholmod_analyze(matrix, c);
        cholmod_free_sparse(&matrix, c);
    }
    gsm_free(&a);
    if (e->l && e->l->is_super)
        return 0;
    fprintf(stderr, "gpusolve-prepare-bench: CHOLMOD cannot analyse %s\n", spec);
    return -1;
}

/* Numbers for all panels, and b. */
static int fill(example *e) {
    const cholmod_factor *l = e->l;
    const int *super = l->super, *pi = l->pi, *px = l->px, *s = l->s;
    e->x = malloc(l->xsize * sizeof *e->x);
    e->b = calloc(l->n, sizeof *e->b);
    e->solution = calloc(l->n, sizeof *e->solution);
    double *t = calloc(l->n, sizeof *t);
    if (!e->x || !e->b || !e->solution || !t) {
        fprintf(stderr, "gpusolve-prepare-bench: out of memory\n");
        free(t);
        return -1;
    }
#pragma omp parallel for schedule(dynamic, 16)
    for (size_t k = 0; k < l->nsuper; k++) {
        const int64_t nr = pi[k + 1] - pi[k], nc = super[k + 1] - super[k];
        uint64_t state = k + 1;
        for (int64_t j = 0; j < nc; j++)
            for (int64_t i = 0; i < nr; i++) {
                state = state * 6364136223846793005u + 1442695040888963407u; /* Knuth's MMIX generator */
                e->x[px[k] + j * nr + i] = i == j ? 1 : (0x1p-52 * (double)(state >> 11) - 1) / (double)nr;
            }
    }
    for (size_t k = 0; k < l->nsuper; k++) { /* t = L' 1 */
        const int64_t nr = pi[k + 1] - pi[k], nc = super[k + 1] - super[k];
        e->flops += (double)(nc * nc) * ((double)nc / 3 + (double)(nr - nc));
        e->numbers += nr * nc - nc * (nc - 1) / 2;
        for (int64_t j = 0; j < nc; j++)
            for (int64_t i = j; i < nr; i++)
                t[super[k] + j] += e->x[px[k] + j * nr + i];
    }
    for (size_t k = 0; k < l->nsuper; k++) { /* b = L t */
        const int64_t nr = pi[k + 1] - pi[k], nc = super[k + 1] - super[k];
        for (int64_t j = 0; j < nc; j++)
            for (int64_t i = j; i < nr; i++)
                e->b[s[pi[k] + i]] += e->x[px[k] + j * nr + i] * t[super[k] + j];
    }
    free(t);
    e->data = (gpusolve_factor_data)GPUSOLVE_FACTOR_DATA_INIT;
    e->data.n = e->data.minor = (int64_t)l->n;
    e->data.nsuper = (int64_t)l->nsuper;
    e->data.ssize = (int64_t)l->ssize;
    e->data.xsize = (int64_t)l->xsize;
    e->data.super = l->super;
    e->data.pi = l->pi;
    e->data.px = l->px;
    e->data.s = l->s;
    e->data.perm = l->Perm; /* counts in the factor's memory */
    e->data.x = e->x;
    return 0;
}

/* The error of the solution of L L' x = b, which is 1; NaN where a call fails. */
static double check(gpusolve_handle *handle, const gpusolve_factor *factor, example *e) {
    const int64_t n = e->data.n;
    const gpusolve_dense b = {GPUSOLVE_DOUBLE, GPUSOLVE_COL_MAJOR, n, 1, n, e->b};
    const gpusolve_dense x = {GPUSOLVE_DOUBLE, GPUSOLVE_COL_MAJOR, n, 1, n, e->solution};
    if (gpusolve_solve(handle, factor, NULL, GPUSOLVE_LDLt, &b, &x)) {
        fprintf(stderr, "gpusolve-prepare-bench: %s\n", gpusolve_last_error(handle));
        return NAN;
    }
    double error = 0;
    for (int64_t k = 0; k < e->data.n; k++) {
        const double here = fabs(e->solution[k] - 1);
        error = here > error || isnan(here) ? here : error; /* a NaN stays */
    }
    return error;
}

static int failed(gpusolve_handle *handle, const char *call) {
    fprintf(stderr, "gpusolve-prepare-bench: %s: %s\n", call, gpusolve_last_error(handle));
    return 1;
}

static int run(const char *spec, const options *o) {
    example e = {0};
    char name[128];
    gpusolve_options handle_options = GPUSOLVE_OPTIONS_INIT;
    gpusolve_handle *handle = NULL;
    gpusolve_factor *factor = NULL;
    handle_options.backend = o->backend;
    handle_options.threads = o->threads;
    bench_relax_name(&o->relax, spec, name, sizeof name);
    gpusolve_info info = {.size = sizeof info};
    double *creates = calloc((size_t)o->repeat, sizeof *creates),
           *refreshes = calloc((size_t)o->repeat, sizeof *refreshes);
    double first = 0, plan = 0, error = NAN;
    int status = !creates || !refreshes || analyse(spec, &o->relax, &e) || fill(&e);
    if (!status)
        status = gpusolve_create(&handle, &handle_options) != GPUSOLVE_OK;
    for (int k = 0; !status && k <= o->repeat; k++) { /* the first create makes what the handle keeps */
        gpusolve_factor_destroy(factor);
        factor = NULL;
        const double begin = bench_now_us();
        if (gpusolve_factor_create(handle, &e.data, &factor))
            status = failed(handle, "gpusolve_factor_create");
        const double time = bench_now_us() - begin;
        if (k == 0)
            first = time;
        else
            creates[k - 1] = time;
    }
    if (!status && gpusolve_factor_info(handle, factor, 1, &info))
        status = failed(handle, "gpusolve_factor_info");
    plan = info.plan_ms;
    if (!status && !(check(handle, factor, &e) < 1e-9))
        status = failed(handle, "wrong after a create");
    for (int k = 0; !status && k < o->repeat; k++) {
        const double begin = bench_now_us();
        if (gpusolve_factor_refresh(handle, factor, &e.data))
            status = failed(handle, "gpusolve_factor_refresh");
        refreshes[k] = bench_now_us() - begin;
    }
    if (!status && !((error = check(handle, factor, &e)) < 1e-9))
        status = failed(handle, "wrong after a refresh");
    if (!status) {
        char text[8192] = "";
        const double bytes = 8.0 * (double)e.numbers;
        const bench_times create = bench_summarise(creates, o->repeat),
                          refresh = bench_summarise(refreshes, o->repeat);
        const double transfer = 1e3 * bytes / TRANSFER, flops = 1e3 * e.flops / (DGEMM / 2),
                     target = 2 * transfer + flops;
        printf("%-18s %8.1f MB %8.2f Gflop  transfer %7.2f ms, flops %6.2f, target %7.2f | create %8.3f "
               "(first %8.3f, plan %7.3f) "
               "refresh %8.3f  refresh / target %.2f  memory %.4f\n",
               name, 1e-6 * bytes, 1e-9 * e.flops, transfer, flops, target, 1e-3 * create.median,
               1e-3 * first, plan, 1e-3 * refresh.median, 1e-3 * refresh.median / target,
               (double)info.factor_bytes / (double)info.stored_bytes);
        gpusolve_factor_summary(handle, factor, text, sizeof text, NULL);
        const char *line = strstr(text, "prepared");
        if (line)
            printf("%.*s\n", (int)strcspn(line, "\n"), line);
        if (o->json)
            fprintf(o->json,
                    "{\"git\": \"%s\", \"operation\": \"prepare\", \"matrix\": \"%s\", \"device\": \"%s\", "
                    "\"threads\": %d, \"busy\": %d, "
                    "\"n\": %lld, \"stored_bytes\": %.0f, \"flops\": %.6g, \"transfer_ms\": "
                    "%.6g, \"flops_ms\": %.6g, "
                    "\"target_ms\": %.6g, \"first_create_ms\": %.6g, \"create_ms\": %.6g, \"plan_ms\": %.6g, "
                    "\"refresh_ms\": %.6g, "
                    "\"refresh_ms_min\": %.6g, \"spread\": %.6g, \"factor_bytes\": %lld, \"prepare_bytes\": "
                    "%lld, \"error\": %.6g}\n",
                    BENCH_REVISION, name, gpusolve_get_device_name(handle), o->threads, o->busy,
                    (long long)e.data.n, bytes, e.flops, transfer, flops, target, 1e-3 * first,
                    1e-3 * create.median, plan, 1e-3 * refresh.median, 1e-3 * refresh.least, refresh.spread,
                    (long long)info.factor_bytes, (long long)info.prepare_bytes, error);
    }
    if (!status && o->nrhs)
        status = prepare_time_solves(name, handle, factor, e.data.n, e.b, 8.0 * (double)e.numbers, o->nrhs,
                                     o->repeat, o->threads > 0 ? o->threads : omp_get_max_threads());
    fflush(stdout);
    gpusolve_factor_destroy(factor);
    gpusolve_destroy(handle);
    free(e.x);
    free(e.b);
    free(e.solution);
    free(creates);
    free(refreshes);
    cholmod_free_factor(&e.l, &e.common);
    cholmod_finish(&e.common);
    return status;
}

/* Processes that spin until they are told to end, or their parent has. 0 on success. */
static int start_busy(int count, pid_t *busy) {
    const pid_t parent = getpid();
    for (int k = 0; k < count; k++) {
        busy[k] = fork();
        if (busy[k] == 0)
            while (getppid() == parent)
                for (volatile int spin = 0; spin < 1 << 20; spin++) {
                }
        if (busy[k] == 0)
            _exit(0);
        if (busy[k] < 0)
            return -1;
    }
    return 0;
}

static void end_busy(int count, const pid_t *busy) {
    for (int k = 0; k < count; k++)
        if (busy[k] > 0) {
            kill(busy[k], SIGKILL);
            waitpid(busy[k], NULL, 0);
        }
}

static int backend_of(const char *name, gpusolve_backend *backend) {
    *backend = strcmp(name, "host") == 0 ? GPUSOLVE_BACKEND_HOST : GPUSOLVE_BACKEND_CUDA;
    return *backend == GPUSOLVE_BACKEND_CUDA && strcmp(name, "cuda") != 0;
}

int main(int argc, char **argv) {
    static const struct option names[] = {
        {"backend", required_argument, NULL, 'd'}, {"busy", required_argument, NULL, 'b'},
        {"threads", required_argument, NULL, 't'}, {"repeat", required_argument, NULL, 'r'},
        {"json", required_argument, NULL, 'j'},    {"nrhs", required_argument, NULL, 'n'},
        {"relax", required_argument, NULL, 'x'},   {0}};
    options o = {.backend = GPUSOLVE_BACKEND_AUTO, .threads = 0, .repeat = 5};
    static pid_t busy[MOST_BUSY];
    int status = 0;
    for (int c; (c = getopt_long(argc, argv, "", names, NULL)) != -1;)
        switch (c) {
        case 'd':
            status |= backend_of(optarg, &o.backend);
            break;
        case 'b':
            o.busy = atoi(optarg);
            status |= o.busy < 0 || o.busy > MOST_BUSY;
            break;
        case 't':
            o.threads = atoi(optarg);
            break;
        case 'r':
            o.repeat = atoi(optarg);
            break;
        case 'j':
            o.json = fopen(optarg, "a");
            status |= !o.json;
            break;
        case 'n':
            o.nrhs = optarg;
            break;
        case 'x':
            status |= bench_relax_parse(optarg, &o.relax);
            break;
        default:
            status = 1;
        }
    if (status || o.repeat < 1 || o.threads < 0 || optind == argc) {
        fprintf(stderr,
                "usage: gpusolve-prepare-bench [--backend host|cuda] [--threads T] [--repeat R] [--busy N] "
                "[--json FILE] [--nrhs 1,8,32] [--relax 4,16,48,0.8,0.1,0.05] MATRIX ...\n");
        return 2;
    }
    const int busy_failed = start_busy(o.busy, busy);
    status = busy_failed;
    for (int k = optind; k < argc && !busy_failed; k++)
        status |= run(argv[k], &o);
    end_busy(o.busy, busy);
    if (o.json)
        fclose(o.json);
    return status;
}
