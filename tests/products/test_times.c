/*
 * The host's loops of products (supernodal/host/products/times.h), for every kind of numbers, instruction set and number of columns that this machine runs: against
 * sums of the same terms in long double. What is above the diagonal is not read, and a column has the same bits alone and among eight.
 */
#include "testing.h"

#include "supernodal/host/products/times_host.h"

enum { KINDS = 4, MOST = 40, WIDE = 8 };

static const gsv_host_times *const (*const tables[KINDS])[2] = {gsv_host_times_d, gsv_host_times_ds,
                                                                gsv_host_times_z, gsv_host_times_zc};

typedef struct world {
    int kind, parts;
    int64_t nr, nc;
    double panel[MOST * MOST * 2]; /* as doubles */
    float single[MOST * MOST * 2];
    double x[MOST * 2 * WIDE], y[MOST * 2 * WIDE]; /* of eight columns */
    double alone[MOST * 2], result[MOST * 2];      /* of one */
} world;

static double complex number_of(const world *w, int64_t i, int64_t j) {
    const double *at = w->panel + (i + j * w->nr) * w->parts;
    return w->parts == 2 ? CMPLX(at[0], at[1]) : at[0];
}

static double complex column_of(const world *w, const double *rows, int64_t i, int c) {
    const double *row = rows + i * w->parts * WIDE;
    return w->parts == 2 ? CMPLX(row[c], row[WIDE + c]) : row[c];
}

/* Numbers in [-1, 1), of single precision; NaN above the diagonal. */
static void fill(world *w, uint64_t *state) {
    for (int64_t j = 0; j < w->nc; j++)
        for (int64_t i = 0; i < w->nr; i++)
            for (int part = 0; part < w->parts; part++) {
                const int64_t at = (i + j * w->nr) * w->parts + part;
                w->single[at] = i < j ? NAN : (float)testing_random(state);
                w->panel[at] = (double)w->single[at];
            }
    for (int64_t k = 0; k < w->nr * w->parts * WIDE; k++)
        w->x[k] = testing_random(state);
}

static void check(world *w, const gsv_host_times *one, const gsv_host_times *eight) {
    const void *panel = w->kind % 2 ? (const void *)w->single : w->panel;
    for (int transposed = 0; transposed < 2; transposed++) {
        const int64_t rows = transposed ? w->nc : w->nr, terms = transposed ? w->nr : w->nc;
        for (int64_t k = 0; k < MOST * 2 * WIDE; k++)
            w->y[k] = NAN;
        (transposed ? eight->transpose : eight->panel)(panel, w->nr, w->nc, w->x, w->y);
        double worst = 0;
        int different = 0;
        for (int c = 0; c < WIDE; c++) {
            for (int64_t k = 0; k < terms; k++)
                for (int part = 0; part < w->parts; part++)
                    w->alone[k * w->parts + part] = w->x[(k * w->parts + part) * WIDE + c];
            (transposed ? one->transpose : one->panel)(panel, w->nr, w->nc, w->alone, w->result);
            for (int64_t k = 0; k < rows; k++) {
                long double re = 0, im = 0, size = 0;
                for (int64_t t = transposed ? k : 0; t < (transposed || terms < k + 1 ? terms : k + 1); t++) {
                    const double complex l = transposed ? conj(number_of(w, t, k)) : number_of(w, k, t),
                                         x = column_of(w, w->x, t, c);
                    re += (long double)creal(l) * creal(x) - (long double)cimag(l) * cimag(x);
                    im += (long double)creal(l) * cimag(x) + (long double)cimag(l) * creal(x);
                    size += (long double)(cabs(l) * cabs(x));
                }
                const double complex y = column_of(w, w->y, k, c);
                const double error = hypot((double)(re - creal(y)), (double)(im - cimag(y)));
                worst = testing_worse(worst, error / (double)size);
                for (int part = 0; part < w->parts; part++)
                    different += memcmp(&w->result[k * w->parts + part],
                                        &w->y[(k * w->parts + part) * WIDE + c], sizeof(double)) != 0;
            }
        }
        CHECK_BELOW(worst, 50 * DBL_EPSILON);
        CHECK(different == 0);
    }
}

int main(void) {
    static const int64_t sizes[][2] = {{1, 1},  {2, 1},  {2, 2},   {5, 3},   {8, 8},  {9, 8},
                                       {16, 7}, {17, 9}, {31, 31}, {40, 17}, {40, 40}};
    static world w;
    uint64_t state = 5;
    for (int kind = 0; kind < KINDS; kind++)
        for (size_t k = 0; k < sizeof sizes / sizeof *sizes; k++) {
            w.kind = kind;
            w.parts = 1 + kind / 2;
            w.nr = sizes[k][0];
            w.nc = sizes[k][1];
            fill(&w, &state);
            for (int isa = 0; isa <= gsv_isa_best(); isa++) {
                testing_in("kind %d, %d x %d, instruction set %d", kind, (int)w.nr, (int)w.nc, isa);
                check(&w, tables[kind][isa][0], tables[kind][isa][1]);
            }
        }
    return testing_done();
}
