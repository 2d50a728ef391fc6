/* Graphs and simple patterns: a random geometric graph, an arrow, a diagonal, a chain, a forest. All values
 * are dyadic fractions and every sum of them is exact, so the matrices are the same on every machine; all are
 * strictly diagonally dominant but tridiag. */
#include "internal.h"

#include <math.h>
#include <stdlib.h>

/* ------------------------------------------------------------------------- random geometric graph --- */

enum { GRID_BITS = 30 }; /* points lie on a grid of 2^30 x 2^30 in the unit square */

typedef struct point {
    int32_t x, y;
} point;

/* Points in cells of at least the radius in width, cell by cell, so that a point's neighbours lie in nine
 * cells. */
typedef struct cloud {
    int64_t count, side; /* points; cells per side */
    int64_t radius2;     /* squared radius */
    int64_t *cell;       /* [side^2 + 1] first point of each cell */
    point *points;       /* [count] */
} cloud;

static int64_t cell_of(const cloud *c, point p) {
    return (((int64_t)p.x * c->side) >> GRID_BITS) + c->side * (((int64_t)p.y * c->side) >> GRID_BITS);
}

static point random_point(int64_t k) {
    uint64_t bits = gsm_mix(UINT64_C(0x5eed0000) + (uint64_t)k);
    point p = {(int32_t)(bits & ((1u << GRID_BITS) - 1)), (int32_t)(bits >> (64 - GRID_BITS))};
    return p;
}

/* Draws the points and sorts them by cell. */
static bool cloud_create(cloud *c, int64_t count, double degree) {
    const double pi = 3.14159265358979312, unit = (double)(INT64_C(1) << GRID_BITS);
    double radius2 = degree / (pi * (double)count) * unit * unit;
    c->count = count;
    c->radius2 = (int64_t)radius2;
    c->side = (int64_t)(unit / (sqrt(radius2) + 1.0));
    c->side = c->side < 1 ? 1 : c->side;
    c->cell = calloc((size_t)(c->side * c->side) + 2, sizeof *c->cell);
    c->points = malloc((size_t)count * sizeof *c->points);
    if (c->cell == NULL || c->points == NULL) {
        return false;
    }
    int64_t *next =
        c->cell + 1; /* after the loops, next[k] is the end of cell k, which is the start of cell k + 1 */
    for (int64_t k = 0; k < count; k++) {
        next[cell_of(c, random_point(k)) + 1]++;
    }
    for (int64_t k = 0; k < c->side * c->side; k++) {
        next[k + 1] += next[k];
    }
    for (int64_t k = 0; k < count; k++) {
        point p = random_point(k);
        c->points[next[cell_of(c, p)]++] = p;
    }
    return true;
}

static bool are_near(const cloud *c, point p, point q) {
    int64_t dx = p.x - q.x, dy = p.y - q.y;
    return dx * dx + dy * dy <= c->radius2;
}

/* L + I / 64, where L is the Laplacian of the graph that joins points no farther apart than a radius. Points
 * are numbered by cell. */
int gsm_build_rgg2d(const int64_t *argument, gsm_matrix *matrix, gsm_report *report) {
    const double degree = 12.0;
    int64_t n = argument[0];
    cloud c = {0};
    int32_t *neighbours = calloc((size_t)n, sizeof *neighbours); /* those of smaller number, so far */
    if (neighbours == NULL || !cloud_create(&c, n, degree)) {
        free(neighbours);
        free(c.cell);
        free(c.points);
        return gsm_fail_memory(report);
    }
    gsm_builder builder;
    gsm_builder_start(&builder, n, n * 15 / 2);
    for (int64_t i = 0; i < n && !builder.failed; i++) {
        int64_t home = cell_of(&c, c.points[i]), home_x = home % c.side, home_y = home / c.side;
        int64_t diagonal = gsm_builder_push(&builder, i, 0.0);
        for (int64_t y = home_y; y <= home_y + 1 && y < c.side; y++) {
            int64_t left = y == home_y ? home_x : home_x - 1;
            int64_t first = c.cell[(left < 0 ? 0 : left) + c.side * y];
            int64_t last = c.cell[(home_x + 1 < c.side ? home_x + 1 : home_x) + c.side * y + 1];
            for (int64_t j = first > i ? first : i + 1; j < last; j++) {
                if (are_near(&c, c.points[i], c.points[j]) && gsm_builder_push(&builder, j, -1.0) >= 0) {
                    neighbours[i]++;
                    neighbours[j]++;
                }
            }
        }
        if (diagonal >= 0) {
            builder.matrix.values[diagonal] = neighbours[i] + 1.0 / 64.0;
        }
        gsm_builder_end_column(&builder);
    }
    free(neighbours);
    free(c.cell);
    free(c.points);
    return gsm_builder_finish(&builder, matrix, report);
}

/* --------------------------------------------------------------------------------------- patterns --- */

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
