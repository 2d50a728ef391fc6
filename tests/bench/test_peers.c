/* The benchmark's peers: found or not, failing or not, their answers checked, and all of it in the record. And its
 * --relax. */
#define _DEFAULT_SOURCE /* flock, mkstemp */
#include <dlfcn.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <sys/wait.h>
#include <unistd.h>

#include "bench/machine/gate.h"
#include "bench/peers/batch.h"
#include "bench/peers/peers.h"
#include "bench/solve/report.h"
#include "testing.h"

enum {
    CUDSS_ALL =
        1u << BENCH_CUDSS | 1u << BENCH_CUDSS_FP32 | 1u << BENCH_CUDSS_BITS | 1u << BENCH_CUDSS_REFINE2,
    BATCH_ALL = 1u << BENCH_BATCH_CHOLMOD | 1u << BENCH_BATCH_CUDSS_UNIFORM | 1u << BENCH_BATCH_CUDSS,
    MOST_STEPS = 10
};

static bench_device device;    /* the host's memory, called a device */
static int (*mock_live)(void); /* objects of the mock that are not destroyed */
static bench_problem problem;
static void *right_sides; /* of the problem's dtype */

static void load_problem(const char *spec, int dtype, int64_t nrhs) {
    REQUIRE(bench_problem_create(spec, dtype, &(bench_relax){0}, &problem) == 0);
    right_sides = malloc((size_t)(problem.n * nrhs) * bench_problem_number_bytes(&problem) + 1);
    REQUIRE(right_sides != NULL && bench_problem_right_side(&problem, nrhs, right_sides) == 0);
}

/* With refinement to the unit of rounding. */
static const char *measure(bench_peers *peers, int64_t nrhs) {
    return bench_peers_measure(peers, nrhs, right_sides, 1, 0, MOST_STEPS);
}

static void free_problem(void) {
    free(right_sides);
    bench_problem_destroy(&problem);
}

/* What the JSON says about the peers, about a refinement, and about a batch's peers. */
static void write_all(const bench_peers *peers, const bench_refinement *refinement,
                      const bench_batch_peers *batch_peers, char *text, size_t bytes) {
    const gpusolve_info info = {.backend = GPUSOLVE_BACKEND_CUDA, .dtype = problem.dtype};
    const gpusolve_cost cost = {.tiers = 1, .tier = {{"branch", 1, 8}}};
    const bench_record record = {.problem = &problem,
                                 .device = &device,
                                 .info = &info,
                                 .cost = &cost,
                                 .device_name = "none",
                                 .nrhs = 1,
                                 .solve = {1, 1, 0, 1, 1},
                                 .refinement = *refinement,
                                 .batch = {.count = batch_peers ? batch_peers->members : 0},
                                 .batch_peers = batch_peers,
                                 .peers = peers,
                                 .ok = 1};
    FILE *file = tmpfile();
    size_t length;

    REQUIRE(file != NULL);
    bench_report_json(file, &record);
    rewind(file);
    length = fread(text, 1, bytes - 1, file);
    text[length] = 0;
    fclose(file);
}

static void write_refined(const bench_peers *peers, const bench_refinement *refinement, char *text,
                          size_t bytes) {
    write_all(peers, refinement, NULL, text, bytes);
}

static void write_record(const bench_peers *peers, char *text, size_t bytes) {
    write_refined(peers, &(bench_refinement){0}, text, bytes);
}

