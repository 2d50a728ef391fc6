/*
 * The order of a Krylov method's passes without asking any column, gsv_krylov_run_unasked, which gpusolve_refine_async queues on a device, beside that
 * with asking. The passes are a device's, in plain C: two vectors hold x by turns, solves are of all columns, all else is of those that are active or
 * on. A column has the same bits, error and steps where both have the same cycles, and always with the automatic method.
 */
#include <float.h>

#include "testing.h"

#include "supernodal/api/krylov.h"

enum { N = 40, WIDE = 16, MOST = 30, VECTORS = 2 * MOST + 1 };

typedef struct vector {
    double at[N][WIDE];
} vector;

/* Dense equations: A X = B, and the factor's matrix F. */
typedef struct equations {
    double a[N][N], inverse[N][N]; /* of F */
    vector b, guess;
} equations;

typedef struct refinement {
    const equations *e;
    gsv_refine_rule rule;
    gsv_krylov k;
    gsv_refine_column columns[WIDE];
    vector x[2], r, d, basis[VECTORS];
    int solves, corrections;
    int cycles[WIDE], plain[WIDE]; /* corrections that were judged, of a Krylov method and without */
    int was_behind[WIDE];
    int out[2]; /* what follows is left out, by the chain of corrections or that of steps */
} refinement;

/* ------------------------------------------------------------------------------------------- the passes --- */

static vector *vector_of(refinement *t, int number) {
    return number == GSV_VECTOR_R   ? &t->r
           : number == GSV_VECTOR_D ? &t->d
                                    : &t->basis[number - GSV_VECTOR_BASIS];
}

static double row_times(const double row[N], const vector *x, int j) {
    double sum = 0;
    for (int k = 0; k < N; k++)
        sum += row[k] * x->at[k][j];
    return sum;
}

static int is_left_out(const refinement *t) {
    return t->out[0] || t->out[1];
}

static gpusolve_status pass_solve(void *context, int from, int to) {
    refinement *t = context;
    if (is_left_out(t))
        return GPUSOLVE_OK;
    const vector *r = vector_of(t, from);
    vector *x = vector_of(t, to);
    for (int i = 0; i < N; i++)
        for (int j = 0; j < WIDE; j++)
            x->at[i][j] = row_times(t->e->inverse[i], r, j);
    t->solves++;
    return GPUSOLVE_OK;
}

static gpusolve_status pass_product(void *context, int of, int to) {
    refinement *t = context;
    if (is_left_out(t))
        return GPUSOLVE_OK;
    for (int i = 0; i < N; i++)
        for (int j = 0; j < WIDE; j++)
            if (t->k.inner[j].active)
                vector_of(t, to)->at[i][j] = -row_times(t->e->a[i], vector_of(t, of), j);
    return GPUSOLVE_OK;
}

static gpusolve_status pass_stage(void *context, gsv_krylov_stage stage, int step) {
    refinement *t = context;
    if (is_left_out(t))
        return GPUSOLVE_OK;
    for (int j = 0; j < WIDE; j++)
        (void)gsv_krylov_do(&t->k, stage, step, j);
    return GPUSOLVE_OK;
}

static gpusolve_status pass_dots(void *context, int first, int count, int with, gsv_krylov_stage stage,
                                 int step) {
    refinement *t = context;
    if (is_left_out(t))
        return GPUSOLVE_OK;
    for (int c = 0; c < count; c++)
        for (int j = 0; j < WIDE; j++) {
            const int live = stage == GSV_KRYLOV_BEGIN ? t->columns[j].active : t->k.column[j].on;
            double sum = 0;
            for (int i = 0; i < N && live; i++)
                sum += vector_of(t, first + c)->at[i][j] * vector_of(t, with)->at[i][j];
            t->k.found[c * WIDE + j] = (gsv_pair){sum, 0};
        }
    return pass_stage(context, stage, step);
}

static gpusolve_status pass_sum(void *context, const gsv_krylov_sum *sum, gsv_krylov_stage stage, int step) {
    refinement *t = context;
    if (is_left_out(t))
        return GPUSOLVE_OK;
    for (int j = 0; j < WIDE; j++) {
        const gsv_krylov_column *column = &t->k.column[j];
        const int live = sum->finished ? t->columns[j].active : column->on;
        const int count = sum->finished && column->steps < sum->count ? column->steps : sum->count;
        double norm = 0;
        for (int i = 0; i < N && live; i++) {
            double value = sum->with < 0 ? 0 : sum->scale * vector_of(t, sum->with)->at[i][j];
            for (int c = 0; c < count; c++)
                value += t->k.factor[c * WIDE + j].re * vector_of(t, sum->first + c)->at[i][j];
            vector_of(t, sum->out)->at[i][j] = value;
            norm += value * value;
        }
        if (sum->norm)
            t->k.found[j] = (gsv_pair){norm, 0};
    }
    return sum->norm ? pass_stage(context, stage, step) : GPUSOLVE_OK;
}

