/* Random graphs: geometric ones in two and three dimensions, one whose edges join any two nodes, and one with
 * a power law. A = L + I / 64, L the graph's Laplacian: every number is a dyadic fraction and every sum of
 * them is exact, so the matrices are the same on every machine, and strictly diagonally dominant. */
#include "../internal.h"

#include <math.h>
#include <stdlib.h>

static const double shift = 1.0 / 64.0;

/* ------------------------------------------------------------------------ random geometric graphs --- */

typedef struct point {
    int32_t x[3]; /* on a grid of 2^bits in each direction of the unit square or cube */
} point;

/* Points in cells of at least the radius in width, cell by cell, so that a point's neighbours lie in the cells
 * beside its own. */
typedef struct cloud {
    int dimensions, bits;
    int64_t count, side; /* points; cells per side */
    int64_t radius2;     /* squared radius */
    int64_t *cell;       /* [side^dimensions + 1] first point of each cell */
    point *points;       /* [count] */
} cloud;

static int64_t cell_of(const cloud *c, point p) {
    int64_t cell = 0;
    for (int a = c->dimensions - 1; a >= 0; a--) {
        cell = cell * c->side + (((int64_t)p.x[a] * c->side) >> c->bits);
    }
    return cell;
}

static point random_point(const cloud *c, int64_t k) {
    uint64_t bits = gsm_mix(UINT64_C(0x5eed0000) + (uint64_t)k);
    const uint64_t mask = ((uint64_t)1 << c->bits) - 1;
    point p = {{(int32_t)(bits & mask), (int32_t)(bits >> (64 - c->bits)), 0}};
    if (c->dimensions == 3) {
        p.x[2] = (int32_t)(bits >> c->bits & mask);
    }
    return p;
}

/* The radius with which a ball in a cube of side 2^bits has about degree of count points. By bisection, because cbrt
 * need not give the same bits on every machine. */
static int64_t radius_in_cube(double degree, double count, int bits) {
    const double pi = 3.14159265358979312, unit = (double)(INT64_C(1) << bits);
    const double cube = 0.75 * degree / (pi * count) * unit * unit * unit;
    int64_t low = 0, high = INT64_C(2) << bits; /* more than the longest distance there is */
    while (high - low > 1) {
        int64_t middle = low + (high - low) / 2;
        double r = (double)middle;
        if (r * r * r <= cube) {
            low = middle;
        } else {
            high = middle;
        }
    }
    return low;
}

/* Draws the points and sorts them by cell. */
static bool cloud_create(cloud *c, int dimensions, int64_t count, double degree) {
    const double pi = 3.14159265358979312;
    int64_t cells = 1;
    c->dimensions = dimensions;
    c->bits = dimensions == 2 ? 30 : 21;
    c->count = count;
    const double unit = (double)(INT64_C(1) << c->bits);
    if (dimensions == 2) {
        double radius2 = degree / (pi * (double)count) * unit * unit;
        c->radius2 = (int64_t)radius2;
        c->side = (int64_t)(unit / (sqrt(radius2) + 1.0));
    } else {
        int64_t radius = radius_in_cube(degree, (double)count, c->bits);
        c->radius2 = radius * radius;
        c->side = (INT64_C(1) << c->bits) / (radius + 1);
    }
    int64_t useful = 1; /* no more cells than a few a point */
    while ((dimensions == 3 ? useful : 1) * useful * useful < 2 * count) {
        useful *= 2;
    }
    c->side = c->side > useful ? useful : c->side;
    c->side = c->side < 1 ? 1 : c->side;
    for (int a = 0; a < dimensions; a++) {
        cells *= c->side;
    }
    c->cell = calloc((size_t)cells + 2, sizeof *c->cell);
    c->points = malloc((size_t)count * sizeof *c->points);
    if (c->cell == NULL || c->points == NULL) {
        return false;
    }
    /* after the loops, next[k] is the end of cell k, which is the start of cell k + 1 */
    int64_t *next = c->cell + 1;
    for (int64_t k = 0; k < count; k++) {
        next[cell_of(c, random_point(c, k)) + 1]++;
    }
    for (int64_t k = 0; k < cells; k++) {
        next[k + 1] += next[k];
    }
    for (int64_t k = 0; k < count; k++) {
        point p = random_point(c, k);
        c->points[next[cell_of(c, p)]++] = p;
    }
    return true;
}

static bool are_near(const cloud *c, point p, point q) {
    int64_t sum = 0;
    for (int a = 0; a < c->dimensions; a++) {
        int64_t d = p.x[a] - q.x[a];
        sum += d * d;
    }
    return sum <= c->radius2;
}

/* The column of point i: its neighbours of greater number, which lie in the rows of cells from its own on. neighbours
 * counts those of either kind. */
static void add_point(const cloud *c, int64_t i, gsm_builder *builder, int32_t *neighbours) {
    const int64_t home = cell_of(c, c->points[i]);
    const int64_t at[3] = {home % c->side, home / c->side % c->side, home / c->side / c->side};
    const int64_t layers = c->dimensions == 3 ? c->side : 1;
    int64_t diagonal = gsm_builder_push(builder, i, 0.0);
    for (int64_t z = at[2]; z <= at[2] + 1 && z < layers; z++) {
        for (int64_t y = z > at[2] && at[1] > 0 ? at[1] - 1 : at[1]; y <= at[1] + 1 && y < c->side; y++) {
            int64_t left = (y == at[1] && z == at[2]) || at[0] == 0 ? at[0] : at[0] - 1;
            int64_t right = at[0] + 1 < c->side ? at[0] + 1 : at[0];
            int64_t row = c->side * (y + c->side * z);
            int64_t first = c->cell[left + row], last = c->cell[right + row + 1];
            for (int64_t j = first > i ? first : i + 1; j < last; j++) {
                if (are_near(c, c->points[i], c->points[j]) && gsm_builder_push(builder, j, -1.0) >= 0) {
                    neighbours[i]++;
                    neighbours[j]++;
                }
            }
        }
    }
    if (diagonal >= 0) {
        builder->matrix.values[diagonal] = neighbours[i] + shift;
    }
    gsm_builder_end_column(builder);
}

