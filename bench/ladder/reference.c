/*
 * The plain reference: X = A \ B with P A P' = L L', a supernode after the other, nothing inverted.
 *
 *      forward    f = [b(columns); 0] + what the children owe;  x1 = L1 \ f1,  u = f2 - L2 x1
 *      backward   z1 = L1' \ (x1 - L2' z(rows below))
 */
#include <stdlib.h>

#include "ladder.h"

static void forward(const ladder_tree *t, const ladder_node *s, double *x, double *u) {
    const double *l = t->l + s->panel;
    const int32_t *ptr = t->gather_ptr + s->row, ld = ladder_ld(s->nr);
    double *f1 = x + s->column, *f2 = u + s->update;

    for (int32_t i = 0; i < s->nr; i++) {
        double *f = i < s->nc ? &f1[i] : &f2[i - s->nc];
        if (i >= s->nc)
            *f = 0;
        for (int32_t g = ptr[i]; g < ptr[i + 1]; g++)
            *f += u[t->gather[g]];
    }
    for (int32_t k = 0; k < s->nc; k++, l += ld) {
        f1[k] /= l[k];
        for (int32_t i = k + 1; i < s->nr; i++)
            *(i < s->nc ? &f1[i] : &f2[i - s->nc]) -= l[i] * f1[k];
    }
}

static void backward(const ladder_tree *t, const ladder_node *s, double *z) {
    for (int32_t k = s->nc - 1; k >= 0; k--) {
        const double *l = t->l + s->panel + (int64_t)k * ladder_ld(s->nr);
        double sum = z[s->column + k];

        for (int32_t i = k + 1; i < s->nr; i++)
            sum -= l[i] * z[t->rows[s->row + i]];
        z[s->column + k] = sum / l[k];
    }
}

int ladder_reference(const ladder_tree *t, int32_t nrhs, const double *b, double *x) {
    double *z = malloc(((size_t)t->n + 1) * sizeof *z);
    double *u = malloc(((size_t)t->node[t->nsuper].update + 1) * sizeof *u);
    const int failed = !z || !u;

    for (int32_t j = 0; !failed && j < nrhs; j++, b += t->n, x += t->n) {
        for (int32_t i = 0; i < t->n; i++)
            z[i] = b[t->perm[i]];
        for (int32_t s = 0; s < t->nsuper; s++)
            forward(t, &t->node[s], z, u);
        for (int32_t s = t->nsuper - 1; s >= 0; s--)
            backward(t, &t->node[s], z);
        for (int32_t i = 0; i < t->n; i++)
            x[t->perm[i]] = z[i];
    }
    free(z);
    free(u);
    return failed ? -1 : 0;
}
