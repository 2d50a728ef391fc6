/*
 * Routes (schedule/route.h), for several factors, all types, and devices with and without streams, for 1 to 600 columns: the runs
 * cover all columns, each run has room for its own, a workspace has room for every route of as many columns as it is for, and the
 * last run has the bits of the others.
 */
#include "plan_example.h"
#include "supernodal/schedule/route.h"

enum { MOST_COLUMNS = 600, STREAMS = 0, NO_STREAMS, DEVICES };

static gsv_abilities abilities_of(const gsv_plan *plan, gpusolve_dtype dtype, int device) {
    gsv_abilities a = {.block_columns = plan->schedule->stream.block_columns,
                       .side = plan->schedule->stream.side,
                       .teams = device == STREAMS};
    if (device == NO_STREAMS)
        return a;
    a.stream_blocks[GSV_ONE][0] = a.stream_blocks[GSV_ONE][1] = 396;
    if (testing_is_complex(dtype))
        return a;
    a.stream_blocks[GSV_EIGHT][0] = a.stream_blocks[GSV_EIGHT][1] = a.stream_blocks[GSV_SIXTEEN][1] = 264;
    return a;
}

static int is_above(const gsv_run *run, gsv_upper forward, gsv_upper backward) {
    return run->above[0] == forward && run->above[1] == backward;
}

/* What gpusolve_solve promises of each set of bits: its columns go through the tree in one way. */
static void check_bits(const gsv_run *run, int bits, gpusolve_dtype dtype) {
    const int tasks = is_above(run, GSV_TASKS, GSV_TASKS), slim = run->columns == GSV_TASKS_16;
    switch (bits) {
    case 1:
        CHECK(is_above(run, GSV_STREAM, GSV_STREAM) && run->columns == 1);
        break;
    case 2:
        CHECK(is_above(run, GSV_BLOCK_STREAM, GSV_BLOCK_STREAM) && run->columns == GSV_SIDE_COLUMNS);
        CHECK(!testing_is_complex(dtype));
        break;
    case 3:
        CHECK((tasks || is_above(run, GSV_TASKS, GSV_BLOCK_STREAM)) && slim && !run->broad);
        CHECK(!testing_is_complex(dtype));
        break;
    case 4:
        CHECK(tasks && (run->columns == GSV_TASKS_32 || (slim && testing_is_complex(dtype))) && !run->broad);
        break;
    case 5:
        CHECK(tasks && run->columns == GSV_TASKS_64 && !run->broad);
        break;
    case 6:
        CHECK(tasks && run->columns % GSV_TASKS_64 == 0 && run->broad);
        break;
    case 7:
        CHECK(tasks && run->columns <= GSV_TASKS_BROAD && !run->broad && run->plain);
        break;
    default:
        CHECK(bits >= 1 && bits <= 7);
    }
}

static void check_room(const gsv_run *run, const gsv_route_room *room) {
    if (run->above[0] == GSV_TASKS)
        CHECK(run->columns <= room->tasks && (!run->broad || room->tasks > GSV_TASKS_BROAD));
    if (run->above[0] == GSV_STREAM)
        CHECK(room->one && run->groups <= room->ones);
    if (run->above[0] == GSV_BLOCK_STREAM || run->above[1] == GSV_BLOCK_STREAM)
        CHECK(room->block);
    if (run->above[0] == GSV_BLOCK_STREAM &&
        run->groups > 1) /* they take the room of tasks (cuda/workspace.c) */
        CHECK(run->groups * run->columns <= room->tasks);
}

