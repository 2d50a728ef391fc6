/* The streams of the device's plan: stream.h. Linear in the pieces. */
#include "stream.h"

#include "../../../memory.h"
#include "../../tree/reach.h"
#include "../machine.h"
#include "pieces.h"
#include "../schedule.h"

#include <stdbool.h>
#include <stdlib.h>

int32_t gsv_stream_fold(const gsv_stream *stream) {
    return stream->large ? GSV_BLOCK_LARGE_FOLD_COLUMNS : GSV_BLOCK_FOLD_COLUMNS;
}

/* A supernode of the upper tree, to be sorted. */
typedef struct member {
    int64_t numbers, row, sums;
    int32_t level, s;
    bool narrow, shared; /* shared: tasks share its block rows */
    uint32_t published, place;
} member;

/*
 * The order of a stream. Backward the supernodes with the longest way to a leaf come first. Forward in a large stream those
 * farthest from the root come first; in another stream those with the shortest way to their deepest leaf. So levels near
 * the root, which have few tasks, have no other tasks among them. Within a level the order is the tree's, the same in
 * all levels, so a supernode's children are finished some time before the last ones of their level are.
 */
static int in_stream(const void *a, const void *b) {
    const member *x = a, *y = b;
    return x->level != y->level ? (x->level < y->level ? -1 : 1) : (x->s > y->s) - (x->s < y->s);
}

static bool set_levels(const gsv_plan *plan, int backward, bool large, member *members, int64_t count) {
    if (backward || !large) {
        for (int64_t k = 0; k < count; k++)
            members[k].level = backward ? -plan->level[members[k].s] : plan->level[members[k].s];
        return true;
    }
    int32_t *depth = gsv_malloc((size_t)plan->l.nsuper + 1, sizeof *depth);
    if (!depth)
        return false;
    for (int32_t s = plan->l.nsuper - 1; s >= 0; s--)
        depth[s] = plan->parent[s] < 0 ? 0 : depth[plan->parent[s]] + 1;
    for (int64_t k = 0; k < count; k++)
        members[k].level = -depth[members[k].s];
    gsv_free(depth);
    return true;
}

/* A limb has it: no stream forward for a block of right-hand sides does. */
static bool is_walked(const gsv_writer *w, const member *m) {
    return w->block && !w->backward && w->plan->schedule->limbs.in[m->s];
}

/* Tasks of one supernode with `groups` groups. */
static int64_t tasks_of(const gsv_writer *w, const member *m, int groups) {
    if (is_walked(w, m))
        return 0;
    const int32_t nr = gsv_rows(w->plan, m->s), nc = gsv_columns(w->plan, m->s);
    const int32_t units = w->backward ? (nc + GSV_COLUMNS - 1) / GSV_COLUMNS : (nr + GSV_TILE - 1) / GSV_TILE;
    if (!w->block && (w->backward || m->shared || nc <= GSV_WARP_TILE_COLUMNS || nc > GSV_FOLD_COLUMNS))
        groups = 1; /* whatever a level has */
    if (w->block && nc > w->fold && groups > w->groups)
        groups = w->groups; /* tasks that assemble their front alone have more */
    const int64_t tasks = m->narrow ? 1 : (units + groups - 1) / groups;
    if (!w->block || m->narrow || w->backward || nc <= w->fold)
        return tasks;
    /* about */
    const int32_t runs = (int32_t)(m->numbers / tasks / GSV_PIECE_NUMBERS) + 1;
    return tasks * gsv_shares_of(w, m->numbers / tasks, runs);
}

static int64_t tasks_of_level(const gsv_writer *w, const member *members, int64_t count, int groups) {
    int64_t tasks = 0;
    for (int64_t k = 0; k < count && members[k].level == members[0].level; k++)
        tasks += tasks_of(w, &members[k], groups);
    return tasks;
}