static void test_absent(void) {
    static const char *const wrong[][2] = {
        {"version", "its version is 0, known is 1"},
        {"analysis", "its analysis: status 5, execution failed"},
        {"factorisation", "its factorisation: status 5, execution failed"},
        {"info", "its factorisation broke off at 7"},
    };
    static char text[8192];
    bench_peers peers;

    load_problem("grid2d:9", -1, 1);
    device.is_cuda = 0;
    testing_in("host backend");
    bench_peers_open(1u << BENCH_CUDSS | 1u << BENCH_CUSPARSE, &problem, &device, 1, &peers);
    CHECK(!strcmp(peers.peer[BENCH_CUDSS].absent, "it wants the CUDA backend"));
    CHECK(strstr(peers.peer[BENCH_CUSPARSE].absent, "CUDA") != NULL);
    CHECK(measure(&peers, 1) == NULL);
    bench_peers_close(&peers);
    device.is_cuda = 1;

    testing_in("no library");
    setenv("GPUSOLVE_CUDSS", "/nonexistent/libcudss.so.1", 1);
    setenv("GPUSOLVE_MKL", "/nonexistent/libmkl_rt.so.3", 1);
    bench_peers_open(1u << BENCH_CUDSS | 1u << BENCH_PARDISO | 1u << BENCH_PARDISO_ONE, &problem, &device, 1,
                     &peers);
    CHECK(!strncmp(peers.peer[BENCH_CUDSS].absent, "not found", 9));
    CHECK(!strncmp(peers.peer[BENCH_PARDISO].absent, "not found", 9));
    CHECK(!strncmp(peers.peer[BENCH_PARDISO_ONE].absent, "not found", 9));
    CHECK(measure(&peers, 1) == NULL);
    write_record(&peers, text, sizeof text);
    CHECK(strstr(text, "\"cudss\": {\"absent\": \"not found: ") != NULL);
    bench_peers_close(&peers);

    setenv("GPUSOLVE_CUDSS", CUDSS_MOCK, 1);
    for (size_t i = 0; i < sizeof wrong / sizeof wrong[0]; i++) {
        testing_in("%s goes wrong", wrong[i][0]);
        setenv("CUDSS_MOCK", wrong[i][0], 1);
        bench_peers_open(CUDSS_ALL, &problem, &device, 1, &peers);
        CHECK(!strcmp(peers.peer[BENCH_CUDSS].absent, wrong[i][1]));
        CHECK(mock_live() == 0);
        CHECK(measure(&peers, 1) == NULL);
        bench_peers_close(&peers);
    }
    free_problem();
}

static void test_refuses(void) {
    static char text[8192];
    bench_peers peers;

    load_problem("grid2d:9", -1, 2);
    testing_in("solve goes wrong");
    setenv("CUDSS_MOCK", "none", 1);
    bench_peers_open(1u << BENCH_CUDSS, &problem, &device, 1, &peers);
    REQUIRE(!peers.peer[BENCH_CUDSS].absent[0]);
    setenv("CUDSS_MOCK", "solve", 1);
    CHECK(measure(&peers, 2) == NULL);
    CHECK(!strcmp(peers.peer[BENCH_CUDSS].refused, "its solve failed: status 5"));
    write_record(&peers, text, sizeof text);
    CHECK(strstr(text, "\"cudss\": {\"refused\": \"its solve failed: status 5\", \"name\"") != NULL);

    testing_in("a wrong answer");
    setenv("CUDSS_MOCK", "wrong", 1);
    CHECK(measure(&peers, 2) == NULL);
    CHECK(!peers.peer[BENCH_CUDSS].refused[0]);
    CHECK(peers.peer[BENCH_CUDSS].error > 1e-3);
    setenv("CUDSS_MOCK", "none", 1);
    CHECK(measure(&peers, 2) == NULL);
    CHECK_BELOW(peers.peer[BENCH_CUDSS].error, 30 * DBL_EPSILON);
    bench_peers_close(&peers);
    CHECK(mock_live() == 0);
    free_problem();
}

