/*
 * Which way a block of right-hand sides crosses the tree on a device, of some thirty factors, for each number type, with
 * what a device may be: compared with decisions.txt. No device is wanted. The library's own gsv_cuda_workspace_create and
 * gsv_cuda_solve run, with kernels that only say that they were launched: launchers are tables of functions.
 *
 *      test_decisions [--update] FILE      --update writes FILE anew: a change of way is to be seen in its diff
 *
 * `streams` says independently of the route when a stream's kernels can run.
 *
 * A line for each factor, mode and types that go the same ways, with ranges of columns and their way:
 *      one          one right-hand side: the sweeps load and store
 *      3 x one      one after the other;   onesx3    side by side
 *      stream8x4    four groups of eight side by side, the upper tree is a stream
 *      tasks16      as tasks;   tasks256b    by the lists for broad vectors;   tasks16p    each warp walks branches alone
 *      a/b          forward a, backward b
 *      NO STREAM    a stream's launcher, where there is none: this must not be
 * Types: s, d, c, z; ds and zc: L stored in single precision, vectors in double.
 * Modes: streams (sm_90 or later), same-bits (as that, with gpusolve_options.same_bits), no-streams (sm_80).
 */
#include <cholmod.h>

#include "cholmod_helpers.h"
#include "no_device.h"
#include "solve/random_factor.h"
#include "supernodal/cuda/workspace.h"
#include "supernodal/import/import.h"
#include "testing.h"

/* ---------------------------------------------------------------------------- what is launched, in words --- */

enum { FORWARD, BACKWARD, WAY = 64, WAYS = 64, LINE = 4096 };

static char launched[WAYS][2][WAY];
static int runs; /* of which the last one's forward sweep, at least, has been launched */
static int recording;

static void note(int backward, const char *format, ...) {
    va_list arguments;
    if (!recording)
        return;
    if (!backward) {
        REQUIRE(runs < WAYS);
        launched[runs][BACKWARD][0] = 0;
        runs++;
    }
    va_start(arguments, format);
    vsnprintf(launched[runs - 1][backward], WAY, format, arguments);
    va_end(arguments);
}

/* May a stream's kernels run, and have they their blocks? */
static int streams(const gsv_launch *launch, int backward) {
    const int nr = launch->run->columns;
    const gsv_abilities *abilities = &launch->abilities;
    return (backward || nr <= GSV_SIDE_COLUMNS) && (nr == 1 || nr <= abilities->block_columns) &&
           abilities->stream_blocks[gsv_class_of(nr)][backward] > 0;
}

static cudaError_t sweep(const gsv_launch *launch, int backward) {
    char groups[16] = "";
    if (launch->vectors.groups > 1)
        snprintf(groups, sizeof groups, "x%d", launch->vectors.groups);
    note(backward, "%s%d%s", streams(launch, backward) ? "stream" : "NO STREAM", launch->run->columns,
         groups);
    return cudaSuccess;
}

static cudaError_t forward(const gsv_launch *launch) {
    return sweep(launch, FORWARD);
}

static cudaError_t backward(const gsv_launch *launch) {
    return sweep(launch, BACKWARD);
}

static cudaError_t one(const gsv_launch *launch, int backward) {
    note(backward, launch->vectors.groups > 1 ? "onesx%d" : "one", launch->vectors.groups);
    return cudaSuccess;
}

static cudaError_t from(const gsv_launch *launch, const int32_t *perm, gsv_device_dense b) {
    (void)perm, (void)b;
    return one(launch, FORWARD);
}

static cudaError_t to(const gsv_launch *launch, const int32_t *perm, gsv_device_dense x) {
    (void)perm, (void)x;
    return one(launch, BACKWARD);
}

static cudaError_t whole(const gsv_launch *launch, const int32_t *perm, gsv_device_dense b,
                         gsv_device_dense x) {
    const int groups = launch->vectors.groups;
    (void)perm, (void)b, (void)x;
    note(FORWARD, groups > 1 ? "wholex%d" : "whole", groups);
    note(BACKWARD, groups > 1 ? "wholex%d" : "whole", groups);
    return cudaSuccess;
}