/* Tasks of a block of right-hand sides are as large as leaves every SM of the device one. */
static void begin_level(gsv_writer *w, const member *members, int64_t count) {
    const gsv_machine *machine = gsv_machine_of(w->plan);
    int64_t numbers = 0;
    bool shared = false;
    for (int64_t k = 0; k < count && members[k].level == members[0].level; k++) {
        numbers += is_walked(w, &members[k]) ? 0 : members[k].numbers;
        shared |= members[k].shared;
    }
    w->quantum = numbers / machine->block_tasks + 1;
    if (w->quantum < machine->block_task)
        w->quantum = machine->block_task;
    w->groups = w->block ? GSV_GROUPS : 1;
    while (w->groups > 1 && tasks_of_level(w, members, count, w->groups) < w->enough)
        w->groups /= 2;
    /* for blocks of columns only if each warp has a block row: several warps that share one add up their sums in the
     * place of the front, which later block rows would want */
    w->together = w->backward               ? 1
                  : !w->block               ? GSV_TOGETHER
                  : w->groups == GSV_GROUPS ? GSV_BLOCK_TOGETHER
                                            : 1;
    const int64_t least = w->block ? machine->block_together_tasks : machine->together_tasks;
    while (w->together > 1 && tasks_of_level(w, members, count, w->groups * w->together) < least)
        w->together /= 2;
    const int64_t tasks = tasks_of_level(w, members, count, w->groups * w->together);
    w->crowd = tasks >= (w->block && !w->backward ? machine->block_crowd_tasks
                         : w->large               ? machine->large_crowd_tasks
                                                  : machine->crowd_tasks);
    w->width = GSV_COLUMNS / (tasks < machine->half_tasks ? 2 : 1);
    /* of this level and of those between it and the root; list->tasks is known when pieces are written */
    const int64_t upward = w->backward ? w->tasks + tasks : w->list->tasks - w->tasks;
    w->alone = tasks * (!w->backward && !w->block && shared ? GSV_SHARES : 1) < machine->alone_tasks &&
               upward < machine->alone_upward;
}

/* What a supernode has in a phase of its level. */
static void add_member(gsv_writer *w, const member *m, gsv_phase phase) {
    if (is_walked(w, m))
        return;
    const bool in_rows =
        !m->narrow && !w->backward && (w->block || gsv_columns(w->plan, m->s) > GSV_WARP_TILE_COLUMNS);
    w->row = w->backward ? m->row : w->plan->schedule->row_place[m->s];
    w->place = m->place;
    w->sums = w->backward && !w->block ? m->sums : -1;
    if (in_rows && w->block)
        gsv_add_block_rows(w, m->s, m->published, phase);
    else if (in_rows)
        gsv_add_rows(w, m->s, m->published, m->shared, phase);
    else if (phase != GSV_AWAITED)
        return;
    else if (m->narrow)
        gsv_add_narrow(w, m->s);
    else if (w->backward)
        gsv_add_columns(w, m->s, w->block ? GSV_BLOCK_PIECE : GSV_COLUMNS_PIECE);
    else
        gsv_add_tiles(w, m->s);
}

static void write_stream(gsv_writer *w, const member *members, int64_t count, int64_t published) {
    w->pieces = w->tasks = 0;
    w->published = published;
    for (int64_t begin = 0, end; begin < count; begin = end) {
        for (end = begin + 1; end < count && members[end].level == members[begin].level;)
            end++;
        begin_level(w, &members[begin], count - begin);
        for (int phase = GSV_FRONTS; phase <= GSV_TRIANGLES; phase++)
            for (int64_t k = begin; k < end; k++)
                add_member(w, &members[k], (gsv_phase)phase);
    }
}

/* Forward tasks of a level at least, if they are of the larger kind, for a block of right-hand sides. */
static int64_t enough_forward(const gsv_machine *m, const gsv_stream *stream) {
    const int64_t tasks = stream->numbers / m->enough_numbers;
    if (stream->numbers >= m->enough_large)
        return m->enough_tasks;
    return tasks < m->enough_least ? m->enough_least : tasks < m->enough_small ? tasks : m->enough_small;
}

