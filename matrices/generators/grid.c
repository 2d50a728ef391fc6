/* Laplacians of regular grids: A u = sum over the stencil of c(d) u(x + d), nodes outside the grid being zero
 * (Dirichlet). Node (x, y, z) of a box has the number x + NX (y + NY z). Every stencil here is symmetric
 * and weakly diagonally dominant, strictly at the boundary, hence positive definite. */
#include "../internal.h"

/* c(d) by the number of non-zero components of d, 0 .. 3; a zero is no entry. Of simplices: squares are cut
 * into two triangles and cubes into six tetrahedra along the diagonal (1, 1, 1), so that two nodes are neighbours where
 * no component of d is positive while another is negative (Freudenthal). */
typedef struct stencil {
    int dimensions, simplices;
    double coefficient[4];
} stencil;

static int build_grid(const int64_t *sides, const stencil *s, gsm_matrix *matrix, gsm_report *report) {
    const int64_t width = sides[0], height = sides[1], depth = s->dimensions == 3 ? sides[2] : 1;
    int64_t offset[27][3];
    double value[27];
    int count = 0;
    /* The offsets of the lower triangle, by ascending node number. */
    for (int64_t dz = 0; dz <= (s->dimensions == 3 ? 1 : 0); dz++) {
        for (int64_t dy = dz > 0 ? -1 : 0; dy <= 1; dy++) {
            for (int64_t dx = dz > 0 || dy > 0 ? -1 : 0; dx <= 1; dx++) {
                double c = s->coefficient[(dx != 0) + (dy != 0) + (dz != 0)];
                /* an offset of the lower triangle has a positive component, if not all are zero */
                if (c != 0.0 && !(s->simplices && (dx < 0 || dy < 0))) {
                    offset[count][0] = dx;
                    offset[count][1] = dy;
                    offset[count][2] = dz;
                    value[count++] = c;
                }
            }
        }
    }
    gsm_builder builder;
    gsm_builder_start(&builder, width * height * depth, width * height * depth * count);
    for (int64_t z = 0; z < depth && !builder.failed; z++) {
        for (int64_t y = 0; y < height; y++) {
            for (int64_t x = 0; x < width; x++) {
                for (int k = 0; k < count; k++) {
                    int64_t i = x + offset[k][0], j = y + offset[k][1], l = z + offset[k][2];
                    if (i >= 0 && i < width && j >= 0 && j < height && l < depth) {
                        (void)gsm_builder_push(&builder, i + width * (j + height * l), value[k]);
                    }
                }
                gsm_builder_end_column(&builder);
            }
        }
    }
    return gsm_builder_finish(&builder, matrix, report);
}

int gsm_build_grid2d(const int64_t *argument, gsm_matrix *matrix, gsm_report *report) {
    static const stencil five_points = {2, 0, {4, -1, 0, 0}};
    return build_grid(argument, &five_points, matrix, report);
}

int gsm_build_grid2d9(const int64_t *argument, gsm_matrix *matrix, gsm_report *report) {
    static const stencil nine_points = {2, 0, {20, -4, -1, 0}};
    return build_grid(argument, &nine_points, matrix, report);
}

int gsm_build_grid3d(const int64_t *argument, gsm_matrix *matrix, gsm_report *report) {
    static const stencil seven_points = {3, 0, {6, -1, 0, 0}};
    return build_grid(argument, &seven_points, matrix, report);
}

int gsm_build_grid3d27(const int64_t *argument, gsm_matrix *matrix, gsm_report *report) {
    static const stencil all_points = {3, 0, {26, -1, -1, -1}};
    return build_grid(argument, &all_points, matrix, report);
}

int gsm_build_trigrid2d(const int64_t *argument, gsm_matrix *matrix, gsm_report *report) {
    static const stencil seven_points = {2, 1, {6, -1, -1, 0}};
    return build_grid(argument, &seven_points, matrix, report);
}

int gsm_build_tetgrid3d(const int64_t *argument, gsm_matrix *matrix, gsm_report *report) {
    static const stencil fifteen_points = {3, 1, {14, -1, -1, -1}};
    return build_grid(argument, &fifteen_points, matrix, report);
}
