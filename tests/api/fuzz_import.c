/*
 * Damaged factors by the thousand: whatever the arrays say, the import reads only what is there (run it under
 * AddressSanitizer: every array ends where it says it ends), and what it accepts is sound.
 *
 *      fuzz_import [seconds] [seed]       default 3 seconds; the same seed gives the same factors in the same
 * order
 */
#include "import_cases.h"

#include <time.h>

enum { KINDS = 3, MAX_DAMAGE = 4 };

typedef struct counts {
    long tried, accepted, refused[16];
} counts;

/* Wraps around. */
static int64_t add(int64_t a, int64_t b) {
    return (int64_t)((uint64_t)a + (uint64_t)b);
}

/* A number that lies near one that means something, or far from all. whole: the factor before any damage. */
static int64_t odd_number(const gpusolve_factor_data *whole, int64_t old, uint64_t *state) {
    const int64_t near = testing_random_below(state, 5) - 2;
    switch (testing_random_below(state, 9)) {
    case 0:
        return near;
    case 1:
        return whole->n + near;
    case 2:
        return whole->xsize + near;
    case 3:
        return INT64_MAX - testing_random_below(state, 3);
    case 4:
        return INT64_MIN + testing_random_below(state, 3);
    case 5:
        return (int64_t)testing_random_bits(state);
    case 6:
        return testing_random_below(state, whole->n + 1);
    default:
        return add(old, near);
    }
}

static void damage_array(gpusolve_factor_data *data, const gpusolve_factor_data *whole, uint64_t *state) {
    const int super = data->kind == GPUSOLVE_SUPERNODAL_LL;
    const int64_t pointers = (super ? whole->nsuper : whole->n) + 1;
    const struct {
        const void *array;
        int64_t count;
    } arrays[] = {{data->perm, whole->n},
                  {super ? data->super : data->p, pointers},
                  {super ? data->pi : data->nz, super ? pointers : whole->n},
                  {super ? data->px : data->p, pointers},
                  {super ? data->s : data->i, super ? whole->ssize : whole->xsize}};
    const int64_t which = testing_random_below(state, 5), count = arrays[which].count;
    if (!arrays[which].array)
        return;
    const int64_t k = testing_random_below(state, count), other = testing_random_below(state, count);
    const int64_t old = get_index(arrays[which].array, data->itype, k);
    set_index(arrays[which].array, data->itype, k,
              testing_random_below(state, 4) ? odd_number(whole, old, state)
                                             : get_index(arrays[which].array, data->itype, other));
}

/* Sizes only shrink, for the caller promises that arrays are as long as said; minor may say anything. */
static void damage_size(gpusolve_factor_data *data, const gpusolve_factor_data *whole, uint64_t *state) {
    int64_t *sizes[] = {&data->nsuper, &data->ssize, &data->xsize, &data->n, &data->minor};
    int64_t *size = sizes[testing_random_below(state, 5)];
    const int64_t changed = odd_number(whole, *size, state);
    if (changed < *size || size == &data->minor)
        *size = changed;
}

static void damage_number(gpusolve_factor_data *data, const gpusolve_factor_data *whole, uint64_t *state) {
    const double numbers[] = {NAN, INFINITY, 0, -1, 1e-320};
    set_number(data, testing_random_below(state, whole->xsize), numbers[testing_random_below(state, 5)]);
}

static void drop_array(gpusolve_factor_data *data, uint64_t *state) {
    const void **pointers[] = {&data->perm, &data->nz};
    const void **pointer = pointers[testing_random_below(state, 2)];
    free((void *)(uintptr_t)*pointer);
    *pointer = NULL;
}

/* Change one thing. */
static void damage(gpusolve_factor_data *data, const gpusolve_factor_data *whole, uint64_t *state) {
    const int64_t what = testing_random_below(state, 8);
    if (what < 5)
        damage_array(data, whole, state);
    else if (what == 5)
        damage_size(data, whole, state);
    else if (what == 6)
        damage_number(data, whole, state);
    else
        drop_array(data, state);
}

