/*
 * Factors of any shape, that no ordering would make: trees that are chains, stars, bushes or forests, wide supernodes beside
 * narrow ones, rows below that are all that a parent has or a single one, columns numbered in postorder or not; with
 * supernodes, or by columns, L L' or L D L'. And products with L, L' and D, against which a solve is checked.
 */
#ifndef RANDOM_FACTOR_H
#define RANDOM_FACTOR_H

#include "testing.h"

typedef struct random_factor {
    gpusolve_factor_data data; /* its arrays are among those below */
    int64_t numbers;           /* of all panels */
    int64_t nsuper;
    int32_t *super, *pi, *px, *s, *perm;
    int32_t *p, *i, *nz; /* by columns, or NULL */
    void *x;
    double complex *l; /* L's panels, with numbers rounded as those of x are; zeros above the diagonal */
    double *d;         /* D; all ones for L L' */
    int steep;         /* triangles are ill-conditioned on purpose */
    const char *tree;
} random_factor;

/* How many of a kind there may be. */
typedef struct random_limits {
    int64_t numbers, columns, supernodes;
} random_limits;

/* Where the numbers of factor `seed` begin. */
static inline uint64_t random_start(uint64_t seed) {
    uint64_t state = seed * UINT64_C(0x9e3779b97f4a7c15) | 1;
    testing_random_bits(&state);
    return state;
}

static inline int random_coin(uint64_t *state, int64_t one_in) {
    return testing_random_below(state, one_in) == 0;
}

/* 1 to most; half of the times small ones are as likely as large ones. */
static inline int64_t random_size(uint64_t *state, int64_t most) {
    if (random_coin(state, 2))
        return 1 + testing_random_below(state, most);
    const double part = (double)(testing_random_bits(state) >> 11) * 0x1p-53;
    const int64_t size = (int64_t)exp(part * log((double)most + 1));
    return size < 1 ? 1 : size > most ? most : size;
}

/* --------------------------------------------------------------------------------------------- the tree --- */

static const char *const random_trees[] = {"random",      "chain",      "star",   "binary",
                                           "caterpillar", "neighbours", "forest", "bushes"};
enum { RANDOM_TREES = sizeof random_trees / sizeof *random_trees };

/* The parent of supernode k, counted from the root on: one of 0 to k - 1, or -1 for a root. */
static inline int64_t random_parent(int tree, int64_t k, uint64_t *state) {
    switch (tree) {
    case 1:
        return k - 1;
    case 2:
        return 0;
    case 3:
        return (k - 1) / 2;
    case 4:
        return k % 2 || k < 2 ? k - 1 : k - 2;
    case 5:
        return k - 1 - testing_random_below(state, k < 8 ? k : 8);
    case 6:
        return random_coin(state, 8) ? -1 : testing_random_below(state, k);
    case 7: /* many children each for a few that are a chain */
        return k < 4 ? k - 1 : testing_random_below(state, 4);
    default:
        return testing_random_below(state, k);
    }
}

/* A place for each supernode, children before parents: the reverse of how they were made, or a postorder. */
static inline void random_order(const int64_t *parent, int64_t count, int postorder, int64_t *place) {
    if (!postorder) {
        for (int64_t k = 0; k < count; k++)
            place[k] = count - 1 - k;
        return;
    }
    int64_t *size = calloc((size_t)count, sizeof *size), next_root = count;
    REQUIRE(size);
    for (int64_t k = count - 1; k >= 0; k--) { /* of the subtree */
        size[k]++;
        if (parent[k] >= 0)
            size[parent[k]] += size[k];
    }
    /* a subtree ends in its root; its children's, the first made last, fill what is before that */
    int64_t *end = calloc((size_t)count, sizeof *end);
    REQUIRE(end);
    for (int64_t k = 0; k < count; k++) {
        int64_t *free_end = parent[k] >= 0 ? &end[parent[k]] : &next_root;
        place[k] = *free_end - 1;
        end[k] = *free_end - 1;
        *free_end -= size[k];
    }
    free(size);
    free(end);
}

