/* A plan with the device's tiles for a matrix that CHOLMOD has factorised. */
#ifndef GSV_PLAN_EXAMPLE_H
#define GSV_PLAN_EXAMPLE_H

#include <cholmod.h>

#include "cholmod_helpers.h"
#include "memory.h"
#include "supernodal/import.h"
#include "supernodal/tiles.h"
#include "testing.h"

typedef struct plan_example {
    cholmod_sparse *a;
    cholmod_factor *l;
    gpusolve_factor_data data;
    int64_t live; /* allocations before the plan's */
    gsv_plan plan;
} plan_example;

/* Of matrix a, which it owns from now on. */
static void open_example(plan_example *e, cholmod_sparse *a, cholmod_common *common) {
    gsv_structure structure;
    gsv_message message;
    REQUIRE(a);
    e->a = a;
    e->l = testing_factorize(a, GPUSOLVE_SUPERNODAL_LL, common);
    REQUIRE(e->l);
    e->data = testing_factor_data(e->l);
    e->live = gsv_live_allocations();
    REQUIRE(gsv_import_structure(&e->data, 2, &structure, &message) == GPUSOLVE_OK);
    REQUIRE(gsv_plan_create(&structure, 2, &e->plan, &message) == GPUSOLVE_OK);
    REQUIRE(gsv_tiles_create(&e->plan, 2, &message) == GPUSOLVE_OK);
}

static void close_example(plan_example *e, cholmod_common *common) {
    gsv_plan_free(&e->plan);
    CHECK(gsv_live_allocations() == e->live);
    cholmod_free_factor(&e->l, common);
    cholmod_free_sparse(&e->a, common);
}

#endif
