/*
 * gpusolve-tasks-bench NR NC [COLUMNS ...]: one supernode of NR rows and NC columns with many right-hand
 * sides, forward and backward, by the kernels of src/supernodal/cuda/tasks/tasks.cuh, beside cuBLAS's DGEMM with the
 * whole NR x NC rectangle, which is what a solver that goes level by level would call. The ladder:
 *
 *      dgemm     [x1; u] = A f1, A'[x1; y] as one DGEMM, 2 NR NC COLUMNS operations
 *      tiles     the product without the zeros above the diagonal of W: trapezoid x COLUMNS x 2 operations
 *
 * Rates are of the trapezoid's operations for both. Every answer is compared with cuBLAS's first. One JSON
 * record a line.
 */
#include <cublas_v2.h>
#include <cuda_runtime.h>

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <algorithm>
#include <vector>

#include "measure.h"
#include "revision.h"
#include "supernodal/cuda/tasks/launch.cuh"

namespace {

int failures;

template <typename V> V *on_device(const std::vector<V> &host) {
    V *device;
    TRY(cudaMalloc(&device, host.size() * sizeof(V) + 16));
    TRY(cudaMemcpy(device, host.data(), host.size() * sizeof(V), cudaMemcpyHostToDevice));
    return device;
}

double largest_difference(const double *a, const double *b, size_t count) {
    std::vector<double> x(count), y(count);
    TRY(cudaMemcpy(x.data(), a, count * 8, cudaMemcpyDeviceToHost));
    TRY(cudaMemcpy(y.data(), b, count * 8, cudaMemcpyDeviceToHost));
    double largest = 0;
    for (size_t k = 0; k < count; k++)
        if (const double off = fabs(x[k] - y[k]); off > largest || std::isnan(off)) /* a NaN stays */
            largest = off;
    return largest;
}

/* A plan of one supernode that has its rows below, and a root with them as columns, which is left out. */
void make_plan(int nr, int nc, gsv_plan *plan) {
    gsv_message message;
    gsv_structure structure = {};
    structure.n = nr;
    structure.nsuper = 1 + (nr > nc);
    structure.first_column = static_cast<int32_t *>(malloc(12));
    structure.row_ptr = static_cast<int64_t *>(malloc(24));
    structure.rows = static_cast<int32_t *>(malloc(8 * size_t(nr)));
    const int32_t columns[] = {0, nc, nr};
    const int64_t rows[] = {0, nr, 2 * int64_t(nr) - nc};
    memcpy(structure.first_column, columns, sizeof columns);
    memcpy(structure.row_ptr, rows, sizeof rows);
    for (int i = 0; i < nr; i++)
        structure.rows[i] = i;
    for (int i = nc; i < nr; i++)
        structure.rows[nr + i - nc] = i;
    TRY(gsv_plan_create(&structure, nullptr, plan, &message));
    TRY(gsv_schedule_create(plan, nullptr, &message));
}

void report(const char *kernel, const char *sweep, int nr, int nc, int columns, double us) {
    const double numbers = double(nr) * nc - double(nc) * (nc - 1) / 2, flops = 2 * numbers * columns;
    printf("{\"git\": \"%s\", \"operation\": \"%s\", \"kernel\": \"%s\", \"rows\": %d, \"columns\": %d, "
           "\"nrhs\": %d, \"us\": %.2f, \"tflops\": %.2f}\n",
           BENCH_REVISION, sweep, kernel, nr, nc, columns, us, flops / us * 1e-6);
    fflush(stdout);
}

struct problem {
    gsv_plan plan;
    gsv_device_plan device;
    gsv_device_tasks tasks;
    int nr, nc;
    double *rectangle; /* column-major, zeros above the diagonal */
};

problem make_problem(int nr, int nc) {
    problem p = {};
    p.nr = nr;
    p.nc = nc;
    make_plan(nr, nc, &p.plan);
    uint64_t state = 5;
    std::vector<double> panel(size_t(gsv_panel_size(nr, nc))), full(size_t(nr) * nc);
    for (int j = 0; j < nc; j++)
        for (int i = j; i < nr; i++) {
            const double value = random_number(&state);
            full[size_t(j) * nr + i] = value;
            panel[size_t(gsv_is_narrow(nr, nc) ? gsv_narrow_column(nr, j) + i
                                               : gsv_block_row_start(nc, i / GSV_TILE) +
                                                     GSV_TILE * int64_t(j) + i % GSV_TILE)] = value;
        }
    std::vector<gsv_node> node(1);
    node[0].nr = nr;
    node[0].nc = nc;
    p.device.tiny = p.device.small = p.device.wide = on_device(node);
    p.device.rows = on_device(std::vector<int32_t>(p.plan.l.rows, p.plan.l.rows + nr));
    gsv_schedule *schedule = p.plan.schedule;
    p.device.gather_ptr = on_device(
        std::vector<uint32_t>(schedule->gather_ptr, schedule->gather_ptr + p.plan.l.row_ptr[1] + 1));
    p.device.panels = on_device(panel);
    p.rectangle = on_device(full);
    /* of supernode 0 alone, which waits for nobody */
    const int kind = !gsv_is_narrow(nr, nc) ? GSV_TASK_WIDE
                     : gsv_is_tiny(nr, nc)  ? GSV_TASK_TINY
                                            : GSV_TASK_SMALL;
    for (int k = 0; k < GSV_TASK_LISTS; k++) {
        gsv_task_list &list = schedule->tasks.list[k];
        std::vector<gsv_task> tasks;
        for (int64_t t = 0; t < list.tasks; t++)
            if (list.task[t].node == kind << GSV_TASK_KIND) {
                tasks.push_back(list.task[t]);
                tasks.back().count = tasks.back().owing = 0;
            }
        p.tasks.task[k] = on_device(tasks);
        list.tasks = int64_t(tasks.size());
    }
    return p;
}

template <bool BACKWARD> void measure(problem &p, int columns, cublasHandle_t blas) {
    const int nr = p.nr, nc = p.nc;
    const double one = 1, zero = 0;
    uint64_t state = 9;
    std::vector<double> numbers(size_t(nr) * columns);
    for (double &value : numbers)
        value = random_number(&state);
    double *x = on_device(numbers), *y = on_device(numbers), *u = on_device(numbers),
           *expected = on_device(numbers);
    const gsv_run run = {{GSV_TASKS, GSV_TASKS}, columns, 1, 0, columns > GSV_TASKS_BROAD, 0};
    const int64_t slots = p.plan.schedule->tasks.list[gsv_task_list_of(BACKWARD, run.broad)].slots;
    double *partial = on_device(std::vector<double>(size_t(slots) * GSV_TASK_ROWS * size_t(columns)));
    int *counters = on_device(std::vector<int>(size_t(gsv_task_counters(&p.plan))));
    gsv_launch launch = {};
    launch.plan = &p.plan;
    launch.device = &p.device;
    launch.tasks = &p.tasks;
    launch.run = &run;
    launch.vectors.y = y;
    launch.vectors.x = x;
    launch.vectors.u = u;
    launch.vectors.partial = partial;
    launch.vectors.counters = counters;
    auto tiles = [&] {
        TRY(gsv::tasks_launcher<double>::clear(&launch));
        TRY((gsv::tasks_launcher<double>::upper<BACKWARD>(&launch)));
    };
    /* vectors are row-major: c' = v' A', or v' A; y(rows below) and x(own rows) of the backward sweep start
     * as the same numbers */
    auto dgemm = [&](const double *from, double *to) {
        if (BACKWARD)
            TRY(cublasDgemm(blas, CUBLAS_OP_N, CUBLAS_OP_N, columns, nc, nr, &one, from, columns, p.rectangle,
                            nr, &zero, to, columns));
        else
            TRY(cublasDgemm(blas, CUBLAS_OP_N, CUBLAS_OP_T, columns, nr, nc, &one, from, columns, p.rectangle,
                            nr, &zero, to, columns));
    };
    dgemm(x, expected);
    tiles();
    TRY(cudaDeviceSynchronize());
    const double *got = BACKWARD ? y : x;
    double difference = largest_difference(expected, got, size_t(nc) * columns);
    if (!BACKWARD)
        difference = fmax(difference,
                          largest_difference(expected + size_t(nc) * columns, u, size_t(nr - nc) * columns));
    if (!(difference < 1e-10 * sqrt(double(nr)))) {
        fprintf(stderr, "%d x %d, %d columns: differs by %g\n", nr, nc, columns, difference);
        failures++;
    }
    const char *sweep = BACKWARD ? "backward" : "forward";
    report("tiles", sweep, nr, nc, columns, time_of(tiles));
    report("dgemm", sweep, nr, nc, columns, time_of([&] { dgemm(x, expected); }));
    for (double *memory : {x, y, u, expected, partial})
        TRY(cudaFree(memory));
    TRY(cudaFree(counters));
}

} // namespace

