/*
 * Reading a factor's numbers back from the device: read_values of the CUDA executor.
 *
 * The device has [W; -M], W = inv(L1), M = L2 W. Narrow panels are copied to the host, run by run of neighbours, and its threads
 * restore their columns (restore_host.h). A wide one is copied out of its tiles into a dense matrix on the device, where trsm/triangular.h
 * computes L1 = inv(W) and L2 = M L1, and then to the host:
 *
 *      tiles -> A = [W; -M]        T = I, W T = I        A2 := -A2 T = M L1        A1 := T        A -> host -> columns
 *
 * All that runs on the handle's stream, one panel after the other. Diagonals come back real: the import wants them so.
 */
#include <stdlib.h>
#include <string.h>

#include "../../dense_kernels/panel_layout.h"
#include "../../memory.h"
#include "../../pool.h"
#include "../../trsm/triangular.h"
#include "support.h"

#define GSV_TEMPLATE "restore_host.h"
#include "../../dense_kernels/kinds_host.h"

enum { RUN_BYTES = 32 << 20, TOGETHER = 64, NUMBERS = 1 << 14 };

/* A narrow panel, and where it stands among the panels, in numbers. */
typedef struct narrow {
    int64_t at;
    int32_t s;
} narrow;

typedef struct reading {
    gpusolve_handle *handle;
    const gpusolve_factor *factor;
    const gsv_cuda_factor *device;
    const int64_t *column;
    char *x;
    size_t number; /* bytes */
    char *buffer;  /* on the host */
    /* the run of narrow panels in the buffer */
    const narrow *run;
} reading;

/* ---------------------------------------------------------------------------------------------- narrow --- */

static void restore(const reading *r, const narrow *panel) {
    static void (*const of[])(const void *, int32_t, int32_t, const int64_t *,
                              void *) = {GSV_KINDS(restore_panel)};
    const gsv_plan *plan = &r->factor->plan;
    of[gsv_panel_dtype(r->factor->numbers)](r->buffer + (size_t)(panel->at - r->run->at) * r->number,
                                            gsv_rows(plan, panel->s), gsv_columns(plan, panel->s),
                                            r->column + plan->l.first_column[panel->s], r->x);
}

static void restore_range(void *context, int64_t begin, int64_t end, int member) {
    const reading *r = context;
    (void)member;
    for (int64_t k = begin; k < end; k++)
        restore(r, r->run + k);
}

static int by_place(const void *a, const void *b) {
    const int64_t x = ((const narrow *)a)->at, y = ((const narrow *)b)->at;
    return x < y ? -1 : x > y;
}

/* Numbers from the first panel's first to behind the last one's last. */
static int64_t run_numbers(const gsv_plan *plan, const narrow *first, const narrow *last) {
    return last->at - first->at + gsv_trapezoid(plan, last->s);
}

static gpusolve_status read_narrow(reading *r, const narrow *panels, int64_t count) {
    const gsv_plan *plan = &r->factor->plan;
    gpusolve_status status = GPUSOLVE_OK;
    for (int64_t begin = 0, end; begin < count && status == GPUSOLVE_OK; begin = end) {
        end = begin + 1;
        while (end < count &&
               (size_t)run_numbers(plan, panels + begin, panels + end) * r->number <= RUN_BYTES)
            end++;
        const int64_t numbers = run_numbers(plan, panels + begin, panels + end - 1);
        const char *from = (const char *)r->device->plan.panels + (size_t)panels[begin].at * r->number;
        status =
            gsv_cuda_check(cudaMemcpy(r->buffer, from, (size_t)numbers * r->number, cudaMemcpyDeviceToHost),
                           "reading panels", &r->handle->message);
        r->run = panels + begin;
        if (status == GPUSOLVE_OK)
            gsv_pool_ranges(r->handle->pool, gsv_pool_share(r->handle->pool, numbers, NUMBERS), end - begin,
                            TOGETHER, restore_range, r);
    }
    return status;
}

/* ------------------------------------------------------------------------------------------------ wide --- */

/* B = L \ B, or B = -B L, of `vectors` columns or rows; L is lower, of order n. */
static gpusolve_status apply_triangle(const reading *r, gsv_triangular_operation operation, int64_t n,
                                      int64_t vectors, const void *l, int64_t ldl, void *b, int64_t ldb) {
    const int solves = operation == GSV_SOLVE;
    const gsv_triangular p = {.operation = operation,
                              .dtype = gsv_panel_dtype(r->factor->numbers),
                              .side = solves ? GPUSOLVE_LEFT : GPUSOLVE_RIGHT,
                              .uplo = GPUSOLVE_LOWER,
                              .trans = GPUSOLVE_NO_TRANS,
                              .diag = GPUSOLVE_NON_UNIT,
                              .order = n,
                              .vectors = vectors,
                              .a = l,
                              .lda = ldl,
                              .b = b,
                              .ldb = ldb};
    return gsv_triangular_cuda(r->handle, &p, (gsv_number){solves ? 1 : -1, 0}, NULL, 0);
}

