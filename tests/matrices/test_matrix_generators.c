/* The generators: structure, sizes, fixed fingerprints, positive definiteness (dense Cholesky), and what each
 * matrix must do: known eigenvectors of the grids, rigid motions and uniform strain of the elements, row sums
 * and degrees of the graphs. */
#include "check.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

static bool load(const char *spec, gsm_matrix *a) {
    char message[300];
    int status = gsm_load(spec, a, message, sizeof message);
    CHECK(status == GSM_SUCCESS && message[0] == '\0', "%s: %s", spec, message);
    return status == GSM_SUCCESS;
}

/* y = A x for a real A. */
static void multiply(const gsm_matrix *a, const double *x, double *y) {
    memset(y, 0, (size_t)a->n * sizeof *y);
    for (int64_t j = 0; j < a->n; j++) {
        for (int64_t p = a->colptr[j]; p < a->colptr[j + 1]; p++) {
            int64_t i = a->rowidx[p];
            y[i] += a->values[p] * x[j];
            if (i != j) {
                y[j] += a->values[p] * x[i];
            }
        }
    }
}

/* Dense Cholesky; the smallest pivot over the largest diagonal entry, or a NaN or negative number where A is
 * not positive definite. log_det [out]: the logarithm of the determinant. */
static double smallest_pivot(const gsm_matrix *a, double *log_det) {
    size_t n = (size_t)a->n;
    double *re = calloc(n * n, sizeof *re), *im = calloc(n * n, sizeof *im);
    double least = INFINITY, most = 0.0;
    *log_det = 0.0;
    if (re == NULL || im == NULL) {
        free(re);
        free(im);
        return NAN;
    }
    for (size_t j = 0; j < n; j++) {
        for (int64_t p = a->colptr[j]; p < a->colptr[j + 1]; p++) {
            size_t at = (size_t)a->rowidx[p] + n * j;
            re[at] = a->is_complex ? a->values[2 * p] : a->values[p];
            im[at] = a->is_complex ? a->values[2 * p + 1] : 0.0;
        }
        most = fmax(most, re[j + n * j]);
    }
    for (size_t k = 0; k < n; k++) { /* l(i,j) -= l(i,k) conj(l(j,k)) */
        double pivot = re[k + n * k];
        if (!(pivot > 0.0)) {
            least = pivot;
            break;
        }
        least = fmin(least, pivot);
        *log_det += log(pivot);
        for (size_t j = k + 1; j < n; j++) {
            double cr = re[j + n * k] / pivot, ci = -im[j + n * k] / pivot;
            for (size_t i = j; i < n && (cr != 0.0 || ci != 0.0); i++) {
                re[i + n * j] -= re[i + n * k] * cr - im[i + n * k] * ci;
                im[i + n * j] -= re[i + n * k] * ci + im[i + n * k] * cr;
            }
        }
    }
    free(re);
    free(im);
    return least / most;
}

static bool has_diagonal(const gsm_matrix *a) {
    for (int64_t j = 0; j < a->n; j++) {
        if (a->colptr[j] == a->colptr[j + 1] || a->rowidx[a->colptr[j]] != j) {
            return false;
        }
    }
    return true;
}

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

typedef struct expected {
    const char *spec;
    int64_t n, nnz;
    uint64_t fingerprint;
} expected;

static const expected table[] = {
    {"grid2d:1", 1, 1, UINT64_C(0x7775591614a4bc93)},
    {"grid2d:7", 49, 49 + 2 * 42, UINT64_C(0x04dc6e1d52c79a7d)},
    {"grid2d9:7", 49, 49 + 2 * 42 + 2 * 36, UINT64_C(0xfbccbdcdc1d60f92)},
    {"grid3d:5", 125, 125 + 3 * 100, UINT64_C(0x515387f4dcbc5d1e)},
    {"grid3d27:5", 125, 125 + 3 * 100 + 6 * 80 + 4 * 64, UINT64_C(0x233d9239b6962603)},
    {"elasticity3d:2", 24, 24 * 25 / 2, UINT64_C(0xf2acff3ab8d91232)},
    {"elasticity3d:4", 192, 64 * 6 + 9 * (3 * 48 + 6 * 36 + 4 * 27), UINT64_C(0xeb0ea28bc22841b2)},
    {"shell:1", 6, 21, UINT64_C(0x9b9e8db63d699695)},
    {"shell:5", 150, 25 * 21 + 36 * (2 * 20 + 2 * 16), UINT64_C(0x36bb5a4a1b3a6985)},
    {"rgg2d:1", 1, 1, UINT64_C(0x4af558df60a4bd5a)},
    {"rgg2d:150", 150, -1, UINT64_C(0x44ae6a304192f6b7)},
    {"arrow:60,4,3", 60, 57 * 5 - 10 + 57 * 3 + 6, UINT64_C(0x9a47775c2c701408)},
    {"arrow:5,0,0", 5, 5, UINT64_C(0xf7ab512ca01e8624)},
    {"arrow:9,100,100", 9, 45, UINT64_C(0x1be496fd7f4c36b6)},
    {"diag:0", 0, 0, UINT64_C(0xad30987e57c12087)},
    {"diag:9", 9, 9, UINT64_C(0x0e1048cdb660f779)},
    {"tridiag:1", 1, 1, UINT64_C(0x5a0558f5c8e4bd70)},
    {"tridiag:30", 30, 59, UINT64_C(0xdcb1a5515b323ea0)},
    {"forest:1", 1, 1, UINT64_C(0x1a555986da64bc03)},
    {"forest:120", 120, -1, UINT64_C(0xacd479c10de2d2d0)},
    {"grid2d:7@c", 49, 49 + 2 * 42, UINT64_C(0x92866f03aa0ab325)},
    {"elasticity3d:3@c", 81, -1, UINT64_C(0x7b9230f883a43576)},
    {"shell:4@c", 96, -1, UINT64_C(0x9bf51708671952ee)},
    {"rgg2d:150@c", 150, -1, UINT64_C(0xe6164af02c945c4a)},
};

