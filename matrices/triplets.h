/* The entries of one triangle as a file lists them, and how they become columns: what market.c collects. */
#ifndef GPUSOLVE_MATRICES_TRIPLETS_H
#define GPUSOLVE_MATRICES_TRIPLETS_H

#include "internal.h"

#include <stddef.h>

/* Entries of one triangle, as lower ones: those of the upper triangle are stored as their mirror images. */
typedef struct gsm_triplets {
    int32_t *row, *column; /* [count], 0-based */
    double *value;         /* [count], or [2 count] if is_complex */
    int64_t *line;         /* [count], of the file */
    int64_t count, capacity;
    bool is_complex;
    bool sorted; /* columns ascending, rows strictly ascending in each */
} gsm_triplets;

/* A list for a real or a complex matrix, without entries. */
gsm_triplets gsm_triplets_start(bool is_complex);
void gsm_triplets_free(gsm_triplets *list);

/* realloc for count elements; the old block stays where it fails. */
bool gsm_resize(void **block, int64_t count, size_t size);

/* Appends an entry; false when out of memory. */
bool gsm_triplets_push(gsm_triplets *list, int64_t row, int64_t column, const double value[2], int64_t line);

/* Sorts by column, then row, if the list is not sorted; entries of one position keep their order. n is the order of
 * the matrix. False when out of memory. */
bool gsm_triplets_sort(gsm_triplets *list, int64_t n);

/* The first entry of a sorted list, in the file's order, whose position an earlier line has; -1 if there is none. The
 * entry before it in the list has that position, too. */
int64_t gsm_triplets_repeated(const gsm_triplets *list);

/* Two entries of a general matrix that ought to be each other's mirror images. */
typedef struct gsm_mismatch {
    int64_t row, column; /* of the entry on the lower line number; 0-based */
    double value[2];     /* of this entry */
    double mirror[2];    /* of the entry at (column, row) */
    int64_t line;        /* 0: every pair agrees */
    int64_t mirror_line; /* 0: that entry is absent, which counts as zero */
    double difference;   /* abs(value - conj(mirror)) */
    double allowed;      /* the largest difference that is taken for rounding */
} gsm_mismatch;

#define GSM_SYMMETRY_TOLERANCE 0x1p-40

/* Makes a general matrix of order n symmetric (Hermitian), if it is so up to rounding, in lower:
 *     a_ij := (a_ij + conj(a_ji)) / 2   where   abs(a_ij - conj(a_ji)) <= 2^-40 sqrt(abs(re(a_ii) re(a_jj)))
 * An absent entry counts as zero. Pairs that agree exactly stay as they are. lower has the entries with j <= i, upper
 * the mirror images of the others; both are sorted and have no position twice, and so has lower afterwards. The first
 * pair that differs by more, in the order of the file, is put into *mismatch, and lower is of no use then.
 * False when out of memory. */
bool gsm_triplets_symmetrise(gsm_triplets *lower, const gsm_triplets *upper, int64_t n,
                             gsm_mismatch *mismatch);

#endif