/* Widths: a few columns each, up to forty, now and then hundreds, or halved from level to level. */
static inline int64_t random_width(int style, int64_t k, int64_t widest, uint64_t *state) {
    switch (style) {
    case 0:
        return 1 + testing_random_below(state, 4);
    case 1:
        return 1 + testing_random_below(state, 40);
    case 2:
        return random_coin(state, 12) ? random_size(state, widest) : 1 + testing_random_below(state, 12);
    default:
        return 1 + (int64_t)((double)widest / sqrt((double)k + 1));
    }
}

/* ---------------------------------------------------------------------------------------------- the rows --- */

/* Of the parent's rows, of which the first `own` are its columns, some: one of its columns at least. Returns how many. */
static inline int64_t random_rows(const int32_t *from, int64_t own, int64_t count, double share, int64_t most,
                                  int32_t *to, uint64_t *state) {
    const int64_t always = testing_random_below(state, own);
    if ((double)count * share > (double)most)
        share = (double)most / (double)count;
    int64_t rows = 0;
    for (int64_t t = 0; t < count; t++)
        if (t == always || (testing_random(state) + 1) / 2 < share)
            to[rows++] = from[t];
    return rows;
}

static inline void *random_array(int64_t count, size_t bytes) {
    void *array = calloc((size_t)count + 1, bytes);
    REQUIRE(array);
    return array;
}

/* The structure, into f's arrays. */
static inline void random_structure(random_factor *f, random_limits most, uint64_t *state) {
    gpusolve_factor_data *data = &f->data;
    const int tree = (int)testing_random_below(state, RANDOM_TREES),
              style = (int)testing_random_below(state, 4);
    const int64_t numbers = random_size(state, most.numbers), columns = random_size(state, most.columns);
    const int64_t wanted = random_size(state, most.supernodes),
                  widest = random_coin(state, 3) ? 300 + testing_random_below(state, 1200)
                                                 : random_size(state, 300);
    f->tree = random_trees[tree];
    int64_t *parent = random_array(wanted, sizeof *parent), *width = random_array(wanted, sizeof *width),
            *place = random_array(wanted, sizeof *place), *at = random_array(wanted, sizeof *at);
    int64_t count = 0, n = 0, triangles = 0;
    while (count < wanted && n < columns) {
        int64_t nc = random_width(style, count, widest, state);
        if (triangles + nc * nc > numbers)
            nc = 1;
        parent[count] = count == 0 ? -1 : random_parent(tree, count, state);
        width[count++] = nc;
        n += nc;
        triangles += nc * nc;
    }
    random_order(parent, count, !random_coin(state, 3), place);
    for (int64_t k = 0; k < count; k++)
        at[place[k]] = k;

    data->n = data->minor = n;
    f->nsuper = count;
    f->super = random_array(count, sizeof *f->super);
    f->pi = random_array(count, sizeof *f->pi);
    f->px = random_array(count, sizeof *f->px);
    f->perm = random_array(n, sizeof *f->perm);
    for (int64_t s = 0; s < count; s++)
        f->super[s + 1] = f->super[s] + (int32_t)width[at[s]];
    int32_t **rows = random_array(count, sizeof *rows);
    int64_t *nr = random_array(count, sizeof *nr);
    const int sharing = (int)testing_random_below(state, 4); /* all, half, few, now this and now that */
    int64_t left = numbers;
    for (int64_t s = count - 1; s >= 0; s--) { /* parents first */
        const int64_t k = at[s], nc = width[k], above = parent[k] >= 0 ? place[parent[k]] : -1;
        const double shares[] = {1, 0.5, 0.02},
                     share = shares[sharing < 3 ? sharing : testing_random_below(state, 3)];
        rows[s] = random_array(nc + (above >= 0 ? nr[above] : 0), sizeof **rows);
        for (int32_t c = 0; c < nc; c++)
            rows[s][c] = f->super[s] + c;
        nr[s] = nc;
        if (above >= 0)
            nr[s] += random_rows(rows[above], width[parent[k]], nr[above], share,
                                 left > 0 ? left / (4 * nc) : 0, rows[s] + nc, state);
        left -= nc * nr[s];
    }
    for (int64_t s = 0; s < count; s++) {
        f->pi[s + 1] = f->pi[s] + (int32_t)nr[s];
        f->px[s + 1] = f->px[s] + (int32_t)(nr[s] * width[at[s]]);
    }
    f->s = random_array(f->pi[count], sizeof *f->s);
    for (int64_t s = 0; s < count; s++) {
        memcpy(f->s + f->pi[s], rows[s], (size_t)nr[s] * sizeof *f->s);
        free(rows[s]);
    }
    for (int32_t i = 0; i < n; i++)
        f->perm[i] = i;
    for (int64_t i = n - 1; i > 0; i--) {
        const int64_t j = testing_random_below(state, i + 1);
        const int32_t old = f->perm[i];
        f->perm[i] = f->perm[j];
        f->perm[j] = old;
    }
    f->numbers = f->px[count];
    data->perm = random_coin(state, 6) ? NULL : f->perm;
    void *scratch[] = {parent, width, place, at, rows, nr};
    for (size_t k = 0; k < sizeof scratch / sizeof *scratch; k++)
        free(scratch[k]);
}

