/*
 * The scalars of a Krylov method, column by column: what the numbers that a pass over the vectors has found say of the next one. Both executors
 * call these functions, the CUDA one on the device. krylov.c has the equations and the order of the stages.
 *
 * Arrays are of all columns: number i of column j is at [i * columns + j].
 */
#ifndef GSV_API_KRYLOV_STEP_H
#define GSV_API_KRYLOV_STEP_H

#include "refine_step.h"

typedef struct gsv_pair {
    double re, im; /* im is 0 where numbers are real */
} gsv_pair;

typedef struct gsv_krylov_column {
    double rho;          /* r' z of the step before */
    double first, norm;  /* of the residual, in the 2-norm: at the start of the cycle, now */
    double target;       /* at or below this norm the column leaves the cycle */
    double best;         /* the last norm that was half of the one noted before, */
    int since;           /* and the steps since then */
    int steps, allowed;  /* of this cycle */
    unsigned char on;    /* the column is worked on in this cycle */
    unsigned char plain; /* its correction is A \ r */
} gsv_krylov_column;

typedef struct gsv_krylov {
    int columns, length;        /* length: most steps of a cycle of FGMRES */
    int max_steps;              /* of a column, in all cycles */
    double tolerance, rounding; /* of the backward error; of the factor's precision */
    int twice;                  /* the backward error does not say how far a correction must go */
    gsv_refine_column *outer;   /* as refinement knows the columns */
    gsv_refine_column *inner;   /* the same for products with A: active are those that are on */
    gsv_krylov_column *column;
    gsv_pair *found;    /* [length + 1] inner products */
    gsv_pair *factor;   /* [length + 1] by which vectors are multiplied in the next sum */
    gsv_pair *triangle; /* [length][length + 1] of the Hessenberg matrix, by columns; rotated, the triangle */
    gsv_pair *g;        /* [length + 1] the residual in the basis, rotated */
    gsv_pair *sine;     /* [length] of the rotations, */
    double *cosine;     /* [length] */
} gsv_krylov;

typedef enum gsv_krylov_stage {
    GSV_KRYLOV_NONE,
    GSV_KRYLOV_BEGIN,   /* found: r' r */
    GSV_CG_RHO,         /* found: r' z. factor: beta */
    GSV_CG_ALPHA,       /* found: p' q, q = -A p. factor: alpha */
    GSV_CG_NORM,        /* found: r' r */
    GSV_FGMRES_PROJECT, /* found: V' w, w = -A z. factor: what V is multiplied with in the sum with -w */
    GSV_FGMRES_AGAIN,   /* found: V' w once more */
    GSV_FGMRES_NORM,    /* found: w' w. factor: 1 / norm(w) */
    GSV_FGMRES_SOLVE,   /* factor: y */
    GSV_KRYLOV_RESTORE  /* columns that are behind come on; nothing is found */
} gsv_krylov_stage;

enum { GSV_KRYLOV_PATIENCE = 20 }; /* steps of CG that may pass until the residual is halved */

static inline GSV_HOST_DEVICE gsv_pair gsv_pair_times(gsv_pair a, gsv_pair b) {
    const gsv_pair c = {a.re * b.re - a.im * b.im, a.re * b.im + a.im * b.re};
    return c;
}

static inline GSV_HOST_DEVICE gsv_pair gsv_pair_add(gsv_pair a, gsv_pair b) {
    const gsv_pair c = {a.re + b.re, a.im + b.im};
    return c;
}

static inline GSV_HOST_DEVICE gsv_pair gsv_pair_scaled(gsv_pair a, double by) {
    const gsv_pair c = {by * a.re, by * a.im};
    return c;
}

static inline GSV_HOST_DEVICE gsv_pair gsv_pair_conjugate(gsv_pair a) {
    const gsv_pair c = {a.re, -a.im};
    return c;
}

/* The residual must fall to what the tolerance wants, or a little below the level of rounding, by the ratio of 2-norms. A true residual
 * decides afterwards. */
static inline GSV_HOST_DEVICE double gsv_krylov_ratio(const gsv_krylov *k, double error) {
    const double wanted = k->tolerance > k->rounding ? k->tolerance / 4 : k->rounding / 4;
    const double ratio = wanted / error, most = k->twice ? 1e-4 : 0.5;
    return ratio < k->rounding ? k->rounding : ratio > most ? most : ratio;
}

