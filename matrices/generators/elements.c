/* Finite element stiffness matrices on regular meshes: 3D elasticity with hexahedra or tetrahedra, and a shell.
 *
 * Element matrices are integrated numerically, then rounded to multiples of 2^-44. Their entries stay below
 * 2^6, so every sum of an assembly is exact: the matrix is exactly symmetric and the same on every machine.
 * The rounding moves eigenvalues by about 1e-12 at most, far less than the smallest one at the sizes that fit
 * a memory. Every pair of nodes that share an element gives a full block; entries that cancel stay as
 * explicit zeros, as an assembly leaves them. */
#include "../internal.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

enum { ELEMENT_ORDER = 24, ELEMENT_SIZE = ELEMENT_ORDER * ELEMENT_ORDER, MOST_DOFS = 6 };

/* Sides of elements and Young's modulus are 1. */
static const double poisson = 0.3;
static const double gauss_point = 0.57735026918962576; /* 1 / sqrt(3); both weights are 1 */

/* Rounds the upper triangle of an element matrix, column-major, to multiples of 2^-44 and mirrors it. */
static void make_exact(double *k) {
    const double scale = 17592186044416.0; /* 2^44 */
    for (int j = 0; j < ELEMENT_ORDER; j++) {
        for (int i = 0; i <= j; i++) {
            double rounded = round(k[i + ELEMENT_ORDER * j] * scale) / scale;
            k[i + ELEMENT_ORDER * j] = rounded;
            k[j + ELEMENT_ORDER * i] = rounded;
        }
    }
}

/* K += factor B' D B for the strains B [strains x 24] (row-major) and the material D [strains x strains]. */
static void add_energy(double *k, int strains, const double *b, const double *d, double factor) {
    for (int j = 0; j < ELEMENT_ORDER; j++) {
        for (int r = 0; r < strains; r++) {
            double stress = 0.0; /* (D B)(r, j) */
            for (int c = 0; c < strains; c++) {
                stress += d[r * strains + c] * b[c * ELEMENT_ORDER + j];
            }
            for (int i = 0; i < ELEMENT_ORDER; i++) {
                k[i + ELEMENT_ORDER * j] += factor * b[r * ELEMENT_ORDER + i] * stress;
            }
        }
    }
}

/* --------------------------------------------------------------------------------------- assembly --- */

/* A mesh of boxes. In each direction there are nodes 0 .. nodes - 1, and an element e joins the nodes e .. e
 * + span - 1; elements first .. last exist. Nodes of an element beyond the mesh are clamped: their unknowns
 * are eliminated. Local nodes of an element are numbered x fastest, as the nodes of the mesh are; unknown d
 * of node p is dofs * p + d. */
typedef struct mesh {
    int64_t nodes[3], first[3], last[3];
    int span[3]; /* 1 or 2 */
    int dofs;
    bool simplices;        /* elements are cut along their diagonal: see assemble_node */
    const double *element; /* [24 x 24], column-major */
    int64_t stride;        /* elements e_x have the matrix element + stride (e_x - first_x) */
} mesh;

/* Adds to block [dofs x dofs], column-major, what all elements shared by node p and its neighbour q couple q
 * with p. */
static void gather_block(const mesh *m, const int64_t p[3], const int64_t q[3], double *block) {
    int64_t from[3], to[3];
    for (int a = 0; a < 3; a++) {
        int64_t low = p[a] < q[a] ? p[a] : q[a], high = p[a] < q[a] ? q[a] : p[a];
        from[a] = high - (m->span[a] - 1) > m->first[a] ? high - (m->span[a] - 1) : m->first[a];
        to[a] = low < m->last[a] ? low : m->last[a];
    }
    for (int64_t ez = from[2]; ez <= to[2]; ez++) {
        for (int64_t ey = from[1]; ey <= to[1]; ey++) {
            for (int64_t ex = from[0]; ex <= to[0]; ex++) {
                int64_t row = m->dofs * (q[0] - ex + m->span[0] * (q[1] - ey + m->span[1] * (q[2] - ez)));
                int64_t column = m->dofs * (p[0] - ex + m->span[0] * (p[1] - ey + m->span[1] * (p[2] - ez)));
                const double *k = m->element + m->stride * (ex - m->first[0]) + row + ELEMENT_ORDER * column;
                for (int j = 0; j < m->dofs; j++) {
                    for (int i = 0; i < m->dofs; i++) {
                        block[i + m->dofs * j] += k[i + ELEMENT_ORDER * j];
                    }
                }
            }
        }
    }
}

/* The columns of node p: the blocks of p itself and of its neighbours of greater number. Where elements are cut
 * into simplices along the diagonal (1, 1, 1), two nodes of an element share a simplex only if no coordinate of the one
 * is greater while another is smaller. */
