/* Members for tests of batches: factors of a few matrices, each member with numbers of its own, and each also as a factor alone. */
#ifndef GPUSOLVE_TESTS_BATCH_MEMBERS_H
#define GPUSOLVE_TESTS_BATCH_MEMBERS_H

#include "testing.h"

#include "cholmod_helpers.h"
#include "gpusolve_batch.h"

enum { MOST_SOURCES = 6 };

typedef struct batch_members {
    int64_t count, n;           /* members, rows of all of them */
    gpusolve_dtype dtype;       /* of their numbers */
    gpusolve_dtype vectors;     /* of b and x */
    gpusolve_factor_data *data; /* [count] */
    void **x;                   /* [count] their numbers */
    gpusolve_factor **alone;    /* [count] */
    int64_t *row;               /* [count + 1] */
    int sources;
    cholmod_sparse *a[MOST_SOURCES];
    cholmod_factor *l[MOST_SOURCES];
} batch_members;

/* Member m of numbers `scale` times those of its source. */
static inline void members_scale(batch_members *w, int64_t m, double scale) {
    const cholmod_factor *l = w->l[m % w->sources];
    const int64_t numbers = (int64_t)(l->is_super ? l->xsize : l->nzmax);
    const gpusolve_dtype from = testing_is_complex(w->dtype) ? GPUSOLVE_COMPLEX_DOUBLE : GPUSOLVE_DOUBLE;
    for (int64_t k = 0; k < numbers; k++)
        testing_store(w->dtype, w->x[m], k, scale * testing_fetch(from, l->x, k));
}

static inline double members_first_scale(int64_t m) {
    return 1 + (double)(m % 7) / 8;
}

/* What a member is, and how it is stored. */
typedef enum batch_precision {
    IN_DOUBLE,
    IN_SINGLE,
    DOUBLE_STORED, /* numbers in double, stored in single */
    SINGLE_STORED  /* numbers in single, stored as they are, b and x in double */
} batch_precision;

/* specs: of the sources, ended by NULL; members take them in turn. */
static inline batch_members members_new(gpusolve_handle *handle, const char *const *specs, int64_t count,
                                        gpusolve_factor_kind kind, batch_precision precision,
                                        cholmod_common *common) {
    const int single = precision == IN_SINGLE || precision == SINGLE_STORED,
              stored = precision >= DOUBLE_STORED;
    batch_members w = {.count = count};
    for (; specs[w.sources]; w.sources++) {
        w.a[w.sources] = testing_load(specs[w.sources], common);
        REQUIRE(w.a[w.sources] != NULL);
        w.l[w.sources] = testing_factorize(w.a[w.sources], kind, common);
        REQUIRE(w.l[w.sources] != NULL);
    }
    w.dtype = w.a[0]->xtype == CHOLMOD_REAL ? (single ? GPUSOLVE_FLOAT : GPUSOLVE_DOUBLE)
                                            : (single ? GPUSOLVE_COMPLEX_FLOAT : GPUSOLVE_COMPLEX_DOUBLE);
    w.vectors = !stored ? w.dtype : testing_is_complex(w.dtype) ? GPUSOLVE_COMPLEX_DOUBLE : GPUSOLVE_DOUBLE;
    w.data = calloc((size_t)count + 1, sizeof *w.data);
    w.x = calloc((size_t)count + 1, sizeof *w.x);
    w.alone = calloc((size_t)count + 1, sizeof(gpusolve_factor *));
    w.row = calloc((size_t)count + 1, sizeof *w.row);
    REQUIRE(w.data && w.x && w.alone && w.row);
    for (int64_t m = 0; m < count; m++) {
        const cholmod_factor *l = w.l[m % w.sources];
        w.data[m] = testing_factor_data(l);
        w.x[m] = calloc((l->is_super ? l->xsize : l->nzmax) + 1, testing_bytes(w.dtype));
        REQUIRE(w.x[m] != NULL);
        members_scale(&w, m, members_first_scale(m));
        w.data[m].dtype = w.dtype;
        w.data[m].x = w.x[m];
        w.data[m].storage = stored ? GPUSOLVE_STORAGE_SINGLE : GPUSOLVE_STORAGE_SAME;
        w.row[m + 1] = w.row[m] + w.data[m].n;
        REQUIRE(gpusolve_factor_create(handle, &w.data[m], &w.alone[m]) == GPUSOLVE_OK);
    }
    w.n = w.row[count];
    return w;
}

static inline void members_free(batch_members *w, cholmod_common *common) {
    for (int64_t m = 0; m < w->count; m++) {
        gpusolve_factor_destroy(w->alone[m]);
        free(w->x[m]);
    }
    for (int k = 0; k < w->sources; k++) {
        cholmod_free_factor(&w->l[k], common);
        cholmod_free_sparse(&w->a[k], common);
    }
    free(w->data);
    free(w->x);
    free(w->alone);
    free(w->row);
}

/* ----------------------------------------------------------------------------------------- the blocks --- */

