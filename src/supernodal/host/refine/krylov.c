/*
 * Inner products and sums of vectors on the host: rows are dealt out in at most 64 blocks, whose sums are added up in ascending order. So
 * the bits are the same with any number of threads, and with any neighbours.
 */
#include "krylov.h"

#include "../../../pool.h"

enum { MOST_BLOCKS = 64, LEAST_ROWS = 128, WIDTH = 32, SERIAL_WORK = 1 << 14 };

/* One pass over the vectors. */
typedef struct pass {
    const gsv_krylov *k;
    int64_t n, rows;   /* rows: of a block */
    int columns, dots; /* dots: inner products, else a sum */
    int count;         /* inner products of a column, or its norm */
    const void *with, *vectors;
    int64_t vector; /* REALs from a vector to the next */
    void *out;
    double scale;
    int terms, finished, norm; /* of a sum */
    const gsv_pair *factor;
    gsv_pair *partial;
} pass;

#define GSV_TEMPLATE "../supernodal/host/refine/krylov.inc"
#include "../../../dense_kernels/kinds_host.h"

static int64_t rows_of(int64_t n) {
    const int64_t rows = (n + MOST_BLOCKS - 1) / MOST_BLOCKS;
    return rows > LEAST_ROWS ? rows : LEAST_ROWS;
}

static int64_t blocks_of(int64_t n) {
    return (n + rows_of(n) - 1) / rows_of(n);
}

static int64_t vector_bytes(gpusolve_dtype dtype, int64_t n, int64_t columns) {
    return (n * columns * (int64_t)gsv_dtype_bytes(dtype) + 63) / 64 * 64;
}

int64_t gsv_host_krylov_bytes(gpusolve_dtype dtype, int64_t n, int64_t columns,
                              const gsv_krylov_method *method) {
    const int64_t basis =
        (1 + gsv_krylov_vectors(method->conjugate, method->length)) * vector_bytes(dtype, n, columns);
    const int64_t partial = blocks_of(n) * (method->length + 1) * columns * (int64_t)sizeof(gsv_pair);
    return basis + partial + columns * gsv_krylov_scalar_bytes(method->length);
}

void gsv_host_krylov_place(gsv_host_krylov *t, const gsv_krylov_method *method, void *memory) {
    const int columns = t->scalars.columns;
    t->d = memory;
    t->basis = (char *)memory + vector_bytes(t->dtype, t->n, columns);
    t->partial = (gsv_pair *)((char *)t->basis + gsv_krylov_vectors(method->conjugate, method->length) *
                                                     vector_bytes(t->dtype, t->n, columns));
    gsv_krylov_place(&t->scalars, t->partial + blocks_of(t->n) * (method->length + 1) * columns);
}

void *gsv_host_krylov_vector(const gsv_host_krylov *t, int number) {
    return number == GSV_VECTOR_R   ? t->r
           : number == GSV_VECTOR_D ? t->d
                                    : (char *)t->basis + (number - GSV_VECTOR_BASIS) *
                                                             vector_bytes(t->dtype, t->n, t->scalars.columns);
}

int gsv_host_krylov_on(const gsv_host_krylov *t) {
    int on = 0;
    for (int j = 0; j < t->scalars.columns; j++)
        on += t->scalars.column[j].on;
    return on;
}

void gsv_host_krylov_stage(gsv_host_krylov *t, gsv_krylov_stage stage, int step) {
    for (int j = 0; j < t->scalars.columns; j++)
        gsv_krylov_do(&t->scalars, stage, step, j);
}

/* The blocks, and the total of what each has found. */
static void run(gsv_host_krylov *t, pass *p) {
    static gsv_pool_item *const block_of[] = {GSV_KINDS(block)};
    const gsv_krylov *k = &t->scalars;
    const int64_t blocks = blocks_of(t->n), found = p->dots || p->norm ? (int64_t)p->count * k->columns : 0;
    const int64_t terms = p->dots ? p->count : p->terms + 1;
    p->k = k;
    p->n = t->n;
    p->rows = rows_of(t->n);
    p->columns = k->columns;
    p->factor = k->factor;
    p->partial = t->partial;
    p->vector = vector_bytes(t->dtype, t->n, k->columns) / (gsv_is_single(t->dtype) ? 4 : 8);
    gsv_pool_each(t->pool, gsv_pool_share(t->pool, t->n * k->columns * terms, SERIAL_WORK), blocks,
                  block_of[t->dtype], p);
    for (int64_t at = 0; at < found; at++) {
        gsv_pair sum = {0, 0};
        for (int64_t b = 0; b < blocks; b++)
            sum = gsv_pair_add(sum, t->partial[b * found + at]);
        k->found[at] = sum;
    }
}

void gsv_host_krylov_dots(gsv_host_krylov *t, int first, int count, int with, gsv_krylov_stage stage,
                          int step) {
    pass p = {.dots = 1,
              .count = count,
              .vectors = gsv_host_krylov_vector(t, first),
              .with = gsv_host_krylov_vector(t, with)};
    run(t, &p);
    gsv_host_krylov_stage(t, stage, step);
}

void gsv_host_krylov_sum(gsv_host_krylov *t, const gsv_krylov_sum *sum, gsv_krylov_stage stage, int step) {
    pass p = {.count = 1,
              .vectors = gsv_host_krylov_vector(t, sum->first),
              .with = sum->with < 0 ? NULL : gsv_host_krylov_vector(t, sum->with),
              .out = gsv_host_krylov_vector(t, sum->out),
              .scale = sum->scale,
              .terms = sum->count,
              .finished = sum->finished,
              .norm = sum->norm};
    run(t, &p);
    if (stage != GSV_KRYLOV_NONE)
        gsv_host_krylov_stage(t, stage, step);
}
