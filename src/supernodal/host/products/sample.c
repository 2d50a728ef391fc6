/*
 * Samples on the host: x = D^(-1/2) z, drawn or the caller's; x = P' L' \ x in place; x += mean.
 *
 * Work is dealt out in runs of RUN rows of one column. A run is drawn into a buffer in the cache: loops without branches, for which the compiler has
 * vectors, with fma where the machine has it and by the C library elsewhere: the bits are the same (dense_kernels/normal.h).
 */
#include "products.h"

#include <string.h>

#include "../../../dense_kernels/lanes_host.h"
#include "../../../dense_kernels/normal.h"
#include "../executor.h"

enum { RUN = 1024, NUMBERS = 4096 }; /* rows, an even number; numbers that are worth waking a thread */

typedef struct drawing {
    const gsv_sample *sample;
    const gpusolve_dense *x;
    const void *d; /* [n] real numbers, or NULL */
    int64_t runs;  /* in a column */
    int isa;
} drawing;

/* Real numbers 2 k .. 2 (k + count) - 1 of a column, or parts of complex ones; count <= RUN. */
static inline __attribute__((always_inline)) void draw(uint64_t seed, int64_t column, int64_t k,
                                                       int64_t count, int is_complex, double *to) {
    uint64_t first[RUN], second[RUN];
    for (int64_t i = 0; i < count; i++) {
        uint64_t random[2];
        gsv_philox((uint64_t)(k + i), (uint64_t)column, seed, random);
        first[i] = random[0];
        second[i] = random[1];
    }
    const double minus_two = is_complex ? -1.0 : -2.0;
    for (int64_t i = 0; i < count; i++) {
        const gsv_normals z = gsv_box_muller(first[i], second[i], minus_two);
        to[2 * i] = z.a;
        to[2 * i + 1] = z.b;
    }
}

static void draw_base(uint64_t seed, int64_t column, int64_t k, int64_t count, int is_complex, double *to) {
    draw(seed, column, k, count, is_complex, to);
}

#if GSV_X86_DISPATCH
__attribute__((target("avx2,fma"))) static void draw_v3(uint64_t seed, int64_t column, int64_t k,
                                                        int64_t count, int is_complex, double *to) {
    draw(seed, column, k, count, is_complex, to);
}
#endif

static void draw_by(int isa, uint64_t seed, int64_t column, int64_t k, int64_t count, int is_complex,
                    double *to) {
#if GSV_X86_DISPATCH
    if (isa >= GSV_ISA_V3) {
        draw_v3(seed, column, k, count, is_complex, to);
        return;
    }
#else
    (void)isa;
#endif
    draw_base(seed, column, k, count, is_complex, to);
}

/* Rows begin .. end - 1 of a column of x, whose numbers are parts of complex ones if `parts` is 2. */
static void fill_run(const drawing *job, int64_t c, int64_t begin, int64_t end) {
    const gpusolve_dense *x = job->x, *z = job->sample->z;
    const int single = gsv_is_single(x->dtype), parts = gsv_is_complex(x->dtype) ? 2 : 1;
    double numbers[2 * RUN];
    const int64_t k = parts == 2 ? begin : begin / 2,
                  count = parts == 2 ? end - begin : (end - begin + 1) / 2;
    if (z)
        for (int64_t i = begin; i < end; i++)
            for (int part = 0; part < parts; part++)
                numbers[parts * (i - begin) + part] = gsv_get_real(
                    single, z->values, parts * (i * gsv_row_stride(z) + c * gsv_column_stride(z)) + part);
    else
        draw_by(job->isa, job->sample->seed, job->sample->first + c, k, count, parts == 2, numbers);
    for (int64_t i = begin; i < end && job->d; i++)
        for (int part = 0; part < parts; part++)
            numbers[parts * (i - begin) + part] /= sqrt(gsv_get_real(single, job->d, i));
    if (!single && gsv_row_stride(x) == 1) {
        memcpy((double *)x->values + parts * (begin + c * gsv_column_stride(x)), numbers,
               (size_t)(parts * (end - begin)) * sizeof *numbers);
        return;
    }
    for (int64_t i = begin; i < end; i++) {
        const int64_t place = parts * (i * gsv_row_stride(x) + c * gsv_column_stride(x));
        for (int part = 0; part < parts; part++)
            gsv_put_real(single, x->values, place + part, numbers[parts * (i - begin) + part]);
    }
}

static void fill_item(void *context, int64_t item, int member) {
    const drawing *job = context;
    const int64_t n = job->x->rows, begin = item % job->runs * RUN;
    (void)member;
    fill_run(job, item / job->runs, begin, n - begin < RUN ? n : begin + RUN);
}

static void add_mean_item(void *context, int64_t item, int member) {
    const drawing *job = context;
    const gpusolve_dense *x = job->x;
    const int single = gsv_is_single(x->dtype), parts = gsv_is_complex(x->dtype) ? 2 : 1;
    const int64_t c = item / job->runs, begin = item % job->runs * RUN;
    const int64_t end = x->rows - begin < RUN ? x->rows : begin + RUN;
    (void)member;
    for (int64_t i = begin; i < end; i++) {
        const int64_t place = parts * (i * gsv_row_stride(x) + c * gsv_column_stride(x));
        for (int part = 0; part < parts; part++)
            gsv_put_real(single, x->values, place + part,
                         gsv_get_real(single, x->values, place + part) +
                             gsv_get_real(single, job->sample->mean, parts * i + part));
    }
}

static gpusolve_status draw_and_solve(gpusolve_handle *handle, const gpusolve_factor *factor,
                                      gpusolve_workspace *workspace, const gsv_sample *sample,
                                      const gpusolve_dense *x) {
    const gsv_host_factor *prepared = factor->prepared;
    const int64_t runs = (x->rows + RUN - 1) / RUN;
    drawing job = {sample, x, prepared->d, runs, prepared->isa};
    const int threads = gsv_pool_share(handle->pool, x->rows * x->cols, NUMBERS);
    const int as_it_is = sample->z && !prepared->d; /* the caller's numbers */
    if (!as_it_is)
        gsv_pool_each(handle->pool, threads, runs * x->cols, fill_item, &job);
    const gpusolve_status status = factor->executor->solve(
        handle, factor, workspace, GSV_BACKWARD | GSV_PERMUTE_OUT, as_it_is ? sample->z : x, x);
    if (status == GPUSOLVE_OK && sample->mean)
        gsv_pool_each(handle->pool, threads, runs * x->cols, add_mean_item, &job);
    return status;
}

const gsv_product_functions gsv_host_products = {.sample = draw_and_solve, .multiply = gsv_host_multiply};
