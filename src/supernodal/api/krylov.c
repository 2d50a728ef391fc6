/*
 * Refinement whose corrections are a Krylov method's, preconditioned by the factor F of a matrix near A:
 *
 *      until done: r = b - A x,  d with A d = r to a few digits,  x = x + d
 *
 * Each column has its own cycle, and leaves it by itself. A column's x is judged by its true residual, as after a plain correction
 * (refine_step.h), so no result is worse than one that was judged before.
 *
 * Conjugate gradients: d = 0, and until done
 *      z = F \ r,  p = z + (r'z / r'z before) p,  q = A p,  alpha = r'z / p'q,  d = d + alpha p,  r = r - alpha q
 *
 * Flexible GMRES with cycles of m steps: v(0) = r / norm(r), and for i = 0 .. m - 1
 *      z(i) = F \ v(i),  w = A z(i),  twice: h = V' w,  w = w - V h (classical Gram-Schmidt),  v(i + 1) = w / norm(w)
 * Givens rotations make the Hessenberg matrix a triangle R and norm(r) e(0) the vector g, whose last entry is the residual's norm;
 * d = Z (R \ g).
 */
#include "krylov.h"

#include <float.h>

double gsv_rounding_of(gpusolve_dtype dtype) {
    return gsv_is_single(dtype) ? FLT_EPSILON / 2 : DBL_EPSILON / 2;
}

gsv_krylov_method gsv_krylov_method_of(const gpusolve_refine_options *options,
                                       const gpusolve_factor *factor) {
    const gpusolve_refine_method wanted = options->method;
    gsv_krylov_method method = {.any = wanted != GPUSOLVE_REFINE_RICHARDSON && options->max_steps > 0,
                                .automatic = wanted == GPUSOLVE_REFINE_AUTOMATIC};
    method.conjugate = wanted == GPUSOLVE_REFINE_CG || (method.automatic && !factor->has_d);
    method.length = options->restart < options->max_steps ? options->restart : options->max_steps;
    if (method.conjugate || !method.any)
        method.length = 0;
    return method;
}

gsv_refine_rule gsv_refine_rule_of(const gpusolve_refine_options *options, const gpusolve_factor *factor,
                                   const gpusolve_matrix *matrix) {
    const gsv_krylov_method method = gsv_krylov_method_of(options, factor);
    return (gsv_refine_rule){.norm_a = matrix->norm_inf,
                             .tolerance = options->tolerance,
                             .min_gain = options->min_gain,
                             .krylov = method.any && !method.automatic,
                             .turn = method.any && method.automatic ? GSV_REFINE_TURN : 0,
                             .twice = options->twice,
                             .componentwise = options->componentwise,
                             .rounding = gsv_rounding_of(factor->dtype),
                             .level = GSV_REFINE_LEVEL * gsv_rounding_of(factor->dtype)};
}

void gsv_krylov_place(gsv_krylov *k, void *memory) {
    const int64_t across = k->columns, down = (int64_t)k->length + 1;
    k->found = memory;
    k->factor = k->found + down * across;
    k->g = k->factor + down * across;
    k->triangle = k->g + down * across;
    k->sine = k->triangle + k->length * down * across;
    k->cosine = (double *)(k->sine + k->length * across);
    k->column = (gsv_krylov_column *)(k->cosine + k->length * across);
    k->inner = (gsv_refine_column *)(k->column + across);
}

typedef struct cycle {
    const gsv_krylov_passes *passes;
    void *context;
    int steps; /* at most */
    int asks;  /* whether a step is wanted */
} cycle;

/* Does any column go on with step number `step`? All that are active begin. */
static gpusolve_status goes_on(const cycle *c, int step, int *on) {
    gsv_krylov_counts counts = {.on = 1};
    const gpusolve_status status = step > 0 && c->asks ? c->passes->ask(c->context, &counts) : GPUSOLVE_OK;
    *on = !status && counts.on > 0;
    return status;
}