static gpusolve_status fill_list(gsv_stream *stream, gsv_piece_list *list, gsv_writer w,
                                 const member *members, int64_t count, gsv_message *message) {
    w.list = list;
    w.large = stream->large;
    w.fold = gsv_stream_fold(stream);
    const gsv_machine *machine = gsv_machine_of(w.plan);
    w.enough = w.backward ? machine->enough_backward : enough_forward(machine, stream);
    write_stream(&w, members, count, stream->published);
    if (w.pieces >= INT32_MAX)
        return gsv_fail(message, GPUSOLVE_TOO_LARGE,
                        "the device would have %lld pieces of panels to solve with, "
                        "%d is the limit",
                        (long long)w.pieces, INT32_MAX - 1);
    list->task = gsv_malloc((size_t)w.tasks + 1, sizeof *list->task);
    list->piece = gsv_malloc((size_t)w.pieces + 1, sizeof *list->piece);
    if (!list->task || !list->piece)
        return gsv_plan_no_memory(message);
    list->tasks = (int32_t)w.tasks;
    write_stream(&w, members, count, stream->published);
    list->task[w.tasks] = (int32_t)w.pieces;
    stream->published = w.published;
    stream->bytes += 4 * (w.tasks + 1) + (int64_t)sizeof *list->piece * w.pieces;
    return GPUSOLVE_OK;
}

/* The upper tree's supernodes; counts what the stream has of each. */
static void list_members(const gsv_plan *plan, gsv_stream *stream, member *members) {
    const int32_t nsuper = plan->l.nsuper, *of = plan->schedule->branches.of;
    int64_t count = 0;
    for (int32_t s = 0; s < nsuper; s++) {
        const int32_t nr = gsv_rows(plan, s), nc = gsv_columns(plan, s);
        const int64_t numbers = gsv_panel_size(nr, nc);
        if (of[s] < 0) {
            members[count++] = (member){.numbers = numbers,
                                        .row = stream->nrows,
                                        .s = s,
                                        .narrow = gsv_is_narrow(nr, nc),
                                        .place = (uint32_t)stream->columns};
            stream->numbers += numbers;
            stream->nrows += nr;
            stream->columns += nc;
        }
    }
}

/* Where published fronts stand, and which supernodes' block rows are shared: of few tasks. members: sorted for
 * the forward stream. */
static void place_published(const gsv_plan *plan, gsv_stream *stream, member *members, int64_t count) {
    const gsv_machine *machine = gsv_machine_of(plan);
    const gsv_writer forward = {.plan = plan}, backward = {.plan = plan, .backward = 1};
    int64_t tasks = 0, tasks_back = 0;
    for (int64_t k = 0; k < count; k++) {
        member *m = &members[k];
        const int32_t nr = gsv_rows(plan, m->s), nc = gsv_columns(plan, m->s);
        if (k == 0 || m->level != m[-1].level) {
            tasks = tasks_of_level(&forward, m, count - k, 1);
            tasks_back = tasks_of_level(&backward, m, count - k, 1);
        }
        m->sums = -1;
        m->published = (uint32_t)stream->published;
        if (m->narrow || nc <= GSV_WARP_TILE_COLUMNS)
            continue;
        stream->published += nc;
        m->shared = tasks < machine->shared_tasks && nc > machine->shared_columns;
        if (m->shared) /* sixteen sums of every task of a block row but the last */
            stream->published += (GSV_SHARES - 1) * GSV_TILE * ((nr + GSV_TILE - 1) / GSV_TILE);
        if (tasks_back < machine->halved_tasks) {
            m->sums = stream->published;
            stream->published += nc;
        }
    }
}