/* --------------------------------------------------------------------------------------------- the numbers --- */

/* The arrays with supernodes. */
static inline void random_by_supernodes(random_factor *f) {
    gpusolve_factor_data *data = &f->data;
    data->nsuper = f->nsuper;
    data->ssize = f->pi[f->nsuper];
    data->xsize = f->numbers;
    data->super = f->super;
    data->pi = f->pi;
    data->px = f->px;
    data->s = f->s;
}

/* Those by columns, packed; with or without their lengths. */
static inline void random_by_columns(random_factor *f, gpusolve_factor_kind kind, uint64_t *state) {
    gpusolve_factor_data *data = &f->data;
    f->p = random_array(data->n, sizeof *f->p);
    f->i = random_array(f->numbers, sizeof *f->i);
    f->nz = random_array(data->n, sizeof *f->nz);
    int32_t at = 0;
    for (int64_t s = 0; s < f->nsuper; s++)
        for (int32_t j = f->super[s], first = f->pi[s]; j < f->super[s + 1]; j++, first++) {
            f->p[j] = at;
            for (int32_t t = first; t < f->pi[s + 1]; t++)
                f->i[at++] = f->s[t];
            f->nz[j] = at - f->p[j];
        }
    f->p[data->n] = at;
    data->kind = kind;
    data->xsize = at;
    data->p = f->p;
    data->i = f->i;
    data->nz = random_coin(state, 2) ? f->nz : NULL;
}

/* New numbers: rows and columns of L whose sums stay about as large as their diagonal entries, so that x is as large as b;
 * but steep triangles are up to thirty times that. NaNs above the diagonal. */
static inline void random_numbers(random_factor *f, uint64_t *state) {
    const gpusolve_factor_data *data = &f->data;
    const int is_complex = testing_is_complex(data->dtype), has_d = data->kind == GPUSOLVE_SIMPLICIAL_LDL;
    int32_t *entries = random_array(data->n, sizeof *entries); /* of a row */
    for (int64_t s = 0; s < f->nsuper; s++)
        for (int32_t t = f->pi[s]; t < f->pi[s + 1]; t++)
            entries[f->s[t]] += f->super[s + 1] - f->super[s];
    for (int64_t s = 0; s < f->nsuper; s++) {
        const int32_t nc = f->super[s + 1] - f->super[s], nr = f->pi[s + 1] - f->pi[s];
        const double steep =
            f->steep && nc >= 32 && random_coin(state, 2) ? pow(30, testing_random(state)) : 1;
        for (int32_t k = 0; k < nc; k++)
            for (int32_t r = 0; r < nr; r++) {
                const int64_t of_panel = f->px[s] + (int64_t)k * nr + r, j = f->super[s] + k,
                              at = f->p ? f->p[j] + r - k : of_panel;
                const int32_t row = entries[f->s[f->pi[s] + r]];
                const double scale = 0.5 * (r < nc ? steep : 1) / sqrt((double)(row > nr ? row : nr)),
                             re = testing_random(state), im = is_complex ? testing_random(state) : 0;
                double complex number = r < k ? NAN : r == k ? 1.5 + re / 2 : scale * CMPLX(re, im);
                if (has_d && r == k && random_coin(state, 2))
                    number = -number;
                if (r >= k || !f->p)
                    testing_store(data->dtype, f->x, at, number);
                f->l[of_panel] = r < k ? 0 : testing_fetch(data->dtype, f->x, at);
                if (r == k) {
                    f->d[j] = has_d ? creal(f->l[of_panel]) : 1;
                    f->l[of_panel] = has_d ? 1 : f->l[of_panel];
                }
            }
    }
    free(entries);
}