static cudaError_t load(const gsv_launch *launch, const int32_t *perm, const int32_t *inverse,
                        gsv_device_dense b, void *into) {
    (void)launch, (void)perm, (void)inverse, (void)b, (void)into;
    return cudaSuccess;
}

static cudaError_t store(const gsv_launch *launch, const int32_t *inverse, const void *x,
                         gsv_device_dense into) {
    (void)launch, (void)inverse, (void)x, (void)into;
    return cudaSuccess;
}

static cudaError_t tasks(const gsv_launch *launch, int backward) {
    const gsv_run *run = launch->run;
    note(backward, "tasks%d%s%s", run->columns, run->broad ? "b" : "", run->plain ? "p" : "");
    return cudaSuccess;
}

static cudaError_t tasks_forward(const gsv_launch *launch) {
    return tasks(launch, FORWARD);
}

static cudaError_t tasks_backward(const gsv_launch *launch) {
    return tasks(launch, BACKWARD);
}

static cudaError_t clear(const gsv_launch *launch) {
    (void)launch;
    return cudaSuccess;
}

const gsv_launchers *gsv_cuda_launchers(gsv_numbers numbers, gsv_upper upper) {
    static const gsv_launchers
        ones = {.load = load, .store = store, .forward_from = from, .backward_to = to, .whole = whole},
        blocks = {.load = load, .sweep = {forward, backward}, .store = store},
        many = {.load = load, .sweep = {tasks_forward, tasks_backward}, .store = store, .clear = clear};
    (void)numbers;
    return upper == GSV_STREAM ? &ones : upper == GSV_BLOCK_STREAM ? &blocks : &many;
}

const gsv_launchers *gsv_cuda_movers(gsv_numbers numbers, gsv_upper upper) {
    return gsv_cuda_launchers(numbers, upper);
}

/* ------------------------------------------------------------------------------------------ the decisions --- */

enum { STREAMS, SAME_BITS, NO_STREAMS, MODES };
static const char *const modes[MODES] = {"streams", "same-bits", "no-streams"};

/* As gsv_cuda_prepare leaves it: on an H200, where all triangles are well-conditioned, or on a device like an A10. */
static gsv_cuda_factor prepared_of(const gsv_plan *plan, gpusolve_dtype dtype, int mode) {
    static const int real[GSV_CLASSES][2] = {{396, 396}, {264, 396}, {0, 264}}, one[2] = {396, 396};
    gsv_cuda_factor device = {.abilities = {.block_columns = plan->schedule->stream.block_columns,
                                            .side = plan->schedule->stream.side,
                                            .teams = mode != NO_STREAMS}};
    if (mode != NO_STREAMS)
        memcpy(device.abilities.stream_blocks, real, testing_is_complex(dtype) ? sizeof one : sizeof real);
    return device;
}

/* The way that a solve of so many columns takes, into text. */
static void way_of(gpusolve_factor *factor, int mode, int64_t columns, char *text, size_t bytes) {
    static double numbers[2];
    gpusolve_handle handle = {.same_bits = mode == SAME_BITS};
    gpusolve_workspace workspace = {.dtype = factor->dtype, .n = factor->plan.l.n, .max_nrhs = columns};
    const gpusolve_dense b = {factor->dtype, GPUSOLVE_COL_MAJOR, factor->plan.l.n,
                              columns,       factor->plan.l.n,   numbers};
    size_t length = 0;
    recording = 0;
    REQUIRE(gsv_cuda_workspace_create(&handle, factor, &workspace) == GPUSOLVE_OK);
    recording = 1;
    runs = 0;
    REQUIRE(gsv_cuda_solve(&handle, factor, &workspace, GSV_FORWARD | GSV_BACKWARD, &b, &b) == GPUSOLVE_OK);
    gsv_cuda_workspace_destroy(&workspace);
    text[0] = 0;
    for (int k = 0, next = 0; k < runs; k = next) {
        const char *forward = launched[k][FORWARD], *backward = launched[k][BACKWARD];
        for (next = k + 1; next < runs && !strcmp(launched[next][FORWARD], forward) &&
                           !strcmp(launched[next][BACKWARD], backward);
             next++)
            ;
        if (next - k > 1)
            length += (size_t)snprintf(text + length, bytes - length, "%s%d x ", k ? " + " : "", next - k);
        else if (k)
            length += (size_t)snprintf(text + length, bytes - length, " + ");
        length +=
            (size_t)snprintf(text + length, bytes - length, "%s%s%s", forward,
                             strcmp(forward, backward) ? "/" : "", strcmp(forward, backward) ? backward : "");
        REQUIRE(length < bytes);
    }
}

