/*
 * gpusolve-ladder SPEC ...: solves with CHOLMOD's factor of each matrix by the five steps of the ladder, checks each answer
 * against the plain reference, and prints a table of times in Markdown, with gpusolve_solve in its last lines. README.md
 * tells the story.
 *
 * A time is that of A x = b with b and x on the device, permutations included: a CUDA graph replayed back to back, the median of
 * 21 samples. Exit status: 0, 1 if a check or CUDA failed, 2 for a wrong call.
 */
#include <cfloat>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <vector>

extern "C" {
#include "../machine/measure.h"
#include "../solve/problem.h"
}
#include "inverted.cuh"
#include "levels.cuh"
#include "streams.cuh"
#include "tasks.cuh"
#include "walks.cuh"

#define CUDA(call) cuda_check(call, #call)

static void cuda_check(cudaError_t error, const char *call) {
    if (error == cudaSuccess)
        return;
    fprintf(stderr, "gpusolve-ladder: %s: %s\n", call, cudaGetErrorString(error));
    exit(1);
}

static void fail(const char *spec, const char *what) {
    fprintf(stderr, "gpusolve-ladder: %s: %s\n", spec, what);
    exit(1);
}

/* ------------------------------------------------------------------------------------------ on the device --- */

/* Row i of P B to b, for all columns; z and u become absent where they are handed over. */
__global__ void permute_in(ladder_view v, const int32_t *perm, const double *b, int n, int columns,
                           int64_t updates) {
    const int64_t first = blockIdx.x * int64_t(BLOCK) + threadIdx.x, step = int64_t(gridDim.x) * BLOCK;
    for (int64_t e = first; e < int64_t(n) * columns; e += step)
        v.b[e] = b[perm[e / columns] + e % columns * n];
    for (int64_t e = first; updates > 0 && e < n; e += step)
        v.z[e] = __longlong_as_double(-1);
    for (int64_t e = first; e < updates; e += step)
        v.u[e] = __longlong_as_double(-1);
}

__global__ void permute_out(ladder_view v, const int32_t *perm, double *x, int n, int columns) {
    const int64_t first = blockIdx.x * int64_t(BLOCK) + threadIdx.x, step = int64_t(gridDim.x) * BLOCK;
    for (int64_t e = first; e < int64_t(n) * columns; e += step)
        x[perm[e / columns] + e % columns * n] = v.z[e];
}

/* Host numbers on the device, until the program ends or `owner` does. */
struct memory_owner {
    std::vector<void *> all;
    ~memory_owner() {
        for (void *memory : all)
            cudaFree(memory);
    }
    template <typename T> T *make(int64_t count) {
        void *memory = NULL;
        CUDA(cudaMalloc(&memory, (size_t(count) + 2) * sizeof(T)));
        all.push_back(memory);
        return static_cast<T *>(memory);
    }
    template <typename T> T *copy(const T *from, int64_t count) {
        T *to = make<T>(count);
        CUDA(cudaMemcpy(to, from, size_t(count) * sizeof(T), cudaMemcpyHostToDevice));
        return to;
    }
};

/* Units on the device, and where their levels begin, on the host. */
struct unit_list {
    ladder_unit *unit;
    std::vector<int> level;
    int count, longest; /* longest: numbers of the longest vector that a unit has in shared memory */
};

/* Everything that the steps need for one factor. */
struct ladder {
    memory_owner memory;
    int n, nsuper, resident[2]; /* resident: blocks of streams that run at a time, by sweep */
    int64_t updates;
    ladder_view original, inverted; /* [L1; L2], [W; -M] */
    int32_t *perm;
    double *b, *x;              /* the caller's, LADDER_COLUMNS columns */
    unit_list nodes[2];         /* step 1, by sweep */
    unit_list units[2], top[2]; /* step 2; step 3 on */
    ladder_branch *branch;
    ladder_node *branch_node;
    int32_t *branch_level;
    int branches;
    ladder_task *task[2];
    int tasks[2];
    int *counters; /* and two tickets behind them */
};

/* ----------------------------------------------------------------------------------------------- the steps --- */