/* The graph that joins points no farther apart than a radius. Points are numbered by cell. */
static int build_geometric(int dimensions, const int64_t *argument, gsm_matrix *matrix, gsm_report *report) {
    const int64_t n = argument[0];
    const int64_t degree = argument[1] < n ? argument[1] : n;
    cloud c = {0};
    int32_t *neighbours = calloc((size_t)n, sizeof *neighbours); /* those of smaller number, so far */
    if (neighbours == NULL || !cloud_create(&c, dimensions, n, (double)degree)) {
        free(neighbours);
        free(c.cell);
        free(c.points);
        return gsm_fail_memory(report);
    }
    gsm_builder builder;
    gsm_builder_start(&builder, n, n + n * degree / 2);
    for (int64_t i = 0; i < n && !builder.failed; i++) {
        add_point(&c, i, &builder, neighbours);
    }
    free(neighbours);
    free(c.cell);
    free(c.points);
    return gsm_builder_finish(&builder, matrix, report);
}

int gsm_build_rgg2d(const int64_t *argument, gsm_matrix *matrix, gsm_report *report) {
    return build_geometric(2, argument, matrix, report);
}

int gsm_build_rgg3d(const int64_t *argument, gsm_matrix *matrix, gsm_report *report) {
    return build_geometric(3, argument, matrix, report);
}

/* ------------------------------------------------------------------------------- graphs of a list --- */

typedef struct edge {
    int32_t column, row; /* column < row */
} edge;

static int compare_edges(const void *left, const void *right) {
    const edge *l = left, *r = right;
    int order = (l->column > r->column) - (l->column < r->column);
    return order != 0 ? order : (l->row > r->row) - (l->row < r->row);
}

/* An edge as the lower triangle has it; a loop stays one. */
static edge make_edge(int64_t i, int64_t j) {
    edge e = {(int32_t)(i < j ? i : j), (int32_t)(i < j ? j : i)};
    return e;
}

/* The matrix of a graph whose edges may come in any order and more than once, loops among them. Sorts them. */
static int build_from_edges(int64_t n, edge *edges, int64_t count, gsm_matrix *matrix, gsm_report *report) {
    int32_t *degree = calloc((size_t)n, sizeof *degree);
    if (degree == NULL) {
        return gsm_fail_memory(report);
    }
    qsort(edges, (size_t)count, sizeof *edges, compare_edges);
    int64_t kept = 0;
    for (int64_t k = 0; k < count; k++) {
        if (edges[k].column != edges[k].row &&
            (kept == 0 || compare_edges(&edges[kept - 1], &edges[k]) != 0)) {
            degree[edges[k].column]++;
            degree[edges[k].row]++;
            edges[kept++] = edges[k];
        }
    }
    gsm_builder builder;
    gsm_builder_start(&builder, n, n + kept);
    for (int64_t j = 0, k = 0; j < n && !builder.failed; j++) {
        (void)gsm_builder_push(&builder, j, degree[j] + shift);
        for (; k < kept && edges[k].column == j; k++) {
            (void)gsm_builder_push(&builder, edges[k].row, -1.0);
        }
        gsm_builder_end_column(&builder);
    }
    free(degree);
    return gsm_builder_finish(&builder, matrix, report);
}

static edge *allocate_edges(int64_t count) {
    if ((uint64_t)count > SIZE_MAX / sizeof(edge) - 1) {
        return NULL;
    }
    return malloc(((size_t)count + 1) * sizeof(edge));
}

/* N D / 2 edges, the ends of each drawn from all nodes. */
int gsm_build_random(const int64_t *argument, gsm_matrix *matrix, gsm_report *report) {
    const int64_t n = argument[0];
    const int64_t count = n * argument[1] / 2;
    edge *edges = allocate_edges(count);
    if (edges == NULL) {
        return gsm_fail_memory(report);
    }
    for (int64_t k = 0; k < count; k++) {
        uint64_t i = gsm_mix(2 * (uint64_t)k), j = gsm_mix(2 * (uint64_t)k + 1);
        edges[k] = make_edge((int64_t)(i % (uint64_t)n), (int64_t)(j % (uint64_t)n));
    }
    int status = build_from_edges(n, edges, count, matrix, report);
    free(edges);
    return status;
}

/* Node i = 1, 2, ... joins M earlier nodes (Barabasi and Albert, 1999): each is an end of an edge that was drawn from
 * all earlier ones, so a node is joined in proportion to its degree. */
int gsm_build_powerlaw(const int64_t *argument, gsm_matrix *matrix, gsm_report *report) {
    const int64_t n = argument[0], each = argument[1] < n ? argument[1] : n;
    const int64_t count = (n - 1) * each;
    edge *edges = allocate_edges(count);
    if (edges == NULL) {
        return gsm_fail_memory(report);
    }
    for (int64_t k = 0; k < count; k++) {
        const int64_t node = 1 + k / each, earlier = (node - 1) * each;
        uint64_t bits = gsm_mix(UINT64_C(0x90be4) + (uint64_t)k);
        int64_t other = 0;
        if (earlier > 0) {
            const edge *e = &edges[(bits >> 1) % (uint64_t)earlier];
            other = (bits & 1) != 0 ? e->row : e->column;
        }
        edges[k] = make_edge(node, other);
    }
    int status = build_from_edges(n, edges, count, matrix, report);
    free(edges);
    return status;
}
