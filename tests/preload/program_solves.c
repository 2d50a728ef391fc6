/* Whole solves: every system and type, the operands' shapes, arguments that CHOLMOD refuses. */
#include "program.h"

#include <stdio.h>
#include <stdlib.h>

/* Every system, of both types of integers, of real and complex factors in each form, and of right-hand sides of each type. */
void section_systems(void) {
    static const char *const forms[] = {"supernodal", "simplicial LL'", "simplicial LDL'"};
    for (int k = 0; k < 2 * 2 * FORMS; k++) {
        problem p;
        const int is_complex = k / 2 % 2, kind = k / 4;
        start_problem(&p, &apis[k % 2], 5, is_complex, (form)kind);
        for (int xtype = CHOLMOD_REAL; xtype <= CHOLMOD_ZOMPLEX; xtype++)
            for (size_t cols = 1; cols <= 3; cols += 2)
                for (int prefer = 0; prefer < (is_complex || xtype != CHOLMOD_REAL ? 2 : 1); prefer++) {
                    char name[100];
                    cholmod_dense *b = make_dense(&p, cols, xtype, (unsigned)(k + xtype));
                    p.common.prefer_zomplex = prefer;
                    snprintf(name, sizeof name, "%s, %s, %s, xtype %d, %zu columns, zomplex %d",
                             k % 2 ? "long" : "int", is_complex ? "complex" : "real", forms[kind], xtype,
                             cols, prefer);
                    for (int sys = CHOLMOD_A; sys <= CHOLMOD_Pt; sys++)
                        solve_and_note(&p, sys, b, name);
                    p.call->free_dense(&b, &p.common);
                }
        finish_problem(&p);
    }
}

/* X in the caller's memory, X that does not fit, B with a leading dimension, Y and E kept. */
void section_operands(void) {
    for (int k = 0; k < 4; k++) {
        problem p;
        const int is_complex = k / 2, xtype = is_complex ? CHOLMOD_COMPLEX : CHOLMOD_REAL;
        const size_t parts = is_complex ? 2 : 1;
        start_problem(&p, &apis[k % 2], 7, is_complex, SUPERNODAL);
        const size_t n = p.l->n;
        cholmod_dense *b = make_dense(&p, 4, xtype, 5), *y = NULL, *e = NULL, *x;
        double *memory = calloc(n * 4 * parts, sizeof *memory);

        /* A header on the stack, as PETSc and Julia have it. */
        for (int round = 0; round < 4; round++) {
            cholmod_dense own = {.nrow = n,
                                 .ncol = 4,
                                 .nzmax = n * 4,
                                 .d = n,
                                 .x = memory,
                                 .xtype = xtype,
                                 .dtype = CHOLMOD_DOUBLE};
            x = &own;
            p.common.status = round == 2 ? CHOLMOD_OUT_OF_MEMORY : CHOLMOD_OK; /* of an earlier call */
            const int fine = p.call->solve2(CHOLMOD_A, p.l, b, NULL, &x, NULL, &y, &e, &p.common);
            note_number(fine + 2 * (x == &own) + 4 * (own.x == (void *)memory), "caller's X, %d", k);
            note_number(p.common.status, "caller's X: status, %d", k);
            note_dense(x, "caller's X, %d", k);
        }
        /* Too small, or of another type: CHOLMOD frees it and makes another. */
        for (int round = 0; round < 3; round++) {
            x = p.call->zeros(n, round == 1 ? 9 : 1, round == 2 ? CHOLMOD_ZOMPLEX : xtype, &p.common);
            p.call->solve2(CHOLMOD_Lt, p.l, b, NULL, &x, NULL, &y, &e, &p.common);
            note_dense(x, "X that may not fit, %d, %d", k, round);
            p.call->free_dense(&x, &p.common);
        }
        /* B in the middle of a larger array. */
        cholmod_dense inside = *b;
        inside.nrow = n;
        inside.ncol = 1;
        inside.d = 2 * n;
        inside.nzmax = 2 * n;
        solve_and_note(&p, CHOLMOD_A, &inside, "B with a leading dimension");
        inside.ncol = 2;
        inside.nzmax = 4 * n;
        solve_and_note(&p, CHOLMOD_A, &inside, "two columns with a leading dimension");
        /* x is b. */
        cholmod_dense same = *b;
        x = &same;
        p.call->solve2(CHOLMOD_A, p.l, b, NULL, &x, NULL, &y, &e, &p.common);
        note_dense(x, "x is b, %d", k);

        p.call->free_dense(&y, &p.common);
        p.call->free_dense(&e, &p.common);
        p.call->free_dense(&b, &p.common);
        free(memory);
        finish_problem(&p);
    }
}