static void begin(const ladder &l, const ladder_view &v, int columns, bool absent, cudaStream_t stream) {
    permute_in<<<264, BLOCK, 0, stream>>>(v, l.perm, l.b, l.n, columns, absent ? l.updates : 0);
}

static void finish(const ladder &l, const ladder_view &v, int columns, cudaStream_t stream) {
    permute_out<<<264, BLOCK, 0, stream>>>(v, l.perm, l.x, l.n, columns);
}

typedef void level_kernel(ladder_view, const ladder_unit *);

static void by_levels(level_kernel *kernel, const ladder_view &v, const unit_list &list, bool vectors,
                      cudaStream_t stream) {
    for (size_t k = 0; k + 1 < list.level.size(); k++)
        kernel<<<list.level[k + 1] - list.level[k], BLOCK, vectors ? 8 * list.longest : 0, stream>>>(
            v, list.unit + list.level[k]);
}

static void walk(decltype(walks_forward) *kernel, const ladder &l, cudaStream_t stream) {
    if (l.branches)
        kernel<<<l.branches, BLOCK, LADDER_BRANCH_BYTES, stream>>>(l.inverted, l.branch, l.branch_node,
                                                                   l.branch_level);
}

static int stream_bytes(const unit_list &list) {
    return 8 * (SLOTS * SLOT + list.longest);
}

static void stream_sweep(const void *kernel, const ladder &l, int backward, cudaStream_t stream) {
    const unit_list &list = l.top[backward];
    ladder_view v = l.inverted;
    int count = list.count;
    const ladder_unit *unit = list.unit;
    void *arguments[] = {&v, &unit, &count};
    if (count)
        CUDA(cudaLaunchCooperativeKernel(kernel, dim3(min(count, l.resident[backward])), dim3(BLOCK),
                                         arguments, size_t(stream_bytes(list)), stream));
}

static void solve_levels(const ladder &l, cudaStream_t stream) {
    begin(l, l.original, 1, false, stream);
    by_levels(levels_forward, l.original, l.nodes[0], false, stream);
    by_levels(levels_backward, l.original, l.nodes[1], false, stream);
    finish(l, l.original, 1, stream);
}

static void solve_inverted(const ladder &l, cudaStream_t stream) {
    begin(l, l.inverted, 1, false, stream);
    by_levels(inverted_forward, l.inverted, l.units[0], true, stream);
    by_levels(inverted_backward, l.inverted, l.units[1], true, stream);
    finish(l, l.inverted, 1, stream);
}

static void solve_walks(const ladder &l, cudaStream_t stream) {
    begin(l, l.inverted, 1, false, stream);
    walk(walks_forward, l, stream);
    by_levels(inverted_forward, l.inverted, l.top[0], true, stream);
    by_levels(inverted_backward, l.inverted, l.top[1], true, stream);
    walk(walks_backward, l, stream);
    finish(l, l.inverted, 1, stream);
}

static void solve_streams(const ladder &l, cudaStream_t stream) {
    begin(l, l.inverted, 1, true, stream);
    walk(walks_forward, l, stream);
    stream_sweep((const void *)streams_forward, l, 0, stream);
    stream_sweep((const void *)streams_backward, l, 1, stream);
    walk(walks_backward, l, stream);
    finish(l, l.inverted, 1, stream);
}

static void solve_tasks(const ladder &l, cudaStream_t stream) {
    int *tickets = l.counters + LADDER_COUNTERS * l.nsuper;
    CUDA(cudaMemsetAsync(l.counters, 0, (size_t(LADDER_COUNTERS) * l.nsuper + 2) * sizeof(int), stream));
    begin(l, l.inverted, COLUMNS, false, stream);
    tasks_sweep<false><<<l.tasks[0], BLOCK, 0, stream>>>(l.inverted, l.task[0], tickets, l.counters);
    tasks_sweep<true><<<l.tasks[1], BLOCK, 0, stream>>>(l.inverted, l.task[1], tickets + 1, l.counters);
    finish(l, l.inverted, COLUMNS, stream);
}

/* ------------------------------------------------------------------------------------------------- prepare --- */