/* The ranges of columns of a way each, into text. */
static void ways_of(gpusolve_factor *factor, int mode, char *text, size_t bytes) {
    static const int64_t columns[] = {1,  2,  3,  4,  5,  6,  7,  8,  9,   15,  16,  17,  24,
                                      31, 32, 33, 40, 48, 64, 65, 96, 128, 129, 256, 257, 320};
    enum { COUNT = sizeof columns / sizeof *columns, TEXT = 256 };
    static char ways[COUNT][TEXT];
    gsv_cuda_factor device = prepared_of(&factor->plan, factor->dtype, mode);
    factor->prepared = &device;
    for (int k = 0; k < COUNT; k++)
        way_of(factor, mode, columns[k], ways[k], TEXT);
    size_t length = 0;
    for (int k = 0, next = 0; k < COUNT; k = next) {
        for (next = k + 1; next < COUNT && !strcmp(ways[next], ways[k]); next++)
            ;
        length += (size_t)snprintf(text + length, bytes - length, "%s%d", k ? "; " : "", (int)columns[k]);
        if (next - k > 1)
            length += (size_t)snprintf(text + length, bytes - length, "-%d", (int)columns[next - 1]);
        length += (size_t)snprintf(text + length, bytes - length, " %s", ways[k]);
        REQUIRE(length < bytes);
    }
    factor->prepared = NULL;
}

/* The types: those with one type for all numbers, and those whose L is stored in single precision. */
enum { STORED = GSV_NUMBERS_DS, NUMBERS = GSV_NUMBERS_ZC + 1 };
static const char *const letters[NUMBERS] = {"s", "d", "c", "z", "ds", "zc"};

/* Those from first to end - 1; neighbours that go the same ways share a line. */
static void print_ways(FILE *file, const char *mode, char (*ways)[LINE], int first, int end) {
    for (int k = first, next = 0; k < end; k = next) {
        char label[16] = "";
        for (next = k; next < end && !strcmp(ways[next], ways[k]); next++) {
            if (next > k && first == STORED)
                strcat(label, ",");
            strcat(label, letters[next]);
        }
        fprintf(file, "  %-10s %-4s  %s\n", mode, label, ways[k]);
    }
}

/* What the plan says, which follows from the pattern, and then the ways. */
static void print_factor(FILE *file, const char *name, const gpusolve_factor_data *data) {
    gsv_structure structure;
    gsv_message message;
    gpusolve_factor factor = {.id = 1};
    REQUIRE(gsv_import_structure(data, NULL, &structure, &message) == GPUSOLVE_OK);
    REQUIRE(gsv_plan_create(&structure, NULL, &factor.plan, &message) == GPUSOLVE_OK);
    REQUIRE(gsv_schedule_create(&factor.plan, NULL, &message) == GPUSOLVE_OK);
    const gsv_schedule *schedule = factor.plan.schedule;
    fprintf(file,
            "%s: n %d, %d supernodes, %d levels, %d branches, %d limbs, stream of %lld, blocks of %d, side "
            "%d, tasks%s%s\n",
            name, (int)factor.plan.l.n, (int)factor.plan.l.nsuper, (int)factor.plan.nlevels,
            (int)schedule->branches.count, (int)schedule->limbs.count, (long long)schedule->stream.supernodes,
            (int)schedule->stream.block_columns, (int)schedule->stream.side,
            schedule->tasks.is_short ? " short" : "", schedule->tasks.streams_back ? " streamed back" : "");
    for (int mode = 0; mode < MODES; mode++) {
        static char ways[NUMBERS][LINE];
        for (int numbers = 0; numbers < NUMBERS; numbers++) {
            factor.numbers = (gsv_numbers)numbers;
            factor.dtype = gsv_vector_dtype(factor.numbers);
            ways_of(&factor, mode, ways[numbers], LINE);
        }
        print_ways(file, modes[mode], ways, 0, STORED);
        print_ways(file, modes[mode], ways, STORED, NUMBERS);
    }
    gsv_plan_free(&factor.plan);
}