/* r = b - A x in columns that are active in `state`. */
static void find_residual(refinement *t, const vector *x, const gsv_refine_column *state) {
    for (int i = 0; i < N; i++)
        for (int j = 0; j < WIDE; j++)
            if (!state || state[j].active)
                t->r.at[i][j] = t->e->b.at[i][j] - row_times(t->e->a[i], x, j);
}

static double norm_of(const vector *x, int j) {
    double most = 0;
    for (int i = 0; i < N; i++)
        if (!(fabs(x->at[i][j]) <= most)) /* a NaN stays */
            most = isnan(most) ? most : fabs(x->at[i][j]);
    return most;
}

static gpusolve_status pass_judge(void *context, int correction) {
    refinement *t = context;
    if (is_left_out(t))
        return GPUSOLVE_OK;
    const int to = correction % 2;
    for (int i = 0; i < N; i++)
        for (int j = 0; j < WIDE; j++)
            if (t->columns[j].active)
                t->x[to].at[i][j] = t->x[1 - to].at[i][j] + t->d.at[i][j];
    find_residual(t, &t->x[to], t->columns);
    for (int j = 0; j < WIDE; j++) {
        gsv_refine_column *column = &t->columns[j];
        const double norms[3] = {norm_of(&t->r, j), norm_of(&t->x[to], j), column->norm_b};
        if (!column->active)
            continue;
        t->cycles[j] += column->krylov;
        t->plain[j] += !column->krylov;
        gsv_refine_judge(&t->rule, norms, norm_of(&t->d, j), column);
        t->was_behind[j] |= column->behind;
    }
    CHECK(correction == t->corrections + 1);
    t->corrections = correction;
    return GPUSOLVE_OK;
}

static gpusolve_status pass_restore(void *context, int correction) {
    refinement *t = context;
    if (is_left_out(t))
        return GPUSOLVE_OK;
    const int to = correction % 2;
    CHECK(correction == t->corrections);
    (void)pass_stage(context, GSV_KRYLOV_RESTORE, 0);
    for (int i = 0; i < N; i++)
        for (int j = 0; j < WIDE; j++)
            if (t->k.column[j].on)
                t->x[to].at[i][j] = t->x[1 - to].at[i][j];
    find_residual(t, &t->x[to], t->k.inner);
    return GPUSOLVE_OK;
}

static gpusolve_status pass_ask(void *context, gsv_krylov_counts *counts) {
    const refinement *t = context;
    *counts = (gsv_krylov_counts){0};
    for (int j = 0; j < WIDE; j++) {
        counts->on += t->k.column[j].on;
        counts->active += t->columns[j].active;
        counts->krylov += t->columns[j].active && t->columns[j].krylov;
        counts->behind += t->columns[j].behind;
    }
    return GPUSOLVE_OK;
}

/* A conditional node: its body, and all of its chain that comes after it, is left out. */
static gpusolve_status pass_may_end(void *context, int on) {
    refinement *t = context;
    int wanted = 0;
    for (int j = 0; j < WIDE; j++)
        wanted += on ? t->k.inner[j].active : t->columns[j].active;
    t->out[on] |= !wanted;
    return GPUSOLVE_OK;
}
static gpusolve_status pass_ended(void *context, int on) {
    refinement *t = context;
    t->out[on] = 0;
    return GPUSOLVE_OK;
}

/* What an order without asking must not do. */
static gpusolve_status pass_never_ask(void *context, gsv_krylov_counts *counts) {
    (void)context, (void)counts;
    testing_check(0, __FILE__, __LINE__, "%s", "a column is asked");
    return GPUSOLVE_INTERNAL_ERROR;
}

/* ------------------------------------------------------------------------------------------- refinement --- */

enum { ALL_QUEUED, ASKED, LEFT_OUT };