static void test_table(void) {
    for (size_t t = 0; t < sizeof table / sizeof table[0]; t++) {
        const expected *e = &table[t];
        gsm_matrix a;
        if (!load(e->spec, &a)) {
            continue;
        }
        CHECK(structure_is_valid(&a) && has_diagonal(&a), "%s", e->spec);
        CHECK(a.n == e->n && (e->nnz < 0 || a.nnz == e->nnz), "%s: n %" PRId64 ", nnz %" PRId64, e->spec, a.n,
              a.nnz);
        CHECK(strcmp(a.name, e->spec) == 0 && a.is_complex == (strchr(e->spec, '@') != NULL), "%s: %s",
              e->spec, a.name);
        CHECK(gsm_fingerprint(&a) == e->fingerprint, "%s: 0x%016" PRIx64, e->spec, gsm_fingerprint(&a));
        double log_det = 0.0, pivot = a.n > 0 ? smallest_pivot(&a, &log_det) : 1.0;
        CHECK(pivot > 1e-6, "%s: smallest pivot %g", e->spec, pivot);
        gsm_free(&a);
    }
}

/* D A conj(D) has the determinant of A, its moduli, and is truly complex. */
static void test_hermitian(void) {
    static const char *const specs[][2] = {
        {"grid2d:9", "grid2d:9@c"}, {"rgg2d:200", "rgg2d:200@c"}, {"shell:4", "shell:4@c"}};
    for (size_t s = 0; s < 3; s++) {
        gsm_matrix a, c;
        if (!load(specs[s][0], &a) || !load(specs[s][1], &c)) {
            continue;
        }
        double of_a = 0.0, of_c = 0.0;
        (void)smallest_pivot(&a, &of_a);
        (void)smallest_pivot(&c, &of_c);
        CHECK(fabs(of_a - of_c) < 1e-10 * fabs(of_a), "%s: log det %.17g and %.17g", specs[s][1], of_a, of_c);
        bool same = a.nnz == c.nnz && memcmp(a.rowidx, c.rowidx, (size_t)a.nnz * sizeof *a.rowidx) == 0;
        int64_t imaginary = 0;
        for (int64_t p = 0; same && p < a.nnz; p++) {
            double modulus = hypot(c.values[2 * p], c.values[2 * p + 1]);
            same = fabs(modulus - fabs(a.values[p])) <= 1e-15 * modulus;
            imaginary += c.values[2 * p + 1] != 0.0;
        }
        CHECK(same && imaginary > a.nnz / 4, "%s: %" PRId64 " imaginary parts", specs[s][1], imaginary);
        gsm_free(&a);
        gsm_free(&c);
    }
}

/* u = sin(k pi x / (N + 1)) times the like in y and z is an eigenvector; lambda [in] its eigenvalue from the
 * cosines. */