/* Everything that a solve would read of an accepted factor is read here. */
static void use(const gpusolve_factor_data *data, gsv_structure *structure, const gsv_plan *healthy,
                counts *seen) {
    gsv_plan plan;
    gsv_message message = {""};
    CHECK(structure_is_sound(structure));
    gpusolve_status status = gsv_plan_create(structure, testing_pool(1), &plan, &message);
    if (status) {
        CHECK(status == GPUSOLVE_INVALID_FACTOR && message.text[0]);
        seen->refused[status]++;
        return;
    }
    status = gsv_import_check_values(data, &plan, testing_pool(1), NULL, &message);
    CHECK(status == GPUSOLVE_OK || message.text[0]);
    if (status == GPUSOLVE_OK) {
        seen->accepted++;
        check_panels(data, &plan);
        CHECK_STATUS(gsv_import_check_pattern(data, &plan, &message), GPUSOLVE_OK);
        const gpusolve_status fits = gsv_import_check_pattern(data, healthy, &message);
        CHECK(fits == GPUSOLVE_OK || fits == GPUSOLVE_PATTERN_MISMATCH);
        if (fits == GPUSOLVE_OK)
            check_panels(data, healthy);
    } else
        seen->refused[status]++;
    gsv_plan_free(&plan);
}

static void try_one(const gpusolve_factor_data *from, const gsv_plan *healthy, uint64_t *state,
                    counts *seen) {
    const gpusolve_itype itype = (gpusolve_itype)testing_random_below(state, 2);
    const gpusolve_dtype dtype = (gpusolve_dtype)testing_random_below(state, 4);
    const int split = testing_is_complex(dtype) && testing_random_below(state, 2);
    gpusolve_factor_data data = copy_factor(from, itype, dtype, split);
    for (int64_t k = testing_random_below(state, MAX_DAMAGE + 1); k > 0; k--)
        damage(&data, from, state);

    gsv_structure structure;
    gsv_message message = {""};
    const int64_t live = gsv_live_allocations();
    const gpusolve_status status = gsv_import_structure(&data, testing_pool(1), &structure, &message);
    seen->tried++;
    if (status == GPUSOLVE_OK)
        use(&data, &structure, healthy, seen);
    else {
        CHECK(message.text[0] && status != GPUSOLVE_INTERNAL_ERROR && status != GPUSOLVE_OUT_OF_MEMORY);
        const gpusolve_status again = gsv_import_check_pattern(&data, healthy, &message);
        CHECK(again == status || again == GPUSOLVE_PATTERN_MISMATCH); /* which may come before the fault */
        seen->refused[status]++;
    }
    CHECK(gsv_live_allocations() == live);
    free_factor(&data);
}

int main(int argc, char **argv) {
    const double seconds = argc > 1 ? atof(argv[1]) : 3;
    uint64_t state = argc > 2 ? strtoull(argv[2], NULL, 10) | 1 : 20240229;
    cholmod_common common;
    REQUIRE(cholmod_start(&common));
    cholmod_factor *factors[KINDS];
    gpusolve_factor_data healthy[KINDS];
    gsv_plan plans[KINDS];
    for (int kind = 0; kind < KINDS; kind++) {
        factors[kind] = grid_factor(5, 4, 1, CHOLMOD_REAL, kind == 0, &common);
        REQUIRE(kind == 0 || cholmod_change_factor(CHOLMOD_REAL, kind == 1, 0, 1, 1, factors[kind], &common));
        healthy[kind] = describe(factors[kind]);
        plans[kind] = plan_of(&healthy[kind]);
    }

    counts seen = {0};
    const clock_t end = clock() + (clock_t)(seconds * CLOCKS_PER_SEC);
    for (long round = 0; round < 1000 || clock() < end; round++) {
        testing_in("round %ld", round);
        const int kind = (int)testing_random_below(&state, KINDS);
        try_one(&healthy[kind], &plans[kind], &state, &seen);
    }
    printf("%ld factors: %ld accepted", seen.tried, seen.accepted);
    for (int status = 0; status < 16; status++)
        if (seen.refused[status])
            printf(", %ld %s", seen.refused[status], gpusolve_status_name((gpusolve_status)status));
    printf("\n");
    testing_in("all rounds");
    CHECK(seen.accepted > seen.tried / 20 && seen.accepted < seen.tried);
    for (int kind = 0; kind < KINDS; kind++) {
        gsv_plan_free(&plans[kind]);
        cholmod_free_factor(&factors[kind], &common);
    }
    cholmod_finish(&common);
    CHECK(gsv_live_allocations() == testing_pool_allocations);
    return testing_done();
}
