/* A program with a factor in single precision, by the stand-in for CHOLMOD 5. */
#include "cholmod5.h"

#include <complex.h>
#include <math.h>
#include <stdio.h>
#include <string.h>

enum { N = 40, COLUMNS = 3, SOLVES = 60 };

static float complex l[N][N]; /* l[j]: column j */

/* The numbers of L as the factor has them, times `scale`; b = L L^H x for the x of ones and column numbers. */
static void fill(float *numbers, float *b, int is_complex, float scale) {
    float complex half[COLUMNS][N] = {{0}};
    const int parts = is_complex ? 2 : 1;
    for (int j = 0; j < N; j++)
        for (int i = 0; i < N; i++) {
            const float re = i == j  ? 2.0F
                             : i > j ? 0.02F * (float)((i * 7 + j) % 5)
                                     : NAN; /* above: never read */
            const float im = is_complex && i > j ? 0.01F * (float)((i + j) % 3) : 0;
            l[j][i] = i >= j ? scale * (re + im * I) : 0;
            numbers[parts * (i + j * N)] = scale * re;
            if (is_complex)
                numbers[parts * (i + j * N) + 1] = scale * im;
        }
    for (int c = 0; c < COLUMNS; c++) {
        for (int j = 0; j < N; j++)
            for (int i = j; i < N; i++)
                half[c][j] += conjf(l[j][i]) * (float)(c + 1);
        for (int i = 0; i < N; i++) {
            float complex sum = 0;
            for (int j = 0; j <= i; j++)
                sum += l[j][i] * half[c][j];
            b[parts * (i + c * N)] = crealf(sum);
            if (is_complex)
                b[parts * (i + c * N) + 1] = cimagf(sum);
        }
    }
}

static int check(int is_complex) {
    static float numbers[2 * N * N], b[2 * N * COLUMNS];
    int super[] = {0, N}, pi[] = {0, N}, px[] = {0, N * N}, rows[N], perm[N], wrong = 0;
    const int xtype = is_complex ? PRELOAD_COMPLEX : PRELOAD_REAL;
    preload_common common;
    cholmod_start(&common);
    for (int i = 0; i < N; i++)
        rows[i] = perm[i] = i;
    preload_factor factor = {.n = N,
                             .minor = N,
                             .Perm = perm,
                             .nsuper = 1,
                             .ssize = N,
                             .xsize = N * N,
                             .super = super,
                             .pi = pi,
                             .px = px,
                             .s = rows,
                             .x = numbers,
                             .is_ll = 1,
                             .is_super = 1,
                             .itype = PRELOAD_INT,
                             .xtype = xtype,
                             .dtype = PRELOAD_SINGLE};
    preload_dense right = {.nrow = N,
                           .ncol = COLUMNS,
                           .nzmax = N * COLUMNS,
                           .d = N,
                           .x = b,
                           .xtype = xtype,
                           .dtype = PRELOAD_SINGLE};
    for (int k = 0; k < SOLVES; k++) {
        if (k % 20 == 0) { /* other numbers, twice said and once not */
            fill(numbers, b, is_complex, 1 + (float)k / 20);
            if (k != 20)
                cholmod_pack_factor(&factor, &common);
        }
        preload_dense *x = cholmod_solve(0, &factor, &right, &common);
        wrong += !x || common.status != 0 || x->xtype != xtype || x->dtype != PRELOAD_SINGLE;
        for (int i = 0; x && i < N * COLUMNS; i++) {
            const float *part = x->x, re = part[is_complex ? 2 * i : i],
                        im = is_complex ? part[2 * i + 1] : 0;
            wrong += !(fabsf(re - (float)(i / N + 1)) < 1e-4F && fabsf(im) < 1e-4F);
        }
        cholmod_free_dense(&x, &common);
    }
    return wrong + (common.blocks != 0);
}

int main(void) {
    const int wrong = check(0) + check(1);
    printf("%d wrong\n", wrong);
    return wrong != 0;
}