static void check_columns(const gsv_plan *plan, gpusolve_dtype dtype, const gsv_abilities *a, int same_bits,
                          int64_t columns) {
    const gsv_route route = gsv_route_of(plan, (gsv_numbers)dtype, a, same_bits, 1, columns);
    const gsv_route_room rooms[] = {gsv_route_room_of(plan, (gsv_numbers)dtype, a, same_bits, columns),
                                    gsv_route_room_of(plan, (gsv_numbers)dtype, a, same_bits, columns + 1),
                                    gsv_route_room_of(plan, (gsv_numbers)dtype, a, same_bits, MOST_COLUMNS)};
    REQUIRE(route.at_once >= 1 && route.at_once <= (columns < GSV_SIDE_COLUMNS ? GSV_SIDE_COLUMNS : columns));
    CHECK((route.bits == 7) == (same_bits != 0));
    for (int64_t first = 0; first < columns; first += route.at_once) {
        const int64_t count = columns - first < route.at_once ? columns - first : route.at_once;
        const gsv_run run = gsv_route_run(&route, count);
        CHECK(run.groups * run.columns >= count && run.groups >= 1);
        CHECK(run.groups * run.columns <= GSV_TASKS_GROUPS * GSV_TASKS_64);
        CHECK(is_above(&run, route.widest.above[0], route.widest.above[1]));
        check_bits(&run, route.bits, dtype);
        for (int k = 0; k < 3; k++)
            check_room(&run, &rooms[k]);
    }
    const gsv_route permuting = gsv_route_of(plan, (gsv_numbers)dtype, a, same_bits, 0, columns);
    CHECK(permuting.widest.columns > 1 || permuting.widest.groups == 1); /* groups of one need a sweep */
}

static void check_factor(const char *spec, cholmod_common *common) {
    plan_example e;
    open_named(&e, spec, common);
    for (int dtype = GPUSOLVE_FLOAT; dtype <= GPUSOLVE_COMPLEX_DOUBLE; dtype++)
        for (int device = 0; device < DEVICES; device++)
            for (int same_bits = 0; same_bits < 2; same_bits++) {
                testing_in("%s, type %d, device %d, same bits %d", spec, dtype, device, same_bits);
                const gsv_abilities all = abilities_of(&e.plan, (gpusolve_dtype)dtype, device);
                const gsv_abilities a = gsv_abilities_for(&all, same_bits);
                CHECK(gsv_streams_one(&a) == (device == STREAMS && !same_bits));
                for (int64_t columns = 1; columns <= MOST_COLUMNS; columns++)
                    check_columns(&e.plan, (gpusolve_dtype)dtype, &a, same_bits, columns);
            }
    close_example(&e, common);
}

/* Groups side by side: enough for all columns, not more than there may be, or none. */
static void check_groups(void) {
    testing_in("groups side by side");
    for (int side = 0; side <= GSV_SIDE; side++)
        for (int64_t columns = 0; columns <= 2 * GSV_SIDE * GSV_SIDE_COLUMNS; columns++) {
            const int groups = gsv_groups_for(side, columns);
            CHECK(groups == 1 || (groups <= side && groups * GSV_SIDE_COLUMNS >= columns));
            CHECK(columns > GSV_SIDE_COLUMNS || groups == 1);
            CHECK(groups <= 4 ? groups == 1 || (groups - 1) * GSV_SIDE_COLUMNS < columns
                              : (groups - 2) * GSV_SIDE_COLUMNS < columns);
        }
    static const int64_t cases[][3] = {{8, 9, 2},  {8, 17, 3}, {4, 32, 4}, {8, 40, 6}, {8, 64, 8}, {8, 65, 1},
                                       {3, 24, 3}, {3, 25, 1}, {4, 33, 1}, {8, 8, 1},  {1, 16, 1}};
    for (size_t k = 0; k < sizeof cases / sizeof *cases; k++)
        CHECK(gsv_groups_for((int)cases[k][0], cases[k][1]) == cases[k][2]);
}

int main(void) {
    check_groups();
    cholmod_common common;
    cholmod_start(&common);
    check_factor("grid2d:20", &common);
    check_factor("grid2d:100", &common);
    check_factor("grid3d:13", &common);
    check_factor("elasticity3d:10", &common);
    check_factor("diag:50", &common);
    with_random(6, check_factor, &common);
    cholmod_finish(&common);
    return testing_done();
}
