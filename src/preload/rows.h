/* Sets of rows, for sparse right-hand sides: which rows of x a few rows of b reach. */
#ifndef PRELOAD_ROWS_H
#define PRELOAD_ROWS_H

#include <stdbool.h>

#include "cholmod_objects.h"

/* The rows of the columns [0, ncol) of A, each once, ascending. -1: out of memory; -2: A is not a matrix with n rows. The
 * caller frees *rows. */
int64_t preload_rows_of(const preload_sparse *A, int64_t n, int64_t **rows);

/*
 * The ancestors of these rows in L's elimination tree, themselves among them: the rows that L y = b gives numbers to.
 *   permuted  the rows are A's, so they go through L's permutation, and what comes back is A's, too
 * The same errors as above. *reached ascends if the rows are not permuted.
 */
int64_t preload_reach(const preload_factor *L, bool permuted, int64_t count, const int64_t *rows,
                      int64_t **reached);

/* From where to where numbers go: entry (i, j) of a block, a real or a complex number in one or two arrays. */
typedef struct preload_numbers {
    char *re, *im; /* im NULL: real */
    size_t real;   /* bytes of a part */
    size_t stride; /* bytes from one number of a column to the next */
    size_t column; /* bytes from one column to the next */
} preload_numbers;

preload_numbers preload_numbers_of(void *x, void *z, int xtype, int dtype, int64_t ld);

/* Copy a number, (i, j) of `from` to (k, l) of `to`. An imaginary part that `from` lacks is 0, one that `to` lacks is lost. */
void preload_copy_number(const preload_numbers *to, int64_t k, int64_t l, const preload_numbers *from,
                         int64_t i, int64_t j);

#endif
