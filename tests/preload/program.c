#include "program.h"

#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define API(prefix, type)                                                                                   \
    {                                                                                                       \
        type, prefix##start, prefix##finish, prefix##analyze, prefix##factorize, prefix##free_factor,       \
            prefix##copy_factor, prefix##change_factor, prefix##pack_factor, prefix##factor_xtype,          \
            prefix##updown, prefix##rowdel, prefix##rowadd, prefix##solve, prefix##solve2, prefix##spsolve, \
            prefix##allocate_dense, prefix##zeros, prefix##dense_xtype, prefix##free_dense,                 \
            prefix##allocate_triplet, prefix##free_triplet, prefix##triplet_to_sparse,                      \
            prefix##dense_to_sparse, prefix##sparse_to_dense, prefix##sparse_xtype, prefix##check_sparse,   \
            prefix##free_sparse                                                                             \
    }

const api apis[2] = {API(cholmod_, CHOLMOD_INT), API(cholmod_l_, CHOLMOD_LONG)};

static FILE *numbers_file, *names_file;

static void note_named(const double *numbers, size_t count, const char *name) {
    if (fwrite(numbers, sizeof *numbers, count, numbers_file) != count)
        abort();
    fprintf(names_file, "%zu %s\n", count, name);
}

void note(const double *numbers, size_t count, const char *format, ...) {
    char name[200];
    va_list arguments;
    va_start(arguments, format);
    vsnprintf(name, sizeof name, format, arguments);
    va_end(arguments);
    note_named(numbers, count, name);
}

void note_number(double number, const char *format, ...) {
    char name[200];
    va_list arguments;
    va_start(arguments, format);
    vsnprintf(name, sizeof name, format, arguments);
    va_end(arguments);
    note_named(&number, 1, name);
}

/* Shape and type, then the numbers column by column, both parts. */
void note_dense(const cholmod_dense *x, const char *format, ...) {
    char name[200];
    va_list arguments;
    va_start(arguments, format);
    vsnprintf(name, sizeof name, format, arguments);
    va_end(arguments);
    if (!x) {
        note_number(-1, "%s: no matrix", name);
        return;
    }
    const double shape[] = {(double)x->nrow, (double)x->ncol, (double)x->d, (double)x->xtype};
    note(shape, 4, "%s: shape", name);
    double *all = malloc((2 * x->nrow * x->ncol + 1) * sizeof *all);
    const double *re = x->x, *im = x->z;
    size_t count = 0;
    for (size_t j = 0; j < x->ncol; j++)
        for (size_t i = 0; i < x->nrow; i++) {
            const size_t k = i + j * x->d;
            all[count++] = x->xtype == CHOLMOD_COMPLEX ? re[2 * k] : re[k];
            all[count++] = x->xtype == CHOLMOD_COMPLEX   ? re[2 * k + 1]
                           : x->xtype == CHOLMOD_ZOMPLEX ? im[k]
                                                         : 0;
        }
    note_named(all, count, name);
    free(all);
}

void solve_and_note(problem *p, int sys, cholmod_dense *b, const char *name) {
    cholmod_dense *x = p->call->solve(sys, p->l, b, &p->common);
    note_dense(x, "%s, system %d", name, sys);
    note_number(p->common.status, "%s, system %d: status", name, sys);
    p->call->free_dense(&x, &p->common);
}

/* ---------------------------------------------------------------------------------------- the matrices --- */

static double random_number(unsigned *state) {
    *state = *state * 1664525u + 1013904223u;
    return (double)(*state >> 8) / (1 << 23) - 1;
}

static void push(cholmod_triplet *t, size_t i, size_t j, double re, double im) {
    const size_t k = t->nnz++;
    if (t->itype == CHOLMOD_LONG) {
        ((SuiteSparse_long *)t->i)[k] = (SuiteSparse_long)i;
        ((SuiteSparse_long *)t->j)[k] = (SuiteSparse_long)j;
    } else {
        ((int *)t->i)[k] = (int)i;
        ((int *)t->j)[k] = (int)j;
    }
    if (t->xtype == CHOLMOD_COMPLEX) {
        ((double *)t->x)[2 * k] = re;
        ((double *)t->x)[2 * k + 1] = im;
    } else {
        ((double *)t->x)[k] = re;
    }
}

