/*
 * How the plan deals the tree out on the device, for the summary, and what a solve should cost. Its time is predicted from measured
 * times (schedule/machine.h). It has three parts: one for each level of the tree, one for the panels above the branches, and one for
 * the vectors, whose rows are the branches' work.
 */
#include "../schedule/machine.h"
#include "walk/walk.h"
#include "workspace.h"
#include "../api/summary.h"

/* The constants of nrhs right-hand sides, 1 to 256, and how wide their vectors are. */
static gsv_solve_times times_of(const gsv_solve_times *solves, int64_t nrhs) {
    int k = 0;
    while (solves[k].columns < nrhs)
        k++;
    if (nrhs <= GSV_TASKS_64)
        return solves[k];
    const gsv_solve_times *from = &solves[k - 1], *to = &solves[k];
    const int32_t columns = ((int32_t)nrhs + GSV_TASKS_64 - 1) / GSV_TASKS_64 * GSV_TASKS_64;
    const double part = (double)(columns - from->columns) / (to->columns - from->columns);
    return (gsv_solve_times){columns, from->level_us + part * (to->level_us - from->level_us),
                             from->upper + part * (to->upper - from->upper),
                             from->vectors + part * (to->vectors - from->vectors),
                             from->single + part * (to->single - from->single)};
}

/* One block of right-hand sides, GSV_TASKS_GROUPS times GSV_TASKS_64 at most. */
static double predict_block(const gsv_plan *plan, const gpusolve_cost *cost, int64_t upper_numbers,
                            gsv_numbers of, int64_t nrhs) {
    if (nrhs == 0)
        return 0;
    const int is_complex = of == GSV_NUMBERS_Z;
    const gsv_machine *machine = gsv_machine_of(plan);
    const gsv_solve_times m = times_of(is_complex ? machine->complex_times : machine->real_times, nrhs);
    const double panels = 2 * (double)upper_numbers * (is_complex ? 2 : 1) * sizeof(double) *
                          (gsv_panel_dtype(of) == GPUSOLVE_FLOAT ? m.single : 1),
                 vector = (double)plan->l.n * m.columns * sizeof(double);
    return 0.5 * (double)cost->hops * m.level_us +
           1e6 * (m.upper * panels + m.vectors * vector) / cost->bytes_per_s;
}

double gsv_cuda_predict(const gsv_plan *plan, const gpusolve_cost *cost, int64_t upper_numbers,
                        gsv_numbers of) {
    const int64_t widest = GSV_TASKS_GROUPS * GSV_TASKS_64;
    return (double)(cost->nrhs / widest) * predict_block(plan, cost, upper_numbers, of, widest) +
           predict_block(plan, cost, upper_numbers, of, cost->nrhs % widest);
}

double gsv_cuda_side_us(const gsv_plan *plan) {
    const gsv_machine *m = gsv_machine_of(plan);
    return m->side_panels * (double)plan->schedule->panel_ptr[plan->l.nsuper] +
           m->side_columns * (double)plan->l.n;
}

double gsv_cuda_ones_us(const gsv_plan *plan, gsv_numbers of) {
    const gsv_machine *m = gsv_machine_of(plan);
    const double panels = of == GSV_NUMBERS_Z                     ? m->ones_complex
                          : gsv_panel_dtype(of) == GPUSOLVE_FLOAT ? m->ones_single
                                                                  : m->ones_double,
                 columns = of == GSV_NUMBERS_Z ? m->ones_complex_columns : m->ones_columns;
    return panels * (double)plan->schedule->panel_ptr[plan->l.nsuper] + columns * (double)plan->l.n;
}

/* The launches of both sweeps where the upper tree is a stream, for 1 or GSV_SIDE_COLUMNS right-hand sides. */
static int64_t launches_of_stream(const gpusolve_factor *factor, const gsv_run *run) {
    const gsv_schedule *schedule = factor->plan.schedule;
    const gsv_branches *branches = &schedule->branches;
    const int columns = run->columns;
    if (run->whole && !factor->has_d)
        return 1;
    if (columns == 1) /* the branches' launches are there without branches, too: they load and store */
        return (schedule->stream.supernodes > 0 ? 2 : 0) + 2;
    int64_t count = (schedule->limbs.count > 0) + (schedule->stream.block_forward.tasks > 0) +
                    (schedule->stream.block_backward.tasks > 0);
    for (int backward = 0; branches->count > 0 && backward < 2; backward++)
        count += gsv_team_launches(branches, backward, columns);
    return count;
}

/* The launches of both sweeps of a run of tasks. */
static int64_t launches_of_tasks(const gpusolve_factor *factor, const gsv_run *run) {
    const gsv_schedule *schedule = factor->plan.schedule;
    const gsv_task_list *lists = schedule->tasks.list;
    const gsv_launchers *launchers = gsv_cuda_launchers(factor->numbers, GSV_TASKS);
    const int back = run->above[1] == GSV_BLOCK_STREAM ? schedule->stream.block_backward.tasks > 0
                                                       : lists[gsv_task_list_of(1, run->broad)].tasks > 0;
    return launchers->branch_launches(&schedule->branches, run, 0) +
           launchers->branch_launches(&schedule->branches, run, 1) +
           (lists[gsv_task_list_of(0, run->broad)].tasks > 0) + back;
}

/* How nrhs right-hand sides are solved: `turns` times, each time `groups` groups of `together` columns side by side. */
typedef struct dealing {
    int64_t together, groups, turns;
} dealing;