static void assemble_node(const mesh *m, const int64_t p[3], gsm_builder *builder) {
    double block[14][MOST_DOFS * MOST_DOFS];
    int64_t number[14] = {0};
    int count = 0;
    memset(block, 0, sizeof block);
    for (int64_t dz = 0; dz <= 1; dz++) {
        for (int64_t dy = dz > 0 ? -1 : 0; dy <= 1; dy++) {
            for (int64_t dx = dz > 0 || dy > 0 ? -1 : 0; dx <= 1; dx++) {
                int64_t q[3] = {p[0] + dx, p[1] + dy, p[2] + dz};
                bool inside = !(m->simplices && (dx < 0 || dy < 0));
                for (int a = 0; a < 3; a++) {
                    inside = inside && q[a] >= 0 && q[a] < m->nodes[a];
                }
                if (inside) {
                    number[count] = q[0] + m->nodes[0] * (q[1] + m->nodes[1] * q[2]);
                    gather_block(m, p, q, block[count++]);
                }
            }
        }
    }
    for (int j = 0; j < m->dofs; j++) {
        for (int b = 0; b < count; b++) {
            for (int i = b == 0 ? j : 0; i < m->dofs; i++) {
                (void)gsm_builder_push(builder, m->dofs * number[b] + i, block[b][i + m->dofs * j]);
            }
        }
        gsm_builder_end_column(builder);
    }
}

static int assemble(const mesh *m, gsm_matrix *matrix, gsm_report *report) {
    int64_t nodes = m->nodes[0] * m->nodes[1] * m->nodes[2];
    int neighbours = m->nodes[2] > 1 ? 14 : 5;
    gsm_builder builder;
    gsm_builder_start(&builder, m->dofs * nodes, m->dofs * nodes * m->dofs * neighbours);
    int64_t p[3];
    for (p[2] = 0; p[2] < m->nodes[2] && !builder.failed; p[2]++) {
        for (p[1] = 0; p[1] < m->nodes[1]; p[1]++) {
            for (p[0] = 0; p[0] < m->nodes[0]; p[0]++) {
                assemble_node(m, p, &builder);
            }
        }
    }
    return gsm_builder_finish(&builder, matrix, report);
}

/* ------------------------------------------------------------------------------------- elasticity --- */

/* Hooke's law for the strains xx, yy, zz, xy, yz, zx: d [6 x 6]. */
static void elastic_material(double *d) {
    const double lambda = poisson / ((1.0 + poisson) * (1.0 - 2.0 * poisson)), mu = 0.5 / (1.0 + poisson);
    memset(d, 0, 36 * sizeof *d);
    for (int r = 0; r < 3; r++) {
        for (int c = 0; c < 3; c++) {
            d[6 * r + c] = lambda + (r == c ? 2.0 * mu : 0.0);
        }
        d[6 * (r + 3) + r + 3] = mu;
    }
}

/* The columns of B [6 x 24] for a node with this gradient of its shape function; at: its first unknown, row 0. */
static void put_strains(double *at, const double g[3]) {
    at[0] = g[0];                                                       /* strain xx */
    at[ELEMENT_ORDER + 1] = g[1];                                       /* yy */
    at[2 * ELEMENT_ORDER + 2] = g[2];                                   /* zz */
    at[3 * ELEMENT_ORDER] = g[1], at[3 * ELEMENT_ORDER + 1] = g[0];     /* xy */
    at[4 * ELEMENT_ORDER + 1] = g[2], at[4 * ELEMENT_ORDER + 2] = g[1]; /* yz */
    at[5 * ELEMENT_ORDER] = g[2], at[5 * ELEMENT_ORDER + 2] = g[0];     /* zx */
}

/* The trilinear hexahedron of side 1, 2 x 2 x 2 Gauss points. Unknowns of node (lx, ly, lz), number lx + 2 ly
 * + 4 lz: ux, uy, uz. */
static void hexahedron(double *k) {
    double d[36];
    elastic_material(d);
    memset(k, 0, ELEMENT_SIZE * sizeof *k);
    for (int g = 0; g < 8; g++) {
        double b[6 * ELEMENT_ORDER] = {0};
        for (int node = 0; node < 8; node++) {
            double shape[3], slope[3]; /* linear functions on [0, 1] and their derivatives */
            for (int a = 0; a < 3; a++) {
                double at = 0.5 + 0.5 * ((g >> a & 1) != 0 ? gauss_point : -gauss_point);
                bool far = (node >> a & 1) != 0;
                shape[a] = far ? at : 1.0 - at;
                slope[a] = far ? 1.0 : -1.0;
            }
            const double gradient[3] = {slope[0] * shape[1] * shape[2], shape[0] * slope[1] * shape[2],
                                        shape[0] * shape[1] * slope[2]};
            put_strains(b + 3 * node, gradient);
        }
        add_energy(k, 6, b, d, 0.125); /* the Jacobian of [-1, 1]^3 to [0, 1]^3 */
    }
    make_exact(k);
}