/* ------------------------------------------------------------------------------------------- the factors --- */

typedef struct box {
    int from[3], to[3]; /* nodes from .. to - 1 */
} box;

/* Nodes of a box that are numbered next, x fastest, with all of their unknowns. */
static void take_box(const int sides[3], box b, int unknowns, int *perm, int *next) {
    for (int z = b.from[2]; z < b.to[2]; z++)
        for (int y = b.from[1]; y < b.to[1]; y++)
            for (int x = b.from[0]; x < b.to[0]; x++)
                for (int u = 0; u < unknowns; u++)
                    perm[(*next)++] = u + unknowns * (x + sides[0] * (y + sides[1] * z));
}

/* Geometric nested dissection, so that no library's ordering matters: the halves of the box, and then the plane between
 * them. */
static void dissect(const int sides[3], box b, int unknowns, int *perm, int *next) {
    int axis = 0;
    for (int a = 1; a < 3; a++)
        if (b.to[a] - b.from[a] > b.to[axis] - b.from[axis])
            axis = a;
    if (b.to[axis] - b.from[axis] <= 2) {
        take_box(sides, b, unknowns, perm, next);
        return;
    }
    const int middle = (b.from[axis] + b.to[axis]) / 2;
    box low = b, high = b, plane = b;
    low.to[axis] = plane.from[axis] = middle;
    high.from[axis] = plane.to[axis] = middle + 1;
    dissect(sides, low, unknowns, perm, next);
    dissect(sides, high, unknowns, perm, next);
    take_box(sides, plane, unknowns, perm, next);
}

/* The pattern of CHOLMOD's factor: nothing is factorised. sides: of the grid's nodes; zeros: ordered by AMD. */
static void print_matrix(FILE *file, const char *spec, const int sides[3], cholmod_common *common) {
    cholmod_sparse *a = testing_load(spec, common);
    REQUIRE(a);
    int *perm = malloc((a->nrow + 1) * sizeof *perm), next = 0;
    REQUIRE(perm);
    if (sides[0] > 0) {
        const box whole = {{0, 0, 0}, {sides[0], sides[1], sides[2]}};
        dissect(sides, whole, (int)a->nrow / (sides[0] * sides[1] * sides[2]), perm, &next);
        REQUIRE(next == (int)a->nrow);
    }
    common->method[0].ordering = sides[0] > 0 ? CHOLMOD_GIVEN : CHOLMOD_AMD;
    cholmod_factor *l = cholmod_analyze_p(a, sides[0] > 0 ? perm : NULL, NULL, 0, common);
    REQUIRE(l && l->is_super);
    static double none; /* numbers are not read */
    const gpusolve_factor_data data = {.size = sizeof data,
                                       .kind = GPUSOLVE_SUPERNODAL_LL,
                                       .dtype = GPUSOLVE_DOUBLE,
                                       .itype = GPUSOLVE_INT32,
                                       .n = (int64_t)l->n,
                                       .minor = (int64_t)l->n,
                                       .perm = l->Perm,
                                       .x = &none,
                                       .nsuper = (int64_t)l->nsuper,
                                       .ssize = (int64_t)l->ssize,
                                       .xsize = (int64_t)l->xsize,
                                       .super = l->super,
                                       .pi = l->pi,
                                       .px = l->px,
                                       .s = l->s};
    print_factor(file, spec, &data);
    free(perm);
    cholmod_free_factor(&l, common);
    cholmod_free_sparse(&a, common);
}