static int errors_seen;

static void count_error(int status, const char *file, int line, const char *message) {
    (void)file, (void)line, (void)message;
    errors_seen += status != CHOLMOD_OK;
}

/* One call that CHOLMOD refuses: what it returns, the status, and how often it called the error handler. */
static void note_error(problem *p, int sys, cholmod_factor *l, cholmod_dense *b, const char *name) {
    errors_seen = 0;
    p->common.status = CHOLMOD_OK;
    cholmod_dense *x = p->call->solve(sys, l, b, &p->common);
    note_number(x != NULL, "%s: an answer?", name);
    note_number(p->common.status, "%s: status", name);
    note_number(errors_seen, "%s: errors", name);
    p->call->free_dense(&x, &p->common);
}

void section_errors(void) {
    problem p;
    start_problem(&p, &apis[0], 5, 0, SUPERNODAL);
    p.common.error_handler = count_error;
    cholmod_dense *b = make_dense(&p, 2, CHOLMOD_REAL, 1);
    for (int round = 0; round < 3; round++) {
        solve_and_note(&p, CHOLMOD_A, b, "before errors");
        note_error(&p, -1, p.l, b, "system -1");
        note_error(&p, 9, p.l, b, "system 9");
        note_error(&p, CHOLMOD_A, NULL, b, "no L");
        note_error(&p, CHOLMOD_A, p.l, NULL, "no B");
        cholmod_dense wrong = *b;
        wrong.nrow--;
        note_error(&p, CHOLMOD_A, p.l, &wrong, "a row missing");
        wrong = *b;
        wrong.d = 1;
        note_error(&p, CHOLMOD_A, p.l, &wrong, "a leading dimension of 1");
        wrong = *b;
        wrong.xtype = CHOLMOD_PATTERN;
        note_error(&p, CHOLMOD_A, p.l, &wrong, "B without numbers");
        wrong = *b;
        wrong.x = NULL;
        note_error(&p, CHOLMOD_A, p.l, &wrong, "B without an array");
        wrong = *b;
        wrong.ncol = 0;
        note_error(&p, CHOLMOD_A, p.l, &wrong, "no columns");
        cholmod_factor *symbolic = p.call->analyze(p.a, &p.common);
        note_error(&p, CHOLMOD_A, symbolic, b, "a symbolic L");
        p.call->free_factor(&symbolic, &p.common);
    }
    note_number(apis[0].solve(CHOLMOD_A, p.l, b, NULL) != NULL, "no Common");
    p.call->free_dense(&b, &p.common);
    finish_problem(&p);
}

/* Many factors, each solved with in turn: more than the preload library keeps. */
void section_limits(void) {
    enum { MANY = 6 };
    problem p[MANY];
    for (int k = 0; k < MANY; k++)
        start_problem(&p[k], &apis[0], 4 + k % 3, 0, SUPERNODAL);
    for (int round = 0; round < 40; round++)
        for (int k = 0; k < MANY; k++) {
            cholmod_dense *b = make_dense(&p[k], 1, CHOLMOD_REAL, (unsigned)(round + 1));
            solve_and_note(&p[k], CHOLMOD_A, b, "many factors");
            p[k].call->free_dense(&b, &p[k].common);
        }
    for (int k = 0; k < MANY; k++)
        finish_problem(&p[k]);
}