static inline GSV_HOST_DEVICE void gsv_krylov_begin(const gsv_krylov *k, int j, gsv_krylov_column *c) {
    gsv_refine_column *outer = &k->outer[j];
    c->first = c->norm = c->best = sqrt(k->found[j].re);
    c->rho = 0;
    c->since = c->steps = 0;
    c->allowed = k->max_steps - outer->used;
    c->plain = !outer->krylov;
    c->target = c->first * gsv_krylov_ratio(k, outer->error);
    c->on = outer->active && c->allowed > 0 && c->first > 0 && isfinite(c->first);
    outer->taken = 0;
    k->g[j].re = c->first;
    k->g[j].im = 0;
    k->factor[j].re = c->plain ? 1 : 1 / c->first;
    k->factor[j].im = 0;
}

/* r' z > 0 unless the factor's matrix is indefinite. */
static inline GSV_HOST_DEVICE void gsv_cg_rho(const gsv_krylov *k, int j, gsv_krylov_column *c) {
    const double rho = k->found[j].re;
    k->factor[j].re = c->steps > 0 ? rho / c->rho : 0;
    k->factor[j].im = 0;
    c->rho = rho;
    if (!c->plain && !(rho > 0 && isfinite(rho)))
        c->on = 0;
}

/* p' A p > 0 unless A is indefinite. */
static inline GSV_HOST_DEVICE void gsv_cg_alpha(const gsv_krylov *k, int j, gsv_krylov_column *c) {
    const double curvature = -k->found[j].re, alpha = c->plain ? 1 : c->rho / curvature;
    k->factor[j].re = alpha;
    k->factor[j].im = 0;
    if (!c->plain && !(curvature > 0 && isfinite(alpha)))
        c->on = 0;
}

static inline GSV_HOST_DEVICE void gsv_cg_norm(const gsv_krylov *k, int j, gsv_krylov_column *c) {
    c->norm = sqrt(k->found[j].re);
    k->outer[j].taken = ++c->steps;
    if (2 * c->norm <= c->best) {
        c->best = c->norm;
        c->since = 0;
    } else {
        c->since++;
    }
    if (c->plain || !(c->norm > c->target) || !isfinite(c->norm) || c->steps >= c->allowed ||
        c->since >= GSV_KRYLOV_PATIENCE)
        c->on = 0;
}

/* h = V' A z is the sum of what both projections find. w is -A z in the first one. */
static inline GSV_HOST_DEVICE void gsv_fgmres_project(const gsv_krylov *k, int j, int step, int again) {
    for (int i = 0; i <= step; i++) {
        const int64_t at = (int64_t)i * k->columns + j;
        gsv_pair *h = &k->triangle[((int64_t)step * (k->length + 1) + i) * k->columns + j];
        const gsv_pair found = k->found[at], minus = gsv_pair_scaled(found, -1);
        *h = again ? gsv_pair_add(*h, found) : minus;
        k->factor[at] = again ? minus : found;
    }
}

