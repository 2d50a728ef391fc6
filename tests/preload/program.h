/*
 * A program that knows CHOLMOD and has never heard of gpusolve. It writes down what CHOLMOD answers; run_program.py runs it
 * without and with the preload library and compares. "program SECTION FILE": the numbers go to FILE, their names to FILE.names.
 */
#ifndef PRELOAD_PROGRAM_H
#define PRELOAD_PROGRAM_H

#include <cholmod.h>

/* CHOLMOD's functions of one type of integers. */
typedef struct api {
    int itype;
    int (*start)(cholmod_common *);
    int (*finish)(cholmod_common *);
    cholmod_factor *(*analyze)(cholmod_sparse *, cholmod_common *);
    int (*factorize)(cholmod_sparse *, cholmod_factor *, cholmod_common *);
    int (*free_factor)(cholmod_factor **, cholmod_common *);
    cholmod_factor *(*copy_factor)(cholmod_factor *, cholmod_common *);
    int (*change_factor)(int, int, int, int, int, cholmod_factor *, cholmod_common *);
    int (*pack_factor)(cholmod_factor *, cholmod_common *);
    int (*factor_xtype)(int, cholmod_factor *, cholmod_common *);
    int (*updown)(int, cholmod_sparse *, cholmod_factor *, cholmod_common *);
    int (*rowdel)(size_t, cholmod_sparse *, cholmod_factor *, cholmod_common *);
    int (*rowadd)(size_t, cholmod_sparse *, cholmod_factor *, cholmod_common *);
    cholmod_dense *(*solve)(int, cholmod_factor *, cholmod_dense *, cholmod_common *);
    int (*solve2)(int, cholmod_factor *, cholmod_dense *, cholmod_sparse *, cholmod_dense **,
                  cholmod_sparse **, cholmod_dense **, cholmod_dense **, cholmod_common *);
    cholmod_sparse *(*spsolve)(int, cholmod_factor *, cholmod_sparse *, cholmod_common *);
    cholmod_dense *(*allocate_dense)(size_t, size_t, size_t, int, cholmod_common *);
    cholmod_dense *(*zeros)(size_t, size_t, int, cholmod_common *);
    int (*dense_xtype)(int, cholmod_dense *, cholmod_common *);
    int (*free_dense)(cholmod_dense **, cholmod_common *);
    cholmod_triplet *(*allocate_triplet)(size_t, size_t, size_t, int, int, cholmod_common *);
    int (*free_triplet)(cholmod_triplet **, cholmod_common *);
    cholmod_sparse *(*triplet_to_sparse)(cholmod_triplet *, size_t, cholmod_common *);
    cholmod_sparse *(*dense_to_sparse)(cholmod_dense *, int, cholmod_common *);
    cholmod_dense *(*sparse_to_dense)(cholmod_sparse *, cholmod_common *);
    int (*sparse_xtype)(int, cholmod_sparse *, cholmod_common *);
    int (*check_sparse)(cholmod_sparse *, cholmod_common *);
    int (*free_sparse)(cholmod_sparse **, cholmod_common *);
} api;

extern const api apis[2]; /* int, long */

typedef enum form { SUPERNODAL, SIMPLICIAL_LL, SIMPLICIAL_LDL, FORMS } form;

/* A factor of the 7-point grid of side^3 nodes, with its matrix. `weight` goes to the diagonal: other numbers. */
typedef struct problem {
    const api *call;
    cholmod_common common;
    cholmod_sparse *a;
    cholmod_factor *l;
} problem;

cholmod_sparse *make_grid(const api *call, int side, int is_complex, double weight, cholmod_common *common);
void start_problem(problem *p, const api *call, int side, int is_complex, form kind);
void finish_problem(problem *p);

/* Right-hand sides of made-up numbers, each seed others, of the xtype. */
cholmod_dense *make_dense(problem *p, size_t cols, int xtype, unsigned seed);

/* Write numbers down under a name, printf's format. */
__attribute__((format(printf, 3, 4))) void note(const double *numbers, size_t count, const char *format, ...);
__attribute__((format(printf, 2, 3))) void note_dense(const cholmod_dense *x, const char *format, ...);
__attribute__((format(printf, 2, 3))) void note_number(double number, const char *format, ...);

/* Solve, note, free. */
void solve_and_note(problem *p, int sys, cholmod_dense *b, const char *name);

void section_systems(void);
void section_operands(void);
void section_errors(void);
void section_sets(void);
void section_sparse(void);
void section_changes(void);
void section_threads(void);
void section_fork(void);
void section_limits(void);

#endif