/* All there is, on every kind of matrix; what cuDSS's deterministic mode cannot do, it refuses. */
static void test_solves(const char *spec, int dtype) {
    static const int64_t nrhs[] = {1, 8, 1};
    static char text[8192];
    bench_peers peers;

    load_problem(spec, dtype, 8);
    bench_peers_open(CUDSS_ALL | 1u << BENCH_CHOLMOD, &problem, &device, 1, &peers);
    for (int k = 0; k < 3; k++) {
        CHECK(measure(&peers, nrhs[k]) == NULL);
        for (int i = 0; i < BENCH_PEERS; i++) {
            const bench_peer *peer = &peers.peer[i];

            testing_in("%s, dtype %d, nrhs %d, %s", spec, dtype, (int)nrhs[k], peer->name);
            if (!peer->wanted)
                continue;
            CHECK(!peer->absent[0]);
            CHECK(peer->nnz_l >= problem.n);
            CHECK(peer->factorise_ms > 0);
            if (i == BENCH_CUDSS_BITS && nrhs[k] > 1) {
                CHECK(!strcmp(peer->refused, "its solve failed: status 4"));
                continue;
            }
            CHECK(!peer->refused[0]);
            CHECK_BELOW(peer->error, i == BENCH_CUDSS_FP32 ? 30 * (double)FLT_EPSILON : 30 * DBL_EPSILON);
            if (i == BENCH_CUDSS_FP32)
                CHECK(peer->error > 30 * DBL_EPSILON);
            CHECK(peer->solve.median > 0 && isnan(peer->solve.graph));
        }
    }
    peers.peer[BENCH_CHOLMOD].untimed = 1;
    peers.peer[BENCH_CHOLMOD].error = -1;
    CHECK(measure(&peers, 1) == NULL);
    CHECK(peers.peer[BENCH_CHOLMOD].error >= 0);
    CHECK_BELOW(peers.peer[BENCH_CHOLMOD].error, 30 * DBL_EPSILON);
    write_record(&peers, text, sizeof text);
    CHECK(strncmp(strstr(text, "\"cholmod\": {") + 26, "\"factorise_ms\"", 14) == 0); /* no times */
    CHECK(strstr(text, "\"graph_us\": null") != NULL);
    CHECK(strstr(text, "\"absent\"") == NULL && strstr(text, "\"refused\"") == NULL);
    bench_peers_close(&peers);
    CHECK(mock_live() == 0);
    free_problem();
}

/* Peers that refine take as many steps as the wanted error needs, and no more than help. */
static void test_refines(const char *spec) {
    const double single = FLT_EPSILON, rounding = DBL_EPSILON / 2;
    static const int refined[] = {BENCH_CHOLMOD_REFINED, BENCH_CUDSS_REFINED, BENCH_CUDSS_FP32_REFINED};
    static char text[8192];
    bench_peers peers;
    bench_peer *fp32 = &peers.peer[BENCH_CUDSS_FP32_REFINED];

    load_problem(spec, -1, 8);
    testing_in("%s, refined", spec);
    setenv("CUDSS_MOCK", "none", 1);
    bench_peers_open(bench_peers_that_refine() | 1u << BENCH_CUDSS, &problem, &device, 1, &peers);
    for (int64_t nrhs = 8; nrhs > 0; nrhs -= 7) {
        CHECK(measure(&peers, nrhs) == NULL);
        for (int i = 0; i < 3; i++) {
            const bench_peer *peer = &peers.peer[refined[i]];

            testing_in("%s, nrhs %d, %s", spec, (int)nrhs, peer->name);
            CHECK(!peer->absent[0] && !peer->refused[0]);
            CHECK(peer->refines && peer->steps >= (refined[i] == BENCH_CUDSS_FP32_REFINED) &&
                  peer->steps <= 3);
            CHECK(peer->error >= 0 && peer->error <= rounding);
            CHECK(peer->solve.median > 0);
        }
    }
    CHECK(!peers.peer[BENCH_CUDSS].refines);

    testing_in("%s, a wanted error", spec);
    CHECK(bench_peers_measure(&peers, 1, right_sides, 1, single, MOST_STEPS) == NULL);
    CHECK(fp32->steps == 0 && fp32->error > rounding && fp32->error <= single);
    write_record(&peers, text, sizeof text);
    CHECK(strstr(text, "\"refine_steps\": 0, ") != NULL);
    CHECK(bench_peers_measure(&peers, 1, right_sides, 1, NAN, MOST_STEPS) == NULL);
    CHECK(fp32->steps > 0 && fp32->error <= rounding);
    testing_in("%s, few steps", spec);
    CHECK(bench_peers_measure(&peers, 1, right_sides, 1, 0, 0) == NULL);
    CHECK(fp32->steps == 0 && fp32->error > rounding && !fp32->refused[0]);

    testing_in("%s, steps that do not help", spec);
    setenv("CUDSS_MOCK", "stuck", 1);
    CHECK(measure(&peers, 1) == NULL);
    CHECK(fp32->steps == 0 && fp32->error > rounding && !fp32->refused[0]);
    testing_in("%s, steps that fail", spec);
    setenv("CUDSS_MOCK", "steps", 1);
    CHECK(measure(&peers, 1) == NULL);
    CHECK(!strcmp(fp32->refused, "refinement failed: status 3"));
    setenv("CUDSS_MOCK", "none", 1);
    CHECK(measure(&peers, 1) == NULL);
    CHECK(!fp32->refused[0] && fp32->error <= rounding);
    bench_peers_close(&peers);
    CHECK(mock_live() == 0);
    free_problem();
}

