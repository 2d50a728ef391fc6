/*
 * Solves with factors that no matrix has, by the thousand (random_factor.h): every system and precision, stored as given or in single
 * precision, any number of
 * right-hand sides and any order of them, workspaces narrower and wider, in place or not, on the host and on a device; twice,
 * for the same bits; after a refresh; and of selections.
 *
 *      fuzz_solve [seconds] [seed] [numbers] [backend]
 *          default 3 seconds; the round that fails names its own seed, which gives it again; numbers: of a factor, at
 *          most; backend: host or cuda alone
 */
#define _POSIX_C_SOURCE 200809L
#include "random_check.h"

#include <time.h>

#include "gpusolve_selection.h"

static double worst[2]; /* seen: row by row, in the norm */

static int64_t random_columns(uint64_t *state) {
    static const int64_t edges[] = {1,  1,  2,  3,  4,  5,  8,  9,   12,  16,  17,  24,
                                    31, 32, 33, 40, 64, 65, 96, 128, 200, 256, 257, 300};
    return edges[testing_random_below(state, sizeof edges / sizeof *edges)];
}

static void check_error(const random_factor *f, gpusolve_system system, const gpusolve_dense *b,
                        const gpusolve_dense *x, uint64_t *state) {
    const double error = random_error(f, system, b, x, state);
    CHECK_BELOW(error, RANDOM_LIMIT);
    worst[f->steep] = testing_worse(worst[f->steep], error);
}

static gpusolve_dense random_block(const random_factor *f, int64_t rows, int64_t columns, uint64_t *state) {
    const gpusolve_order order = random_coin(state, 3) ? GPUSOLVE_ROW_MAJOR : GPUSOLVE_COL_MAJOR;
    return testing_block(random_vector_dtype(f), order, rows, columns, random_coin(state, 2) ? 0 : 3);
}

/* ----------------------------------------------------------------------------------------------- solves --- */

static void try_solve(const random_factor *f, gpusolve_handle *handle, const gpusolve_factor *factor,
                      int64_t columns, uint64_t *state) {
    const gpusolve_system system =
        random_coin(state, 2) ? GPUSOLVE_A : (gpusolve_system)testing_random_below(state, 9);
    const int on_device = gpusolve_get_backend(handle) == GPUSOLVE_BACKEND_CUDA && random_coin(state, 2);
    const int in_place = random_coin(state, 4);
    char round[sizeof testing_context];
    memcpy(round, testing_context, sizeof round);
    gpusolve_workspace *workspace = NULL;
    int64_t room = 0;
    if (!random_coin(state, 4)) {
        room = random_coin(state, 2) ? columns : random_columns(state);
        CHECK_STATUS(gpusolve_workspace_create(handle, factor, room, &workspace), GPUSOLVE_OK);
    }
    testing_in("%.150s, system %d, %d columns, workspace for %d, %s%s", round, (int)system, (int)columns,
               (int)room, on_device ? "device" : "host", in_place ? ", in place" : "");
    const gpusolve_dense b = random_block(f, f->data.n, columns, state);
    testing_fill(&b, testing_random_bits(state));
    gpusolve_dense x[2];
    for (int k = 0; k < 2; k++) {
        x[k] = in_place ? testing_block(b.dtype, b.order, b.rows, b.cols,
                                        b.ld - (b.order == GPUSOLVE_COL_MAJOR ? b.rows : b.cols))
                        : random_block(f, f->data.n, columns, state);
        if (in_place)
            memcpy(x[k].values, b.values, testing_block_bytes(&b));
        CHECK_STATUS(
            testing_solve(handle, factor, workspace, system, in_place ? &x[k] : &b, &x[k], on_device),
            GPUSOLVE_OK);
        CHECK(testing_padding_untouched(&x[k]));
    }
    check_error(f, system, &b, &x[0], state);
    CHECK(testing_same_bits(&x[0], 0, &x[1], 0, columns));
    free(b.values);
    free(x[0].values);
    free(x[1].values);
    gpusolve_workspace_destroy(workspace);
    memcpy(testing_context, round, sizeof round);
}