static void check_grid(const char *spec, int side, int dimensions, double (*lambda)(double, double, double)) {
    const double pi = 3.14159265358979312;
    gsm_matrix a;
    if (!load(spec, &a)) {
        return;
    }
    int64_t n = a.n;
    double *u = calloc((size_t)n, sizeof *u), *au = calloc((size_t)n, sizeof *au), worst = 0.0;
    double cx = cos(pi / (side + 1)), cy = cos(2 * pi / (side + 1)), cz = cos(3 * pi / (side + 1));
    for (int64_t i = 0; u != NULL && i < n; i++) {
        int64_t x = i % side, y = i / side % side, z = i / side / side;
        u[i] = sin(pi * (double)(x + 1) / (side + 1)) * sin(2 * pi * (double)(y + 1) / (side + 1)) *
               (dimensions == 3 ? sin(3 * pi * (double)(z + 1) / (side + 1)) : 1.0);
    }
    CHECK(u != NULL && au != NULL, "%s: out of memory", spec);
    if (u != NULL && au != NULL) {
        multiply(&a, u, au);
        for (int64_t i = 0; i < n; i++) {
            worst = fmax(worst, fabs(au[i] - lambda(cx, cy, cz) * u[i]));
        }
        CHECK(worst < 1e-13, "%s: residual %g", spec, worst);
        CHECK(au[0] == au[0], "%s: NaN", spec);
    }
    free(u);
    free(au);
    gsm_free(&a);
}

static double five(double x, double y, double z) {
    (void)z;
    return 4 - 2 * x - 2 * y;
}
static double nine(double x, double y, double z) {
    (void)z;
    return 20 - 8 * x - 8 * y - 4 * x * y;
}
static double seven(double x, double y, double z) {
    return 6 - 2 * x - 2 * y - 2 * z;
}
static double twenty_seven(double x, double y, double z) {
    return 27 - (1 + 2 * x) * (1 + 2 * y) * (1 + 2 * z);
}

/* A u for the displacement u = G x + w, in units of the largest |entry of u|, over the nodes that neither
 * touch the clamped plane nor, if inner is set, a free face. force_x [out]: the sum of forces in x on the
 * face x = N - 1. */
static double elastic_residual(const gsm_matrix *a, int side, const double g[9], bool inner,
                               double *force_x) {
    double *u = calloc((size_t)a->n, sizeof *u), *f = calloc((size_t)a->n, sizeof *f), worst = NAN;
    *force_x = 0.0;
    if (u != NULL && f != NULL) {
        worst = 0.0;
        for (int64_t i = 0; i < a->n; i++) {
            int64_t node = i / 3, d = i % 3;
            double x[3] = {(double)(node % side), (double)(node / side % side), (double)(node / side / side)};
            u[i] = g[3 * d] * x[0] + g[3 * d + 1] * x[1] + g[3 * d + 2] * x[2] + 0.5 * (double)d;
        }
        multiply(a, u, f);
        for (int64_t i = 0; i < a->n; i++) {
            int64_t node = i / 3, x[3] = {node % side, node / side % side, node / side / side};
            bool skip = x[0] == 0;
            for (int k = 0; k < 3; k++) {
                skip = skip || (inner && (x[k] == 0 || x[k] == side - 1));
            }
            worst = skip ? worst : fmax(worst, fabs(f[i]));
            *force_x += x[0] == side - 1 && i % 3 == 0 ? f[i] : 0.0;
        }
    }
    free(u);
    free(f);
    return worst;
}

static void test_elasticity(void) {
    enum { SIDE = 6 };
    gsm_matrix a;
    if (!load("elasticity3d:6", &a)) {
        return;
    }
    static const double turn[9] = {0, -1, 2, 1, 0, -3, -2, 3, 0}, stretch[9] = {1, 2, 3, 4, 5, 6, 7, 8, 9};
    static const double bar[9] = {1, 0, 0, 0, -0.3, 0, 0, 0, -0.3};
    double force = 0.0, residual = elastic_residual(&a, SIDE, turn, false, &force);
    CHECK(residual < 1e-10, "rigid motion: %g", residual);
    residual = elastic_residual(&a, SIDE, stretch, true, &force);
    CHECK(residual < 1e-10, "uniform strain, inner nodes: %g", residual);
    residual = elastic_residual(&a, SIDE, stretch, false, &force);
    CHECK(residual > 1.0, "uniform strain needs forces on the faces: %g", residual);
    (void)elastic_residual(&a, SIDE, bar, false, &force);
    CHECK(fabs(force - (SIDE - 1) * (SIDE - 1)) < 1e-10,
          "a bar of unit strain and modulus pulls with its section, not %g", force);
    gsm_free(&a);
}

/* A rigid motion of the roof, translation and rotation, needs no force at nodes away from the clamped ring.
 */
