/*
 * How the plan deals the tree out on the device, for the summary, and what a solve should cost, with the
 * machine's constants, all measured on one NVIDIA H200 with CUDA 13.0: a read-only stream of 8 GB 4656 GB/s;
 * cuBLAS's DGEMM of order 8192 57.5 TFLOP/s, taken for the other precisions too; from block to block, one way,
 * where the data itself is the flag 0.42 us, and from one node of a graph to the next 0.50: 0.45 for a hop.
 *
 * What a solve takes is predicted from what solves have taken (`measured`): a part for each level of the tree, one for
 * the panels above the branches, and one for the vectors, whose rows are the branches' work.
 */
#include "cuda_lower.h"
#include "cuda_workspace.h"
#include "summary.h"

static const double BYTES_PER_S = 4656e9, FLOPS_PER_S = 57.5e12, HOP_US = 0.45;

/*
 * So many right-hand sides side by side: microseconds a level, and times of the panels' bytes and of a vector's, both in
 * double precision, the vector's of real numbers, at the memory's bandwidth; single: of the panels' times, what they take in
 * single precision. By bench/fit of bench/results/h200-cudss.jsonl --single h200-single.jsonl: most predictions for its
 * fifteen cases are within 15 %, the worst are 12, 18, 12, 16, 36 and 20 % off; without the cases that groups side by side solve.
 * An H100's constants (h100-cudss.jsonl) are 0.84 to 1.00 of these for levels, 0.80 to 0.97 for panels, and 0.73 to 0.85
 * for vectors, and 0.78 to 0.96 in single precision. Of complex numbers, one and those that are tasks, by --dtype z of
 * h200-complex.jsonl: for its seven cases the worst are 7, 12, 11, 16 and 9 % off.
 */
typedef struct measured {
    int32_t columns;
    double level_us, upper, vectors, single;
} measured;
static const measured of_real[] = {{1, 3.06, 1.08, 73.5, 0.69},  {8, 4.60, 1.18, 26.0, 0.88},
                                   {16, 7.31, 1.17, 21.5, 0.84}, {32, 8.27, 1.42, 17.9, 0.90},
                                   {64, 8.27, 2.38, 15.5, 0.97}, {256, 9.27, 8.81, 15.8, 0.96}},
                      of_complex[] = {{1, 3.81, 1.79, 144.0, 1},
                                      {16, 9.61, 2.79, 55.5, 1},
                                      {32, 11.16, 4.20, 48.8, 1},
                                      {64, 11.16, 8.19, 44.6, 1},
                                      {256, 11.16, 32.17, 44.1, 1}};

/* The constants of nrhs right-hand sides, 1 to 256, and how wide their vectors are. */
static measured constants_of(const measured *solves, int64_t nrhs) {
    int k = 0;
    while (solves[k].columns < nrhs)
        k++;
    if (nrhs <= GSV_MANY_COLUMNS)
        return solves[k];
    const measured *from = &solves[k - 1], *to = &solves[k];
    const int32_t columns = ((int32_t)nrhs + GSV_MANY_COLUMNS - 1) / GSV_MANY_COLUMNS * GSV_MANY_COLUMNS;
    const double part = (double)(columns - from->columns) / (to->columns - from->columns);
    return (measured){columns, from->level_us + part * (to->level_us - from->level_us),
                      from->upper + part * (to->upper - from->upper),
                      from->vectors + part * (to->vectors - from->vectors),
                      from->single + part * (to->single - from->single)};
}

/* One block of right-hand sides, GSV_MANY_GROUPS times GSV_MANY_COLUMNS at most. */
static double predict_block(const gpusolve_cost *cost, int64_t n, int64_t upper_numbers, gpusolve_dtype dtype,
                            int64_t nrhs) {
    if (nrhs == 0)
        return 0;
    const int is_complex = dtype == GPUSOLVE_COMPLEX_DOUBLE;
    const measured m = constants_of(is_complex ? of_complex : of_real, nrhs);
    const double panels = 2 * (double)upper_numbers * (is_complex ? 2 : 1) * sizeof(double) *
                          (dtype == GPUSOLVE_FLOAT ? m.single : 1),
                 vector = (double)n * m.columns * sizeof(double);
    return 0.5 * (double)cost->hops * m.level_us +
           1e6 * (m.upper * panels + m.vectors * vector) / cost->bytes_per_s;
}

