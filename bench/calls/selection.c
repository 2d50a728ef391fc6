#include "selection.h"

#include <complex.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "gpusolve_selection.h"

/* Blocks on the host and on the device: b and x with the selected rows, and all of x. */
typedef struct selected_case {
    gpusolve_handle *handle;
    const gpusolve_factor *factor;
    const bench_device *device;
    gpusolve_selection *selection;
    gpusolve_dense b, x, whole; /* values on the device */
    int64_t *row;
    char *host_b, *host_x, *host_whole;
} selected_case;

static int call(void *context) {
    selected_case *c = context;

    return (int)gpusolve_solve_selected(c->handle, c->factor, c->selection, &c->b, &c->x);
}

static size_t bytes_of(const gpusolve_dense *dense, size_t number) {
    return (size_t)(dense->rows * dense->cols) * number;
}

/* Numbers in [-1, 1) for b; the same among zeros in the whole. */
static void fill(selected_case *c, size_t number) {
    const size_t real = c->b.dtype == GPUSOLVE_FLOAT || c->b.dtype == GPUSOLVE_COMPLEX_FLOAT ? 4 : 8;
    uint64_t state = 1;

    memset(c->host_whole, 0, bytes_of(&c->whole, number));
    for (int64_t j = 0; j < c->b.cols; j++)
        for (int64_t k = 0; k < c->b.rows; k++) {
            char *to = c->host_b + (size_t)(j * c->b.ld + k) * number;

            for (size_t at = 0; at < number; at += real) {
                double value;

                state = state * 6364136223846793005u + 1442695040888963407u;
                value = 1 - (double)(state >> 11) * 0x1p-52;
                if (real == 8)
                    memcpy(to + at, &value, 8);
                else
                    memcpy(to + at, &(float){(float)value}, 4);
            }
            memcpy(c->host_whole + (size_t)(j * c->whole.ld + c->row[k]) * number, to, number);
        }
}

/* A zero's sign aside, as == has it. */
static int same_number(gpusolve_dtype dtype, const char *a, const char *b) {
    const int parts = dtype == GPUSOLVE_FLOAT || dtype == GPUSOLVE_DOUBLE ? 1 : 2;
    const int is_single = dtype == GPUSOLVE_FLOAT || dtype == GPUSOLVE_COMPLEX_FLOAT;

    for (int part = 0; part < parts; part++)
        if (is_single ? ((const float *)a)[part] != ((const float *)b)[part]
                      : ((const double *)a)[part] != ((const double *)b)[part])
            return 0;
    return 1;
}

static double complex number_at(gpusolve_dtype dtype, const char *values, int64_t at) {
    switch (dtype) {
    case GPUSOLVE_FLOAT:
        return ((const float *)values)[at];
    case GPUSOLVE_DOUBLE:
        return ((const double *)values)[at];
    case GPUSOLVE_COMPLEX_FLOAT:
        return ((const float complex *)values)[at];
    default:
        return ((const double complex *)values)[at];
    }
}

/* To rounding, each column held against its largest number. A NaN is not close to anything. */
static int is_close(const selected_case *c) {
    const gpusolve_dtype dtype = c->x.dtype;
    const double tolerance = dtype == GPUSOLVE_FLOAT || dtype == GPUSOLVE_COMPLEX_FLOAT ? 1e-3 : 1e-10;

    for (int64_t j = 0; j < c->x.cols; j++) {
        double largest = 0, difference = 0;

        for (int64_t k = 0; k < c->x.rows; k++) {
            const double complex expected = number_at(dtype, c->host_whole, j * c->whole.ld + c->row[k]);
            const double off = cabs(number_at(dtype, c->host_x, j * c->x.ld + k) - expected);

            largest = fmax(largest, cabs(expected));
            difference = off > difference || isnan(off) ? off : difference;
        }
        if (!(difference <= tolerance * largest))
            return 0;
    }
    return 1;
}

