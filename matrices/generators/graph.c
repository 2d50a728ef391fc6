/* Simple patterns: an arrow, a diagonal, a chain, a forest. All values
 * are dyadic fractions and every sum of them is exact, so the matrices are the same on every machine; all are
 * strictly diagonally dominant but tridiag. */
#include "../internal.h"

#include <stdlib.h>

/* a(i,j) = -(1 + k) / 8, k = 0 .. 7 from a hash of (i, j), where i - j <= band or i >= n - width; a(i,i) = 1
 * + sum of |a(i,j)|. */
int gsm_build_arrow(const int64_t *argument, gsm_matrix *matrix, gsm_report *report) {
    int64_t n = argument[0], band = argument[1], width = argument[2];
    if (band > n - 1) {
        band = n - 1;
    }
    if (width > n) {
        width = n;
    }
    double *diagonal =
        calloc((size_t)n, sizeof *diagonal); /* the sum of row i left of the diagonal, so far */
    if (diagonal == NULL) {
        return gsm_fail_memory(report);
    }
    gsm_builder builder;
    gsm_builder_start(&builder, n,
                      n < (INT64_C(1) << 40) / (band + width + 1) ? n * (band + width + 1) : INT64_MAX);
    for (int64_t j = 0; j < n && !builder.failed; j++) {
        int64_t at = gsm_builder_push(&builder, j, 0.0);
        for (int64_t i = j + 1; i < n; i++) {
            if (i > j + band && i < n - width) {
                i = n - width;
            }
            if (i >= n) {
                break;
            }
            double weight = (double)(1 + (gsm_mix((uint64_t)i << 32 | (uint64_t)j) & 7)) / 8.0;
            (void)gsm_builder_push(&builder, i, -weight);
            diagonal[i] += weight;
            diagonal[j] += weight;
        }
        if (at >= 0) {
            builder.matrix.values[at] = 1.0 + diagonal[j];
        }
        gsm_builder_end_column(&builder);
    }
    free(diagonal);
    return gsm_builder_finish(&builder, matrix, report);
}

/* a(i,i) = 1 + i mod 7 */
int gsm_build_diag(const int64_t *argument, gsm_matrix *matrix, gsm_report *report) {
    gsm_builder builder;
    gsm_builder_start(&builder, argument[0], argument[0]);
    for (int64_t i = 0; i < argument[0] && !builder.failed; i++) {
        (void)gsm_builder_push(&builder, i, (double)(1 + i % 7));
        gsm_builder_end_column(&builder);
    }
    return gsm_builder_finish(&builder, matrix, report);
}

/* a(i,i) = 2, a(i+1,i) = -1 */
int gsm_build_tridiag(const int64_t *argument, gsm_matrix *matrix, gsm_report *report) {
    gsm_builder builder;
    gsm_builder_start(&builder, argument[0], 2 * argument[0]);
    for (int64_t i = 0; i < argument[0] && !builder.failed; i++) {
        (void)gsm_builder_push(&builder, i, 2.0);
        if (i + 1 < argument[0]) {
            (void)gsm_builder_push(&builder, i + 1, -1.0);
        }
        gsm_builder_end_column(&builder);
    }
    return gsm_builder_finish(&builder, matrix, report);
}

/* Trees of 1 to 12 nodes, each node but the last of its tree joined to a later one with a weight of 1 to 4;
 * Laplacian plus I. */
int gsm_build_forest(const int64_t *argument, gsm_matrix *matrix, gsm_report *report) {
    int64_t n = argument[0];
    int32_t *weight_of_children = calloc((size_t)n, sizeof *weight_of_children);
    if (weight_of_children == NULL) {
        return gsm_fail_memory(report);
    }
    gsm_builder builder;
    gsm_builder_start(&builder, n, 2 * n);
    int64_t root = -1; /* the last node of the current tree */
    for (int64_t i = 0; i < n && !builder.failed; i++) {
        uint64_t bits = gsm_mix((uint64_t)i);
        if (i > root) {
            root = i + (int64_t)(bits % 12);
            root = root < n ? root : n - 1;
        }
        int32_t weight = 1 + (int32_t)(bits >> 8 & 3);
        if (i < root) {
            int64_t parent = i + 1 + (int64_t)((bits >> 16) % (uint64_t)(root - i));
            (void)gsm_builder_push(&builder, i, 1.0 + weight_of_children[i] + weight);
            (void)gsm_builder_push(&builder, parent, -(double)weight);
            weight_of_children[parent] += weight;
        } else {
            (void)gsm_builder_push(&builder, i, 1.0 + weight_of_children[i]);
        }
        gsm_builder_end_column(&builder);
    }
    free(weight_of_children);
    return gsm_builder_finish(&builder, matrix, report);
}