double gsv_cuda_predict(const gpusolve_cost *cost, int64_t n, int64_t upper_numbers, gpusolve_dtype dtype) {
    const int64_t widest = GSV_MANY_GROUPS * GSV_MANY_COLUMNS;
    return (double)(cost->nrhs / widest) * predict_block(cost, n, upper_numbers, dtype, widest) +
           predict_block(cost, n, upper_numbers, dtype, cost->nrhs % widest);
}

typedef struct share {
    int64_t supernodes, numbers;
} share;

/* Supernodes of a list that are in branches, and the others. */
static void count(const gsv_plan *plan, const gsv_supernode_list *list, int with_branches, share *branches,
                  share *others) {
    for (int64_t i = 0; i < list->ptr[plan->nlevels]; i++) {
        const int32_t s = list->supernode[i];
        share *to = with_branches && plan->tiles->branches.of[s] >= 0 ? branches : others;
        to->supernodes++;
        to->numbers += gsv_trapezoid(plan, s);
    }
}

int64_t gsv_cuda_launches(const gpusolve_factor *factor, int64_t nrhs) {
    const gsv_plan *plan = &factor->plan;
    const gsv_tiles *tiles = plan->tiles;
    const gsv_sweep_form *form = &((const gsv_cuda_factor *)factor->prepared)->form;
    const int with_branches = tiles->branches.count > 0 && !form->level_by_level;
    const gsv_supernode_list *lists[] = {&tiles->tiny, &tiles->small};
    int64_t count = 0;
    if (with_branches && factor->dtype == GPUSOLVE_DOUBLE && nrhs > 4) /* the classes of cuda_lower.h */
        for (int backward = 0; backward < 2; backward++)
            count += gsv_lower_launches(&tiles->branches, 0, backward, nrhs <= 8 ? 8 : 32);
    else if (with_branches)
        count = 2;
    for (int32_t k = 0; k < plan->nlevels; k++) {
        int64_t narrow = 0;
        for (int l = 0; l < 2; l++) {
            const int64_t *ptr = with_branches ? lists[l]->outside : lists[l]->ptr;
            narrow += ptr[k + 1] - ptr[k];
        }
        const int wide = tiles->forward.ptr[k] < tiles->forward.ptr[k + 1];
        if (wide || narrow > 0)
            count += 1 + form->passes[k] + (wide ? form->passes[k] : 0);
    }
    return count;
}

/* So many groups of right-hand sides are solved side by side in a workspace for as many; 1: they are not. */
static int side_groups(const gpusolve_factor *factor, int64_t nrhs) {
    const gsv_cuda_factor *device = factor->prepared;
    return gsv_cuda_side_groups(gsv_cuda_side(&device->form), nrhs);
}

/* From solves on an H100, of 29 factors that have 8 groups, 4 or 3. */
double gsv_cuda_side_us(const gsv_plan *plan) {
    return 3.1e-6 * (double)plan->tiles->panel_ptr[plan->l.nsuper] + 370e-6 * (double)plan->l.n;
}

/* From solves on an H200, of a dozen factors, of five in complex numbers. */
double gsv_cuda_ones_us(const gsv_plan *plan, gpusolve_dtype dtype) {
    const double panels = dtype == GPUSOLVE_COMPLEX_DOUBLE ? 16e-6
                          : dtype == GPUSOLVE_FLOAT        ? 1.7e-6
                                                           : 3.3e-6,
                 columns = dtype == GPUSOLVE_COMPLEX_DOUBLE ? 150e-6 : 100e-6;
    return panels * (double)plan->tiles->panel_ptr[plan->l.nsuper] + columns * (double)plan->l.n;
}

