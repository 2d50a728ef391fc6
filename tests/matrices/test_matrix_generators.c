/* The generators: structure, sizes, fixed fingerprints, positive definiteness (dense Cholesky), and what each
 * matrix must do: known eigenvectors of the grids, rigid motions and uniform strain of the elements. */
#include "check.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

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
    {"grid2d:5,3", 15, 15 + 4 * 3 + 5 * 2, UINT64_C(0x722b10e4b90b79f0)},
    {"grid2d:3,5", 15, 15 + 4 * 3 + 5 * 2, UINT64_C(0x6d8bb2aa25a6f022)},
    {"grid3d:5,5,5", 125, 125 + 3 * 100, UINT64_C(0x515387f4dcbc5d1e)},
    {"grid3d:4,3,2", 24, 24 + 3 * 6 + 8 * 2 + 12, UINT64_C(0xbfee36d728019cb2)},
    {"grid3d27:2,1,3", 6, 6 + 3 + 4 + 4, UINT64_C(0x51f9a33d14479a75)},
    {"trigrid2d:4,3", 12, 12 + 3 * 3 + 4 * 2 + 3 * 2, UINT64_C(0xf794fc8949f28ad3)},
    {"tetgrid3d:1", 1, 1, UINT64_C(0x0d39599c0944bc19)},
    {"tetgrid3d:3,4,2", 24, 24 + 2 * 8 + 3 * 6 + 12 + 2 * 6 + 2 * 4 + 3 * 3 + 2 * 3,
     UINT64_C(0x0ead82d51f3419db)},
    {"elasticity3d:4,4,4", 192, 64 * 6 + 9 * (3 * 48 + 6 * 36 + 4 * 27), UINT64_C(0xeb0ea28bc22841b2)},
    {"elasticity3d:7,2,3", 126, -1, UINT64_C(0xd423cff74198ad10)},
    {"tetelasticity3d:2", 24, 8 * 6 + 9 * 19, UINT64_C(0xe6c510471364d994)},
    {"tetelasticity3d:5,3,2", 90, 30 * 6 + 9 * (24 + 20 + 15 + 16 + 12 + 10 + 8),
     UINT64_C(0x7fa303a33d52ad55)},
    {"rgg2d:150,12", 150, -1, UINT64_C(0x44ae6a304192f6b7)},
    {"rgg2d:150,5", 150, -1, UINT64_C(0xbf5748b19127b48a)},
    {"rgg2d:40,0", 40, 40, UINT64_C(0x9032c25c6d1eec98)},
    {"rgg3d:1", 1, 1, UINT64_C(0x4af558df60a4bd5a)},
    {"rgg3d:200", 200, -1, UINT64_C(0xefffda406b94435c)},
    {"rgg3d:120,40", 120, -1, UINT64_C(0x2a696fed189ba60d)},
    {"rgg3d:40,0", 40, 40, UINT64_C(0x9032c25c6d1eec98)},
    {"rgg3d:20,100", 20, -1, UINT64_C(0x4297f3461d597405)},
    {"randomgraph:1,3", 1, 1, UINT64_C(0x4af558df60a4bd5a)},
    {"randomgraph:150,3", 150, -1, UINT64_C(0x5b1bc490e01ed41a)},
    {"randomgraph:30,0", 30, 30, UINT64_C(0xd8c8499a324751c5)},
    {"powerlaw:1,1", 1, 1, UINT64_C(0x4af558df60a4bd5a)},
    {"powerlaw:2,3", 2, 3, UINT64_C(0x13f1e71009126e41)},
    {"powerlaw:200,1", 200, 399, UINT64_C(0xf773f434f5375d38)},
    {"powerlaw:200,3", 200, -1, UINT64_C(0x9f646fde9602804f)},
    {"contrast:0:grid2d:6", 36, 36 + 2 * 30, UINT64_C(0x23812de9ee07dd69)},
    {"contrast:2:grid3d:4,3,2", 24, 24 + 3 * 6 + 8 * 2 + 12, UINT64_C(0x677008472a687588)},
    {"contrast:1:arrow:60,4,3", 60, 57 * 5 - 10 + 57 * 3 + 6, UINT64_C(0xbe8f7a66bbe0a097)},
    {"contrast:1:diag:0", 0, 0, UINT64_C(0xad30987e57c12087)},
    {"contrast:2:diag:9", 9, 9, UINT64_C(0xbe42831d6d2d23be)},
    {"sequence:0:grid2d:6", 36, 36 + 2 * 30, UINT64_C(0x1d08c4564b7784e2)},
    {"sequence:7:rgg3d:100", 100, -1, UINT64_C(0x4ad1642b3a0666f4)},
    {"contrast:2:grid2d:6@c", 36, 36 + 2 * 30, UINT64_C(0xdfae32abd1a1f9a7)},
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
 * last face. */
