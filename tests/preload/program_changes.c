/* Factors that change between solves, also behind CHOLMOD's back. */
#include "program.h"

#include <stdio.h>

/* Three solves: the first ones after a change, and one that is served in every mode. */
static void solve_thrice(problem *p, const char *name) {
    const int xtype = p->l->xtype == CHOLMOD_REAL ? CHOLMOD_REAL : CHOLMOD_COMPLEX;
    for (unsigned round = 0; round < 3; round++) {
        cholmod_dense *b = make_dense(p, 2, xtype, 17 + round);
        solve_and_note(p, CHOLMOD_A, b, name);
        solve_and_note(p, round == 1 ? CHOLMOD_Lt : CHOLMOD_L, b, name);
        p->call->free_dense(&b, &p->common);
    }
}

static void refactorize(problem *p, double weight, int is_complex) {
    p->call->free_sparse(&p->a, &p->common);
    p->a = make_grid(p->call, 6, is_complex, weight, &p->common);
    p->call->factorize(p->a, p->l, &p->common);
}

/* The program's own hands in L->x. */
static void scale(cholmod_factor *l, double by) {
    const size_t parts = l->xtype == CHOLMOD_COMPLEX ? 2 : 1;
    double *x = l->x;
    if (l->is_super) {
        for (size_t k = 0; k < l->xsize * parts; k++)
            x[k] *= by;
        return;
    }
    for (size_t j = 0; j < l->n; j++) {
        const size_t begin =
            l->itype == CHOLMOD_LONG ? (size_t)((SuiteSparse_long *)l->p)[j] : (size_t)((int *)l->p)[j];
        const size_t count =
            l->itype == CHOLMOD_LONG ? (size_t)((SuiteSparse_long *)l->nz)[j] : (size_t)((int *)l->nz)[j];
        for (size_t k = begin * parts; k < (begin + count) * parts; k++)
            x[k] *= by;
    }
}

/* One column of numbers in rows of L's order, for updown, rowdel and rowadd. */
static cholmod_sparse *make_column(problem *p, double first, double second) {
    cholmod_dense *dense = p->call->zeros(p->l->n, 1, CHOLMOD_REAL, &p->common);
    ((double *)dense->x)[p->l->n - 2] = first;
    ((double *)dense->x)[p->l->n - 1] = second;
    cholmod_sparse *column = p->call->dense_to_sparse(dense, 1, &p->common);
    p->call->free_dense(&dense, &p->common);
    return column;
}

static void change_simplicial(problem *p) {
    cholmod_sparse *column = make_column(p, 0.5, 0.25);
    p->call->updown(1, column, p->l, &p->common);
    solve_thrice(p, "updated");
    p->call->updown(0, column, p->l, &p->common);
    solve_thrice(p, "downdated");
    p->call->rowdel(p->l->n - 1, NULL, p->l, &p->common);
    solve_thrice(p, "a row deleted");
    p->call->free_sparse(&column, &p->common);
    column = make_column(p, 0.5, 7);
    p->call->rowadd(p->l->n - 1, column, p->l, &p->common);
    solve_thrice(p, "a row added");
    p->call->free_sparse(&column, &p->common);
    p->call->pack_factor(p->l, &p->common);
    solve_thrice(p, "packed");
}

void section_changes(void) {
    for (int k = 0; k < 4; k++) {
        problem p;
        const int is_complex = k / 2, xtype = is_complex ? CHOLMOD_COMPLEX : CHOLMOD_REAL;
        start_problem(&p, &apis[k % 2], 6, is_complex, SUPERNODAL);
        solve_thrice(&p, "new");
        for (int round = 1; round < 4; round++) {
            refactorize(&p, round, is_complex);
            solve_thrice(&p, "factorized again");
        }
        scale(p.l, 2);
        solve_thrice(&p, "scaled by the program");
        cholmod_factor *copy = p.call->copy_factor(p.l, &p.common), *own = p.l;
        p.l = copy;
        solve_thrice(&p, "a copy");
        p.call->free_factor(&p.l, &p.common);
        p.l = own;
        solve_thrice(&p, "the original");
        p.call->change_factor(xtype, 1, 0, 1, 1, p.l, &p.common);
        solve_thrice(&p, "made simplicial");
        scale(p.l, 0.5);
        solve_thrice(&p, "scaled by the program, simplicial");
        p.call->change_factor(xtype, 0, 0, 0, 1, p.l, &p.common);
        solve_thrice(&p, "made LDL'");
        if (!is_complex)
            change_simplicial(&p);
        p.call->factor_xtype(CHOLMOD_ZOMPLEX, p.l, &p.common);
        solve_thrice(&p, "made zomplex");
        /* Freed and made anew, most likely at the same address, with other numbers and the same pattern. */
        for (int round = 0; round < 3; round++) {
            p.call->free_factor(&p.l, &p.common);
            p.call->free_sparse(&p.a, &p.common);
            p.a = make_grid(p.call, 6, is_complex, 3 + round, &p.common);
            p.l = p.call->analyze(p.a, &p.common);
            p.call->factorize(p.a, p.l, &p.common);
            solve_thrice(&p, "another factor");
        }
        /* A matrix that is not positive definite, and back. */
        p.common.quick_return_if_not_posdef = 1;
        refactorize(&p, -3, is_complex);
        note_number(p.l->minor < p.l->n, "not positive definite?");
        refactorize(&p, 2, is_complex);
        solve_thrice(&p, "positive definite again");
        finish_problem(&p);
    }
}