/* As a stream has them. Forward comes first. */
static bool sort_members(const gsv_plan *plan, int backward, gsv_stream *stream, member *members) {
    const int64_t count = stream->supernodes;
    if (!set_levels(plan, backward, stream->large, members, count))
        return false;
    if (count > 1)
        qsort(members, (size_t)count, sizeof *members, in_stream);
    if (!backward)
        place_published(plan, stream, members, count);
    return true;
}

/* The places of the upper tree's rows. Whatever is below it is of the upper tree too. */
static bool place_rows(const gsv_plan *plan, gsv_stream *stream, const member *members) {
    int32_t *place = gsv_malloc((size_t)plan->l.n + 1, sizeof *place);
    stream->rows = gsv_malloc((size_t)stream->nrows + 1, sizeof *stream->rows);
    if (!place || !stream->rows) {
        gsv_free(place);
        return false;
    }
    for (int64_t k = 0; k < stream->supernodes; k++)
        for (int32_t j = 0; j < gsv_columns(plan, members[k].s); j++)
            place[plan->l.first_column[members[k].s] + j] = (int32_t)members[k].place + j;
    for (int64_t k = 0; k < stream->supernodes; k++)
        for (int32_t i = 0; i < gsv_rows(plan, members[k].s); i++)
            stream->rows[members[k].row + i] = place[plan->l.rows[plan->l.row_ptr[members[k].s] + i]];
    gsv_free(place);
    stream->bytes += 4 * (stream->nrows + 1);
    return true;
}

/* gsv_stream.side */
static int choose_side(const gsv_plan *plan) {
    const gsv_machine *m = gsv_machine_of(plan);
    const int64_t size = plan->schedule->panel_ptr[plan->l.nsuper] + m->side_column * plan->l.n;
    const int groups = size <= m->side_8 ? 8 : size <= m->side_4 ? 4 : size <= m->side_3 ? 3 : 1;
    return groups < m->groups ? groups : m->groups;
}

gpusolve_status gsv_stream_create(const gsv_plan *plan, gsv_stream *stream, gsv_message *message) {
    *stream = (gsv_stream){0};
    for (int32_t s = 0; s < plan->l.nsuper; s++)
        stream->supernodes += plan->schedule->branches.of[s] < 0;
    const int64_t count = stream->supernodes;
    member *members = gsv_malloc((size_t)count + 1, sizeof *members);
    gpusolve_status status = GPUSOLVE_OK;
    if (members)
        list_members(plan, stream, members);
    stream->large = stream->numbers >= gsv_machine_of(plan)->large_stream;
    if (stream->numbers >= gsv_machine_of(plan)->block_least)
        stream->block_columns = GSV_BLOCK_COLUMNS;
    stream->side = stream->block_columns > 0 ? choose_side(plan) : 1;
    if (!members || !place_rows(plan, stream, members))
        status = gsv_plan_no_memory(message);
    for (int backward = 0; backward < 2 && status == GPUSOLVE_OK; backward++) {
        if (!sort_members(plan, backward, stream, members)) {
            status = gsv_plan_no_memory(message);
            break;
        }
        gsv_writer w = {.plan = plan, .backward = backward};
        status =
            fill_list(stream, backward ? &stream->backward : &stream->forward, w, members, count, message);
        w.block = 1;
        if (stream->block_columns > 0 && status == GPUSOLVE_OK)
            status = fill_list(stream, backward ? &stream->block_backward : &stream->block_forward, w,
                               members, count, message);
    }
    gsv_free(members);
    if (status != GPUSOLVE_OK)
        gsv_stream_free(stream);
    return status;
}

static void free_list(gsv_piece_list *list) {
    gsv_free(list->task);
    gsv_free(list->piece);
    *list = (gsv_piece_list){0};
}

void gsv_stream_free(gsv_stream *stream) {
    gsv_piece_list *lists[] = {&stream->forward, &stream->backward, &stream->block_forward,
                               &stream->block_backward};
    for (int k = 0; k < 4; k++)
        free_list(lists[k]);
    gsv_free(stream->rows);
    *stream = (gsv_stream){0};
}