/* Column `step` of the Hessenberg matrix is rotated, and a new rotation makes its last entry, norm(w), zero. */
static inline GSV_HOST_DEVICE void gsv_fgmres_norm(const gsv_krylov *k, int j, int step,
                                                   gsv_krylov_column *c) {
    const int64_t across = k->columns;
    gsv_pair *h = &k->triangle[(int64_t)step * (k->length + 1) * across + j];
    const double below = sqrt(k->found[j].re);
    if (c->plain) {
        c->steps = 1;
        c->on = 0;
        return;
    }
    for (int i = 0; i < step; i++) {
        const gsv_pair up = h[i * across], low = h[(i + 1) * across], s = k->sine[i * across + j];
        const double cosine = k->cosine[i * across + j];
        h[i * across] = gsv_pair_add(gsv_pair_scaled(up, cosine), gsv_pair_times(s, low));
        h[(i + 1) * across] = gsv_pair_add(gsv_pair_scaled(low, cosine),
                                           gsv_pair_scaled(gsv_pair_times(gsv_pair_conjugate(s), up), -1));
    }
    const gsv_pair top = h[step * across];
    const double size = hypot(top.re, top.im), length = hypot(size, below);
    if (!(length > 0 && isfinite(length))) { /* a zero column, or no number: the steps before it count */
        c->on = 0;
        return;
    }
    const gsv_pair one = {1, 0}, phase = size > 0 ? gsv_pair_scaled(top, 1 / size) : one,
                   s = gsv_pair_scaled(phase, below / length), g = k->g[step * across + j];
    k->cosine[step * across + j] = size / length;
    k->sine[step * across + j] = s;
    h[step * across] = gsv_pair_scaled(phase, length);
    k->g[step * across + j] = gsv_pair_scaled(g, size / length);
    k->g[(step + 1) * across + j] = gsv_pair_scaled(gsv_pair_times(gsv_pair_conjugate(s), g), -1);
    c->norm = hypot(g.re, g.im) * (below / length);
    c->steps = step + 1;
    k->factor[j].re = below > 0 ? 1 / below : 0;
    k->factor[j].im = 0;
    if (!(c->norm > c->target) || c->steps >= c->allowed || below == 0)
        c->on = 0;
}

/* y = R \ g of the column's own steps. */
static inline GSV_HOST_DEVICE void gsv_fgmres_solve(const gsv_krylov *k, int j, const gsv_krylov_column *c) {
    const int64_t across = k->columns;
    k->outer[j].taken = c->steps;
    if (c->plain) {
        k->factor[j].re = 1;
        k->factor[j].im = 0;
        return;
    }
    for (int i = c->steps - 1; i >= 0; i--) {
        gsv_pair sum = k->g[i * across + j];
        for (int l = i + 1; l < c->steps; l++) {
            const gsv_pair h = k->triangle[((int64_t)l * (k->length + 1) + i) * across + j];
            sum = gsv_pair_add(sum, gsv_pair_scaled(gsv_pair_times(h, k->factor[l * across + j]), -1));
        }
        const gsv_pair h = k->triangle[((int64_t)i * (k->length + 1) + i) * across + j];
        const double size = hypot(h.re, h.im);
        const gsv_pair phase = {h.re / size, -h.im / size};
        k->factor[i * across + j] = gsv_pair_scaled(gsv_pair_times(phase, sum), 1 / size);
    }
}

/* One stage of column j. Returns whether the column is on. */
static inline GSV_HOST_DEVICE int gsv_krylov_do(const gsv_krylov *k, gsv_krylov_stage stage, int step,
                                                int j) {
    gsv_krylov_column *c = &k->column[j];
    const int begins = stage == GSV_KRYLOV_BEGIN || stage == GSV_KRYLOV_RESTORE;
    if (begins || c->on)
        switch (stage) {
        case GSV_KRYLOV_NONE:
        case GSV_FGMRES_SOLVE:
            break;
        case GSV_KRYLOV_BEGIN:
            gsv_krylov_begin(k, j, c);
            break;
        case GSV_CG_RHO:
            gsv_cg_rho(k, j, c);
            break;
        case GSV_CG_ALPHA:
            gsv_cg_alpha(k, j, c);
            break;
        case GSV_CG_NORM:
            gsv_cg_norm(k, j, c);
            break;
        case GSV_FGMRES_PROJECT:
        case GSV_FGMRES_AGAIN:
            gsv_fgmres_project(k, j, step, stage == GSV_FGMRES_AGAIN);
            break;
        case GSV_FGMRES_NORM:
            gsv_fgmres_norm(k, j, step, c);
            break;
        case GSV_KRYLOV_RESTORE:
            c->on = k->outer[j].behind;
            if (k->outer[j].behind)
                k->outer[j].place =
                    k->outer[j].place == GSV_REFINE_FIRST ? GSV_REFINE_SECOND : GSV_REFINE_FIRST;
            k->outer[j].behind = 0;
            break;
        }
    if (stage == GSV_FGMRES_SOLVE && k->outer[j].active) /* of columns that have left the cycle */
        gsv_fgmres_solve(k, j, c);
    k->inner[j].active = c->on;
    return c->on;
}

#endif
