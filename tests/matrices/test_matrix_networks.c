/* Generated graphs and networks: row sums and degrees of the graphs, the spread of conductances, the steps of a
 * sequence. */
#include "check.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

/* a(i,i) minus the sum of |a(i,j)|, j != i: the least over all rows. */
static double dominance(const gsm_matrix *a) {
    double *excess = calloc((size_t)a->n, sizeof *excess), least = INFINITY;
    for (int64_t j = 0; excess != NULL && j < a->n; j++) {
        for (int64_t p = a->colptr[j]; p < a->colptr[j + 1]; p++) {
            int64_t i = a->rowidx[p];
            double v = a->values[p];
            excess[j] += i == j ? v : -fabs(v);
            excess[i] -= i == j ? 0.0 : fabs(v);
        }
    }
    for (int64_t j = 0; j < a->n; j++) {
        least = excess == NULL ? NAN : fmin(least, excess[j]);
    }
    free(excess);
    return least;
}

/* The row sums of a graph are 1/64, and the mean degree lies where it should. */
static void check_graph(const char *spec, double least, double most) {
    gsm_matrix a;
    if (!load(spec, &a)) {
        return;
    }
    double *ones = calloc((size_t)a.n, sizeof *ones), *sums = calloc((size_t)a.n, sizeof *sums), worst = 0.0;
    CHECK(ones != NULL && sums != NULL, "out of memory");
    for (int64_t i = 0; ones != NULL && i < a.n; i++) {
        ones[i] = 1.0;
    }
    if (ones != NULL && sums != NULL) {
        multiply(&a, ones, sums);
        for (int64_t i = 0; i < a.n; i++) {
            worst = fmax(worst, fabs(sums[i] - 1.0 / 64.0));
        }
    }
    double degree = 2.0 * (double)(a.nnz - a.n) / (double)a.n;
    CHECK(structure_is_valid(&a), "%s", spec);
    CHECK(worst == 0.0, "%s: row sums differ from 1/64 by %g", spec, worst);
    CHECK(degree > least && degree < most, "%s: mean degree %g", spec, degree);
    CHECK(dominance(&a) == 1.0 / 64.0, "%s: dominance %g", spec, dominance(&a));
    free(ones);
    free(sums);
    gsm_free(&a);
}

/* The points of a cube, drawn anew, and all pairs: as many edges as there are pairs within one distance. */
static void test_cube(void) {
    gsm_matrix a;
    if (!load("rgg3d:3000,30", &a)) {
        return;
    }
    enum { POINTS = 3000, BITS = 21 };
    static int64_t x[POINTS][3];
    const double pi = 3.14159265358979312;
    const double cube = 0.75 * 30 / (pi * POINTS) * 0x1p63; /* of the radius */
    int64_t pairs = 0;
    for (int k = 0; k < POINTS; k++) {
        uint64_t bits = UINT64_C(0x5eed0000) + (uint64_t)k + UINT64_C(0x9e3779b97f4a7c15); /* splitmix64 */
        bits = (bits ^ (bits >> 30)) * UINT64_C(0xbf58476d1ce4e5b9);
        bits = (bits ^ (bits >> 27)) * UINT64_C(0x94d049bb133111eb);
        bits ^= bits >> 31;
        x[k][0] = (int64_t)(bits & ((1 << BITS) - 1));
        x[k][1] = (int64_t)(bits >> (64 - BITS));
        x[k][2] = (int64_t)(bits >> BITS & ((1 << BITS) - 1));
    }
    for (int i = 0; i < POINTS; i++) {
        for (int j = 0; j < i; j++) {
            double square = 0.0;
            for (int d = 0; d < 3; d++) {
                square += (double)((x[i][d] - x[j][d]) * (x[i][d] - x[j][d]));
            }
            pairs += square <= floor(cbrt(cube)) * floor(cbrt(cube));
        }
    }
    CHECK(a.nnz - a.n == pairs, "%" PRId64 " edges, %" PRId64 " pairs", a.nnz - a.n, pairs);
    gsm_free(&a);
}

/* Few nodes of a power-law graph have a large part of its edges; a random graph has no such nodes. */
static void test_degrees(void) {
    static const struct {
        const char *spec;
        int64_t least, most;
    } cases[] = {{"powerlaw:20000,3", 250, 2000}, {"randomgraph:20000,6", 14, 30}};
    for (size_t c = 0; c < 2; c++) {
        gsm_matrix a;
        if (!load(cases[c].spec, &a)) {
            continue;
        }
        int64_t greatest = 0;
        for (int64_t j = 0; j < a.n; j++) {
            int64_t degree = (int64_t)a.values[a.colptr[j]];
            greatest = degree > greatest ? degree : greatest;
        }
        CHECK(greatest > cases[c].least && greatest < cases[c].most, "%s: largest degree %" PRId64,
              cases[c].spec, greatest);
        gsm_free(&a);
    }
}

/* Least and largest conductance of the edges; whether rows sum to something that is not negative, as the sums of the
 * matrix without other conductances do: exactly, in integers. */