/* A (nr x nc) from the tiles of panel s, zeros above the diagonal; T: ones on the diagonal, from `ones` [device] [nc]. */
static cudaError_t spread(const reading *r, int32_t s, char *a, char *t, const char *ones) {
    const gsv_plan *plan = &r->factor->plan;
    const int32_t nr = gsv_rows(plan, s), nc = gsv_columns(plan, s);
    const cudaStream_t stream = (cudaStream_t)r->handle->stream;
    const size_t number = r->number, rows = (size_t)nr, columns = (size_t)nc;
    const char *panel = (const char *)r->device->plan.panels + (size_t)plan->schedule->panel_ptr[s] * number;
    cudaError_t error = cudaMemsetAsync(a, 0, rows * columns * number, stream);
    if (error == cudaSuccess)
        error = cudaMemsetAsync(t, 0, columns * columns * number, stream);
    if (error == cudaSuccess)
        error = cudaMemcpy2DAsync(t, (columns + 1) * number, ones, number, number, columns,
                                  cudaMemcpyDeviceToDevice, stream);
    for (int32_t row = 0; row < nr && error == cudaSuccess; row += GSV_TILE) {
        const int32_t block = row / GSV_TILE, height = nr - row < GSV_TILE ? nr - row : GSV_TILE;
        error = cudaMemcpy2DAsync(a + (size_t)row * number, rows * number,
                                  panel + (size_t)gsv_block_row_start(nc, block) * number, GSV_TILE * number,
                                  (size_t)height * number, (size_t)gsv_block_row_columns(nc, block),
                                  cudaMemcpyDeviceToDevice, stream);
    }
    return error;
}

/* Columns of a wide panel that go through the buffer together. */
static int32_t columns_together(const reading *r, int32_t nr, int32_t nc) {
    const int64_t fit = RUN_BYTES / ((int64_t)nr * (int64_t)r->number);
    return fit < 1 ? 1 : fit < nc ? (int32_t)fit : nc;
}

/* A is [L1; L2] now: to x, column by column. */
static gpusolve_status fetch(const reading *r, int32_t s, const char *a) {
    const gsv_plan *plan = &r->factor->plan;
    const int32_t nr = gsv_rows(plan, s), nc = gsv_columns(plan, s), step = columns_together(r, nr, nc);
    const size_t number = r->number, real = gsv_real_bytes(gsv_panel_dtype(r->factor->numbers));
    for (int32_t first = 0; first < nc; first += step) {
        const int32_t count = nc - first < step ? nc - first : step;
        const gpusolve_dense to = {
            gsv_panel_dtype(r->factor->numbers), GPUSOLVE_COL_MAJOR, nr, count, nr, r->buffer};
        const char *from = a + (size_t)first * (size_t)nr * number;
        cudaError_t error =
            gsv_cuda_copy_block(r->handle, &to, (void *)(uintptr_t)from, cudaMemcpyDeviceToHost);
        if (error == cudaSuccess)
            error = cudaStreamSynchronize((cudaStream_t)r->handle->stream);
        if (error != cudaSuccess)
            return gsv_cuda_check(error, "reading a panel", &r->handle->message);
        for (int32_t k = first; k < first + count; k++) {
            char *column = r->x + (size_t)r->column[plan->l.first_column[s] + k] * number;
            memcpy(column, r->buffer + ((size_t)(k - first) * (size_t)nr + (size_t)k) * number,
                   (size_t)(nr - k) * number);
            memset(column + real, 0, number - real); /* the imaginary part of the diagonal */
        }
    }
    return GPUSOLVE_OK;
}

static gpusolve_status read_wide(reading *r, int32_t s, char *a, char *t, const char *ones) {
    const gsv_plan *plan = &r->factor->plan;
    const int64_t nr = gsv_rows(plan, s), nc = gsv_columns(plan, s);
    const size_t number = r->number;
    gsv_message *message = &r->handle->message;
    gpusolve_status status = gsv_cuda_check(spread(r, s, a, t, ones), "copying a panel", message);
    if (status == GPUSOLVE_OK)
        status = apply_triangle(r, GSV_SOLVE, nc, nc, a, nr, t, nc);
    if (status == GPUSOLVE_OK && nr > nc)
        status = apply_triangle(r, GSV_MULTIPLY, nc, nr - nc, t, nc, a + (size_t)nc * number, nr);
    if (status == GPUSOLVE_OK)
        status = gsv_cuda_check(cudaMemcpy2DAsync(a, (size_t)nr * number, t, (size_t)nc * number,
                                                  (size_t)nc * number, (size_t)nc, cudaMemcpyDeviceToDevice,
                                                  (cudaStream_t)r->handle->stream),
                                "copying a panel", message);
    return status ? status : fetch(r, s, a);
}