static unit_list make_units(ladder &l, const ladder_tree &t, const int32_t *branch_of, int size,
                            int backward) {
    ladder_units units;
    if (ladder_units_make(&t, branch_of, size, backward, &units))
        fail("units", "out of memory");
    unit_list list = {l.memory.copy(units.unit, units.count), {}, units.count, 0};
    list.level.assign(units.level, units.level + units.nlevels + 1);
    for (int k = 0; k < units.count; k++)
        list.longest = max(list.longest, backward ? units.unit[k].node.nr : units.unit[k].node.nc + UNIT);
    ladder_units_free(&units);
    return list;
}

static void make_branches(ladder &l, const ladder_tree &t, ladder_branches &branches) {
    if (ladder_branches_make(&t, &branches))
        fail("branches", "out of memory");
    l.branches = branches.count;
    l.branch = l.memory.copy(branches.branch, branches.count);
    l.branch_node = l.memory.copy(branches.node, t.nsuper);
    l.branch_level = l.memory.copy(branches.level, branches.nlevel);
}

static void make_vectors(ladder &l, const ladder_tree &t, const ladder_branches &branches) {
    const ladder_node &end = t.node[t.nsuper];
    ladder_view &v = l.original;
    l.updates = end.update;
    l.perm = l.memory.copy(t.perm, t.n);
    v.rows = l.memory.copy(t.rows, end.row);
    v.gather_ptr = l.memory.copy(t.gather_ptr, end.row + 1);
    v.gather = l.memory.copy(t.gather, end.update);
    v.place = l.memory.copy(branches.place, end.row);
    for (double **vector : {&v.b, &v.x, &v.z, &l.b, &l.x})
        *vector = l.memory.make<double>(int64_t(COLUMNS) * t.n);
    v.u = l.memory.make<double>(int64_t(COLUMNS) * end.update);
    v.panels = l.memory.copy(t.l, t.numbers);
    l.inverted = v;
    l.inverted.panels = l.memory.copy(t.inverse, t.numbers);
}

static void allow_shared(const char *spec, const void *kernel, int bytes) {
    if (cudaFuncSetAttribute(kernel, cudaFuncAttributeMaxDynamicSharedMemorySize, bytes) != cudaSuccess)
        fail(spec, "a supernode's vector does not fit into the shared memory of a block");
}

static void prepare(const char *spec, const ladder_tree &t, ladder &l) {
    const void *level[2] = {(const void *)inverted_forward, (const void *)inverted_backward},
               *stream[2] = {(const void *)streams_forward, (const void *)streams_backward};
    ladder_branches branches;
    cudaDeviceProp device;
    CUDA(cudaGetDeviceProperties(&device, 0));
    l.n = t.n;
    l.nsuper = t.nsuper;
    make_branches(l, t, branches);
    make_vectors(l, t, branches);
    for (int backward = 0; backward < 2; backward++) {
        ladder_tasks tasks;
        int blocks = 0;
        l.nodes[backward] = make_units(l, t, NULL, INT32_MAX, backward);
        l.units[backward] = make_units(l, t, NULL, UNIT, backward);
        l.top[backward] = make_units(l, t, branches.of, UNIT, backward);
        if (ladder_tasks_make(&t, backward, &tasks))
            fail(spec, "out of memory");
        l.tasks[backward] = tasks.count;
        l.task[backward] = l.memory.copy(tasks.task, tasks.count);
        ladder_tasks_free(&tasks);
        allow_shared(spec, level[backward], 8 * l.units[backward].longest);
        allow_shared(spec, stream[backward], stream_bytes(l.top[backward]));
        CUDA(cudaOccupancyMaxActiveBlocksPerMultiprocessor(&blocks, stream[backward], BLOCK,
                                                           stream_bytes(l.top[backward])));
        l.resident[backward] = blocks * device.multiProcessorCount;
    }
    l.counters = l.memory.make<int>(int64_t(LADDER_COUNTERS) * t.nsuper);
    ladder_branches_free(&branches);
}

/* --------------------------------------------------------------------------------------- measure and check --- */

