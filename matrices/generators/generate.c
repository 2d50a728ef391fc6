/* From a generator's spec to its matrix: the table of kinds, the prefixes contrast: and sequence:, the complex
 * Hermitian variant, and the column builder that all kinds share. */
#include "../internal.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

enum { MOST_ARGUMENTS = 3 };

/* What the other numbers are where only the first is given. */
enum {
    ALL_GIVEN = -1, /* there is no short form */
    AS_FIRST = -2,
    USUAL_DEGREE = 12
};

typedef struct generator {
    const char *name;
    int arguments;
    int64_t least[MOST_ARGUMENTS]; /* smallest value of each argument */
    int64_t others;                /* ALL_GIVEN, AS_FIRST, or the number */
    int dimensions, scale;         /* the order is scale times the product of the first arguments */
    int (*build)(const int64_t *argument, gsm_matrix *matrix, gsm_report *report);
} generator;

static const generator generators[] = {
    {"grid2d", 2, {1, 1, 0}, AS_FIRST, 2, 1, gsm_build_grid2d},
    {"grid2d9", 2, {1, 1, 0}, AS_FIRST, 2, 1, gsm_build_grid2d9},
    {"trigrid2d", 2, {1, 1, 0}, AS_FIRST, 2, 1, gsm_build_trigrid2d},
    {"grid3d", 3, {1, 1, 1}, AS_FIRST, 3, 1, gsm_build_grid3d},
    {"grid3d27", 3, {1, 1, 1}, AS_FIRST, 3, 1, gsm_build_grid3d27},
    {"tetgrid3d", 3, {1, 1, 1}, AS_FIRST, 3, 1, gsm_build_tetgrid3d},
    {"elasticity3d", 3, {2, 2, 2}, AS_FIRST, 3, 3, gsm_build_elasticity3d},
    {"tetelasticity3d", 3, {2, 2, 2}, AS_FIRST, 3, 3, gsm_build_tetelasticity3d},
    {"shell", 1, {1, 0, 0}, ALL_GIVEN, 2, 6, gsm_build_shell},
    {"rgg2d", 2, {1, 0, 0}, USUAL_DEGREE, 1, 1, gsm_build_rgg2d},
    {"rgg3d", 2, {1, 0, 0}, USUAL_DEGREE, 1, 1, gsm_build_rgg3d},
    {"randomgraph", 2, {1, 0, 0}, ALL_GIVEN, 1, 1, gsm_build_random},
    {"powerlaw", 2, {1, 1, 0}, ALL_GIVEN, 1, 1, gsm_build_powerlaw},
    {"arrow", 3, {1, 0, 0}, ALL_GIVEN, 1, 1, gsm_build_arrow},
    {"diag", 1, {0, 0, 0}, ALL_GIVEN, 1, 1, gsm_build_diag},
    {"tridiag", 1, {1, 0, 0}, ALL_GIVEN, 1, 1, gsm_build_tridiag},
    {"forest", 1, {1, 0, 0}, ALL_GIVEN, 1, 1, gsm_build_forest},
};

const char *gsm_generators(void) {
    /* clang-format off */
    return "grid2d:NX,NY              5-point Laplacian on NX x NY nodes, Dirichlet boundary; n = NX NY\n"
           "grid2d9:NX,NY             9-point (Mehrstellen) Laplacian, Dirichlet boundary; n = NX NY\n"
           "trigrid2d:NX,NY           7-point Laplacian of a grid of triangles, Dirichlet boundary; n = NX NY\n"
           "grid3d:NX,NY,NZ           7-point Laplacian on a box of nodes, Dirichlet boundary; n = NX NY NZ\n"
           "grid3d27:NX,NY,NZ         27-point Laplacian, Dirichlet boundary; n = NX NY NZ\n"
           "tetgrid3d:NX,NY,NZ        15-point Laplacian of a grid of tetrahedra, Dirichlet boundary; n = NX NY NZ\n"
           "elasticity3d:NX,NY,NZ     linear elasticity, trilinear hexahedra, clamped at one face, x = -1; n = 3 NX NY NZ\n"
           "tetelasticity3d:NX,NY,NZ  the same with linear tetrahedra, six to a cube; n = 3 NX NY NZ\n"
           "shell:N                   cylindrical roof of 4-node shell elements on N x N nodes, clamped edges; n = 6 N^2\n"
           "rgg2d:N,D                 Laplacian of a random geometric graph in a square, mean degree D, plus 1/64 I; n = N\n"
           "rgg3d:N,D                 the same in a cube; n = N\n"
           "randomgraph:N,D           Laplacian of a random graph of mean degree D, plus 1/64 I; n = N\n"
           "powerlaw:N,M              the same of a graph whose nodes join M others, popular ones more often; n = N\n"
           "arrow:N,B,W               full band |i - j| <= B and W full last rows and columns, diagonally dominant; n = N\n"
           "diag:N                    diagonal; n = N, also 0\n"
           "tridiag:N                 1D Laplacian, Dirichlet boundary; n = N\n"
           "forest:N                  many small trees, each a weighted graph Laplacian plus I; n = N\n"
           "KIND:N                    of a grid or a box: all sides are N; of rgg2d and rgg3d: mean degree 12\n"
           "contrast:E:KIND:...       a grid or graph with conductances of 10^-E to 10^E, E = 0 .. 7\n"
           "sequence:K:KIND:...       the same with those of step K = 0 .. 29 of an interior-point run\n"
           "KIND:...@c                complex Hermitian: D A conj(D), D diagonal with entries of modulus 1\n";
    /* clang-format on */
}