static void print_random(FILE *file, uint64_t seed) {
    const random_limits most = {300000, 8000, 6000};
    uint64_t state = random_start(seed);
    char name[32];
    random_factor f = random_factor_new(most, &state);
    snprintf(name, sizeof name, "random factor %d", (int)seed);
    if (f.data.kind == GPUSOLVE_SUPERNODAL_LL)
        print_factor(file, name, &f.data);
    random_factor_free(&f);
}

static void print_all(FILE *file) {
    static const struct {
        const char *spec;
        int sides[3];
    } matrices[] = {
        {"grid2d:20", {20, 20, 1}},
        {"grid2d:60", {60, 60, 1}},
        {"grid2d:150", {150, 150, 1}},
        {"grid2d:300", {300, 300, 1}},
        {"grid2d:40,600", {40, 600, 1}},
        {"grid2d9:100", {100, 100, 1}},
        {"trigrid2d:100", {100, 100, 1}},
        {"grid3d:8", {8, 8, 8}},
        {"grid3d:12", {12, 12, 12}},
        {"grid3d:20", {20, 20, 20}},
        {"grid3d:25", {25, 25, 25}},
        {"grid3d:40", {40, 40, 40}},
        {"grid3d:54", {54, 54, 54}},
        {"grid3d:80,16,5", {80, 16, 5}},
        {"grid3d27:14", {14, 14, 14}},
        {"tetgrid3d:16", {16, 16, 16}},
        {"elasticity3d:8", {8, 8, 8}},
        {"elasticity3d:14", {14, 14, 14}},
        {"elasticity3d:60,6,4", {60, 6, 4}},
        {"tetelasticity3d:9", {9, 9, 9}},
        {"shell:12", {12, 12, 1}},
        {"shell:50", {50, 50, 1}},
        {"rgg2d:5000", {0}},
        {"rgg3d:3000", {0}},
        {"randomgraph:2000,3", {0}},
        {"powerlaw:3000,2", {0}},
        {"arrow:5000,16,8", {0}},
        {"arrow:600,599,0", {0}},
        {"tridiag:2000", {2000, 1, 1}},
        {"forest:5000", {0}},
        {"diag:50", {0}},
    };
    cholmod_common common;
    cholmod_start(&common);
    common.supernodal = CHOLMOD_SUPERNODAL;
    common.nmethods = 1;
    common.postorder = 1;
    for (size_t k = 0; k < sizeof matrices / sizeof *matrices; k++)
        print_matrix(file, matrices[k].spec, matrices[k].sides, &common);
    cholmod_finish(&common);
    for (uint64_t seed = 1; seed <= 8; seed++)
        print_random(file, seed);
}

/* --------------------------------------------------------------------------------------------- comparing --- */

/* Line by line: the first ones that differ, below the name of their factor. */
static void compare(FILE *now, FILE *golden) {
    static char new_line[LINE], old_line[LINE], name[LINE];
    int differences = 0;
    rewind(now);
    for (;;) {
        char *next = fgets(new_line, LINE, now), *old = fgets(old_line, LINE, golden);
        if (!next && !old)
            break;
        if (next && new_line[0] != ' ')
            memcpy(name, new_line, LINE);
        const int same = next && old && !strcmp(new_line, old_line);
        if (!same && differences++ < 10)
            printf("%s  was: %s  now: %s", name, old ? old_line : "nothing\n", next ? new_line : "nothing\n");
        CHECK(same);
    }
    if (differences > 0)
        printf("%d lines differ. If that is meant, test_decisions --update FILE writes them anew.\n",
               differences);
}

int main(int argc, char **argv) {
    const int update = argc == 3 && !strcmp(argv[1], "--update");
    if (argc != 2 + update) {
        fprintf(stderr, "usage: test_decisions [--update] FILE\n");
        return 2;
    }
    FILE *now = update ? fopen(argv[2], "w") : tmpfile();
    REQUIRE(now);
    print_all(now);
    if (!update) {
        FILE *golden = fopen(argv[1], "r");
        REQUIRE(golden);
        compare(now, golden);
        fclose(golden);
    }
    CHECK(fclose(now) == 0);
    return testing_done();
}