/* ----------------------------------------------------------------------------------------------- whole --- */

/* What the panels need, the narrow ones in the order in which they stand. */
typedef struct needs {
    int64_t narrow, panel, triangle; /* count; numbers of the largest wide panel and triangle */
    int32_t widest;
    size_t buffer; /* bytes on the host */
} needs;

static needs count_needs(const reading *r, narrow *list) {
    const gsv_plan *plan = &r->factor->plan;
    needs n = {.buffer = RUN_BYTES};
    for (int32_t s = 0; s < plan->l.nsuper; s++) {
        const int64_t nr = gsv_rows(plan, s), nc = gsv_columns(plan, s);
        if (gsv_is_narrow(nr, nc)) {
            list[n.narrow++] = (narrow){plan->schedule->panel_ptr[s], s};
            continue;
        }
        n.panel = nr * nc > n.panel ? nr * nc : n.panel;
        n.triangle = nc * nc > n.triangle ? nc * nc : n.triangle;
        n.widest = nc > n.widest ? (int32_t)nc : n.widest;
        n.buffer = (size_t)nr * r->number > n.buffer ? (size_t)nr * r->number : n.buffer;
    }
    qsort(list, (size_t)n.narrow, sizeof *list, by_place);
    return n;
}

/* Ones for the diagonals, by way of the buffer. */
static gpusolve_status put_ones(const reading *r, int32_t count, void *ones) {
    memset(r->buffer, 0, (size_t)count * r->number);
    for (int32_t k = 0; k < count; k++)
        if (gsv_is_single(gsv_panel_dtype(r->factor->numbers)))
            ((float *)r->buffer)[(size_t)k * r->number / sizeof(float)] = 1;
        else
            ((double *)r->buffer)[(size_t)k * r->number / sizeof(double)] = 1;
    return gsv_cuda_check(gsv_cuda_fill(ones, r->buffer, (size_t)count * r->number), "copying ones",
                          &r->handle->message);
}

static gpusolve_status read_all_wide(reading *r, const needs *n) {
    const gsv_plan *plan = &r->factor->plan;
    gsv_message *message = &r->handle->message;
    const int64_t number = (int64_t)r->number, panel = (n->panel * number + 255) / 256 * 256,
                  triangle = (n->triangle * number + 255) / 256 * 256;
    void *memory = NULL;
    if (n->widest == 0)
        return GPUSOLVE_OK;
    gpusolve_status status = gsv_cuda_malloc(&memory, panel + triangle + n->widest * number, message);
    char *a = memory, *t = status ? NULL : a + panel, *ones = status ? NULL : t + triangle;
    if (status == GPUSOLVE_OK)
        status = put_ones(r, n->widest, ones);
    for (int32_t s = 0; s < plan->l.nsuper && status == GPUSOLVE_OK; s++)
        if (!gsv_is_narrow(gsv_rows(plan, s), gsv_columns(plan, s)))
            status = read_wide(r, s, a, t, ones);
    cudaStreamSynchronize(
        (cudaStream_t)r->handle->stream); /* also after a failure: it may be using the memory */
    gsv_cuda_free(memory);
    return status;
}

gpusolve_status gsv_cuda_read_values(gpusolve_handle *handle, const gpusolve_factor *factor,
                                     const int64_t *column, void *x, void *d) {
    const gsv_plan *plan = &factor->plan;
    gsv_message *message = &handle->message;
    reading r = {.handle = handle,
                 .factor = factor,
                 .device = factor->prepared,
                 .column = column,
                 .x = x,
                 .number = gsv_panel_bytes(factor->numbers)};
    narrow *list = gsv_malloc((size_t)plan->l.nsuper, sizeof *list);
    if (!list)
        return gsv_fail(message, GPUSOLVE_OUT_OF_MEMORY, "out of host memory while reading a factor back");
    const needs n = count_needs(&r, list);
    r.buffer = gsv_malloc(n.buffer, 1);
    gpusolve_status status = r.buffer ? GPUSOLVE_OK
                                      : gsv_fail(message, GPUSOLVE_OUT_OF_MEMORY,
                                                 "out of host memory while reading a factor back");
    const int previous = gsv_cuda_enter(handle->device);
    if (status == GPUSOLVE_OK && factor->has_d)
        status =
            gsv_cuda_check(cudaMemcpy(d, r.device->plan.d, (size_t)plan->l.n * gsv_real_bytes(factor->dtype),
                                      cudaMemcpyDeviceToHost),
                           "reading D", message);
    if (status == GPUSOLVE_OK)
        status = read_narrow(&r, list, n.narrow);
    if (status == GPUSOLVE_OK)
        status = read_all_wide(&r, &n);
    gsv_cuda_leave(previous);
    gsv_free(r.buffer);
    gsv_free(list);
    return status;
}
