/* From a generator's spec KIND:NUMBER,...[@c] to its matrix: the table of kinds, the column builder that they
 * share, and the complex Hermitian variant. */
#include "internal.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

enum { MOST_ARGUMENTS = 3 };

typedef struct generator {
    const char *name;
    int arguments;
    int64_t least[MOST_ARGUMENTS]; /* smallest value of each argument */
    int power, scale;              /* the order is scale * argument[0]^power */
    int (*build)(const int64_t *argument, gsm_matrix *matrix, gsm_report *report);
} generator;

static const generator generators[] = {
    {"grid2d", 1, {1, 0, 0}, 2, 1, gsm_build_grid2d},
    {"grid2d9", 1, {1, 0, 0}, 2, 1, gsm_build_grid2d9},
    {"grid3d", 1, {1, 0, 0}, 3, 1, gsm_build_grid3d},
    {"grid3d27", 1, {1, 0, 0}, 3, 1, gsm_build_grid3d27},
    {"elasticity3d", 1, {2, 0, 0}, 3, 3, gsm_build_elasticity3d},
    {"shell", 1, {1, 0, 0}, 2, 6, gsm_build_shell},
    {"rgg2d", 1, {1, 0, 0}, 1, 1, gsm_build_rgg2d},
    {"arrow", 3, {1, 0, 0}, 1, 1, gsm_build_arrow},
    {"diag", 1, {0, 0, 0}, 1, 1, gsm_build_diag},
    {"tridiag", 1, {1, 0, 0}, 1, 1, gsm_build_tridiag},
    {"forest", 1, {1, 0, 0}, 1, 1, gsm_build_forest},
};

const char *gsm_generators(void) {
    return "grid2d:N            5-point Laplacian on N x N nodes, Dirichlet boundary; n = N^2\n"
           "grid2d9:N           9-point (Mehrstellen) Laplacian on N x N nodes, Dirichlet boundary; n = N^2\n"
           "grid3d:N            7-point Laplacian on N^3 nodes, Dirichlet boundary; n = N^3\n"
           "grid3d27:N          27-point Laplacian on N^3 nodes, Dirichlet boundary; n = N^3\n"
           "elasticity3d:N      linear elasticity, trilinear hexahedra on N^3 nodes, clamped at one face; n "
           "= 3 N^3\n"
           "shell:N             cylindrical roof of 4-node shell elements on N x N nodes, clamped edges; n = "
           "6 N^2\n"
           "rgg2d:N             Laplacian of a random geometric graph of N points, mean degree 12, plus "
           "1/64 I; n = N\n"
           "arrow:N,B,W         full band |i - j| <= B and W full last rows and columns, diagonally "
           "dominant; n = N\n"
           "diag:N              diagonal; n = N, also 0\n"
           "tridiag:N           1D Laplacian, Dirichlet boundary; n = N\n"
           "forest:N            many small trees, each a weighted graph Laplacian plus I; n = N\n"
           "KIND:...@c          complex Hermitian: D A conj(D), D diagonal with entries of modulus 1\n";
}

/* The kind whose name stands before the colon, or NULL. */
static const generator *find_generator(const char *spec) {
    size_t length = strcspn(spec, ":");
    for (size_t g = 0; spec[length] == ':' && g < sizeof generators / sizeof generators[0]; g++) {
        if (strlen(generators[g].name) == length && strncmp(generators[g].name, spec, length) == 0) {
            return &generators[g];
        }
    }
    return NULL;
}

bool gsm_is_generator(const char *spec) {
    return find_generator(spec) != NULL;
}

/* Reads NUMBER,NUMBER,...[@c] into argument [out], is_complex [out]. */
static int read_arguments(const char *spec, const generator *kind, int64_t *argument, bool *is_complex,
                          gsm_report *report) {
    const char *text = strchr(spec, ':') + 1;
    for (int a = 0; a < kind->arguments; a++) {
        int64_t value = 0;
        const char *digits = text;
        for (; *text >= '0' && *text <= '9' && value <= INT32_MAX; text++) {
            value = 10 * value + (*text - '0');
        }
        bool last = a + 1 == kind->arguments;
        if (text == digits || value > INT32_MAX || value < kind->least[a] || (!last && *text != ',')) {
            return gsm_fail(report, GSM_INVALID_ARGUMENT,
                            "'%s': %s takes %d number%s separated by commas; number %d must be %" PRId64
                            " .. %d",
                            spec, kind->name, kind->arguments, kind->arguments == 1 ? "" : "s", a + 1,
                            kind->least[a], (int)INT32_MAX);
        }
        text += !last;
        argument[a] = value;
    }
    *is_complex = strcmp(text, "@c") == 0;
    if (*text != '\0' && !*is_complex) {
        return gsm_fail(report, GSM_INVALID_ARGUMENT,
                        "'%s': '%s' after the arguments is neither nothing nor '@c'", spec, text);
    }
    return GSM_SUCCESS;
}

