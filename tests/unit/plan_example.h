/* A plan with the device's tiles for a matrix that CHOLMOD has factorised, or for a factor that no matrix has. */
#ifndef GSV_PLAN_EXAMPLE_H
#define GSV_PLAN_EXAMPLE_H

#include <cholmod.h>

#include "cholmod_helpers.h"
#include "memory.h"
#include "pools.h"
#include "solve/random_factor.h"
#include "supernodal/import/import.h"
#include "supernodal/schedule/schedule.h"
#include "testing.h"
#include "tuning.h"

static int plan_floats; /* gsv_plan.floats of examples that are opened from now on */

typedef struct plan_example {
    cholmod_sparse *a;
    cholmod_factor *l;    /* NULL: random */
    random_factor random; /* else nothing */
    gpusolve_factor_data data;
    int64_t live; /* allocations before the plan's */
    gsv_plan plan;
} plan_example;

static inline void plan_example_data(plan_example *e) {
    gsv_structure structure;
    gsv_message message;
    e->live = gsv_live_allocations();
    REQUIRE(gsv_import_structure(&e->data, testing_pool(2), &structure, &message) == GPUSOLVE_OK);
    REQUIRE(gsv_plan_create(&structure, testing_pool(2), &e->plan, &message) == GPUSOLVE_OK);
    e->plan.machine = &tuning;
    e->plan.floats = plan_floats;
    REQUIRE(gsv_schedule_create(&e->plan, testing_pool(2), &message) == GPUSOLVE_OK);
}

/* Of matrix a, which it owns from now on. */
static inline void open_example(plan_example *e, cholmod_sparse *a, cholmod_common *common) {
    REQUIRE(a);
    e->a = a;
    e->l = testing_factorize(a, GPUSOLVE_SUPERNODAL_LL, common);
    REQUIRE(e->l);
    memset(&e->random, 0, sizeof e->random);
    e->data = testing_factor_data(e->l);
    plan_example_data(e);
}

/* The factor number `seed` of random_factor.h: its pattern. */
static inline void open_random(plan_example *e, uint64_t seed) {
    const random_limits most = {300000, 8000, 6000};
    uint64_t state = random_start(seed);
    e->a = NULL;
    e->l = NULL;
    e->random = random_factor_new(most, &state);
    e->data = e->random.data;
    plan_example_data(e);
}

/* A matrix by name, or "random:7": factor 7. */
static inline void open_named(plan_example *e, const char *spec, cholmod_common *common) {
    if (strncmp(spec, "random:", 7) == 0)
        open_random(e, strtoull(spec + 7, NULL, 10));
    else
        open_example(e, testing_load(spec, common), common);
}

/* Calls check with "random:1" and so on. */
static inline void with_random(int count, void (*check)(const char *, cholmod_common *),
                               cholmod_common *common) {
    for (int seed = 1; seed <= count; seed++) {
        char spec[32];
        snprintf(spec, sizeof spec, "random:%d", seed);
        check(spec, common);
    }
}

static inline void close_example(plan_example *e, cholmod_common *common) {
    gsv_plan_free(&e->plan);
    CHECK(gsv_live_allocations() == e->live);
    if (!e->l)
        random_factor_free(&e->random);
    cholmod_free_factor(&e->l, common);
    cholmod_free_sparse(&e->a, common);
}

#endif