/* The cube of side 1 cut into six linear tetrahedra (Freudenthal), one for each order (a, b, c) of the axes: its
 * nodes are 0, e_a, e_a + e_b and (1, 1, 1), and its shape functions 1 - x_a, x_a - x_b, x_b - x_c and x_c. */
static void six_tetrahedra(double *k) {
    static const int orders[6][3] = {{0, 1, 2}, {0, 2, 1}, {1, 0, 2}, {1, 2, 0}, {2, 0, 1}, {2, 1, 0}};
    double d[36];
    elastic_material(d);
    memset(k, 0, ELEMENT_SIZE * sizeof *k);
    for (int t = 0; t < 6; t++) {
        double b[6 * ELEMENT_ORDER] = {0};
        int node = 0;
        for (int vertex = 0; vertex < 4; vertex++) {
            double gradient[3] = {0, 0, 0};
            if (vertex > 0) {
                node |= 1 << orders[t][vertex - 1];
                gradient[orders[t][vertex - 1]] = 1.0;
            }
            if (vertex < 3) {
                gradient[orders[t][vertex]] = -1.0;
            }
            put_strains(b + 3 * node, gradient);
        }
        add_energy(k, 6, b, d, 1.0 / 6.0); /* the volume */
    }
    make_exact(k);
}

/* NX x (NY - 1) x (NZ - 1) elements; the plane of nodes x = -1 is clamped, all others are free. */
static int build_elasticity(const int64_t *sides, const double *element, bool simplices, gsm_matrix *matrix,
                            gsm_report *report) {
    mesh m = {{sides[0], sides[1], sides[2]},
              {-1, 0, 0},
              {sides[0] - 2, sides[1] - 2, sides[2] - 2},
              {2, 2, 2},
              3,
              simplices,
              element,
              0};
    return assemble(&m, matrix, report);
}

int gsm_build_elasticity3d(const int64_t *argument, gsm_matrix *matrix, gsm_report *report) {
    double k[ELEMENT_SIZE];
    hexahedron(k);
    return build_elasticity(argument, k, false, matrix, report);
}

int gsm_build_tetelasticity3d(const int64_t *argument, gsm_matrix *matrix, gsm_report *report) {
    double k[ELEMENT_SIZE];
    six_tetrahedra(k);
    return build_elasticity(argument, k, true, matrix, report);
}

/* ------------------------------------------------------------------------------------------ shell --- */

/* Strain rows of the flat shell element. */
enum { MEMBRANE = 0, BENDING = 3, SHEAR = 6, DRILLING = 8, STRAINS = 9 };

/* Bilinear functions of the local node at (xi, eta) in [-1, 1]^2: value and derivatives by x and y (the side
 * is 1). */
static void bilinear(int node, double xi, double eta, double shape[3]) {
    double sx = (node & 1) != 0 ? 1.0 : -1.0, sy = (node >> 1 & 1) != 0 ? 1.0 : -1.0;
    shape[0] = 0.25 * (1.0 + sx * xi) * (1.0 + sy * eta);
    shape[1] = 0.5 * sx * (1.0 + sy * eta);
    shape[2] = 0.5 * sy * (1.0 + sx * xi);
}

/* The flat 4-node shell element of side 1 in its own axes. Unknowns of a node: u, v, w and the rotations
 * about x, y, z. 2 x 2 Gauss points.
 *   membrane   bilinear, plane stress
 *   bending    Mindlin's plate, transverse shear interpolated from the midpoints of the sides (MITC4; Dvorkin
 *              and Bathe, 1984)
 *   drilling   energy of the rotation about z against the membrane's own (Hughes and Brezzi, 1989) */