/* Peers of batches: absent for a reason of their own, refusing, or solving for every member. */
static void test_batch_peers(const char *spec, int dtype) {
    static const struct {
        const char *wrong, *uniform, *each; /* $CUDSS_MOCK, and why each is absent */
    } cases[] = {
        {"version", "its version is 0, known is 1", "its version is 0, known is 1"},
        {"analysis", "its analysis: status 5, execution failed", "its analysis: status 5, execution failed"},
        {"factorisation", "its factorisation: status 5, execution failed",
         "its factorisation: status 5, execution failed"},
        {"uniform", "uniform batches: status 4, not supported", ""},
        {"batch", "", "the matrices: status 4, not supported"}};
    static const int64_t members[] = {1, 5, 2};
    static char text[8192];
    const bench_peers none = {0};
    bench_batch_peers peers;

    load_problem(spec, dtype, 3);
    testing_in("%s, peers of batches without a device", spec);
    device.is_cuda = 0;
    bench_batch_peers_open(BATCH_ALL, 2, &problem, &device, 2, &peers);
    CHECK(!peers.peer[BENCH_BATCH_CHOLMOD].absent[0]);
    CHECK(!strcmp(peers.peer[BENCH_BATCH_CUDSS].absent, "it wants the CUDA backend"));
    CHECK(bench_batch_peers_measure(&peers, 1, right_sides, 1) == NULL);
    bench_batch_peers_close(&peers);
    device.is_cuda = 1;
    setenv("GPUSOLVE_CUDSS", "/nonexistent/libcudss.so.1", 1);
    bench_batch_peers_open(1u << BENCH_BATCH_CUDSS_UNIFORM, 2, &problem, &device, 1, &peers);
    CHECK(!strncmp(peers.peer[BENCH_BATCH_CUDSS_UNIFORM].absent, "not found", 9));
    CHECK(bench_batch_peers_measure(&peers, 1, right_sides, 1) == NULL);
    write_all(&none, &(bench_refinement){0}, &peers, text, sizeof text);
    CHECK(strstr(text, "\"batch_peers\": {\"cudss:uniform\": {\"absent\": \"not found") != NULL);
    bench_batch_peers_close(&peers);
    setenv("GPUSOLVE_CUDSS", CUDSS_MOCK, 1);
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        testing_in("%s, %s goes wrong in a batch", spec, cases[i].wrong);
        setenv("CUDSS_MOCK", cases[i].wrong, 1);
        bench_batch_peers_open(BATCH_ALL, 2, &problem, &device, 1, &peers);
        CHECK(!strcmp(peers.peer[BENCH_BATCH_CUDSS_UNIFORM].absent, cases[i].uniform));
        CHECK(!strcmp(peers.peer[BENCH_BATCH_CUDSS].absent, cases[i].each));
        bench_batch_peers_close(&peers);
        CHECK(mock_live() == 0);
    }

    for (int k = 0; k < 3; k++) {
        setenv("CUDSS_MOCK", "none", 1);
        bench_batch_peers_open(BATCH_ALL, members[k], &problem, &device, 1 + k, &peers);
        for (int64_t nrhs = 1; nrhs <= 3; nrhs += 2) {
            CHECK(bench_batch_peers_measure(&peers, nrhs, right_sides, 1) == NULL);
            for (int i = 0; i < BENCH_BATCH_PEERS; i++) {
                const bench_peer *peer = &peers.peer[i];

                testing_in("%s, dtype %d, %d members, nrhs %d, %s", spec, dtype, (int)members[k], (int)nrhs,
                           peer->name);
                CHECK(!peer->absent[0] && !peer->refused[0]);
                CHECK_BELOW(peer->error, 30 * DBL_EPSILON);
                CHECK(peer->error >= 0 && peer->solve.median > 0 && peer->factorise_ms > 0);
            }
        }
        testing_in("%s, %d members, a wrong answer of the last one, and a failure", spec, (int)members[k]);
        write_all(&none, &(bench_refinement){0}, &peers, text, sizeof text);
        CHECK(strstr(text, "\"batch_peers\": {\"cholmod\": {\"dtype\"") != NULL);
        CHECK(strstr(text, "}, \"cudss\": {\"dtype\"") != NULL && strstr(text, "\"peers\": {}") != NULL);
        setenv("CUDSS_MOCK", "last", 1);
        CHECK(bench_batch_peers_measure(&peers, 3, right_sides, 1) == NULL);
        CHECK(peers.peer[BENCH_BATCH_CUDSS_UNIFORM].error > 1e-3 &&
              peers.peer[BENCH_BATCH_CUDSS].error > 1e-3);
        setenv("CUDSS_MOCK", "solve", 1);
        CHECK(bench_batch_peers_measure(&peers, 1, right_sides, 1) == NULL);
        CHECK(!strcmp(peers.peer[BENCH_BATCH_CUDSS].refused, "its solve failed: status 5"));
        CHECK(!peers.peer[BENCH_BATCH_CHOLMOD].refused[0]);
        bench_batch_peers_close(&peers);
        CHECK(mock_live() == 0);
    }
    setenv("CUDSS_MOCK", "none", 1);
    free_problem();
}

