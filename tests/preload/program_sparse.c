/* Sparse right-hand sides, and sets of rows. */
#include "program.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>

/* A few numbers in each column, of that xtype. */
static cholmod_sparse *make_sparse(problem *p, size_t cols, int xtype, size_t first, size_t step) {
    const size_t n = p->l->n;
    cholmod_dense *dense = p->call->zeros(n, cols, CHOLMOD_REAL, &p->common);
    for (size_t j = 0; j < cols; j++)
        for (size_t k = 0; k < 3; k++)
            ((double *)dense->x)[(first + step * (j % 3) + k) % n + j * n] = 1 + (double)(j + k);
    cholmod_sparse *sparse = p->call->dense_to_sparse(dense, 1, &p->common);
    p->call->sparse_xtype(xtype, sparse, &p->common);
    p->call->free_dense(&dense, &p->common);
    return sparse;
}

static void spsolve_and_note(problem *p, int sys, cholmod_sparse *b, const char *name) {
    cholmod_sparse *x = p->call->spsolve(sys, p->l, b, &p->common);
    note_number(p->common.status, "%s: status", name);
    if (!x) {
        note_number(-1, "%s: no X", name);
        return;
    }
    const double shape[] = {(double)x->nrow, (double)x->ncol, x->stype, x->itype, x->xtype, x->packed};
    note(shape, 6, "%s: form", name);
    note_number(p->call->check_sparse(x, &p->common), "%s: is it sound?", name);
    cholmod_dense *dense = p->call->sparse_to_dense(x, &p->common);
    note_dense(dense, "%s", name);
    p->call->free_dense(&dense, &p->common);
    p->call->free_sparse(&x, &p->common);
}

void section_sparse(void) {
    for (int k = 0; k < 2 * 2 * FORMS; k++) {
        problem p;
        start_problem(&p, &apis[k % 2], 5, k / 2 % 2, (form)(k / 4));
        for (int round = 0; round < 3; round++)
            /* Of a real B and a complex L CHOLMOD 3 makes an X of numbers that it has not set, if the system is P or P'. */
            for (int sys = CHOLMOD_A; sys <= CHOLMOD_D; sys++)
                for (int xtype = CHOLMOD_REAL; xtype <= CHOLMOD_COMPLEX; xtype++) {
                    char name[100];
                    cholmod_sparse *b =
                        make_sparse(&p, round == 1 && sys == CHOLMOD_A ? 40 : 3, xtype, 3 + (size_t)round, 5);
                    snprintf(name, sizeof name, "sparse, case %d, round %d, system %d, xtype %d", k, round,
                             sys, xtype);
                    spsolve_and_note(&p, sys, b, name);
                    p.call->free_sparse(&b, &p.common);
                }
        cholmod_dense *zeros = p.call->zeros(p.l->n, 2, CHOLMOD_REAL, &p.common);
        cholmod_sparse *empty = p.call->dense_to_sparse(zeros, 1, &p.common);
        p.call->free_dense(&zeros, &p.common);
        spsolve_and_note(&p, CHOLMOD_A, empty, "an empty B");
        empty->nrow--;
        spsolve_and_note(&p, CHOLMOD_A, empty, "a row missing");
        empty->nrow++;
        p.call->free_sparse(&empty, &p.common);
        finish_problem(&p);
    }
}

/* ------------------------------------------------------------------------------------------ Bset --- */

static double entry(const cholmod_dense *x, size_t i, int part) {
    const double *numbers = x->x;
    return x->xtype == CHOLMOD_COMPLEX ? numbers[2 * i + (size_t)part] : part ? 0 : numbers[i];
}

static size_t row_of(const cholmod_sparse *set, size_t k) {
    return set->itype == CHOLMOD_LONG ? (size_t)((SuiteSparse_long *)set->i)[k] : (size_t)((int *)set->i)[k];
}