static void conductances(const char *spec, double *least, double *most) {
    gsm_matrix a;
    *least = *most = NAN;
    if (!load(spec, &a)) {
        return;
    }
    int64_t *sums = calloc((size_t)a.n + 1, sizeof *sums), negative = 0;
    *least = INFINITY;
    *most = 0.0;
    for (int64_t j = 0; sums != NULL && j < a.n; j++) {
        for (int64_t p = a.colptr[j]; p < a.colptr[j + 1]; p++) {
            int64_t i = a.rowidx[p];
            double scaled = ldexp(a.values[p], 25);
            CHECK(scaled == floor(scaled) && fabs(scaled) < 0x1p62, "%s: %g is no multiple of 2^-25", spec,
                  a.values[p]);
            sums[i] += (int64_t)scaled;
            sums[j] += i == j ? 0 : (int64_t)scaled;
            if (i != j) {
                *least = fmin(*least, -a.values[p]);
                *most = fmax(*most, -a.values[p]);
            }
        }
    }
    for (int64_t j = 0; sums != NULL && j < a.n; j++) {
        negative += sums[j] < 0;
    }
    CHECK(sums != NULL && negative == 0, "%s: %" PRId64 " rows sum to less than nothing", spec, negative);
    free(sums);
    gsm_free(&a);
}

/* Conductances fill the range that is asked for and do not leave it by more than the 6 % that matrices/ allows. */
static void test_contrast(void) {
    static const char *const kinds[] = {"grid2d:60", "grid3d27:12", "rgg3d:2000", "powerlaw:5000,3"};
    for (size_t k = 0; k < sizeof kinds / sizeof kinds[0]; k++) {
        for (int decades = 0; decades <= 7; decades++) {
            char spec[64];
            double least, most;
            (void)snprintf(spec, sizeof spec, "contrast:%d:%s", decades, kinds[k]);
            conductances(spec, &least, &most);
            CHECK(least >= 0.7 * pow(10, -decades) && least <= 2.0 * pow(10, -decades), "%s: %g", spec,
                  least);
            CHECK(most <= 1.06 * pow(10, decades) && most >= 0.5 * pow(10, decades), "%s: %g", spec, most);
        }
    }
}

/* Step after step of a sequence has the same pattern and a wider range, 10^-7 to 10^7 and half a decade more at its end;
 * and three edges of five go on falling. */
static void test_sequence(void) {
    double before = 1.0;
    gsm_matrix old = {0};
    for (int step = 0; step < 30; step++) {
        char spec[64];
        double least, most;
        (void)snprintf(spec, sizeof spec, "sequence:%d:grid2d:40", step);
        conductances(spec, &least, &most);
        CHECK(most / least > before, "%s: range %g, %g before", spec, most / least, before);
        before = most / least;
        gsm_matrix a;
        if (!load(spec, &a)) {
            continue;
        }
        int64_t falling = 0, edges = a.nnz - a.n;
        bool same = old.n == 0 ||
                    (old.nnz == a.nnz && memcmp(old.rowidx, a.rowidx, (size_t)a.nnz * sizeof *a.rowidx) == 0);
        for (int64_t p = 0; same && old.n != 0 && p < a.nnz; p++) {
            falling += a.values[p] < 0.0 && -a.values[p] < -old.values[p];
        }
        CHECK(same, "%s: another pattern", spec);
        CHECK(step == 0 || (falling > edges * 55 / 100 && falling < edges * 65 / 100),
              "%s: %" PRId64 " of %" PRId64 " fall", spec, falling, a.nnz);
        gsm_free(&old);
        old = a;
    }
    gsm_free(&old);
    CHECK(before > 1e13 && before < 1e15, "range at the end: %g", before);
}

static void test_graphs(void) {
    gsm_matrix a;
    check_graph("rgg2d:20000", 11.6, 12.1); /* 12, less what the border cuts off */
    check_graph("rgg3d:20000", 10.4, 11.6);
    check_graph("rgg3d:20000,40", 32.0, 38.0);
    check_graph("randomgraph:20000,3", 2.9, 3.1);
    check_graph("powerlaw:20000,2", 3.5, 4.0); /* an edge drawn twice is one */
    if (load("arrow:500,7,5", &a)) {
        CHECK(dominance(&a) == 1.0, "dominance %g", dominance(&a));
        bool right = true;
        for (int64_t j = 0; j < a.n; j++) {
            for (int64_t p = a.colptr[j]; p < a.colptr[j + 1]; p++) {
                right = right && (a.rowidx[p] - j <= 7 || a.rowidx[p] >= 495);
            }
        }
        CHECK(right && a.nnz == 495 * 8 - 28 + 495 * 5 + 15, "pattern: nnz %" PRId64, a.nnz);
        gsm_free(&a);
    }
    if (load("forest:5000", &a)) {
        int64_t trees = 0;
        for (int64_t j = 0; j < a.n; j++) { /* one parent at most, so no cycle */
            CHECK(a.colptr[j + 1] - a.colptr[j] <= 2, "column %" PRId64, j);
            trees += a.colptr[j + 1] - a.colptr[j] == 1;
        }
        CHECK(trees > 500 && trees < 2500, "%" PRId64 " trees", trees);
        CHECK(dominance(&a) == 1.0, "dominance %g", dominance(&a));
        gsm_free(&a);
    }
}

int main(void) {
    test_graphs();
    test_cube();
    test_degrees();
    test_contrast();
    test_sequence();
    return report("test_matrix_networks");
}