static dealing deal(const gsv_route *route, int64_t nrhs) {
    const gsv_run *run = &route->widest;
    if (run->groups > 1)
        return (dealing){run->columns, run->groups, 1};
    if (run->above[0] != GSV_TASKS)
        return (dealing){run->columns > 1 ? nrhs : 1, 1, run->columns > 1 ? 1 : nrhs};
    if (nrhs <= run->columns)
        return (dealing){nrhs > GSV_TASKS_16 ? nrhs : GSV_TASKS_16, 1, 1};
    return (dealing){run->columns, 1, nrhs / run->columns}; /* and what is left */
}

void gsv_cuda_cost(const gpusolve_handle *handle, const gpusolve_factor *factor, gpusolve_cost *cost) {
    const gsv_plan *plan = &factor->plan;
    const gsv_schedule *schedule = plan->schedule;
    const int same_bits = handle && handle->same_bits;
    const gsv_abilities abilities =
        gsv_abilities_for(&((const gsv_cuda_factor *)factor->prepared)->abilities, same_bits);
    const gsv_route route = gsv_route_of(plan, factor->numbers, &abilities, same_bits, 1, cost->nrhs);
    const gsv_run *run = &route.widest;
    const int tasks = run->above[0] == GSV_TASKS;
    const dealing how = deal(&route, cost->nrhs);
    int64_t supernodes = 0, numbers = 0; /* in branches */
    for (int32_t s = 0; s < plan->l.nsuper; s++)
        if (schedule->branches.of[s] >= 0) {
            supernodes++;
            numbers += gsv_trapezoid(plan, s);
        }
    gsv_cost_add(cost, "branch", supernodes, numbers, factor->numbers);
    gsv_cost_add(cost,
                 tasks            ? "tiles"
                 : how.groups > 1 ? "streams"
                                  : "stream",
                 plan->l.nsuper - supernodes, plan->nnz_l - numbers, factor->numbers);
    cost->launches = tasks ? launches_of_tasks(factor, run)
                           : launches_of_stream(factor, run) * (how.turns > 0 ? how.turns : 1);
    if (cost->bytes_per_s == 0)
        cost->bytes_per_s = gsv_machine_of(plan)->bytes_per_s;
    if (gsv_panel_dtype(factor->numbers) != GPUSOLVE_COMPLEX_FLOAT && cost->nrhs > 0) {
        gpusolve_cost group = *cost;
        group.nrhs = how.together;
        cost->predicted_us =
            (double)how.turns * gsv_cuda_predict(plan, &group, plan->nnz_l - numbers, factor->numbers);
        group.nrhs = tasks && cost->nrhs > how.together ? cost->nrhs % how.together : 0;
        cost->predicted_us +=
            gsv_cuda_predict(plan, &group, plan->nnz_l - numbers, factor->numbers) +
            (double)(how.groups - 1) *
                (how.together > 1 ? gsv_cuda_side_us(plan) : gsv_cuda_ones_us(plan, factor->numbers));
    }
    cost->flops_per_s = gsv_machine_of(plan)->flops_per_s;
    cost->hop_us = gsv_machine_of(plan)->hop_us;
}

void gsv_cuda_summary(const gpusolve_factor *factor, gsv_text *text) {
    const gsv_plan *plan = &factor->plan;
    const gsv_schedule *schedule = plan->schedule;
    const gsv_cuda_factor *device = factor->prepared;
    const gsv_abilities *abilities = &device->abilities;
    const int streams = gsv_streams_one(abilities), blocks = gsv_streamed(abilities) > 1;
    int64_t inside = 0;
    for (int32_t s = 0; s < plan->l.nsuper; s++)
        inside += schedule->branches.of[s] >= 0;
    gsv_text_add(text, "branches: %d, a block each, with %lld of the supernodes\n",
                 (int)schedule->branches.count, (long long)inside);
    gsv_text_add(text, "limbs: %d, of more than one right-hand side forward\n",
                 blocks ? (int)schedule->limbs.count : 0);
    const int side = gsv_most_groups(abilities);
    if (side > 1)
        gsv_text_add(text, "side by side: up to %d groups of %d right-hand sides\n", side, GSV_SIDE_COLUMNS);
    const int ones = streams ? gsv_most_ones(plan, factor->numbers) : 1;
    if (ones > 1)
        gsv_text_add(text, "side by side: up to %d right-hand sides, each as one\n", ones);
    gsv_text_add(text, "stream: %lld supernodes in %d forward and %d backward tasks%s\n",
                 (long long)schedule->stream.supernodes, (int)schedule->stream.forward.tasks,
                 (int)schedule->stream.backward.tasks, streams ? "" : ", not used: not on this device");
    gsv_text_add(text, "tasks: %lld forward and %lld backward for more than %d right-hand sides\n",
                 (long long)schedule->tasks.list[gsv_task_list_of(0, 0)].tasks,
                 (long long)schedule->tasks.list[gsv_task_list_of(1, 0)].tasks,
                 gsv_before_tasks(factor->numbers, abilities));
    gsv_text_add(
        text,
        "prepared: %.2f ms pattern compared, %.2f plan copied, %.2f numbers checked, moved and inverted, "
        "%.2f nodes placed\n",
        factor->check_ms, device->plan_ms, device->values_ms, device->nodes_ms);
    const gsv_split_report *split = &factor->split;
    if (split->supernodes > 0)
        gsv_text_add(text,
                     "split: %lld ill-conditioned supernodes, into %lld, for %d levels and %lld update rows "
                     "more; planned "
                     "%lld times, the last time for it in %.2f ms\n",
                     (long long)split->supernodes, (long long)split->slices, (int)split->levels,
                     (long long)split->updates, (long long)factor->plans, split->ms);
}