/* What a record says of a refinement, and of how L is stored. */
static void test_record(void) {
    const bench_peers none = {0};
    const bench_refinement refinement = {.wanted = 1,
                                         .method = GPUSOLVE_REFINE_FGMRES,
                                         .most_steps = 10,
                                         .all = {30, 29, 0.5, 30, NAN},
                                         .queued = {20, 20, 0, 21, 20},
                                         .residual = {2, 2, 0, 2, NAN},
                                         .least = 2,
                                         .most = 3,
                                         .error = 1e-16,
                                         .whole = {9, 9, 0, 9, 9},
                                         .whole_error = 2e-16};
    static const struct {
        int dtype;
        gpusolve_storage storage;
        const char *name;
    } cases[] = {{GPUSOLVE_DOUBLE, GPUSOLVE_STORAGE_SAME, "\"storage\": \"double\""},
                 {GPUSOLVE_DOUBLE, GPUSOLVE_STORAGE_SINGLE, "\"storage\": \"single\""},
                 {GPUSOLVE_FLOAT, GPUSOLVE_STORAGE_SAME, "\"storage\": \"single\""}};
    static char text[8192];

    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        const int is_stored_single = cases[i].storage == GPUSOLVE_STORAGE_SINGLE;

        testing_in("record, storage %d, dtype %d", cases[i].storage, cases[i].dtype);
        load_problem("grid2d:9", cases[i].dtype, 1);
        problem.storage = cases[i].storage;
        CHECK(bench_problem_factor(&problem).storage == cases[i].storage);
        write_record(&none, text, sizeof text);
        CHECK(strstr(text, cases[i].name) != NULL && strstr(text, "refine_") == NULL);
        write_refined(&none, &refinement, text, sizeof text);
        CHECK(strstr(text, cases[i].name) != NULL);
        CHECK(strstr(text, "\"refine_method\": \"fgmres\", \"refine_most_steps\": 10, "
                           "\"refine_steps_min\": 2, \"refine_steps\": 3, "
                           "\"refine_backward_error\": 1e-16, \"refine_us\": 30, ") != NULL);
        CHECK(strstr(text, "\"refine_async_us\": 20, \"refine_async_stream_us\": 21, ") != NULL);
        CHECK((strstr(text, "\"double_solve_us\": 9, \"double_backward_error\": 2e-16") != NULL) ==
              is_stored_single);
        free_problem();
    }
}