/* -------------------------------------------------------------------------------- reading the spec --- */

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

/* What stands behind the prefix, "contrast:" or the like; NULL: spec has another beginning. */
static const char *behind(const char *spec, const char *prefix) {
    size_t length = strlen(prefix);
    return strncmp(spec, prefix, length) == 0 ? spec + length : NULL;
}

bool gsm_is_generator(const char *spec) {
    return find_generator(spec) != NULL || behind(spec, "contrast:") != NULL ||
           behind(spec, "sequence:") != NULL;
}

/* Reads a number of at most INT32_MAX; -1: there is none. */
static int64_t read_number(const char **text) {
    const char *digits = *text;
    int64_t value = 0;
    for (; **text >= '0' && **text <= '9' && value <= INT32_MAX; (*text)++) {
        value = 10 * value + (**text - '0');
    }
    return *text == digits || value > INT32_MAX ? -1 : value;
}

/* Reads NUMBER,NUMBER,...[@c] into argument [out], is_complex [out]. spec: for messages. */
static int read_arguments(const char *spec, const char *text, const generator *kind, int64_t *argument,
                          bool *is_complex, gsm_report *report) {
    for (int a = 0; a < kind->arguments; a++) {
        bool last = a + 1 == kind->arguments;
        argument[a] = read_number(&text);
        if (argument[a] < kind->least[a] || (!last && *text != ',' && (a > 0 || kind->others == ALL_GIVEN))) {
            return gsm_fail(report, GSM_INVALID_ARGUMENT,
                            "'%s': %s takes %s%d number%s separated by commas; number %d must be %" PRId64
                            " .. %d",
                            spec, kind->name, kind->others == ALL_GIVEN ? "" : "1 or ", kind->arguments,
                            kind->arguments == 1 ? "" : "s", a + 1, kind->least[a], (int)INT32_MAX);
        }
        if (!last && *text != ',') { /* the short form */
            for (a = 1; a < kind->arguments; a++) {
                argument[a] = kind->others == AS_FIRST ? argument[0] : kind->others;
            }
        } else {
            text += !last;
        }
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

/* KIND:NUMBER,...[@c], without the variant @c. spec: the whole one, for messages. */
static int build_kind(const char *spec, const char *text, gsm_matrix *matrix, bool *is_complex,
                      gsm_report *report) {
    const generator *kind = find_generator(text);
    int64_t argument[MOST_ARGUMENTS] = {0};
    if (kind == NULL) {
        return gsm_fail(report, GSM_INVALID_ARGUMENT, "'%s': '%s' is no generator of a grid or graph", spec,
                        text);
    }
    int status = read_arguments(spec, strchr(text, ':') + 1, kind, argument, is_complex, report);
    if (status != GSM_SUCCESS) {
        return status;
    }
    int64_t n = kind->scale;
    for (int p = 0; p < kind->dimensions && n <= INT32_MAX; p++) {
        n *= argument[kind->others == AS_FIRST ? p : 0];
    }
    if (n > INT32_MAX) {
        return gsm_fail(report, GSM_INVALID_ARGUMENT, "'%s': the order exceeds 2^31 - 1", spec);
    }
    return kind->build(argument, matrix, report);
}

int gsm_generate(const char *spec, gsm_matrix *matrix, gsm_report *report) {
    const char *contrast = behind(spec, "contrast:"), *sequence = behind(spec, "sequence:");
    const char *text = contrast != NULL ? contrast : sequence != NULL ? sequence : spec;
    const int most = contrast != NULL ? GSM_MOST_DECADES : GSM_STEPS - 1;
    int64_t number = 0;
    bool is_complex = false;
    if (text != spec) {
        number = read_number(&text);
        if (number < 0 || number > most || *text != ':') {
            return gsm_fail(report, GSM_INVALID_ARGUMENT, "'%s': %s takes a number, 0 .. %d, and a generator",
                            spec, contrast != NULL ? "contrast" : "sequence", most);
        }
        text++;
    }
    int status = build_kind(spec, text, matrix, &is_complex, report);
    if (status == GSM_SUCCESS && contrast != NULL) {
        status = gsm_set_contrast(spec, (int)number, matrix, report);
    }
    if (status == GSM_SUCCESS && sequence != NULL) {
        status = gsm_set_step(spec, (int)number, matrix, report);
    }
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