static double elastic_residual(const gsm_matrix *a, const int sides[3], const double g[9], bool inner,
                               double *force_x) {
    double *u = calloc((size_t)a->n, sizeof *u), *f = calloc((size_t)a->n, sizeof *f), worst = NAN;
    *force_x = 0.0;
    if (u != NULL && f != NULL) {
        worst = 0.0;
        for (int64_t i = 0; i < a->n; i++) {
            int64_t node = i / 3, d = i % 3;
            double x[3] = {(double)(node % sides[0]), (double)(node / sides[0] % sides[1]),
                           (double)(node / sides[0] / sides[1])};
            u[i] = g[3 * d] * x[0] + g[3 * d + 1] * x[1] + g[3 * d + 2] * x[2] + 0.5 * (double)d;
        }
        multiply(a, u, f);
        for (int64_t i = 0; i < a->n; i++) {
            int64_t node = i / 3;
            int64_t x[3] = {node % sides[0], node / sides[0] % sides[1], node / sides[0] / sides[1]};
            bool skip = x[0] == 0;
            for (int k = 0; k < 3; k++) {
                skip = skip || (inner && (x[k] == 0 || x[k] == sides[k] - 1));
            }
            worst = skip ? worst : fmax(worst, fabs(f[i]));
            *force_x += x[0] == sides[0] - 1 && i % 3 == 0 ? f[i] : 0.0;
        }
    }
    free(u);
    free(f);
    return worst;
}

static void test_elasticity(const char *spec, int width, int height, int depth) {
    const int sides[3] = {width, height, depth};
    gsm_matrix a;
    if (!load(spec, &a)) {
        return;
    }
    CHECK(a.n == 3 * (int64_t)width * height * depth, "%s: n %" PRId64, spec, a.n);
    static const double turn[9] = {0, -1, 2, 1, 0, -3, -2, 3, 0}, stretch[9] = {1, 2, 3, 4, 5, 6, 7, 8, 9};
    static const double bar[9] = {1, 0, 0, 0, -0.3, 0, 0, 0, -0.3};
    double force = 0.0, residual = elastic_residual(&a, sides, turn, false, &force);
    CHECK(residual < 1e-10, "%s: rigid motion: %g", spec, residual);
    residual = elastic_residual(&a, sides, stretch, true, &force);
    CHECK(residual < 1e-10, "%s: uniform strain, inner nodes: %g", spec, residual);
    residual = elastic_residual(&a, sides, stretch, false, &force);
    CHECK(residual > 1.0, "%s: uniform strain needs forces on the faces: %g", spec, residual);
    (void)elastic_residual(&a, sides, bar, false, &force);
    CHECK(fabs(force - (height - 1) * (depth - 1)) < 1e-10,
          "%s: a bar of unit strain and modulus pulls with its section, not %g", spec, force);
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

static void test_refused(void) {
    static const char *const specs[] = {"grid2d:",
                                        "grid2d:0",
                                        "grid2d:-1",
                                        "grid2d:3x",
                                        "grid2d:3,4,5",
                                        "grid2d:3,",
                                        "grid2d:3,0",
                                        "grid3d:3,4",
                                        "grid3d:3,4,",
                                        "grid3d:3,4,5,6",
                                        "grid3d:2000,2000,1000",
                                        "tetelasticity3d:5,1,5",
                                        "rgg3d:5,6,7",
                                        "randomgraph:5",
                                        "powerlaw:5,0",
                                        "contrast:",
                                        "contrast:4",
                                        "contrast:8:grid2d:4",
                                        "contrast:-1:grid2d:4",
                                        "contrast:x:grid2d:4",
                                        "contrast:4:",
                                        "contrast:4:bcsstk18",
                                        "contrast:4:contrast:4:grid2d:4",
                                        "contrast:4:elasticity3d:4",
                                        "contrast:4:shell:4",
                                        "sequence:30:grid2d:4",
                                        "sequence:3:grid2d:4,x",
                                        "sequence:3:tetelasticity3d:4",
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

/* Every kind that the list names exists, with as many numbers as it says. */
static void test_list(void) {
    static const char *const numbers[] = {"4", "4,3", "4,3,2"};
    const char *line = gsm_generators();
    int kinds = 0;
    while (*line != '\0') {
        const size_t length = strcspn(line, ":");
        const bool is_prefix = strncmp(line, "contrast", 8) == 0 || strncmp(line, "sequence", 8) == 0;
        if (line[0] >= 'a' && line[0] <= 'z' && !is_prefix) {
            int commas = 0;
            for (const char *at = line + length; *at != ' '; at++) {
                commas += *at == ',';
            }
            char spec[64];
            (void)snprintf(spec, sizeof spec, "%.*s:%s", (int)length, line, numbers[commas]);
            gsm_matrix a;
            if (load(spec, &a)) {
                kinds++;
                gsm_free(&a);
            }
        }
        line += strcspn(line, "\n");
        line += *line == '\n';
    }
    CHECK(kinds == 17, "%d", kinds);
}

int main(void) {
    test_table();
    test_hermitian();
    check_grid("grid2d:9", 9, 2, five);
    check_grid("grid2d9:9", 9, 2, nine);
    check_grid("grid3d:7", 7, 3, seven);
    check_grid("grid3d27:7", 7, 3, twenty_seven);
    test_elasticity("elasticity3d:6", 6, 6, 6);
    test_elasticity("elasticity3d:9,5,4", 9, 5, 4);
    test_elasticity("tetelasticity3d:6", 6, 6, 6);
    test_elasticity("tetelasticity3d:9,5,4", 9, 5, 4);
    test_shell();
    test_refused();
    test_list();
    return report("test_matrix_generators");
}