static void test_shell(void) {
    enum { SIDE = 12 };
    gsm_matrix a;
    if (!load("shell:12", &a)) {
        return;
    }
    double at[SIDE][2] = {{0}}; /* x and z of the nodes of one arch */
    for (int i = 1; i < SIDE; i++) {
        double t = (2.0 * i - SIDE) / (4.0 * SIDE); /* facet i joins the nodes i - 1 and i */
        at[i][0] = at[i - 1][0] + (1 - t * t) / (1 + t * t);
        at[i][1] = at[i - 1][1] - 2 * t / (1 + t * t);
    }
    CHECK(a.n == 6 * SIDE * SIDE, "%" PRId64, a.n);
    static double u[6 * SIDE * SIDE], f[6 * SIDE * SIDE];
    for (int motion = 0; motion < 7;
         motion++) { /* three translations, three rotations, and a bending that does need forces */
        for (int node = 0; node < SIDE * SIDE; node++) {
            double x[3] = {at[node % SIDE][0], (double)(node / SIDE), at[node % SIDE][1]};
            double *v = u + 6 * node, w[3] = {motion == 3, motion == 4, motion == 5};
            for (int d = 0; d < 3; d++) {
                v[d] = (motion == d) + w[(d + 1) % 3] * x[(d + 2) % 3] - w[(d + 2) % 3] * x[(d + 1) % 3];
                v[d + 3] = w[d];
            }
            v[2] += motion == 6 ? x[1] * x[1] * x[1] : 0.0;
        }
        multiply(&a, u, f);
        double worst = 0.0;
        for (int node = 0; node < SIDE * SIDE; node++) {
            int x = node % SIDE, y = node / SIDE;
            for (int d = 0; d < 6 && x > 0 && x < SIDE - 1 && y > 0 && y < SIDE - 1; d++) {
                worst = fmax(worst, fabs(f[6 * node + d]));
            }
        }
        CHECK(motion == 6 ? worst > 0.1 : worst < 1e-10, "motion %d: %g", motion, worst);
    }
    gsm_free(&a);
}

static void test_graphs(void) {
    gsm_matrix a;
    if (load("rgg2d:20000", &a)) {
        double *ones = calloc((size_t)a.n, sizeof *ones), *sums = calloc((size_t)a.n, sizeof *sums),
               worst = 0.0;
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
        CHECK(worst == 0.0, "row sums differ from 1/64 by %g", worst);
        CHECK(degree > 11.6 && degree < 12.1, "mean degree %g",
              degree); /* 12, less what the border cuts off */
        CHECK(dominance(&a) == 1.0 / 64.0, "dominance %g", dominance(&a));
        free(ones);
        free(sums);
        gsm_free(&a);
    }
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

static void test_refused(void) {
    static const char *const specs[] = {"grid2d:",
                                        "grid2d:0",
                                        "grid2d:-1",
                                        "grid2d:3x",
                                        "grid2d:3,4",
                                        "grid2d: 3",
                                        "grid2d:3@",
                                        "grid2d:3@cc",
                                        "grid2d:3@c@c",
                                        "grid2d:46341",
                                        "grid3d:1291",
                                        "grid2d:4294967296",
                                        "grid2d:99999999999999999999999",
                                        "elasticity3d:1",
                                        "elasticity3d:895",
                                        "shell:0",
                                        "shell:18919",
                                        "rgg2d:0",
                                        "rgg2d:2147483648",
                                        "arrow:5",
                                        "arrow:5,1",
                                        "arrow:5,1,",
                                        "arrow:5,1,1,1",
                                        "arrow:,1,1",
                                        "arrow:0,1,1",
                                        "arrow:5,2147483648,1",
                                        "diag:",
                                        "forest:0"};
    for (size_t s = 0; s < sizeof specs / sizeof specs[0]; s++) {
        gsm_matrix a;
        char message[300];
        int status = gsm_load(specs[s], &a, message, sizeof message);
        CHECK(status == GSM_INVALID_ARGUMENT, "%s: %s", specs[s], gsm_status_name(status));
        CHECK(strstr(message, specs[s]) != NULL && a.colptr == NULL, "%s: %s", specs[s], message);
        gsm_free(&a);
    }
}

/* Every kind that the list names exists. */
static void test_list(void) {
    const char *line = gsm_generators();
    int kinds = 0;
    while (*line != '\0') {
        size_t length = strcspn(line, ":");
        char spec[64];
        (void)snprintf(spec, sizeof spec, "%.*s:4,2,1", (int)length, line);
        if (strncmp(spec, "arrow", 5) != 0) {
            spec[length + 2] = '\0';
        }
        gsm_matrix a;
        if (strncmp(line, "KIND", 4) != 0 && load(spec, &a)) {
            kinds++;
            gsm_free(&a);
        }
        line += strcspn(line, "\n");
        line += *line == '\n';
    }
    CHECK(kinds == 11, "%d", kinds);
}

int main(void) {
    test_table();
    test_hermitian();
    check_grid("grid2d:9", 9, 2, five);
    check_grid("grid2d9:9", 9, 2, nine);
    check_grid("grid3d:7", 7, 3, seven);
    check_grid("grid3d27:7", 7, 3, twenty_seven);
    test_elasticity();
    test_shell();
    test_graphs();
    test_refused();
    test_list();
    return report("test_matrix_generators");
}