/* Room for the numbers. */
static inline void random_make_room(random_factor *f, gpusolve_dtype dtype) {
    f->data.dtype = dtype;
    f->x = random_array(f->data.xsize, testing_bytes(dtype));
    f->l = random_array(f->numbers, sizeof *f->l);
    f->d = random_array(f->data.n, sizeof *f->d);
    f->data.x = f->x;
}

/* The type of b and x, and the epsilon that they are right to. */
static inline gpusolve_dtype random_vector_dtype(const random_factor *f) {
    if (f->data.storage == GPUSOLVE_STORAGE_SAME)
        return f->data.dtype;
    return testing_is_complex(f->data.dtype) ? GPUSOLVE_COMPLEX_DOUBLE : GPUSOLVE_DOUBLE;
}
static inline double random_epsilon(const random_factor *f) {
    return f->data.storage == GPUSOLVE_STORAGE_SINGLE ? (double)FLT_EPSILON : testing_epsilon(f->data.dtype);
}

/* Without numbers yet. */
static inline random_factor random_factor_new(random_limits most, uint64_t *state) {
    random_factor f = {.data = GPUSOLVE_FACTOR_DATA_INIT};
    random_structure(&f, most, state);
    if (random_coin(state, 3))
        random_by_columns(&f, random_coin(state, 2) ? GPUSOLVE_SIMPLICIAL_LL : GPUSOLVE_SIMPLICIAL_LDL,
                          state);
    else
        random_by_supernodes(&f);
    const gpusolve_dtype dtype =
        random_coin(state, 2) ? GPUSOLVE_DOUBLE : (gpusolve_dtype)testing_random_below(state, 4);
    f.steep = random_coin(state, 5);
    random_make_room(&f, dtype);
    return f;
}

static inline void random_factor_free(random_factor *f) {
    void *arrays[] = {f->super, f->pi, f->px, f->s, f->perm, f->p, f->i, f->nz, f->x, f->l, f->d};
    for (size_t k = 0; k < sizeof arrays / sizeof *arrays; k++)
        free(arrays[k]);
}

/* -------------------------------------------------------------------------------------------- products --- */

/* A vector and, number by number, a bound of what its sums are made of. */
typedef struct random_vector {
    double complex *value;
    double *size;
} random_vector;

static inline random_vector random_vector_new(int64_t n) {
    return (random_vector){random_array(n, sizeof(double complex)), random_array(n, sizeof(double))};
}

static inline void random_vector_free(random_vector *v) {
    free(v->value);
    free(v->size);
}

/* v = L v, or L' v if transposed */
static inline void random_multiply(const random_factor *f, int transposed, random_vector *v) {
    random_vector sum = random_vector_new(f->data.n);
    for (int64_t s = 0; s < f->nsuper; s++) {
        const int32_t nc = f->super[s + 1] - f->super[s], nr = f->pi[s + 1] - f->pi[s],
                      *row = f->s + f->pi[s];
        for (int32_t k = 0; k < nc; k++) {
            const double complex *l = f->l + f->px[s] + (int64_t)k * nr;
            const int32_t column = f->super[s] + k;
            for (int32_t r = k; r < nr; r++) {
                const int32_t to = transposed ? column : row[r], from = transposed ? row[r] : column;
                sum.value[to] += (transposed ? conj(l[r]) : l[r]) * v->value[from];
                sum.size[to] += (fabs(creal(l[r])) + fabs(cimag(l[r]))) * v->size[from];
            }
        }
    }
    random_vector_free(v);
    *v = sum;
}

/* v = D v */
static inline void random_scale(const random_factor *f, random_vector *v) {
    for (int64_t i = 0; i < f->data.n; i++) {
        v->value[i] *= f->d[i];
        v->size[i] *= fabs(f->d[i]);
    }
}

/* v(i) = v(perm(i)) */
static inline void random_permute(const random_factor *f, random_vector *v) {
    random_vector to = random_vector_new(f->data.n);
    for (int64_t i = 0; i < f->data.n; i++) {
        const int64_t from = f->data.perm ? f->perm[i] : i;
        to.value[i] = v->value[from];
        to.size[i] = v->size[from];
    }
    random_vector_free(v);
    *v = to;
}

#endif