/* Some rows of b, in x's order; all rows of x, or some, which the whole solve has, too. */
static void try_selection(const random_factor *f, gpusolve_handle *handle, const gpusolve_factor *factor,
                          int64_t columns, uint64_t *state) {
    static const gpusolve_system systems[] = {GPUSOLVE_A, GPUSOLVE_A, GPUSOLVE_L, GPUSOLVE_Lt, GPUSOLVE_LDLt};
    const gpusolve_system system = systems[testing_random_below(state, 5)];
    const int64_t n = f->data.n, rows = random_size(state, n), wanted = random_size(state, n);
    int64_t *row = random_array(n, sizeof *row), *want = random_array(wanted, sizeof *want);
    for (int64_t k = 0; k < n; k++)
        row[k] = k;
    for (int64_t k = 0; k < rows; k++) { /* the first rows of a shuffled deck */
        const int64_t other = k + testing_random_below(state, n - k), old = row[k];
        row[k] = row[other];
        row[other] = old;
    }
    for (int64_t k = 0; k < wanted; k++)
        want[k] = testing_random_below(state, n);
    const gpusolve_dense b = random_block(f, rows, columns, state), x = random_block(f, n, columns, state),
                         part = random_block(f, wanted, columns, state),
                         full = testing_block(random_vector_dtype(f), GPUSOLVE_COL_MAJOR, n, columns, 0);
    testing_fill(&b, testing_random_bits(state));
    memset(full.values, 0, testing_block_bytes(&full));
    for (int64_t j = 0; j < columns; j++)
        for (int64_t k = 0; k < rows; k++)
            testing_set(&full, row[k], j, testing_get(&b, k, j));
    gpusolve_selection *all, *some;
    REQUIRE(gpusolve_selection_create(handle, factor, system, rows, row, n, NULL, columns, &all) ==
            GPUSOLVE_OK);
    REQUIRE(gpusolve_selection_create(handle, factor, system, rows, row, wanted, want, columns, &some) ==
            GPUSOLVE_OK);
    CHECK_STATUS(gpusolve_solve_selected(handle, factor, all, &b, &x), GPUSOLVE_OK);
    CHECK_STATUS(gpusolve_solve_selected(handle, factor, some, &b, &part), GPUSOLVE_OK);
    check_error(f, system, &full, &x, state);
    double difference = 0, largest = 0;
    for (int64_t j = 0; j < columns; j++)
        for (int64_t k = 0; k < wanted; k++) {
            const double complex right = testing_get(&x, want[k], j);
            difference = testing_worse(difference, cabs(testing_get(&part, k, j) - right));
            largest = testing_worse(largest, cabs(right));
        }
    CHECK(isfinite(difference) && isfinite(largest));
    if (!f->steep)
        CHECK_BELOW(difference, largest * RANDOM_LIMIT * random_epsilon(f) + DBL_MIN);
    CHECK(testing_padding_untouched(&x) && testing_padding_untouched(&part));
    gpusolve_selection_destroy(all);
    gpusolve_selection_destroy(some);
    void *arrays[] = {row, want, b.values, x.values, part.values, full.values};
    for (size_t k = 0; k < sizeof arrays / sizeof *arrays; k++)
        free(arrays[k]);
}

static void try_factor(random_factor *f, gpusolve_handle *handle, uint64_t *state) {
    gpusolve_factor *factor;
    random_numbers(f, state);
    if (!CHECK_STATUS(gpusolve_factor_create(handle, &f->data, &factor), GPUSOLVE_OK)) {
        printf("%s\n", gpusolve_last_error(handle));
        return;
    }
    for (int times = 0; times < 3; times++) {
        int64_t columns = random_columns(state);
        const int64_t most = 1 + (INT64_C(1) << 21) / f->data.n;
        if (columns > most)
            columns = most;
        if (times == 2 && random_coin(state, 2)) {
            random_numbers(f, state);
            CHECK_STATUS(gpusolve_factor_refresh(handle, factor, &f->data), GPUSOLVE_OK);
        }
        if (random_coin(state, 6))
            try_selection(f, handle, factor, columns, state);
        else
            try_solve(f, handle, factor, columns, state);
    }
    gpusolve_factor_destroy(factor);
}

/* The handles of a backend: one that is as fast as it can be, and one for which all bits are the same. */
typedef struct handles {
    gpusolve_handle *handle[2];
} handles;

static void try_round(uint64_t seed, random_limits most, const handles *backends, int count) {
    uint64_t state = random_start(seed);
    random_factor f = random_factor_new(most, &state);
    f.data.storage = random_coin(&state, 3) ? GPUSOLVE_STORAGE_SINGLE : GPUSOLVE_STORAGE_SAME;
    for (int k = 0; k < count; k++) {
        uint64_t own = state; /* whatever the other backend has drawn */
        gpusolve_handle *handle = backends[k].handle[random_coin(&own, 6)];
        testing_in("seed %llu, %s, kind %d, n %d, %d supernodes, %d numbers, %s, dtype %d%s%s",
                   (unsigned long long)seed, f.tree, (int)f.data.kind, (int)f.data.n, (int)f.nsuper,
                   (int)f.numbers, testing_backend_name(gpusolve_get_backend(handle)), (int)f.data.dtype,
                   f.data.storage == GPUSOLVE_STORAGE_SINGLE ? ", stored in single" : "",
                   f.steep ? ", steep" : "");
        try_factor(&f, handle, &own);
    }
    random_factor_free(&f);
}

int main(int argc, char **argv) {
    const double seconds = argc > 1 ? atof(argv[1]) : 3;
    const uint64_t seed = argc > 2 ? strtoull(argv[2], NULL, 10) : 1;
    const random_limits most = {argc > 3 ? atoll(argv[3]) : 300000, 30000, 20000};
    gpusolve_backend backends[2];
    int count = testing_backends(backends);
    if (argc > 4) {
        backends[0] = strcmp(argv[4], "cuda") == 0 ? GPUSOLVE_BACKEND_CUDA : GPUSOLVE_BACKEND_HOST;
        count = 1;
    }
    handles both[2];
    for (int k = 0; k < count; k++)
        for (int same_bits = 0; same_bits < 2; same_bits++)
            both[k].handle[same_bits] = testing_handle_bits(backends[k], 2, same_bits);
    struct timespec from, now;
    clock_gettime(CLOCK_MONOTONIC, &from);
    long rounds = 0;
    do {
        try_round(seed + (uint64_t)rounds, most, both, count);
        clock_gettime(CLOCK_MONOTONIC, &now);
        rounds++;
    } while ((double)(now.tv_sec - from.tv_sec) + 1e-9 * (double)(now.tv_nsec - from.tv_nsec) < seconds);
    for (int k = 0; k < 2 * count; k++)
        gpusolve_destroy(both[k / 2].handle[k % 2]);
    printf("%ld factors, errors up to %.1f epsilons row by row, %.1f in the norm where triangles are steep\n",
           rounds, worst[0], worst[1]);
    return testing_done();
}