/* A := D A conj(D) for a diagonal D of entries on the unit circle: a(i,j) becomes d(i) conj(d(j)) a(i,j). The
 * entries come from Pythagorean triples, so that they need divisions only and are the same on every machine.
 * A real matrix becomes a complex one. */
static int make_hermitian(gsm_matrix *matrix, gsm_report *report) {
    static const double triples[8][3] = {{1, 0, 1},  {3, 4, 5},    {-4, 3, 5},   {-5, -12, 13},
                                         {0, -1, 1}, {15, -8, 17}, {-7, 24, 25}, {20, 21, 29}};
    double *values = NULL;
    if ((uint64_t)matrix->nnz <= SIZE_MAX / (2 * sizeof *values)) {
        values = malloc(matrix->nnz > 0 ? 2 * sizeof *values * (size_t)matrix->nnz : 1);
    }
    if (values == NULL) {
        return gsm_fail_memory(report);
    }
    for (int64_t j = 0; j < matrix->n; j++) {
        const double *dj = triples[gsm_mix((uint64_t)j) & 7];
        for (int64_t p = matrix->colptr[j]; p < matrix->colptr[j + 1]; p++) {
            int64_t i = matrix->rowidx[p];
            const double *di = triples[gsm_mix((uint64_t)i) & 7];
            double modulus = di[2] * dj[2];
            double re = (di[0] * dj[0] + di[1] * dj[1]) / modulus;
            double im = (di[1] * dj[0] - di[0] * dj[1]) / modulus;
            values[2 * p] = i == j ? matrix->values[p] : re * matrix->values[p];
            values[2 * p + 1] = i == j ? 0.0 : im * matrix->values[p];
        }
    }
    free(matrix->values);
    matrix->values = values;
    matrix->is_complex = 1;
    return GSM_SUCCESS;
}

int gsm_generate(const char *spec, gsm_matrix *matrix, gsm_report *report) {
    const generator *kind = find_generator(spec);
    int64_t argument[MOST_ARGUMENTS] = {0};
    bool is_complex = false;
    int status = read_arguments(spec, kind, argument, &is_complex, report);
    if (status != GSM_SUCCESS) {
        return status;
    }
    int64_t n = kind->scale;
    for (int p = 0; p < kind->power && n <= INT32_MAX; p++) {
        n *= argument[0];
    }
    if (n > INT32_MAX) {
        return gsm_fail(report, GSM_INVALID_ARGUMENT, "'%s': the order exceeds 2^31 - 1", spec);
    }
    status = kind->build(argument, matrix, report);
    if (status == GSM_SUCCESS && is_complex) {
        status = make_hermitian(matrix, report);
    }
    if (status == GSM_SUCCESS) {
        gsm_set_name(matrix, spec, strlen(spec));
    } else {
        gsm_free(matrix);
    }
    return status;
}

/* --------------------------------------------------------------------------------- column builder --- */

/* Makes room for capacity entries. */
static void reserve(gsm_builder *builder, int64_t capacity) {
    gsm_matrix *matrix = &builder->matrix;
    capacity = capacity < 1 ? 1 : capacity;
    if (builder->failed || (uint64_t)capacity > SIZE_MAX / sizeof *matrix->values) {
        builder->failed = true;
        return;
    }
    int32_t *rowidx = realloc(matrix->rowidx, (size_t)capacity * sizeof *rowidx);
    matrix->rowidx = rowidx == NULL ? matrix->rowidx : rowidx;
    double *values = rowidx == NULL ? NULL : realloc(matrix->values, (size_t)capacity * sizeof *values);
    matrix->values = values == NULL ? matrix->values : values;
    builder->failed = values == NULL;
    builder->capacity = values == NULL ? builder->capacity : capacity;
}

void gsm_builder_start(gsm_builder *builder, int64_t n, int64_t expected_nnz) {
    memset(builder, 0, sizeof *builder);
    builder->matrix.n = n;
    builder->matrix.colptr = calloc((size_t)n + 1, sizeof *builder->matrix.colptr);
    builder->failed = builder->matrix.colptr == NULL;
    reserve(builder, expected_nnz);
}

int64_t gsm_builder_push(gsm_builder *builder, int64_t row, double value) {
    gsm_matrix *matrix = &builder->matrix;
    if (matrix->nnz == builder->capacity) {
        reserve(builder, builder->capacity + builder->capacity / 2 + 64);
    }
    if (builder->failed) {
        return -1;
    }
    matrix->rowidx[matrix->nnz] = (int32_t)row;
    matrix->values[matrix->nnz] = value;
    return matrix->nnz++;
}

void gsm_builder_end_column(gsm_builder *builder) {
    if (!builder->failed) {
        builder->matrix.colptr[++builder->column] = builder->matrix.nnz;
    }
}

int gsm_builder_finish(gsm_builder *builder, gsm_matrix *matrix, gsm_report *report) {
    reserve(builder, builder->matrix.nnz);
    if (builder->failed) {
        gsm_free(&builder->matrix);
        return gsm_fail_memory(report);
    }
    *matrix = builder->matrix;
    return GSM_SUCCESS;
}