/* Where nobody asks (krylov.h). */
static gpusolve_status may_end(const gsv_krylov_passes *passes, void *context, int on) {
    return passes->may_end ? passes->may_end(context, on) : GPUSOLVE_OK;
}
static gpusolve_status ended(const gsv_krylov_passes *passes, void *context, int on) {
    return passes->ended ? passes->ended(context, on) : GPUSOLVE_OK;
}

typedef gpusolve_status step_function(const cycle *c, int step);

/* Step after step while columns go on; the first one is of all that are active. */
static gpusolve_status take_steps(const cycle *c, step_function *take) {
    gpusolve_status status = GPUSOLVE_OK;
    int on = 1;
    for (int step = 0; !status && step < c->steps; step++) {
        status = goes_on(c, step, &on);
        if (status || !on)
            return status;
        if (step > 0 && !c->asks)
            status = may_end(c->passes, c->context, 1);
        if (!status)
            status = take(c, step);
    }
    return status || c->asks ? status : ended(c->passes, c->context, 1);
}

static gpusolve_status step_of_cg(const cycle *c, int step) {
    enum { R = GSV_VECTOR_R, D = GSV_VECTOR_D, Z = GSV_VECTOR_BASIS, P, Q };
    const gsv_krylov_passes *passes = c->passes;
    const gsv_krylov_sum p = {.out = P, .with = Z, .scale = 1, .first = P, .count = step > 0},
                         d = {.out = D, .with = step > 0 ? D : -1, .scale = 1, .first = P, .count = 1},
                         r = {.out = R, .with = R, .scale = 1, .first = Q, .count = 1, .norm = 1};
    gpusolve_status status = passes->solve(c->context, R, Z);
    if (!status)
        status = passes->dots(c->context, R, 1, Z, GSV_CG_RHO, step);
    if (!status)
        status = passes->sum(c->context, &p, GSV_KRYLOV_NONE, step);
    if (!status)
        status = passes->product(c->context, P, Q);
    if (!status)
        status = passes->dots(c->context, P, 1, Q, GSV_CG_ALPHA, step);
    if (!status)
        status = passes->sum(c->context, &d, GSV_KRYLOV_NONE, step);
    return status ? status : passes->sum(c->context, &r, GSV_CG_NORM, step);
}

static gpusolve_status conjugate_gradients(const cycle *c) {
    enum { R = GSV_VECTOR_R, D = GSV_VECTOR_D };
    const gsv_krylov_passes *passes = c->passes;
    const gsv_krylov_sum zeros = {.out = D, .with = -1, .finished = 1};
    gpusolve_status status = passes->dots(c->context, R, 1, R, GSV_KRYLOV_BEGIN, 0);
    if (!status) /* of columns that never get a step */
        status = passes->sum(c->context, &zeros, GSV_KRYLOV_NONE, 0);
    return status ? status : take_steps(c, step_of_cg);
}

/* v(step + 1) from z(step), and the column of the Hessenberg matrix. */
static gpusolve_status arnoldi(const cycle *c, int step) {
    enum { V = GSV_VECTOR_BASIS };
    const gsv_krylov_passes *passes = c->passes;
    const int w = V + step + 1, z = V + c->steps + 1 + step;
    const gsv_krylov_sum projected = {.out = w, .with = w, .scale = -1, .first = V, .count = step + 1},
                         again = {.out = w, .with = w, .scale = 1, .first = V, .count = step + 1, .norm = 1},
                         next = {.out = w, .with = -1, .first = w, .count = 1};
    gpusolve_status status = passes->solve(c->context, V + step, z);
    if (!status)
        status = passes->product(c->context, z, w);
    if (!status)
        status = passes->dots(c->context, V, step + 1, w, GSV_FGMRES_PROJECT, step);
    if (!status)
        status = passes->sum(c->context, &projected, GSV_KRYLOV_NONE, step);
    if (!status)
        status = passes->dots(c->context, V, step + 1, w, GSV_FGMRES_AGAIN, step);
    if (!status)
        status = passes->sum(c->context, &again, GSV_FGMRES_NORM, step);
    return status || step + 1 == c->steps ? status : passes->sum(c->context, &next, GSV_KRYLOV_NONE, step);
}