/* How far x is from the whole solution, on the rows of Xset; infinite if a row of Bset that must be in Xset is not. */
static double distance(const cholmod_dense *x, const cholmod_dense *whole, const cholmod_sparse *xset,
                       const cholmod_sparse *bset) {
    const size_t count =
        xset->itype == CHOLMOD_LONG ? (size_t)((SuiteSparse_long *)xset->p)[1] : (size_t)((int *)xset->p)[1];
    double worst = 0;
    size_t found = 0;
    for (size_t k = 0; k < count; k++) {
        for (int part = 0; part < 2; part++) {
            const double off = fabs(entry(x, row_of(xset, k), part) - entry(whole, row_of(xset, k), part));
            worst = off > worst || off != off ? off : worst;
        }
        for (size_t m = 0; m < 2; m++)
            found += row_of(bset, m) == row_of(xset, k);
    }
    return found == 2 ? worst : INFINITY;
}

/* Rows 11 and 40: b is zero in all others. */
static cholmod_sparse *make_set(problem *p, size_t first, size_t second) {
    cholmod_dense *dense = p->call->zeros(p->l->n, 1, CHOLMOD_REAL, &p->common);
    ((double *)dense->x)[first] = ((double *)dense->x)[second] = 1;
    cholmod_sparse *set = p->call->dense_to_sparse(dense, 0, &p->common);
    p->call->free_dense(&dense, &p->common);
    return set;
}

void section_sets(void) {
    for (int k = 0; k < 2 * 2 * FORMS; k++) {
        problem p;
        start_problem(&p, &apis[k % 2], 5, k / 2 % 2, (form)(k / 4));
        cholmod_dense *y = NULL, *e = NULL, *x = NULL;
        cholmod_sparse *xset = NULL;
        /* Before Bset, for which CHOLMOD makes a supernodal factor simplicial. */
        cholmod_dense *whole[2][CHOLMOD_Lt + 1], *b[2];
        for (size_t round = 0; round < 2; round++) {
            b[round] = p.call->zeros(p.l->n, 1, k / 2 % 2 ? CHOLMOD_COMPLEX : CHOLMOD_REAL, &p.common);
            const size_t parts = k / 2 % 2 ? 2 : 1;
            ((double *)b[round]->x)[(11 + 20 * round) * parts] = 1.5;
            ((double *)b[round]->x)[(40 + 3 * round) * parts + parts - 1] = -0.5;
            for (int sys = CHOLMOD_A; sys <= CHOLMOD_Lt; sys++)
                whole[round][sys] = p.call->solve(sys, p.l, b[round], &p.common);
        }
        for (int turn = 0; turn < 6; turn++) {
            const size_t round = (size_t)turn % 2;
            cholmod_sparse *bset = make_set(&p, 11 + 20 * round, 40 + 3 * round);
            for (int sys = CHOLMOD_A; sys <= CHOLMOD_Lt; sys++) {
                const int fine = p.call->solve2(sys, p.l, b[round], bset, &x, &xset, &y, &e, &p.common);
                note_number(fine, "Bset, case %d, system %d", k, sys);
                note_number(distance(x, whole[round][sys], xset, bset) < 1e-12,
                            "Bset, case %d, system %d: right?", k, sys);
                note_number(p.l->is_super || !p.l->nz, "Bset, case %d, system %d: L is simplicial", k, sys);
            }
            p.call->free_sparse(&bset, &p.common);
        }
        for (int round = 0; round < 2; round++) {
            p.call->free_dense(&b[round], &p.common);
            for (int sys = CHOLMOD_A; sys <= CHOLMOD_Lt; sys++)
                p.call->free_dense(&whole[round][sys], &p.common);
        }
        p.call->free_sparse(&xset, &p.common);
        p.call->free_dense(&x, &p.common);
        p.call->free_dense(&y, &p.common);
        p.call->free_dense(&e, &p.common);
        finish_problem(&p);
    }
}