/* Supernodes that CHOLMOD merges more readily: fewer of them, a larger L, and another name in the record. */
static void test_relax(void) {
    static const char *const wrong[] = {"",
                                        "4",
                                        "4,16,48,0.8,0.1",
                                        "4,16,48,0.8,0.1,0.05,1",
                                        "4,16,48,0.8,0.1,x",
                                        "4,1.5,48,0.8,0.1,0.05",
                                        "-4,16,48,0.8,0.1,0.05",
                                        "4,16,48,0.8,nan,0.05"};
    static const char defaults[] = "4,16,48,0.8,0.1,0.05", more[] = "8,32,96,0.8,0.3,0.1";
    const char *const texts[] = {NULL, defaults, more};
    size_t supernodes[3], numbers[3];
    char text[8192];

    testing_in("relax");
    for (size_t i = 0; i < sizeof wrong / sizeof wrong[0]; i++)
        CHECK(bench_relax_parse(wrong[i], &(bench_relax){0}) != 0);
    for (int i = 0; i < 3; i++) {
        const bench_peers none = {0};
        bench_relax relax = {0};

        if (texts[i])
            REQUIRE(bench_relax_parse(texts[i], &relax) == 0);
        REQUIRE(bench_problem_create("grid2d:40", -1, &relax, &problem) == 0);
        supernodes[i] = problem.factor->nsuper;
        numbers[i] = problem.factor->xsize;
        write_record(&none, text, sizeof text);
        CHECK((strstr(text, "\"matrix\": \"grid2d:40\"") != NULL) == (i == 0));
        CHECK((strstr(text, "\"matrix\": \"grid2d:40 relax 8,32,96,0.8,0.3,0.1\"") != NULL) == (i == 2));
        bench_problem_destroy(&problem);
    }
    CHECK(supernodes[1] == supernodes[0] && numbers[1] == numbers[0]);
    CHECK(supernodes[2] < supernodes[0] && numbers[2] > numbers[0]);
}

/* Whether another process could take the lock at once. */
static int could(const char *path, int operation) {
    pid_t child = fork();
    int status = -1;

    if (child == 0) {
        int file = open(path, O_RDWR);

        _exit(file >= 0 && flock(file, operation | LOCK_NB) == 0);
    }
    REQUIRE(child > 0 && waitpid(child, &status, 0) == child && WIFEXITED(status));
    return WEXITSTATUS(status);
}

static void test_gate(void) {
    char path[] = "/tmp/test_peers_gate.XXXXXX";
    int file = mkstemp(path);

    REQUIRE(file >= 0);
    bench_gate_alone(); /* without a file nothing happens */
    CHECK(could(path, LOCK_EX));
    CHECK(bench_gate_open("/nowhere/at/all") == -1);
    REQUIRE(bench_gate_open(path) == 0);
    CHECK(could(path, LOCK_EX));
    bench_gate_share();
    CHECK(could(path, LOCK_SH) && !could(path, LOCK_EX));
    bench_gate_alone();
    CHECK(!could(path, LOCK_SH) && !could(path, LOCK_EX));
    bench_gate_share();
    CHECK(could(path, LOCK_SH) && !could(path, LOCK_EX));
    bench_gate_leave();
    CHECK(could(path, LOCK_EX));
    close(file);
    unlink(path);
}

int main(void) {
    void *mock = dlopen(CUDSS_MOCK, RTLD_NOW | RTLD_LOCAL);

    REQUIRE(mock != NULL && bench_device_open_host(&device, 1, 0) == 0);
    *(void **)&mock_live = dlsym(mock, "cudss_mock_live");
    REQUIRE(mock_live != NULL);
    test_absent();
    test_refuses();
    test_relax();
    test_gate();
    test_solves("grid2d:20", -1);
    test_solves("grid2d:20", GPUSOLVE_FLOAT);
    test_solves("grid3d:6@c", -1);
    test_refines("grid2d:20");
    test_refines("grid3d:6@c");
    test_batch_peers("grid2d:11", -1);
    test_batch_peers("grid2d:11", GPUSOLVE_FLOAT);
    test_batch_peers("grid3d:5@c", -1);
    test_record();
    return testing_done();
}
