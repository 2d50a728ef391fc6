/*
 * oneMKL PARDISO, looked for at run time ($GPUSOLVE_MKL is the path of libmkl_rt.so; else the loader's path):
 * positive definite, its own METIS ordering, the solve phase (33) alone, without refinement. Two modes: with
 * two levels of scheduling, and with one, its default.
 */
#include <limits.h>
#include <stdlib.h>

#include "library.h"

enum { ANALYSE = 11, FACTORISE = 22, SOLVE = 33, RELEASE = -1, REAL_POSITIVE = 2, HERMITIAN_POSITIVE = 4 };

/* As MKL declares it, with 32-bit integers. */
typedef void pardiso_function(void *pt[64], const int *maxfct, const int *mnum, const int *mtype,
                              const int *phase, const int *n, const void *a, const int *ia, const int *ja,
                              int *perm, const int *nrhs, int *iparm, const int *msglvl, void *b, void *x,
                              int *error);
typedef void threads_function(int threads);

typedef struct pardiso {
    pardiso_function *call;
    void *pt[64]; /* its memory, from call to call */
    int iparm[64];
    int type, n;
    const int *ia, *ja; /* the upper triangle by rows: the lower one by columns */
    const double *a;
    double *conjugated; /* its values, if complex */
    int nrhs;
    double *b, *x;
} pardiso;

static const char *const libraries[] = {"libmkl_rt.so.3", "libmkl_rt.so.2", "libmkl_rt.so", NULL};

static int call(pardiso *p, int phase, int nrhs, double *b, double *x) {
    const int one = 1, none = 0;
    int error = 0;

    p->call(p->pt, &one, &one, &p->type, &phase, &p->n, p->a, p->ia, p->ja, NULL, &nrhs, p->iparm, &none, b,
            x, &error);
    return error;
}

/* Everything that is not named is PARDISO's default. With two levels of scheduling it solves for 8 columns in
 * half of the time that it takes with one; for one column and for very many one level is faster at times. */
static void set_parameters(pardiso *p, int mode) {
    p->iparm[0] = 1;   /* what follows is read */
    p->iparm[1] = 2;   /* METIS */
    p->iparm[7] = 0;   /* no refinement */
    p->iparm[17] = -1; /* count the numbers in the factor */
    p->iparm[23] = mode == BENCH_PARDISO_TWO_LEVELS;
    p->iparm[34] = 1; /* indices from 0 */
}

static int prepare(pardiso *p, bench_problem *problem, void *library, int threads, int mode,
                   bench_solver_facts *facts) {
    const cholmod_sparse *a = problem->matrix;
    const double begin = bench_now_us();

    threads_function *set_threads = NULL;
    if (bench_library_find(library, "MKL_Set_Num_Threads", &set_threads, facts) ||
        bench_library_find(library, "pardiso", &p->call, facts))
        return -1;
    set_threads(threads);
    p->type = a->xtype == CHOLMOD_COMPLEX ? HERMITIAN_POSITIVE : REAL_POSITIVE;
    p->n = (int)problem->n;
    p->ia = a->p;
    p->ja = a->i;
    p->a = bench_problem_upper(problem, &p->conjugated);
    if (!p->a)
        return bench_solver_explain(facts, "out of memory");
    set_parameters(p, mode);
    if (call(p, ANALYSE, 1, NULL, NULL))
        return bench_solver_explain(facts, "its analysis failed");
    if (call(p, FACTORISE, 1, NULL, NULL))
        return bench_solver_explain(facts, "its factorisation failed");
    facts->factorise_ms = 1e-3 * (bench_now_us() - begin);
    facts->nnz_l = p->iparm[17];
    return 0;
}

static void destroy(void *solver) {
    pardiso *p = solver;

    if (!p)
        return;
    if (p->call)
        call(p, RELEASE, 1, NULL, NULL);
    free(p->conjugated);
    free(p);
}

static void *create(bench_problem *problem, const bench_device *device, int threads, int mode,
                    bench_solver_facts *facts) {
    void *library = bench_library_load("GPUSOLVE_MKL", libraries);
    pardiso *p;

    (void)device;
    if (!library) {
        bench_solver_explain(facts, "not found: $GPUSOLVE_MKL may be the path of libmkl_rt.so.3");
        return NULL;
    }
    if (!(p = calloc(1, sizeof *p))) {
        bench_solver_explain(facts, "out of memory");
        return NULL;
    }
    if (!prepare(p, problem, library, threads, mode, facts))
        return p;
    destroy(p);
    return NULL;
}

static int bind(void *solver, int64_t nrhs, void *b, void *x, bench_solver_facts *facts) {
    pardiso *p = solver;

    if (nrhs > INT_MAX)
        return bench_solver_explain(facts, "its number of right-hand sides is an int");
    p->nrhs = (int)nrhs;
    p->b = b;
    p->x = x;
    return 0;
}

static int solve(void *solver) {
    pardiso *p = solver;

    return call(p, SOLVE, p->nrhs, p->b, p->x);
}

const bench_solver bench_pardiso_solver = {0, create, destroy, bind, solve, NULL};
