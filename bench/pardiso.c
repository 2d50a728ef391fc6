#define _POSIX_C_SOURCE 200809L
#include "pardiso.h"

#include <dlfcn.h>
#include <limits.h>
#include <stdlib.h>
#include <string.h>

#include "measure.h"

enum { ANALYSE = 11, FACTORISE = 22, SOLVE = 33, RELEASE = -1, REAL_POSITIVE = 2, HERMITIAN_POSITIVE = 4 };

/* As MKL declares it, with 32-bit integers. */
typedef void pardiso_function(void *pt[64], const int *maxfct, const int *mnum, const int *mtype,
                              const int *phase, const int *n, const void *a, const int *ia, const int *ja,
                              int *perm, const int *nrhs, int *iparm, const int *msglvl, void *b, void *x,
                              int *error);
typedef void threads_function(int threads);

struct bench_pardiso {
    pardiso_function *call;
    void *pt[64]; /* its memory, from call to call */
    int iparm[64];
    int type, n;
    const int *ia, *ja; /* the upper triangle by rows: the lower one by columns */
    const double *a;
    double *conjugated; /* its values, if complex */
    double factorise_ms;
};

/* The library stays loaded: it does not survive being taken away while its threads sleep. */
static void *load(void) {
    static const char *const names[] = {"libmkl_rt.so.3", "libmkl_rt.so.2", "libmkl_rt.so"};
    static void *library;
    const char *path = getenv("GPUSOLVE_MKL");

    if (!library && path && *path)
        return library = dlopen(path, RTLD_NOW | RTLD_LOCAL);
    for (size_t i = 0; !library && i < sizeof names / sizeof names[0]; i++)
        library = dlopen(names[i], RTLD_NOW | RTLD_LOCAL);
    return library;
}

static int call(bench_pardiso *p, int phase, int nrhs, double *b, double *x) {
    const int one = 1, none = 0;
    int error = 0;

    p->call(p->pt, &one, &one, &p->type, &phase, &p->n, p->a, p->ia, p->ja, NULL, &nrhs, p->iparm, &none, b,
            x, &error);
    return error;
}

/* Everything that is not named is PARDISO's default. */
static void set_parameters(bench_pardiso *p) {
    p->iparm[0] = 1;   /* what follows is read */
    p->iparm[1] = 2;   /* METIS */
    p->iparm[7] = 0;   /* no refinement */
    p->iparm[17] = -1; /* count the numbers in the factor */
    p->iparm[34] = 1;  /* indices from 0 */
}

static const char *prepare(bench_pardiso *p, bench_problem *problem, void *library, int threads) {
    const cholmod_sparse *a = problem->matrix;
    const size_t nnz = (size_t)((const int *)a->p)[a->ncol];
    const double begin = bench_now_us();

    /* POSIX, not ISO C, lets a pointer to an object be one to a function */
    *(void **)&p->call = dlsym(library, "pardiso");
    threads_function *set_threads = NULL;
    *(void **)&set_threads = dlsym(library, "MKL_Set_Num_Threads");
    if (!p->call || !set_threads)
        return "the library has no pardiso";
    set_threads(threads);
    p->type = a->xtype == CHOLMOD_COMPLEX ? HERMITIAN_POSITIVE : REAL_POSITIVE;
    p->n = (int)problem->n;
    p->ia = a->p;
    p->ja = a->i;
    p->a = a->x;
    if (a->xtype == CHOLMOD_COMPLEX) {
        p->conjugated = malloc((2 * nnz + 1) * sizeof *p->conjugated);
        if (!p->conjugated)
            return "out of memory";
        for (size_t k = 0; k < nnz; k++) {
            p->conjugated[2 * k] = ((const double *)a->x)[2 * k];
            p->conjugated[2 * k + 1] = -((const double *)a->x)[2 * k + 1];
        }
        p->a = p->conjugated;
    }
    set_parameters(p);
    if (call(p, ANALYSE, 1, NULL, NULL))
        return "its analysis failed";
    if (call(p, FACTORISE, 1, NULL, NULL))
        return "its factorisation failed";
    p->factorise_ms = 1e-3 * (bench_now_us() - begin);
    return NULL;
}

bench_pardiso *bench_pardiso_create(bench_problem *problem, int threads, const char **why) {
    void *library = load();
    bench_pardiso *p;

    *why = "not found: $GPUSOLVE_MKL may be the path of libmkl_rt.so.3";
    if (!library)
        return NULL;
    *why = "out of memory";
    if (!(p = calloc(1, sizeof *p)))
        return NULL;
    *why = prepare(p, problem, library, threads);
    if (!*why)
        return p;
    bench_pardiso_destroy(p);
    return NULL;
}

void bench_pardiso_destroy(bench_pardiso *p) {
    if (!p)
        return;
    if (p->call)
        call(p, RELEASE, 1, NULL, NULL);
    free(p->conjugated);
    free(p);
}

int bench_pardiso_solve(bench_pardiso *p, int64_t nrhs, double *b, double *x) {
    return nrhs > INT_MAX ? -1 : call(p, SOLVE, (int)nrhs, b, x);
}

double bench_pardiso_factorise_ms(const bench_pardiso *p) {
    return p->factorise_ms;
}

int64_t bench_pardiso_nnz(const bench_pardiso *p) {
    return p->iparm[17];
}