/* The launches of both sweeps where the upper tree is a stream. */
static int64_t launches_of_stream(const gsv_tiles *tiles, int floats, int64_t nrhs) {
    const gsv_branches *branches = &tiles->branches;
    const int nr = nrhs <= 8 ? 8 : 16;
    if (nrhs == 1)
        return (tiles->stream.supernodes > 0 ? 2 : 0) + (branches->count > 0 ? 2 : 0);
    const int64_t upper = (tiles->limbs.count > 0) + (tiles->stream.block_forward.tasks > 0) +
                          (tiles->stream.block_backward.tasks > 0);
    if (branches->count == 0)
        return upper;
    return upper +
           (branches->team_forward ? gsv_team_launches(branches, 0, nr)
                                   : gsv_lower_launches(branches, floats, 0, nr)) +
           gsv_team_launches(branches, 1, nr);
}

/* The launches of both sweeps for so many right-hand sides. */
static int64_t launches_of_many(const gpusolve_factor *factor, int64_t nrhs) {
    const gsv_plan *plan = &factor->plan;
    const gsv_many_list *lists = plan->tiles->many.list;
    const gsv_sweep_form *form = &((const gsv_cuda_factor *)factor->prepared)->form;
    const int broad = nrhs > GSV_MANY_BROAD;
    const int branches = gsv_cuda_many(factor->dtype)->branch_launches(&plan->tiles->branches, nrhs);
    const int back = nrhs <= GSV_MANY_SLIM && gsv_cuda_streams_back(plan, form)
                         ? plan->tiles->stream.block_backward.tasks > 0
                         : lists[gsv_many_list_of(1, broad)].tasks > 0;
    return branches + (lists[gsv_many_list_of(0, broad)].tasks > 0) + back;
}

void gsv_cuda_cost(const gpusolve_handle *handle, const gpusolve_factor *factor, gpusolve_cost *cost) {
    const gsv_plan *plan = &factor->plan;
    const gsv_tiles *tiles = plan->tiles;
    const gsv_cuda_factor *device = factor->prepared;
    const int ones = gsv_cuda_ones(plan, factor->dtype, &device->form, cost->nrhs);
    const int groups = side_groups(factor, cost->nrhs), floats = factor->dtype == GPUSOLVE_FLOAT;
    const int many = groups == 1 && ones == 1 && cost->nrhs > gsv_cuda_before_many(plan, factor->dtype) &&
                     gsv_cuda_takes_many(device);
    const int with_branches = tiles->branches.count > 0 && !device->form.level_by_level;
    share branches = {0}, tiny = {0}, small = {0};
    (void)handle;
    count(plan, &tiles->tiny, with_branches, &branches, &tiny);
    count(plan, &tiles->small, with_branches, &branches, &small);
    const int64_t narrow = branches.supernodes + tiny.supernodes + small.supernodes;
    gsv_cost_add(cost, "branch", branches.supernodes, branches.numbers, factor->dtype);
    const gsv_sweep_functions *sweeps = gsv_cuda_sweeps(factor->dtype);
    const int one_by_one =
        groups == 1 && ones == 1 && !many &&
        gsv_cuda_one_by_one(plan, sweeps, &device->form,
                            gsv_cuda_class_index(sweeps, device->form.block_columns, cost->nrhs), cost->nrhs);
    const int64_t together = groups > 1 ? GSV_SIDE_COLUMNS : one_by_one || ones > 1 ? 1 : cost->nrhs;
    const int block =
        together > 1 && together <= device->form.block_columns && !many && sweeps->block_class > 0;
    const int streamed = (together == 1 || block) && !device->form.level_by_level &&
                         !device->form.level_by_level_above,
              is_measured = streamed || many; /* the others go level by level */
    if (streamed) {
        gsv_cost_add(cost, groups > 1 || ones > 1 ? "streams" : "stream",
                     plan->l.nsuper - branches.supernodes, plan->nnz_l - branches.numbers, factor->dtype);
        cost->launches = launches_of_stream(tiles, floats, together) * (one_by_one ? cost->nrhs : 1);
    } else if (many) {
        gsv_cost_add(cost, "tiles", plan->l.nsuper - branches.supernodes, plan->nnz_l - branches.numbers,
                     factor->dtype);
        cost->launches = launches_of_many(factor, cost->nrhs);
    } else {
        gsv_cost_add(cost, "warp", tiny.supernodes, tiny.numbers, factor->dtype);
        gsv_cost_add(cost, "few warps", small.supernodes, small.numbers, factor->dtype);
        gsv_cost_add(cost, "many blocks", plan->l.nsuper - narrow,
                     plan->nnz_l - branches.numbers - tiny.numbers - small.numbers, factor->dtype);
        cost->launches = gsv_cuda_launches(factor, cost->nrhs);
    }
    if (cost->bytes_per_s == 0)
        cost->bytes_per_s = BYTES_PER_S;
    if (factor->dtype != GPUSOLVE_COMPLEX_FLOAT && is_measured) {
        gpusolve_cost group = *cost;
        group.nrhs = together;
        cost->predicted_us =
            gsv_cuda_predict(&group, plan->l.n, plan->nnz_l - branches.numbers, factor->dtype) *
                (one_by_one ? (double)cost->nrhs : 1) +
            (groups - 1) * gsv_cuda_side_us(plan) + (ones - 1) * gsv_cuda_ones_us(plan, factor->dtype);
    }
    cost->flops_per_s = FLOPS_PER_S;
    cost->hop_us = HOP_US;
}