/* The lower triangle. A complex one has -0.6 - 0.8 i or its conjugate between neighbours. */
cholmod_sparse *make_grid(const api *call, int side, int is_complex, double weight, cholmod_common *common) {
    const size_t s = (size_t)side, n = s * s * s;
    cholmod_triplet *t =
        call->allocate_triplet(n, n, 4 * n, -1, is_complex ? CHOLMOD_COMPLEX : CHOLMOD_REAL, common);
    const double re = is_complex ? -0.6 : -1, im = is_complex ? 0.8 : 0;
    for (size_t i = 0; i < n; i++) {
        push(t, i, i, 6.1 + weight * (1 + (double)(i % 7)), 0);
        if (i % s + 1 < s)
            push(t, i + 1, i, re, im);
        if (i / s % s + 1 < s)
            push(t, i + s, i, re, -im);
        if (i / (s * s) + 1 < s)
            push(t, i + s * s, i, re, im);
    }
    cholmod_sparse *a = call->triplet_to_sparse(t, 0, common);
    call->free_triplet(&t, common);
    return a;
}

void start_problem(problem *p, const api *call, int side, int is_complex, form kind) {
    p->call = call;
    call->start(&p->common);
    p->common.print = 0;
    p->common.supernodal = kind == SUPERNODAL ? CHOLMOD_SUPERNODAL : CHOLMOD_SIMPLICIAL;
    p->common.final_ll = kind == SIMPLICIAL_LL;
    p->common.nmethods = 1;
    p->common.method[0].ordering = CHOLMOD_AMD;
    p->a = make_grid(call, side, is_complex, 0, &p->common);
    p->l = call->analyze(p->a, &p->common);
    call->factorize(p->a, p->l, &p->common);
}

void finish_problem(problem *p) {
    p->call->free_factor(&p->l, &p->common);
    p->call->free_sparse(&p->a, &p->common);
    p->call->finish(&p->common);
    note_number((double)p->common.malloc_count, "blocks not freed");
}

cholmod_dense *make_dense(problem *p, size_t cols, int xtype, unsigned seed) {
    const size_t n = p->l->n;
    cholmod_dense *b = p->call->zeros(n, cols, xtype, &p->common);
    for (size_t k = 0; k < n * cols; k++) {
        const double re = random_number(&seed), im = random_number(&seed);
        if (xtype == CHOLMOD_COMPLEX) {
            ((double *)b->x)[2 * k] = re;
            ((double *)b->x)[2 * k + 1] = im;
        } else {
            ((double *)b->x)[k] = re;
        }
        if (xtype == CHOLMOD_ZOMPLEX)
            ((double *)b->z)[k] = im;
    }
    return b;
}

int main(int count, char **arguments) {
    static const struct {
        const char *name;
        void (*run)(void);
    } sections[] = {
        {"systems", section_systems}, {"operands", section_operands}, {"errors", section_errors},
        {"sets", section_sets},       {"sparse", section_sparse},     {"changes", section_changes},
        {"threads", section_threads}, {"fork", section_fork},         {"limits", section_limits}};
    char names[4096];
    if (count != 3 || snprintf(names, sizeof names, "%s.names", arguments[2]) >= (int)sizeof names)
        return 2;
    numbers_file = fopen(arguments[2], "wb");
    names_file = fopen(names, "w");
    if (!numbers_file || !names_file)
        return 2;
    for (size_t k = 0; k < sizeof sections / sizeof *sections; k++)
        if (!strcmp(sections[k].name, arguments[1])) {
            sections[k].run();
            return fclose(numbers_file) || fclose(names_file);
        }
    return 2;
}