/* How the members' blocks lie. */
typedef enum batch_layout {
    APART,       /* by columns, with gaps everywhere */
    APART_ROWS,  /* by rows, with gaps */
    BOTH,        /* by columns and by rows in turn */
    RAGGED,      /* members with other numbers of columns, some with none */
    WHOLE,       /* one block by columns */
    WHOLE_ROWS,  /* one block by rows */
    PACKED,      /* members of one order: a stride, each by columns without gaps */
    STRIDED_ROWS /* the same by rows */
} batch_layout;

static inline int layout_is_strided(batch_layout layout) {
    return layout == PACKED || layout == STRIDED_ROWS;
}

/* All members' blocks in one piece of memory, whose bytes begin as 0xff. */
typedef struct batch_blocks {
    gpusolve_dense *block; /* [count] */
    int64_t numbers;       /* of memory */
    int64_t stride;        /* where the layout has one */
    size_t bytes;
    char *memory;
} batch_blocks;

static inline batch_blocks blocks_new(const batch_members *w, batch_layout layout, gpusolve_dtype dtype,
                                      int64_t cols) {
    batch_blocks all = {.block = calloc((size_t)w->count + 1, sizeof *all.block)};
    REQUIRE(all.block != NULL);
    const size_t number = testing_bytes(dtype);
    int64_t *place = calloc((size_t)w->count + 1, sizeof *place);
    REQUIRE(place != NULL);
    for (int64_t m = 0; m < w->count; m++) {
        const int64_t n = w->data[m].n;
        const int by_rows = layout == APART_ROWS || layout == WHOLE_ROWS || layout == STRIDED_ROWS ||
                            (layout == BOTH && m % 2);
        const int64_t own = layout == RAGGED ? (m + cols) % (cols + 1) : cols, run = by_rows ? own : n,
                      runs = by_rows ? n : own, gap = layout <= RAGGED ? 1 + m % 3 : 0;
        gpusolve_dense *block = &all.block[m];
        *block = (gpusolve_dense){
            dtype, by_rows ? GPUSOLVE_ROW_MAJOR : GPUSOLVE_COL_MAJOR, n, own, (run > 1 ? run : 1) + gap,
            NULL};
        if (layout == WHOLE)
            block->ld = w->n + 3;
        if (layout == WHOLE_ROWS || layout == STRIDED_ROWS)
            block->ld = cols + 2;
        place[m] = layout == WHOLE ? w->row[m] : layout == WHOLE_ROWS ? w->row[m] * block->ld : all.numbers;
        const int64_t end = place[m] + (runs > 0 ? (runs - 1) * block->ld + run : 0);
        if (end + gap > all.numbers)
            all.numbers = end + gap;
        if (layout == STRIDED_ROWS)
            all.numbers = (m + 1) * n * block->ld; /* one block together */
    }
    all.stride = w->count > 1 && layout_is_strided(layout) ? place[1] : 0;
    all.bytes = (size_t)all.numbers * number;
    all.memory = malloc(all.bytes + 1);
    REQUIRE(all.memory != NULL);
    memset(all.memory, 0xff, all.bytes + 1);
    for (int64_t m = 0; m < w->count; m++)
        all.block[m].values = all.memory + (size_t)place[m] * number;
    free(place);
    return all;
}

static inline void blocks_free(batch_blocks *all) {
    free(all->block);
    free(all->memory);
}

/* The same blocks in other memory. */
static inline gpusolve_dense *blocks_moved(const batch_members *w, const batch_blocks *all, void *memory) {
    gpusolve_dense *moved = calloc((size_t)w->count + 1, sizeof *moved);
    REQUIRE(moved != NULL);
    for (int64_t m = 0; m < w->count; m++) {
        moved[m] = all->block[m];
        moved[m].values = (char *)memory + ((char *)all->block[m].values - all->memory);
    }
    return moved;
}

/* Whether the memory is what was expected: same bits, or numbers nearer than 1e4 epsilon, and what nobody was to write unchanged. */
static inline int blocks_agree(const batch_blocks *got, const batch_blocks *expected, gpusolve_dtype dtype,
                               double epsilon, int exact) {
    const size_t number = testing_bytes(dtype);
    unsigned char untouched[16];
    double largest = 0;
    memset(untouched, 0xff, sizeof untouched);
    if (exact)
        return memcmp(got->memory, expected->memory, got->bytes) == 0;
    for (int64_t k = 0; k < got->numbers; k++)
        if (memcmp(expected->memory + (size_t)k * number, untouched, number) != 0)
            largest = testing_worse(largest, cabs(testing_fetch(dtype, expected->memory, k)));
    for (int64_t k = 0; k < got->numbers; k++) {
        const char *have = got->memory + (size_t)k * number, *want = expected->memory + (size_t)k * number;
        if (memcmp(want, untouched, number) == 0) {
            if (memcmp(have, want, number) != 0)
                return 0;
        } else if (!(cabs(testing_fetch(dtype, got->memory, k) - testing_fetch(dtype, expected->memory, k)) <=
                     1e4 * epsilon * largest)) {
            return 0;
        }
    }
    return 1;
}

/* Of the panels: their inverses may be others, where a member is planned with others. */
static inline double members_epsilon(const batch_members *w) {
    return testing_epsilon(w->data[0].storage == GPUSOLVE_STORAGE_SINGLE ? GPUSOLVE_FLOAT : w->dtype);
}

#endif
