/* Which way a block of right-hand sides takes: route.h. */
#include "route.h"

#include "../../dtype.h"
#include "machine.h"

#include <string.h>

const gsv_machine gsv_machine_default = GSV_MACHINE_DEFAULT;

gsv_abilities gsv_abilities_for(const gsv_abilities *abilities, int same_bits) {
    gsv_abilities own = *abilities;
    if (same_bits)
        memset(own.stream_blocks, 0, sizeof own.stream_blocks);
    return own;
}

/* -------------------------------------------------------------------------------------------- streams --- */

int gsv_streams_one(const gsv_abilities *abilities) {
    return abilities->stream_blocks[GSV_ONE][0] >= GSV_ONES &&
           abilities->stream_blocks[GSV_ONE][1] >= GSV_ONES;
}

int gsv_streamed(const gsv_abilities *abilities) {
    return abilities->block_columns > 0 && abilities->stream_blocks[GSV_EIGHT][0] > 0
               ? GSV_SIDE_COLUMNS
               : gsv_streams_one(abilities);
}

int gsv_before_tasks(gsv_numbers numbers, const gsv_abilities *abilities) {
    const int streamed = gsv_streamed(abilities);
    if (streamed != 1)
        return streamed;
    if (!gsv_is_complex(gsv_vector_dtype(numbers)))
        return 1;
    return numbers == GSV_NUMBERS_Z ? GSV_FEW_COMPLEX : GSV_FEW_IN_SINGLE;
}

int gsv_most_groups(const gsv_abilities *abilities) {
    return gsv_streamed(abilities) == GSV_SIDE_COLUMNS &&
                   abilities->stream_blocks[GSV_EIGHT][0] >= GSV_SIDE &&
                   abilities->stream_blocks[GSV_EIGHT][1] >= GSV_SIDE
               ? abilities->side
               : 1;
}

int gsv_groups_for(int side, int64_t columns) {
    static const int groups[] = {2, 3, 4, 6, GSV_SIDE};
    for (size_t k = 0; columns > GSV_SIDE_COLUMNS && k < sizeof groups / sizeof *groups; k++)
        if (groups[k] <= side && groups[k] * GSV_SIDE_COLUMNS >= columns)
            return groups[k];
    return 1;
}

/* That is faster than a block of eight, or than complex columns one after the other or as tasks (gsv_machine). */
static int ones_by_size(const gsv_plan *plan, gsv_numbers numbers) {
    const gsv_machine *m = gsv_machine_of(plan);
    const int64_t bytes = plan->schedule->panel_ptr[plan->l.nsuper] * (int64_t)gsv_panel_bytes(numbers);
    if (gsv_is_complex(gsv_vector_dtype(numbers)))
        return bytes <= m->complex_all ? GSV_ONES
               : bytes <= m->complex_4 ? 4
               : bytes <= m->complex_3 ? 3
               : bytes <= m->complex_2 ? 2
                                       : 1;
    return bytes + m->ones_column * (int64_t)plan->l.n <= m->real_4 ? GSV_ONES
           : bytes <= m->real_4                                     ? 4
           : bytes <= m->real_3                                     ? 3
           : bytes <= m->real_2                                     ? 2
                                                                    : 1;
}

int gsv_most_ones(const gsv_plan *plan, gsv_numbers numbers) {
    const int by_size = ones_by_size(plan, numbers), most = gsv_machine_of(plan)->ones;
    return by_size < most ? by_size : most;
}

/* ---------------------------------------------------------------------------------------------- tasks --- */

/* Columns of tasks side by side in a solve of nrhs: at most those of one set of bits, if same_bits. */
static int task_columns(int64_t nrhs, int same_bits) {
    const int64_t groups = (nrhs + GSV_TASKS_64 - 1) / GSV_TASKS_64,
                  most = same_bits ? GSV_TASKS_BROAD / GSV_TASKS_64 : GSV_TASKS_GROUPS;
    if (nrhs <= GSV_TASKS_32)
        return nrhs <= GSV_TASKS_16 ? GSV_TASKS_16 : GSV_TASKS_32;
    return GSV_TASKS_64 * (int)(groups < most ? groups : most);
}