struct answer_check {
    const bench_problem *problem;
    gpusolve_matrix_data matrix;
    std::vector<double> reference, x; /* COLUMNS columns */
    int failures;
};

struct graph_time {
    double us;
    size_t launches;
};

/* The median time of what `record` puts into the stream, as a graph. */
template <typename Record> static graph_time time_graph(cudaStream_t stream, Record record) {
    enum { SAMPLES = 21, SAMPLE_US = 3000 };
    graph_time time = {0, 0};
    double samples[SAMPLES];
    cudaGraph_t graph;
    cudaGraphExec_t exec;
    cudaEvent_t begin, end;
    CUDA(cudaStreamBeginCapture(stream, cudaStreamCaptureModeThreadLocal));
    record();
    CUDA(cudaStreamEndCapture(stream, &graph));
    CUDA(cudaGraphGetNodes(graph, NULL, &time.launches));
    CUDA(cudaGraphInstantiate(&exec, graph, 0));
    CUDA(cudaEventCreate(&begin));
    CUDA(cudaEventCreate(&end));
    for (int k = -2, calls = 3; k < SAMPLES;
         k++) { /* two rounds of warm-up say how many calls make a sample */
        float ms = 0;
        CUDA(cudaEventRecord(begin, stream));
        for (int j = 0; j < calls; j++)
            CUDA(cudaGraphLaunch(exec, stream));
        CUDA(cudaEventRecord(end, stream));
        CUDA(cudaEventSynchronize(end));
        CUDA(cudaEventElapsedTime(&ms, begin, end));
        if (k >= 0)
            samples[k] = 1e3 * ms / calls;
        else
            calls = 1 + int(SAMPLE_US / (1e3 * ms / calls + 1));
    }
    CUDA(cudaEventDestroy(begin));
    CUDA(cudaEventDestroy(end));
    CUDA(cudaGraphExecDestroy(exec));
    CUDA(cudaGraphDestroy(graph));
    time.us = bench_summarise(samples, SAMPLES).median;
    return time;
}

/* A line of the table: solve once, check, then time. An answer that has NaN, or none at all, is wrong. */
template <typename Record>
static void line(const char *name, int columns, const ladder &l, answer_check &check, cudaStream_t stream,
                 Record record) {
    const size_t bytes = size_t(l.n) * columns * sizeof(double);
    CUDA(cudaMemset(l.x, 0xff, bytes));
    CUDA(cudaDeviceSynchronize());
    record();
    CUDA(cudaGetLastError());
    CUDA(cudaStreamSynchronize(stream));
    CUDA(cudaMemcpy(check.x.data(), l.x, bytes, cudaMemcpyDeviceToHost));
    const double difference = ladder_difference(&check.matrix, check.problem->norm_a, columns, check.x.data(),
                                                check.reference.data());
    const bool right = difference >= 0 && difference < 30 * DBL_EPSILON;
    const graph_time time = time_graph(stream, record);
    check.failures += !right;
    printf("| %s | %d | %zu | %.1f | %.2f | %.1e%s |\n", name, columns, time.launches, time.us,
           time.us / columns, difference, right ? "" : " WRONG");
    fflush(stdout);
}

/* gpusolve_solve, of the same factor and right-hand sides. */
static void library_lines(const char *spec, const ladder &l, answer_check &check, cudaStream_t stream) {
    const gpusolve_factor_data data = bench_problem_factor(check.problem);
    gpusolve_options options = GPUSOLVE_OPTIONS_INIT;
    gpusolve_handle *handle = NULL;
    gpusolve_factor *factor = NULL;
    options.backend = GPUSOLVE_BACKEND_CUDA;
    if (gpusolve_create(&handle, &options) || gpusolve_set_stream(handle, stream) ||
        gpusolve_factor_create(handle, &data, &factor))
        fail(spec, handle ? gpusolve_last_error(handle) : "no handle for CUDA");
    for (int columns : {1, int(COLUMNS)}) {
        const gpusolve_dense b = {GPUSOLVE_DOUBLE, GPUSOLVE_COL_MAJOR, l.n, columns, l.n, l.b},
                             x = {GPUSOLVE_DOUBLE, GPUSOLVE_COL_MAJOR, l.n, columns, l.n, l.x};
        gpusolve_workspace *workspace = NULL;
        if (gpusolve_workspace_create(handle, factor, columns, &workspace))
            fail(spec, gpusolve_last_error(handle));
        line("gpusolve_solve", columns, l, check, stream, [&]() {
            if (gpusolve_solve(handle, factor, workspace, GPUSOLVE_A, &b, &x))
                fail(spec, gpusolve_last_error(handle));
        });
        gpusolve_workspace_destroy(workspace);
    }
    gpusolve_factor_destroy(factor);
    gpusolve_destroy(handle);
}