static void flat_shell(double thickness, double *k) {
    const double shear_modulus = 0.5 / (1.0 + poisson), plane = thickness / (1.0 - poisson * poisson);
    double d[STRAINS * STRAINS] = {0};
    for (int part = 0; part < 2; part++) {
        int r = part == 0 ? MEMBRANE : BENDING;
        double stiffness = part == 0 ? plane : plane * thickness * thickness / 12.0;
        d[STRAINS * r + r] = d[STRAINS * (r + 1) + r + 1] = stiffness;
        d[STRAINS * r + r + 1] = d[STRAINS * (r + 1) + r] = poisson * stiffness;
        d[STRAINS * (r + 2) + r + 2] = 0.5 * (1.0 - poisson) * stiffness;
    }
    d[STRAINS * SHEAR + SHEAR] = d[STRAINS * (SHEAR + 1) + SHEAR + 1] = 5.0 / 6.0 * shear_modulus * thickness;
    d[STRAINS * DRILLING + DRILLING] = shear_modulus * thickness;

    memset(k, 0, ELEMENT_SIZE * sizeof *k);
    for (int g = 0; g < 4; g++) {
        double xi = (g & 1) != 0 ? gauss_point : -gauss_point,
               eta = (g >> 1) != 0 ? gauss_point : -gauss_point;
        double b[STRAINS][ELEMENT_ORDER] = {{0}};
        for (int node = 0; node < 4; node++) {
            double s[3];
            int u = 6 * node, v = u + 1, w = u + 2, rx = u + 3, ry = u + 4, rz = u + 5;
            bilinear(node, xi, eta, s);
            b[MEMBRANE][u] = s[1];     /* u,x */
            b[MEMBRANE + 1][v] = s[2]; /* v,y */
            b[MEMBRANE + 2][u] = s[2]; /* u,y + v,x */
            b[MEMBRANE + 2][v] = s[1];
            b[BENDING][ry] = s[1];      /* ry,x */
            b[BENDING + 1][rx] = -s[2]; /* -rx,y */
            b[BENDING + 2][ry] = s[2];  /* ry,y - rx,x */
            b[BENDING + 2][rx] = -s[1];
            b[DRILLING][rz] = s[0]; /* rz - (v,x - u,y) / 2 */
            b[DRILLING][v] = -0.5 * s[1];
            b[DRILLING][u] = 0.5 * s[2];
            for (int side = -1; side <= 1; side += 2) {
                double to_y = 0.5 * (1.0 + side * eta), to_x = 0.5 * (1.0 + side * xi);
                bilinear(node, 0.0, side, s); /* w,x + ry at the midpoints of the sides y = const */
                b[SHEAR][w] += to_y * s[1];
                b[SHEAR][ry] += to_y * s[0];
                bilinear(node, side, 0.0, s); /* w,y - rx at the midpoints of the sides x = const */
                b[SHEAR + 1][w] += to_x * s[2];
                b[SHEAR + 1][rx] -= to_x * s[0];
            }
        }
        add_energy(k, STRAINS, b[0], d, 0.25);
    }
}

/* rotated := T' flat T, where T turns each vector of the global axes into those of an element whose x axis is
 * (c, 0, -s). */
static void rotate_shell(const double *flat, double c, double s, double *rotated) {
    const double r[3][3] = {{c, 0.0, -s}, {0.0, 1.0, 0.0}, {s, 0.0, c}};
    for (int bj = 0; bj < ELEMENT_ORDER; bj += 3) {
        for (int bi = 0; bi < ELEMENT_ORDER; bi += 3) {
            for (int j = 0; j < 3; j++) {
                for (int i = 0; i < 3; i++) {
                    double sum = 0.0;
                    for (int q = 0; q < 3; q++) {
                        for (int p = 0; p < 3; p++) {
                            sum += r[p][i] * flat[bi + p + ELEMENT_ORDER * (bj + q)] * r[q][j];
                        }
                    }
                    rotated[bi + i + ELEMENT_ORDER * (bj + j)] = sum;
                }
            }
        }
    }
}

/* A cylindrical roof of (N + 1) x (N + 1) square facets of thickness 1/2, its axis along y. The slope of a
 * facet rises from -28 to 28 degrees across the roof; N x N nodes are free, and the ring of nodes around them
 * is clamped. */
int gsm_build_shell(const int64_t *argument, gsm_matrix *matrix, gsm_report *report) {
    int64_t side = argument[0], facets = side + 1;
    double flat[ELEMENT_SIZE];
    double *elements = malloc((size_t)facets * ELEMENT_SIZE * sizeof *elements);
    if (elements == NULL) {
        return gsm_fail_memory(report);
    }
    flat_shell(0.5, flat);
    for (int64_t e = 0; e < facets; e++) {
        double t = (double)(2 * e - side) / (double)(4 * side); /* the tangent of half the angle */
        rotate_shell(flat, (1.0 - t * t) / (1.0 + t * t), 2.0 * t / (1.0 + t * t),
                     elements + ELEMENT_SIZE * e);
        make_exact(elements + ELEMENT_SIZE * e);
    }
    mesh m = {{side, side, 1}, {-1, -1, 0}, {side - 1, side - 1, 0}, {2, 2, 1}, 6, false,
              elements,        ELEMENT_SIZE};
    int status = assemble(&m, matrix, report);
    free(elements);
    return status;
}
