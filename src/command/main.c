/*
 * gpusolve-solve: a system from files. Reads A and b, factorises A with CHOLMOD, solves with gpusolve, writes x and says how
 * it went. The files for x and the residuals are opened first, so that a long factorisation is not for nothing, and put in
 * their places last.
 */
#define _GNU_SOURCE /* RTLD_DEFAULT */

#include "output.h"
#include "problem.h"
#include "progress.h"
#include "residual.h"
#include "solver.h"

#include <dlfcn.h>
#include <errno.h>
#include <inttypes.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

int command_complain(int status, const char *format, ...) {
    va_list arguments;
    progress_stage(NULL);
    fputs("gpusolve-solve: ", stderr);
    va_start(arguments, format);
    (void)vfprintf(stderr, format, arguments);
    va_end(arguments);
    fputc('\n', stderr);
    return status;
}

double command_now_ms(void) {
    struct timespec now;
    clock_gettime(CLOCK_MONOTONIC, &now);
    return 1e3 * (double)now.tv_sec + 1e-6 * (double)now.tv_nsec;
}

/* CHOLMOD's threads: those of its BLAS and of OpenMP, of which this program knows nothing but the names. */
static void limit_threads(int threads) {
    static const char *const names[] = {"openblas_set_num_threads", "MKL_Set_Num_Threads",
                                        "omp_set_num_threads"};
    for (size_t i = 0; i < sizeof names / sizeof names[0]; i++) {
        void *address = dlsym(RTLD_DEFAULT, names[i]);
        void (*set_threads)(int);
        memcpy(&set_threads, &address, sizeof address);
        if (set_threads)
            set_threads(threads);
    }
}

static const char *plural(int64_t count) {
    return count == 1 ? "" : "s";
}

static void report(const command_options *options, const command_problem *p, const command_solver *s,
                   const command_residual *r, FILE *file) {
    gpusolve_info info = {.size = sizeof info};
    const int has_info = !gpusolve_factor_info(s->handle, s->factor, p->cols > 0 ? p->cols : 1, &info);
    fprintf(file, "%s: order %" PRId64 ", %" PRId64 " nonzeros, %s; read in %.1f ms%s\n",
            problem_name(options), p->a.n, gsm_nonzeros(&p->a),
            p->a.is_complex ? "complex Hermitian" : "real symmetric", p->read_ms,
            options->right_sides ? ", with b" : "");
    fprintf(file, "factorised by CHOLMOD in %.1f ms, ordered by %s", p->factorise_ms, p->ordering);
    if (has_info)
        fprintf(file, ": %" PRId64 " numbers in L", info.nnz_l);
    fprintf(file, "\nprepared in %.1f ms for %s%s\n", s->import_ms, gpusolve_get_device_name(s->handle),
            options->storage == GPUSOLVE_STORAGE_SINGLE ? ", L in single precision" : "");
    fprintf(file, "%s %" PRId64 " column%s in %.3f ms", options->refine ? "solved and refined" : "solved",
            p->cols, plural(p->cols), s->solve_ms);
    if (options->refine)
        fprintf(file, ", %s, %d step%s at most", command_method_name(options->method), s->steps,
                plural(s->steps));
    if (options->repeat)
        fprintf(file,
                "\n%d time%s more: median %.3f ms, least %.3f ms, spread %.1f %%, b and x in host memory",
                options->repeat, plural(options->repeat), s->median_ms, s->least_ms, 100 * s->spread);
    fputc('\n', file);
    if (options->system == GPUSOLVE_A && p->cols > 0)
        fprintf(file, "backward error %.1e, of column %" PRId64 "\n", r->worst,
                r->worst_column ? r->worst_column : 1);
    if (options->explain)
        solver_explain(p, s, file);
    if (options->plot)
        residual_plot(r, file);
}

/* Everything is computed: writes it. */
static int deliver(const command_options *options, const command_problem *p, const command_solver *s,
                   command_output *x, command_output *kept) {
    const int wants_residual = options->system == GPUSOLVE_A && (!options->quiet || options->residuals);
    const int uses_stdout =
        !strcmp(options->output, "-") || (options->residuals && !strcmp(options->residuals, "-"));
    FILE *file = uses_stdout ? stderr : stdout;
    command_residual r = {0};
    int failed;
    if (wants_residual && residual_compute(p, options->residuals != NULL, &r))
        return command_complain(COMMAND_FAILED, "out of memory");
    progress_stage("writing %s", options->output);
    failed = output_block(x, p->a.n, p->cols, p->is_complex, p->x) ||
             (options->residuals && output_block(kept, p->a.n, p->cols, p->is_complex, r.values)) ||
             output_commit(x) || (options->residuals && output_commit(kept));
    progress_stage(NULL);
    if (!failed && !options->quiet) {
        report(options, p, s, &r, file);
        if (fflush(file))
            failed = command_complain(-1, "standard output: %s", strerror(errno));
    }
    residual_release(&r);
    return failed ? COMMAND_NOT_WRITTEN : COMMAND_DONE;
}

static int compute(const command_options *options, command_problem *p, command_solver *s) {
    int status = solver_open(options, s);
    if (status == COMMAND_DONE)
        status = problem_read(options, p);
    if (status == COMMAND_DONE)
        status = problem_factorise(options, p);
    if (status == COMMAND_DONE)
        status = solver_import(options, p, s);
    if (status == COMMAND_DONE)
        status = solver_solve(options, p, s);
    if (status == COMMAND_DONE && options->repeat)
        status = solver_repeat(options, p, s);
    return status;
}

static int run(const command_options *options) {
    command_problem p;
    command_solver s = {0};
    command_output x = {0}, kept = {0};
    int status = COMMAND_DONE;
    if (options->threads)
        limit_threads(options->threads);
    progress_start();
    problem_start(&p);
    if (output_open(&x, options->output) || (options->residuals && output_open(&kept, options->residuals)))
        status = COMMAND_NOT_WRITTEN;
    if (status == COMMAND_DONE)
        status = compute(options, &p, &s);
    if (status == COMMAND_DONE)
        status = deliver(options, &p, &s, &x, &kept);
    progress_stop();
    output_discard(&x);
    output_discard(&kept);
    solver_release(&s);
    problem_release(&p);
    return status;
}

int main(int argc, char **argv) {
    command_options options;
    if (command_parse(argc, argv, &options)) {
        fputs("gpusolve-solve --help says more\n", stderr);
        return COMMAND_USAGE;
    }
    if (!options.help && !options.version)
        return run(&options);
    if (options.help)
        fputs(command_usage(), stdout);
    else
        printf("gpusolve-solve %d.%d.%d, with the library %s and CHOLMOD %d.%d.%d\n", GPUSOLVE_VERSION_MAJOR,
               GPUSOLVE_VERSION_MINOR, GPUSOLVE_VERSION_PATCH, gpusolve_version(), CHOLMOD_MAIN_VERSION,
               CHOLMOD_SUB_VERSION, CHOLMOD_SUBSUB_VERSION);
    return fflush(stdout) ? COMMAND_NOT_WRITTEN : COMMAND_DONE;
}