void gsv_cuda_summary(const gpusolve_factor *factor, gsv_text *text) {
    const gsv_plan *plan = &factor->plan;
    const gsv_tiles *tiles = plan->tiles;
    const gsv_cuda_factor *device = factor->prepared;
    const int64_t tiny = tiles->tiny.ptr[plan->nlevels], small = tiles->small.ptr[plan->nlevels];
    const int branches = device->form.level_by_level ? 0 : tiles->branches.count;
    const int64_t of_8 = gsv_cuda_launches(factor, 8), of_32 = gsv_cuda_launches(factor, 32);
    int64_t inside = 0;
    for (int32_t s = 0; s < plan->l.nsuper && branches > 0; s++)
        inside += tiles->branches.of[s] >= 0;
    gsv_text_add(text, "tiers: %lld supernodes of a warp, %lld of a few warps, %lld of many blocks\n",
                 (long long)tiny, (long long)small, (long long)(plan->l.nsuper - tiny - small));
    gsv_text_add(text, "branches: %d, a block each, with %lld of the supernodes\n", branches,
                 (long long)inside);
    gsv_text_add(text, "limbs: %d, of more than one right-hand side forward\n",
                 gsv_cuda_sweeps(factor->dtype)->block_class > 0 ? (int)tiles->limbs.count : 0);
    const int side = gsv_cuda_side(&device->form);
    if (side > 1)
        gsv_text_add(text, "side by side: up to %d groups of %d right-hand sides\n", side, GSV_SIDE_COLUMNS);
    const int ones = gsv_cuda_streams_one(&device->form) ? gsv_cuda_most_ones(plan, factor->dtype) : 1;
    if (ones > 1)
        gsv_text_add(text, "side by side: up to %d right-hand sides, each as one\n", ones);
    gsv_text_add(text, "stream: %lld supernodes in %d forward and %d backward tasks%s\n",
                 (long long)tiles->stream.supernodes, (int)tiles->stream.forward.tasks,
                 (int)tiles->stream.backward.tasks,
                 device->form.level_by_level || device->form.level_by_level_above ? ", not used" : "");
    gsv_text_add(text, "tasks: %lld assemble, %lld forward, %lld backward; at most %lld launches\n",
                 (long long)tiles->assemble.ptr[plan->nlevels], (long long)tiles->forward.ptr[plan->nlevels],
                 (long long)tiles->backward.ptr[plan->nlevels], (long long)(of_8 > of_32 ? of_8 : of_32));
    gsv_text_add(
        text,
        "prepared: %.2f ms pattern compared, %.2f plan copied, %.2f numbers checked, moved and inverted, "
        "%.2f nodes placed\n",
        factor->check_ms, device->plan_ms, device->values_ms, device->form_ms);
    const gsv_split_report *split = &factor->split;
    if (split->supernodes > 0)
        gsv_text_add(text,
                     "split: %lld ill-conditioned supernodes, into %lld, for %d levels and %lld update rows "
                     "more; planned "
                     "%lld times, the last time for it in %.2f ms\n",
                     (long long)split->supernodes, (long long)split->slices, (int)split->levels,
                     (long long)split->updates, (long long)factor->plans, split->ms);
}