int main(int argc, char **argv) {
    if (argc < 3) {
        fprintf(stderr, "usage: gpusolve-tasks-bench NR NC [COLUMNS ...]\n");
        return 2;
    }
    const int nr = atoi(argv[1]), nc = atoi(argv[2]);
    if (nc < 1 || nr < nc) {
        fprintf(stderr, "gpusolve-tasks-bench: 1 <= NC <= NR\n");
        return 2;
    }
    cublasHandle_t blas;
    TRY(cublasCreate(&blas));
    problem p = make_problem(nr, nc);
    gsv_branches none = {};
    gsv_abilities abilities = {};
    p.tasks.shared = 227 << 10;
    TRY(gsv::tasks_launcher<double>::reserve(&none, p.tasks.shared, &abilities));
    for (int k = 3; k < std::max(argc, 4); k++) {
        const int columns = argc > 3 ? atoi(argv[k]) : 256;
        if (columns != GSV_TASKS_32 &&
            (columns < 64 || columns % GSV_TASKS_64 || columns > GSV_TASKS_GROUPS * GSV_TASKS_64)) {
            fprintf(stderr, "gpusolve-tasks-bench: %s columns: 32, 64, 128, 192 or 256\n", argv[k]);
            return 2;
        }
        measure<false>(p, columns, blas);
        measure<true>(p, columns, blas);
    }
    return failures > 0;
}