static gpusolve_status flexible_gmres(const cycle *c) {
    enum { R = GSV_VECTOR_R, D = GSV_VECTOR_D, V = GSV_VECTOR_BASIS };
    const gsv_krylov_passes *passes = c->passes;
    const gsv_krylov_sum first = {.out = V, .with = -1, .first = R, .count = 1},
                         all = {.out = D,
                                .with = -1,
                                .first = V + c->steps + 1,
                                .count = c->steps,
                                .finished = 1};
    gpusolve_status status = passes->dots(c->context, R, 1, R, GSV_KRYLOV_BEGIN, 0);
    if (!status)
        status = passes->sum(c->context, &first, GSV_KRYLOV_NONE, 0);
    if (!status)
        status = take_steps(c, arnoldi);
    if (!status)
        status = passes->stage(c->context, GSV_FGMRES_SOLVE, 0);
    return status ? status : passes->sum(c->context, &all, GSV_KRYLOV_NONE, 0);
}

/* A cycle takes a step at least of each active column, or ends it: there are max_steps cycles at most. */
gpusolve_status gsv_krylov_run(const gsv_krylov_passes *passes, void *context,
                               const gsv_krylov_method *method, const gpusolve_refine_options *options) {
    const cycle c = {passes, context, method->conjugate ? options->max_steps : method->length, 1};
    gsv_krylov_counts counts = {.active = 1, .krylov = !method->automatic};
    gpusolve_status status = GPUSOLVE_OK;
    for (int k = 0; !status && k < options->max_steps; k++) {
        if (k > 0 ||
            options->tolerance > 0) /* nearly every column takes the first one, without a tolerance */
            status = passes->ask(context, &counts);
        if (!status && counts.behind > 0)
            status = passes->restore(context, k);
        if (status || counts.active == 0)
            return status;
        if (counts.krylov == 0)
            status = passes->solve(context, GSV_VECTOR_R, GSV_VECTOR_D);
        else
            status = method->conjugate ? conjugate_gradients(&c) : flexible_gmres(&c);
        if (!status)
            status = passes->judge(context, k + 1);
    }
    return status;
}

/* A cycle and its judgement. */
static gpusolve_status correct(const cycle *c, const gsv_krylov_method *method, int correction) {
    const gpusolve_status status = method->conjugate ? conjugate_gradients(c) : flexible_gmres(c);
    return status ? status : c->passes->judge(c->context, correction);
}

/*
 * The first correction is plain. Any judgement may send a column to the Krylov method (refine_step.h), so a cycle follows for each correction that
 * is left; a column without the method takes one plain correction in it. After k corrections no column has more than max_steps - k steps left, so
 * all columns take what they would take with asking.
 */
static gpusolve_status run_automatic_unasked(const gsv_krylov_passes *passes, void *context,
                                             const gsv_krylov_method *method, int max_steps) {
    gpusolve_status status = may_end(passes, context, 0);
    if (!status)
        status = passes->solve(context, GSV_VECTOR_R, GSV_VECTOR_D);
    if (!status)
        status = passes->judge(context, 1);
    for (int k = 1; !status && k < max_steps; k++) {
        const int left = max_steps - k;
        const cycle c = {passes, context, method->conjugate || method->length > left ? left : method->length,
                         0};
        status = may_end(passes, context, 0);
        if (!status)
            status = passes->restore(context, k); /* does nothing where no column is behind */
        if (!status)
            status = correct(&c, method, k + 1);
    }
    return status ? status : ended(passes, context, 0);
}

gpusolve_status gsv_krylov_run_unasked(const gsv_krylov_passes *passes, void *context,
                                       const gsv_krylov_method *method,
                                       const gpusolve_refine_options *options) {
    if (method->automatic)
        return run_automatic_unasked(passes, context, method, options->max_steps);
    const cycle c = {passes, context, method->conjugate ? options->max_steps : method->length, 0};
    gpusolve_status status = GPUSOLVE_OK;
    for (int k = 0; !status && k * c.steps < options->max_steps; k++) {
        status = may_end(passes, context, 0);
        if (!status)
            status = correct(&c, method, k + 1);
    }
    return status ? status : ended(passes, context, 0);
}