/* conjugate: of the automatic method, whether the factor is L L'. */
static refinement *refine(const equations *e, const gpusolve_refine_options *options, int conjugate,
                          int how) {
    static const gsv_krylov_passes passes = {.solve = pass_solve,
                                             .product = pass_product,
                                             .dots = pass_dots,
                                             .sum = pass_sum,
                                             .stage = pass_stage,
                                             .judge = pass_judge,
                                             .restore = pass_restore,
                                             .ask = pass_ask};
    gsv_krylov_passes own = passes;
    const gpusolve_factor factor = {.dtype = GPUSOLVE_DOUBLE, .has_d = !conjugate};
    gpusolve_matrix matrix = {0};
    for (int i = 0; i < N; i++) {
        double sum = 0;
        for (int k = 0; k < N; k++)
            sum += fabs(e->a[i][k]);
        matrix.norm_inf = fmax(matrix.norm_inf, sum);
    }
    const gsv_krylov_method method = gsv_krylov_method_of(options, &factor);
    refinement *t = malloc(sizeof *t);
    void *scalars = malloc((size_t)(WIDE * gsv_krylov_scalar_bytes(method.length)));
    REQUIRE(t && scalars && method.any);
    memset(t, 0xff, sizeof *t); /* NaN where nothing has been written */
    t->e = e;
    t->rule = gsv_refine_rule_of(options, &factor, &matrix);
    t->k = (gsv_krylov){.columns = WIDE,
                        .length = method.length,
                        .max_steps = options->max_steps,
                        .tolerance = options->tolerance,
                        .rounding = gsv_rounding_of(GPUSOLVE_DOUBLE),
                        .twice = options->twice,
                        .outer = t->columns};
    memset(scalars, 0, (size_t)(WIDE * gsv_krylov_scalar_bytes(method.length)));
    gsv_krylov_place(&t->k, scalars);
    t->solves = t->corrections = 0;
    memset(t->cycles, 0, sizeof t->cycles);
    memset(t->plain, 0, sizeof t->plain);
    memset(t->was_behind, 0, sizeof t->was_behind);
    t->out[0] = t->out[1] = 0;
    t->x[0] = e->guess;
    find_residual(t, &t->x[0], NULL);
    for (int j = 0; j < WIDE; j++) {
        const double norms[3] = {norm_of(&t->r, j), norm_of(&t->x[0], j), norm_of(&e->b, j)};
        gsv_refine_begin(&t->rule, norms, &t->columns[j]);
    }
    if (how != ASKED)
        own.ask = pass_never_ask;
    if (how == LEFT_OUT) {
        own.may_end = pass_may_end;
        own.ended = pass_ended;
    }
    CHECK_STATUS(how == ASKED ? gsv_krylov_run(&own, t, &method, options)
                              : gsv_krylov_run_unasked(&own, t, &method, options),
                 GPUSOLVE_OK);
    CHECK(!is_left_out(t)); /* each chain has ended */
    free(scalars);
    return t;
}

static int same_bits(const refinement *one, const refinement *other, int j) {
    const int from = one->columns[j].place, to = other->columns[j].place;
    if (from == GSV_REFINE_ZEROS || to == GSV_REFINE_ZEROS)
        return from == to;
    for (int i = 0; i < N; i++)
        if (memcmp(&one->x[from].at[i][j], &other->x[to].at[i][j], sizeof(double)))
            return 0;
    return 1;
}

static int same_number(double a, double b) {
    return a == b || (isnan(a) && isnan(b));
}

/* Columns, of all that were compared, by what became of them; and refinements of which something was left out. */
static int compared, plain_alone, several, behind, late, mixed, shorter;

/* What is left out changes nothing, and no step of it was wanted. */
static void compare_left_out(const equations *e, const gpusolve_refine_options *options, int conjugate,
                             const refinement *asked, const refinement *all) {
    refinement *t = refine(e, options, conjugate, LEFT_OUT);
    int same_cycles = 1;
    for (int j = 0; j < WIDE; j++) {
        const gsv_refine_column *one = &all->columns[j], *other = &t->columns[j];
        CHECK(same_number(other->error, one->error) && other->steps == one->steps &&
              other->used == one->used && !other->active == !one->active);
        CHECK(isnan(one->error) || same_bits(all, t, j));
        same_cycles &= options->method == GPUSOLVE_REFINE_AUTOMATIC || asked->cycles[j] <= 1;
    }
    CHECK(t->solves <= all->solves && t->corrections <= all->corrections);
    CHECK(!same_cycles || t->solves == asked->solves); /* as many as with asking */
    shorter += t->solves < all->solves;
    free(t);
}

