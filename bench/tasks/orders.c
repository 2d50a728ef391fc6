/*
 * gpusolve-orders-bench: what the order of sums costs in accuracy where a triangle is inverted whole. On the
 * host, by emulation: A = L L', L as in tests/solve/test_condition.c, two supernodes, the first one's
 * triangle L1 unit but for -g below the diagonal, or -g times numbers around one, so that inv(L1) grows. The
 * first supernode is solved with by [W; -M], rounded from long double, and its transpose, the second one by
 * substitution. The orders:
 *
 *      16 chains   terms k, k + 16, ... are a chain, chains meet as a tree: few right-hand sides
 *      4 of 16     sixteen terms as four chains and a tree, added to the total: nothing now
 *      runs of N   N terms are a chain that begins with zero, added to the total: many, elsewhere, N = 16
 *      one chain   as DGEMM
 *
 * A line: columns and rows; growth; k of trsm/cuda/panels/inverse.h for the whole triangle; the largest backward error
 * of substitution; and for each order the most that a column's backward error is of substitution's (of half an
 * eps, if that is more). Eight columns, every other one with a smooth solution.
 */
#include <float.h>
#include <math.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { COLUMNS = 8, ORDERS = 7, SIXTEEN_CHAINS = -16, FOUR_OF_SIXTEEN = -4, ONE_CHAIN = 0 };

static const int orders[ORDERS] = {SIXTEEN_CHAINS, FOUR_OF_SIXTEEN, 16, 32, 64, 128, ONE_CHAIN};

typedef struct linear_system {
    int n, nc;
    double *l, *w, *m; /* column-major: n x n; inv(L1), nc x nc; -M, n x nc, rows from nc on */
    double norm;       /* of |L| |L'| */
} linear_system;

static void *allocate(size_t count, size_t size) {
    void *memory = calloc(count, size);
    if (!memory) {
        fprintf(stderr, "gpusolve-orders-bench: out of memory\n");
        exit(1);
    }
    return memory;
}

static double random_number(uint64_t *state) {
    *state = *state * 6364136223846793005u + 1442695040888963407u;
    return (double)(*state >> 11) * 0x1p-52 - 1;
}

/* total + a' v, a of a stride, in an order. */
static double sum_of(int n, const double *a, int stride, const double *v, int order, double total) {
    if (order == SIXTEEN_CHAINS) {
        double chain[16] = {0};
        for (int k = 0; k < n; k++)
            chain[k % 16] = fma(a[(int64_t)k * stride], v[k], chain[k % 16]);
        for (int half = 8; half > 0; half /= 2)
            for (int k = 0; k < half; k++)
                chain[k] += chain[k + half];
        return total + chain[0];
    }
    if (order == ONE_CHAIN) {
        for (int k = 0; k < n; k++)
            total = fma(a[(int64_t)k * stride], v[k], total);
        return total;
    }
    const int length = order == FOUR_OF_SIXTEEN ? 16 : order, chains = order == FOUR_OF_SIXTEEN ? 4 : 1;
    for (int first = 0; first < n; first += length) {
        double chain[4] = {0};
        for (int k = first; k < n && k < first + length; k++)
            chain[k % chains] = fma(a[(int64_t)k * stride], v[k], chain[k % chains]);
        total += (chain[0] + chain[2]) + (chain[1] + chain[3]);
    }
    return total;
}

/* b = L L' x */
static void multiply(const linear_system *s, const double *l, const double *x, long double *b) {
    const int n = s->n;
    long double *y = allocate((size_t)n, sizeof *y);
    for (int j = 0; j < n; j++)
        for (int i = j; i < n; i++)
            y[j] += (long double)l[i + (int64_t)j * n] * x[i];
    for (int i = 0; i < n; i++) {
        b[i] = 0;
        for (int j = 0; j <= i; j++)
            b[i] += (long double)l[i + (int64_t)j * n] * y[j];
    }
    free(y);
}

static double backward_error(const linear_system *s, const double *x, const double *b) {
    long double *ax = allocate((size_t)s->n, sizeof *ax);
    multiply(s, s->l, x, ax);
    double r = 0, norm_x = 0, norm_b = 0;
    for (int i = 0; i < s->n; i++) {
        const double off = fabs((double)(b[i] - ax[i]));
        r = off > r || isnan(off) ? off : r; /* a NaN stays */
        norm_x = fmax(norm_x, fabs(x[i]));
        norm_b = fmax(norm_b, fabs(b[i]));
    }
    free(ax);
    return r / (s->norm * norm_x + norm_b);
}

static linear_system make_system(int nc, int n, double growth, int even) {
    linear_system s = {.n = n, .nc = nc};
    const double g = pow(growth, 1.0 / nc) - 1;
    uint64_t seed = 17;
    s.l = allocate((size_t)n * (size_t)n, sizeof *s.l);
    s.w = allocate((size_t)nc * (size_t)nc, sizeof *s.w);
    s.m = allocate((size_t)n * (size_t)nc, sizeof *s.m);
    for (int j = 0; j < n; j++)
        for (int i = j; i < n; i++)
            s.l[i + (int64_t)j * n] = i == j               ? 1
                                      : i >= nc || j >= nc ? random_number(&seed) / n
                                      : even               ? -g
                                                           : -g * (1 + random_number(&seed) / 2);
    long double *w = allocate((size_t)n, sizeof *w);
    for (int j = 0; j < nc; j++) {
        for (int i = 0; i < n; i++)
            w[i] = i == j;
        for (int k = j; k < nc; k++)
            for (int i = k + 1; i < n; i++)
                w[i] -= (long double)s.l[i + (int64_t)k * n] * w[k]; /* the diagonal is ones */
        for (int i = 0; i < nc; i++)
            s.w[i + (int64_t)j * nc] = (double)w[i];
        for (int i = nc; i < n; i++)
            s.m[i + (int64_t)j * n] = (double)w[i];
    }
    double *magnitude = allocate((size_t)n * (size_t)n, sizeof *magnitude), *ones = allocate((size_t)n, 8);
    for (int64_t e = 0; e < (int64_t)n * n; e++)
        magnitude[e] = fabs(s.l[e]);
    for (int i = 0; i < n; i++)
        ones[i] = 1;
    multiply(&s, magnitude, ones, w);
    for (int i = 0; i < n; i++)
        s.norm = fmax(s.norm, (double)w[i]);
    free(magnitude);
    free(ones);
    free(w);
    return s;
}

