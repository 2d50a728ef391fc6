/* Shared by the files of this folder; no user of the library includes it. */
#ifndef GPUSOLVE_MATRICES_INTERNAL_H
#define GPUSOLVE_MATRICES_INTERNAL_H

#include "matrix.h"

#include <stdbool.h>

/* Where an error message goes. */
typedef struct gsm_report {
    char *text;
    size_t size;
} gsm_report;

/* Writes the message (printf's format) and returns status. */
#if defined(__GNUC__)
__attribute__((format(printf, 3, 4)))
#endif
int gsm_fail(gsm_report *report, int status, const char *format, ...);

/* GSM_OUT_OF_MEMORY with its message. */
int gsm_fail_memory(gsm_report *report);

/* Copies text into matrix->name, cut to fit. */
void gsm_set_name(gsm_matrix *matrix, const char *text, size_t length);

/* Reads one Matrix Market file, plain or packed by gzip. group is what its "% name: GROUP/NAME" comment must
 * say, or NULL. On failure matrix stays all zero. */
int gsm_read_market(const char *path, const char *group, gsm_matrix *matrix, gsm_report *report);

/* Whether spec starts with a generator's name and a colon. */
bool gsm_is_generator(const char *spec);

/* Builds the matrix of a generator's spec. On failure matrix stays all zero. */
int gsm_generate(const char *spec, gsm_matrix *matrix, gsm_report *report);

/* Builds a real matrix column by column. Entries come in order; running out of memory is remembered and told
 * by gsm_builder_finish. */
typedef struct gsm_builder {
    gsm_matrix matrix;
    int64_t column;   /* the column being filled */
    int64_t capacity; /* entries that rowidx and values have room for */
    bool failed;
} gsm_builder;

/* Starts a matrix of order n with room for about expected_nnz entries. */
void gsm_builder_start(gsm_builder *builder, int64_t n, int64_t expected_nnz);
/* Appends an entry to the current column and returns its index in values, or -1 when out of memory. */
int64_t gsm_builder_push(gsm_builder *builder, int64_t row, double value);
void gsm_builder_end_column(gsm_builder *builder);
/* Hands the matrix over, or releases it and returns GSM_OUT_OF_MEMORY. */
int gsm_builder_finish(gsm_builder *builder, gsm_matrix *matrix, gsm_report *report);

/* The builders behind the generators. argument [in] holds the numbers of the spec, already checked against
 * the table in generators/generate.c. */
int gsm_build_grid2d(const int64_t *argument, gsm_matrix *matrix, gsm_report *report);
int gsm_build_grid2d9(const int64_t *argument, gsm_matrix *matrix, gsm_report *report);
int gsm_build_trigrid2d(const int64_t *argument, gsm_matrix *matrix, gsm_report *report);
int gsm_build_grid3d(const int64_t *argument, gsm_matrix *matrix, gsm_report *report);
int gsm_build_grid3d27(const int64_t *argument, gsm_matrix *matrix, gsm_report *report);
int gsm_build_tetgrid3d(const int64_t *argument, gsm_matrix *matrix, gsm_report *report);
int gsm_build_elasticity3d(const int64_t *argument, gsm_matrix *matrix, gsm_report *report);
int gsm_build_tetelasticity3d(const int64_t *argument, gsm_matrix *matrix, gsm_report *report);
int gsm_build_shell(const int64_t *argument, gsm_matrix *matrix, gsm_report *report);
int gsm_build_rgg2d(const int64_t *argument, gsm_matrix *matrix, gsm_report *report);
int gsm_build_rgg3d(const int64_t *argument, gsm_matrix *matrix, gsm_report *report);
int gsm_build_random(const int64_t *argument, gsm_matrix *matrix, gsm_report *report);
int gsm_build_powerlaw(const int64_t *argument, gsm_matrix *matrix, gsm_report *report);
int gsm_build_arrow(const int64_t *argument, gsm_matrix *matrix, gsm_report *report);
int gsm_build_diag(const int64_t *argument, gsm_matrix *matrix, gsm_report *report);
int gsm_build_tridiag(const int64_t *argument, gsm_matrix *matrix, gsm_report *report);
int gsm_build_forest(const int64_t *argument, gsm_matrix *matrix, gsm_report *report);

enum { GSM_MOST_DECADES = 7, GSM_STEPS = 30 };

/* Give the edges of a real matrix other conductances (generators/contrast.c); spec is for messages. Refused: an entry
 * off the diagonal is positive, or a row's sum negative. */
int gsm_set_contrast(const char *spec, int decades, gsm_matrix *matrix, gsm_report *report);
int gsm_set_step(const char *spec, int step, gsm_matrix *matrix, gsm_report *report);

/* splitmix64 (Steele, Lea and Flood, 2014): a bijective mix of 64 bits, the same on every machine. */
static inline uint64_t gsm_mix(uint64_t x) {
    x += UINT64_C(0x9e3779b97f4a7c15);
    x = (x ^ (x >> 30)) * UINT64_C(0xbf58476d1ce4e5b9);
    x = (x ^ (x >> 27)) * UINT64_C(0x94d049bb133111eb);
    return x ^ (x >> 31);
}

#endif