/* All lines of one matrix; how many are wrong. */
static int climb(const char *spec, const bench_problem &problem, const char *device) {
    const gpusolve_factor_data factor = bench_problem_factor(&problem);
    const size_t numbers = size_t(problem.n) * COLUMNS;
    answer_check check = {&problem, bench_problem_matrix(&problem), std::vector<double>(numbers),
                          std::vector<double>(numbers), 0};
    std::vector<double> b(numbers);
    ladder_tree tree;
    ladder l;
    cudaStream_t stream;
    if (ladder_tree_make(&factor, &tree) || bench_problem_right_side(&problem, COLUMNS, b.data()) ||
        ladder_reference(&tree, COLUMNS, b.data(), check.reference.data()))
        fail(spec, "out of memory");
    const double error = bench_problem_error(&problem, COLUMNS, b.data(), check.reference.data());
    if (!(error >= 0 && error < 30 * DBL_EPSILON))
        fail(spec, "the reference is wrong");
    prepare(spec, tree, l);
    CUDA(cudaMemcpy(l.b, b.data(), numbers * sizeof(double), cudaMemcpyHostToDevice));
    CUDA(cudaStreamCreateWithFlags(&stream, cudaStreamNonBlocking));
    printf("### %s\n\n%s. %d unknowns, %d supernodes on %zu levels, %.1f million numbers in panels; %d "
           "branches, and %zu levels above them.\n\n",
           spec, device, l.n, l.nsuper, l.nodes[0].level.size() - 1, 1e-6 * double(tree.numbers), l.branches,
           l.top[0].level.size() - 1);
    printf("| step | columns | nodes of the graph | us | us a column | difference "
           "|\n|---|---|---|---|---|---|\n");
    line("1 level sets", 1, l, check, stream, [&]() { solve_levels(l, stream); });
    line("2 inverted panels", 1, l, check, stream, [&]() { solve_inverted(l, stream); });
    line("3 walks", 1, l, check, stream, [&]() { solve_walks(l, stream); });
    line("4 streams", 1, l, check, stream, [&]() { solve_streams(l, stream); });
    line("5 tasks", COLUMNS, l, check, stream, [&]() { solve_tasks(l, stream); });
    library_lines(spec, l, check, stream);
    printf("\n");
    CUDA(cudaStreamDestroy(stream));
    ladder_tree_free(&tree);
    return check.failures;
}

int main(int argc, char **argv) {
    cudaDeviceProp device;
    int count = 0, failures = 0;
    if (argc < 2 || argv[1][0] == '-') {
        fprintf(
            stderr,
            "usage: gpusolve-ladder SPEC ...   for example grid2d:300 grid3d:30, or a Matrix Market file\n");
        return 2;
    }
    if (cudaGetDeviceCount(&count) != cudaSuccess || count == 0) {
        fprintf(stderr, "gpusolve-ladder: there is no CUDA device\n");
        return 1;
    }
    CUDA(cudaGetDeviceProperties(&device, 0));
    for (int k = 1; k < argc; k++) {
        const bench_relax relax = {};
        bench_problem problem;
        if (bench_problem_create(argv[k], GPUSOLVE_DOUBLE, &relax, &problem))
            return 1;
        failures += climb(argv[k], problem, device.name);
        bench_problem_destroy(&problem);
    }
    if (failures)
        fprintf(stderr, "gpusolve-ladder: %d answers are wrong\n", failures);
    return failures ? 1 : 0;
}