static int compare(const selected_case *c, size_t number) {
    /* gpusolve_selection.h: on a device several columns may be the same to rounding alone */
    if (gpusolve_get_backend(c->handle) == GPUSOLVE_BACKEND_CUDA && c->x.cols > 1)
        return is_close(c);
    for (int64_t j = 0; j < c->x.cols; j++)
        for (int64_t k = 0; k < c->x.rows; k++)
            if (!same_number(c->x.dtype, c->host_x + (size_t)(j * c->x.ld + k) * number,
                             c->host_whole + (size_t)(j * c->whole.ld + c->row[k]) * number))
                return 0;
    return 1;
}

static const char *prepare(selected_case *c, int64_t n, int64_t rows, int64_t nrhs, gpusolve_dtype dtype,
                           size_t number) {
    c->b = c->x = (gpusolve_dense){dtype, GPUSOLVE_COL_MAJOR, rows, nrhs, rows, NULL};
    c->whole = (gpusolve_dense){dtype, GPUSOLVE_COL_MAJOR, n, nrhs, n, NULL};
    c->row = malloc((size_t)rows * sizeof *c->row);
    c->host_b = malloc(bytes_of(&c->b, number));
    c->host_x = malloc(bytes_of(&c->x, number));
    c->host_whole = malloc(bytes_of(&c->whole, number));
    c->b.values = c->device->allocate(bytes_of(&c->b, number));
    c->x.values = c->device->allocate(bytes_of(&c->x, number));
    c->whole.values = c->device->allocate(bytes_of(&c->whole, number));
    if (!c->row || !c->host_b || !c->host_x || !c->host_whole || !c->b.values || !c->x.values ||
        !c->whole.values)
        return "allocating memory for selected rows";
    for (int64_t k = 0; k < rows; k++)
        c->row[k] = k * n / rows;
    fill(c, number);
    if (c->device->upload(c->b.values, c->host_b, bytes_of(&c->b, number)) ||
        c->device->upload(c->whole.values, c->host_whole, bytes_of(&c->whole, number)))
        return "copying selected rows";
    return gpusolve_selection_create(c->handle, c->factor, GPUSOLVE_A, rows, c->row, rows, c->row, nrhs,
                                     &c->selection)
               ? "making a selection"
               : NULL;
}

static const char *measure(selected_case *c, int repeat, size_t number, bench_selection *result) {
    gpusolve_selection_info info = {.size = sizeof info};

    if (gpusolve_selection_get_info(c->handle, c->selection, &info))
        return "asking about the selection";
    result->bytes = info.forward_bytes + info.backward_bytes;
    if (gpusolve_solve(c->handle, c->factor, NULL, GPUSOLVE_A, &c->whole, &c->whole) || call(c))
        return "solving for selected rows";
    if (c->device->download(c->host_whole, c->whole.values, bytes_of(&c->whole, number)) ||
        c->device->download(c->host_x, c->x.values, bytes_of(&c->x, number)))
        return "copying selected rows";
    result->same = compare(c, number);
    return c->device->time(c->device, call, c, repeat, &result->solve) ? "timing selected rows" : NULL;
}

const char *bench_selection_measure(const bench_device *device, gpusolve_handle *handle,
                                    const gpusolve_factor *factor, const bench_problem *problem, int64_t nrhs,
                                    int repeat, bench_selection *selection) {
    const size_t number = bench_problem_number_bytes(problem);
    selected_case c = {.handle = handle, .factor = factor, .device = device};
    const char *failed;

    if (selection->rows > problem->n)
        selection->rows = problem->n;
    if (selection->rows == 0)
        return NULL;
    failed = prepare(&c, problem->n, selection->rows, nrhs, problem->dtype, number);
    if (!failed)
        failed = measure(&c, repeat, number, selection);
    gpusolve_selection_destroy(c.selection);
    device->release(c.b.values);
    device->release(c.x.values);
    device->release(c.whole.values);
    free(c.row);
    free(c.host_b);
    free(c.host_x);
    free(c.host_whole);
    return failed;
}