static void compare(const equations *e, const gpusolve_refine_options *options, int conjugate) {
    const int automatic = options->method == GPUSOLVE_REFINE_AUTOMATIC;
    refinement *asked = refine(e, options, conjugate, ASKED),
               *unasked = refine(e, options, conjugate, ALL_QUEUED);
    int turned = 0, stayed = 0;
    for (int j = 0; j < WIDE; j++) {
        const gsv_refine_column *one = &asked->columns[j], *other = &unasked->columns[j];
        const int has_error = !isnan(one->error);
        CHECK(other->krylov == one->krylov && other->behind == one->behind &&
              isnan(other->error) == !has_error);
        CHECK(other->used <= options->max_steps && other->steps <= other->used);
        compared += has_error;
        if (automatic || asked->cycles[j] <= 1) {
            CHECK(same_number(other->error, one->error) && other->steps == one->steps &&
                  other->used == one->used);
            CHECK(!has_error || same_bits(asked, unasked, j));
        } else { /* the first cycle is the same, and no later one does harm */
            CHECK(other->error < 1e-3 || options->max_steps < 8);
        }
        plain_alone += asked->plain[j] > 1 && asked->cycles[j] == 0;
        turned += automatic && one->krylov;
        several += automatic && asked->cycles[j] > 1;
        late += automatic && asked->plain[j] > 1 && one->krylov;
        behind += asked->was_behind[j];
        stayed += asked->plain[j] > 1 && !one->krylov;
    }
    mixed += turned > 0 && stayed > 0;
    if (automatic) {
        int solves = 1;
        for (int k = 1; k < options->max_steps; k++) {
            const int left = options->max_steps - k;
            solves += conjugate || options->restart > left ? left : options->restart;
        }
        CHECK(unasked->solves == solves && unasked->corrections == options->max_steps);
    }
    compare_left_out(e, options, conjugate, asked, unasked);
    free(asked);
    free(unasked);
}

/* ------------------------------------------------------------------------------------------------ cases --- */

static double smooth(int mode, int i) {
    return sin((mode + 1) * (i + 1) * acos(-1) / (N + 1));
}

/* A is a string's matrix, of eigenvectors smooth(mode). F \ A has their eigenvalues scale (1 - part mode / N). With scale 1 the first correction
 * leaves much of a rough error, and little of a smooth one. */
static equations *make_equations(double part, double scale) {
    equations *e = calloc(1, sizeof *e);
    uint64_t state = 5;
    REQUIRE(e);
    for (int mode = 0; mode < N; mode++) {
        const double half = sin((mode + 1) * acos(-1) / (2 * (N + 1))), value = 0.5 + 4 * half * half;
        for (int i = 0; i < N; i++)
            for (int k = 0; k < N; k++) {
                const double entry = smooth(mode, i) * smooth(mode, k) * 2 / (N + 1);
                e->a[i][k] += value * entry;
                e->inverse[i][k] += scale * (1 - part * mode / N) / value * entry;
            }
    }
    for (int j = 0; j < WIDE; j++) {
        const double b = testing_random(&state);
        for (int i = 0; i < N; i++)
            e->guess.at[i][j] = j < 8 ? testing_random(&state) : 1 + b * smooth(3, i);
        for (int i = 0; i < N; i++)
            e->b.at[i][j] = row_times(e->a[i], &e->guess, j);
        for (int i = 0; i < N; i++) /* nothing, or nearly the answer, with an error that is rough or smooth */
            e->guess.at[i][j] =
                j % 3 == 0 ? 0
                           : e->guess.at[i][j] + 1e-3 * (j % 3 == 1 ? testing_random(&state) : smooth(0, i));
    }
    for (int i = 0; i < N; i++)
        e->b.at[i][1] = 0;
    e->b.at[3][4] = NAN;
    e->guess.at[3][5] = INFINITY;
    return e;
}

static void check_case(double part, double scale) {
    equations *e = make_equations(part, scale);
    for (int m = GPUSOLVE_REFINE_CG; m <= GPUSOLVE_REFINE_AUTOMATIC; m++)
        for (int variant = 0; variant < 16; variant++) {
            gpusolve_refine_options options = GPUSOLVE_REFINE_OPTIONS_INIT;
            options.method = (gpusolve_refine_method)m;
            options.tolerance = variant & 1 ? 0 : 1e-10;
            options.twice = variant >> 1 & 1;
            options.max_steps = variant & 4 ? 24 : 9;
            testing_in("part %g, scale %g, method %d, variant %d", part, scale, m, variant);
            compare(e, &options, variant >> 3);
        }
    for (int steps = 1; steps <= 7; steps++) /* cycles of every length */
        for (int restart = 1; restart <= 4; restart++)
            for (int conjugate = 0; conjugate < 2; conjugate++) {
                gpusolve_refine_options options = GPUSOLVE_REFINE_OPTIONS_INIT;
                options.method = GPUSOLVE_REFINE_AUTOMATIC;
                options.max_steps = steps;
                options.restart = restart;
                testing_in("part %g, scale %g, %d steps, restart %d, %d", part, scale, steps, restart,
                           conjugate);
                compare(e, &options, conjugate);
            }
    free(e);
}

int main(void) {
    static const double cases[][2] = {{1e-4, 1}, {0.05, 1}, {0.12, 1}, {0.3, 1}, {0.05, 2.2}, {0.05, 10}};
    for (int k = 0; k < 6; k++)
        check_case(cases[k][0], cases[k][1]);
    testing_in("columns of all kinds");
    CHECK(plain_alone > compared / 10 && several > compared / 50 && behind > compared / 50 &&
          late > compared / 100 && mixed > 50 && shorter > 50);
    return testing_done();
}