/* Is the backward sweep of GSV_TASKS_16 columns a stream's? */
static int streams_back(const gsv_plan *plan, const gsv_abilities *abilities) {
    return plan->schedule->tasks.streams_back && abilities->block_columns >= GSV_TASKS_16 &&
           abilities->stream_blocks[GSV_SIXTEEN][1] > 0;
}

/* --------------------------------------------------------------------------------------------- routes --- */

gsv_run gsv_run_of_tasks(const gsv_plan *plan, const gsv_abilities *abilities, int same_bits, int columns,
                         int broad) {
    const int back = columns == GSV_TASKS_16 && streams_back(plan, abilities);
    return (gsv_run){.above = {GSV_TASKS, back ? GSV_BLOCK_STREAM : GSV_TASKS},
                     .columns = columns,
                     .groups = 1,
                     .broad = broad,
                     .plain = same_bits || !abilities->teams};
}

gsv_run gsv_run_of_stream(int columns, int groups) {
    const gsv_upper above = columns == 1 ? GSV_STREAM : GSV_BLOCK_STREAM;
    return (gsv_run){.above = {above, above}, .columns = columns, .groups = groups};
}

static gsv_route route_of_tasks(const gsv_plan *plan, gsv_numbers numbers, const gsv_abilities *abilities,
                                int same_bits, int64_t columns) {
    const int widest = task_columns(columns, same_bits);
    const int broad = widest > GSV_TASKS_BROAD;
    const int least = widest > GSV_TASKS_32 ? GSV_TASKS_64 : widest;
    return (gsv_route){.widest = gsv_run_of_tasks(plan, abilities, same_bits, widest, broad),
                       .bits = same_bits                                                             ? 7
                               : broad                                                               ? 6
                               : least == GSV_TASKS_64                                               ? 5
                               : least == GSV_TASKS_16 && !gsv_is_complex(gsv_vector_dtype(numbers)) ? 3
                                                                                                     : 4,
                       .at_once = columns < widest ? columns : widest,
                       .least = least};
}

/* Each column by a stream of its own, `groups` columns side by side. */
static gsv_route route_of_ones(const gsv_plan *plan, gsv_numbers numbers, int groups) {
    gsv_route route = {.widest = gsv_run_of_stream(1, groups), .bits = 1, .at_once = groups};
    route.widest.whole =
        gsv_branches_are_all(&plan->schedule->branches, gsv_panel_bytes(numbers), gsv_vector_bytes(numbers));
    return route;
}

gsv_route gsv_route_of(const gsv_plan *plan, gsv_numbers numbers, const gsv_abilities *abilities,
                       int same_bits, int sweeps, int64_t columns) {
    if (sweeps && columns > 1 && columns <= gsv_most_ones(plan, numbers) && gsv_streams_one(abilities))
        return route_of_ones(plan, numbers, (int)columns);
    const int before = gsv_before_tasks(numbers, abilities);
    if (before > 0 && columns <= before) {
        const int each = columns > 1 ? gsv_streamed(abilities) : 1;
        if (each == 1)
            return route_of_ones(plan, numbers, 1);
        return (gsv_route){.widest = gsv_run_of_stream(each, 1), .bits = 2, .at_once = each};
    }
    const int groups = gsv_groups_for(gsv_most_groups(abilities), columns);
    if (groups > 1)
        return (gsv_route){
            .widest = gsv_run_of_stream(GSV_SIDE_COLUMNS, groups), .bits = 2, .at_once = columns};
    return route_of_tasks(plan, numbers, abilities, same_bits, columns);
}

gsv_run gsv_route_run(const gsv_route *route, int64_t columns) {
    gsv_run run = route->widest;
    if (run.above[0] == GSV_TASKS)
        run.columns = task_columns(columns > route->least ? columns : route->least, 0);
    return run;
}

gsv_route_room gsv_route_room_of(const gsv_plan *plan, gsv_numbers numbers, const gsv_abilities *abilities,
                                 int same_bits, int64_t max_nrhs) {
    const int one = gsv_streams_one(abilities);
    return (gsv_route_room){
        .one = one,
        .ones = max_nrhs > 1 && one ? gsv_most_ones(plan, numbers) : 1,
        .block = max_nrhs > 1 && gsv_streamed(abilities) == GSV_SIDE_COLUMNS,
        .tasks = max_nrhs > gsv_before_tasks(numbers, abilities) ? task_columns(max_nrhs, same_bits) : 0};
}