/* k of trsm/cuda/panels/inverse.h: rows of L1 scaled to sums of one. */
static double condition(const linear_system *s) {
    const int n = s->n, nc = s->nc;
    double *scale = allocate((size_t)nc, 8), *sums = allocate((size_t)nc, 8);
    double *column_sums = allocate((size_t)nc, 8), k = 0;
    for (int i = 0; i < nc; i++)
        for (int j = 0; j <= i; j++)
            scale[i] += fabs(s->l[i + (int64_t)j * n]);
    for (int i = 0; i < nc; i++)
        for (int j = 0; j <= i; j++) {
            const double size = fabs(s->w[i + (int64_t)j * nc]) * scale[j];
            sums[i] += size;
            column_sums[j] += size;
        }
    for (int i = 0; i < nc; i++) {
        double row = 0, column = 0;
        for (int j = 0; j <= i; j++)
            row += fabs(s->l[i + (int64_t)j * n]) * sums[j] / scale[i];
        for (int j = i; j < nc; j++)
            column += fabs(s->l[j + (int64_t)i * n]) * column_sums[j] / scale[j];
        k = fmax(k, fmax(row, column));
    }
    free(scale);
    free(sums);
    free(column_sums);
    return k;
}

/* Columns first .. n - 1 of L alone: y = inv(L) y, or inv(L') y. */
static void substitute(const linear_system *s, int first, int transposed, double *y) {
    const int n = s->n;
    for (int j = first; !transposed && j < n; j++)
        for (int i = j + 1; i < n; i++)
            y[i] -= s->l[i + (int64_t)j * n] * y[j];
    for (int j = n - 1; transposed && j >= first; j--)
        for (int i = j + 1; i < n; i++)
            y[j] -= s->l[i + (int64_t)j * n] * y[i];
}

static void solve(const linear_system *s, int order, const double *b, double *x) {
    const int n = s->n, nc = s->nc;
    double *y = allocate((size_t)n, 8), *column = allocate((size_t)n, 8);
    for (int i = 0; i < nc; i++)
        y[i] = sum_of(i + 1, s->w + i, nc, b, order, 0);
    for (int i = nc; i < n; i++)
        y[i] = sum_of(nc, s->m + i, n, b, order, b[i]);
    substitute(s, nc, 0, y);
    substitute(s, nc, 1, y);
    memcpy(x, y, (size_t)n * sizeof *x);
    for (int j = 0; j < nc; j++) {
        for (int i = j; i < n; i++)
            column[i] = i < nc ? s->w[i + (int64_t)j * nc] : s->m[i + (int64_t)j * n];
        x[j] = sum_of(n - j, column + j, 1, y + j, order, 0);
    }
    free(y);
    free(column);
}

static void report(int nc, int n, double growth, int even) {
    linear_system s = make_system(nc, n, growth, even);
    double worst[ORDERS] = {0}, most = 0;
    double *b = allocate((size_t)n, 8), *x = allocate((size_t)n, 8);
    long double *smooth = allocate((size_t)n, sizeof *smooth);
    for (int c = 0; c < COLUMNS; c++) {
        uint64_t seed = 5 + (uint64_t)c;
        for (int i = 0; i < n; i++)
            b[i] = x[i] = c % 2 == 0 ? 1 + 4.0 * c * i / n : random_number(&seed);
        if (c % 2 == 0) {
            multiply(&s, s.l, x, smooth);
            for (int i = 0; i < n; i++)
                b[i] = (double)smooth[i];
        }
        memcpy(x, b, (size_t)n * sizeof *x);
        substitute(&s, 0, 0, x);
        substitute(&s, 0, 1, x);
        const double best = fmax(backward_error(&s, x, b), DBL_EPSILON / 2);
        most = fmax(most, best);
        for (int k = 0; k < ORDERS; k++) {
            solve(&s, orders[k], b, x);
            const double ratio = backward_error(&s, x, b) / best;
            worst[k] = ratio > worst[k] || isnan(ratio) ? ratio : worst[k];
        }
    }
    printf("%5d %5d %6g %5.0f %9.1e", nc, n, growth, condition(&s), most);
    for (int k = 0; k < ORDERS; k++)
        printf(" %7.2f", worst[k]);
    printf("\n");
    fflush(stdout);
    free(s.l);
    free(s.w);
    free(s.m);
    free(b);
    free(x);
    free(smooth);
}

int main(void) {
    static const int sizes[][2] = {{64, 200}, {100, 180}, {160, 320}, {250, 260}, {400, 500}};
    static const double growths[] = {2, 10, 20, 30, 40, 60, 75};
    printf("   nc     n growth     k    subst. 16 ch's  4 of 16 runs 16 runs 32 runs 64 r's 128 1 chain\n");
    for (size_t g = 0; g < sizeof growths / sizeof *growths; g++)
        for (size_t k = 0; k < sizeof sizes / sizeof *sizes; k++)
            for (int even = 1; even >= 0; even--)
                report(sizes[k][0], sizes[k][1], growths[g], even);
    return 0;
}
