/* The streams of the device's plan: stream.h. Linear in the pieces. */
#include "stream.h"

#include "../../../memory.h"
#include "../machine.h"
#include "pieces.h"
#include "../schedule.h"

#include <stdbool.h>
#include <string.h>

int32_t gsv_stream_fold(const gsv_stream *stream) {
    return stream->large ? GSV_BLOCK_LARGE_FOLD_COLUMNS : GSV_BLOCK_FOLD_COLUMNS;
}

/* A supernode of the upper tree. */
typedef struct member {
    int64_t numbers, row, sums;
    int32_t level, s, nr, nc;
    uint32_t published, place;
    bool narrow, shared; /* shared: tasks share its block rows */
} member;

/* What a thread writes at a time: of a level, in one phase, members begin .. end - 1, with the state of the list before them. */
typedef struct share {
    gsv_writer w;
    int64_t begin, end;
    gsv_phase phase;
} share;

/* Pieces of a share, about: a supernode's stay together. And supernodes of one that maps rows. */
enum { SHARE = 1024, MAPPED = 64 };

/* A list in the making. */
typedef struct list_draft {
    gsv_writer w;
    const member *members; /* in the list's order */
    share *share;          /* [shares] */
    int64_t shares;
} list_draft;

struct gsv_stream_draft {
    const gsv_plan *plan;
    gsv_stream *stream;
    int64_t count;
    member *member; /* [3 count] ascending; in the orders of the streams forward; and backward */
    int32_t *place; /* [n] of the upper tree's columns */
    list_draft list[GSV_STREAM_LISTS];
    int64_t mapping; /* shares of the rows' places */
};

/*
 * The order of a stream. Backward the supernodes with the longest way to a leaf come first. Forward in a large stream those
 * farthest from the root come first; in another stream those with the shortest way to their deepest leaf. So levels near
 * the root, which have few tasks, have no other tasks among them. Within a level the order is the tree's, the same in
 * all levels, so a supernode's children are finished some time before the last ones of their level are.
 *
 * depth [nsuper]: memory.
 */
static void set_levels(const gsv_plan *plan, int backward, bool large, int32_t *depth, member *members,
                       int64_t count) {
    for (int64_t k = count - 1; k >= 0; k--) {
        const int32_t s = members[k].s, parent = plan->parent[s];
        depth[s] = parent < 0 ? 0 : depth[parent] + 1;
        members[k].level = backward ? -plan->level[s] : large ? -depth[s] : plan->level[s];
    }
}

/* By counting: from `from`, which ascend, into `to`. first [as there are supernodes, and one]: memory. */
static void sort_members(const member *from, int64_t count, int32_t *first, member *to) {
    int32_t least = INT32_MAX, most = INT32_MIN;
    for (int64_t k = 0; k < count; k++) {
        least = from[k].level < least ? from[k].level : least;
        most = from[k].level > most ? from[k].level : most;
    }
    if (count == 0)
        return;
    memset(first, 0, ((size_t)(most - least) + 2) * sizeof *first);
    for (int64_t k = 0; k < count; k++)
        first[from[k].level - least + 1]++;
    for (int32_t level = 0; level < most - least; level++)
        first[level + 1] += first[level];
    for (int64_t k = 0; k < count; k++)
        to[first[from[k].level - least]++] = from[k];
}

/* A limb has it: no stream forward for a block of right-hand sides does. */
static bool is_walked(const gsv_writer *w, const member *m) {
    return w->block && !w->backward && w->plan->schedule->limbs.in[m->s];
}

/* Tasks of one supernode with `groups` groups. */
static int64_t tasks_of(const gsv_writer *w, const member *m, int groups) {
    if (is_walked(w, m))
        return 0;
    const int32_t nr = m->nr, nc = m->nc;
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
    w->few = tasks * (!w->backward && !w->block && shared ? GSV_SHARES : 1) < machine->alone_tasks;
    w->upward = w->backward ? w->tasks + tasks : w->tasks;
}

/* Once the list's tasks are counted: those of the level and of the levels between it and the root are few. */
static bool is_alone(const gsv_writer *w) {
    const int64_t upward = w->backward ? w->upward : w->list->tasks - w->upward;
    return w->few && upward < gsv_machine_of(w->plan)->alone_upward;
}

/* What a supernode has in a phase of its level. */
static void add_member(gsv_writer *w, const member *m, gsv_phase phase) {
    if (is_walked(w, m))
        return;
    const bool in_rows = !m->narrow && !w->backward && (w->block || m->nc > GSV_WARP_TILE_COLUMNS);
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

/* Members begin .. end - 1 of a level in one phase, as shares. */
static void count_phase(list_draft *list, gsv_phase phase, int64_t begin, int64_t end) {
    gsv_writer *w = &list->w;
    share *open = NULL;
    for (int64_t k = begin; k < end; k++) {
        const int64_t pieces = w->pieces, tasks = w->tasks, published = w->published;
        add_member(w, &list->members[k], phase);
        if (w->pieces == pieces)
            continue;
        if (!open) {
            open = &list->share[list->shares++];
            *open = (share){.w = *w, .begin = k, .phase = phase};
            open->w.pieces = pieces;
            open->w.tasks = tasks;
            open->w.published = published;
        }
        open->end = k + 1;
        if (w->pieces - open->w.pieces >= SHARE)
            open = NULL;
    }
}

static void count_list(list_draft *list, int64_t count) {
    for (int64_t begin = 0, end; begin < count; begin = end) {
        for (end = begin + 1; end < count && list->members[end].level == list->members[begin].level;)
            end++;
        begin_level(&list->w, &list->members[begin], count - begin);
        for (int phase = GSV_FRONTS; phase <= GSV_TRIANGLES; phase++)
            count_phase(list, (gsv_phase)phase, begin, end);
    }
}

/* Forward tasks of a level at least, if they are of the larger kind, for a block of right-hand sides. */
static int64_t enough_forward(const gsv_machine *m, const gsv_stream *stream) {
    const int64_t tasks = stream->numbers / m->enough_numbers;
    if (stream->numbers >= m->enough_large)
        return m->enough_tasks;
    return tasks < m->enough_least ? m->enough_least : tasks < m->enough_small ? tasks : m->enough_small;
}

gpusolve_status gsv_stream_count(gsv_stream_draft *draft, int list, gsv_message *message) {
    list_draft *l = &draft->list[list];
    gsv_writer *w = &l->w;
    gsv_piece_list *pieces = w->list;
    const gsv_machine *machine = gsv_machine_of(draft->plan);
    if (w->block && draft->stream->block_columns == 0)
        return GPUSOLVE_OK;
    l->share = gsv_malloc(3 * (size_t)draft->count + 1, sizeof *l->share);
    if (!l->share)
        return gsv_plan_no_memory(message);
    w->large = draft->stream->large;
    w->fold = gsv_stream_fold(draft->stream);
    w->enough = w->backward ? machine->enough_backward : enough_forward(machine, draft->stream);
    w->published = draft->stream->published;
    count_list(l, draft->count);
    if (w->pieces >= INT32_MAX)
        return gsv_fail(message, GPUSOLVE_TOO_LARGE,
                        "the device would have %lld pieces of panels to solve with, "
                        "%d is the limit",
                        (long long)w->pieces, INT32_MAX - 1);
    pieces->task = gsv_malloc((size_t)w->tasks + 1, sizeof *pieces->task);
    pieces->piece = gsv_malloc((size_t)w->pieces + 1, sizeof *pieces->piece);
    if (!pieces->task || !pieces->piece)
        return gsv_plan_no_memory(message);
    pieces->tasks = (int32_t)w->tasks;
    pieces->task[w->tasks] = (int32_t)w->pieces;
    return GPUSOLVE_OK;
}

int64_t gsv_stream_places(const gsv_stream_draft *draft) {
    return draft->mapping;
}

void gsv_stream_place(const gsv_stream_draft *draft, int64_t number) {
    for (int64_t k = MAPPED * number; k < draft->count && k < MAPPED * (number + 1); k++) {
        const member *m = &draft->member[k];
        int32_t *place = draft->place + draft->plan->l.first_column[m->s];
        for (int32_t j = 0; j < m->nc; j++)
            place[j] = (int32_t)m->place + j;
    }
}

/* The places of the upper tree's rows. Whatever is below it is of the upper tree too. */
static void map_rows(const gsv_stream_draft *draft, int64_t begin, int64_t end) {
    const gsv_structure *l = &draft->plan->l;
    for (int64_t k = begin; k < end; k++) {
        const member *m = &draft->member[k];
        const int32_t *rows = l->rows + l->row_ptr[m->s];
        int32_t *to = draft->stream->rows + m->row;
        for (int32_t i = 0; i < m->nr; i++)
            to[i] = draft->place[rows[i]];
    }
}

int64_t gsv_stream_shares(const gsv_stream_draft *draft) {
    int64_t shares = draft->mapping;
    for (int k = 0; k < GSV_STREAM_LISTS; k++)
        shares += draft->list[k].shares;
    return shares;
}

void gsv_stream_write(const gsv_stream_draft *draft, int64_t number) {
    for (int list = 0; list < GSV_STREAM_LISTS; number -= draft->list[list++].shares) {
        const list_draft *l = &draft->list[list];
        if (number >= l->shares)
            continue;
        const share *here = &l->share[number];
        gsv_writer w = here->w;
        w.alone = is_alone(&w);
        for (int64_t k = here->begin; k < here->end; k++)
            add_member(&w, &l->members[k], here->phase);
        return;
    }
    const int64_t begin = MAPPED * number, end = begin + MAPPED;
    map_rows(draft, begin, end < draft->count ? end : draft->count);
}

/* The upper tree's supernodes; counts what the stream has of each. */
static void list_members(const gsv_plan *plan, const gsv_supernode_list *upper, gsv_stream *stream,
                         member *members) {
    for (int64_t k = 0; k < upper->count; k++) {
        const int32_t s = upper->supernode[k], nr = gsv_rows(plan, s), nc = gsv_columns(plan, s);
        const int64_t numbers = gsv_panel_size(nr, nc);
        members[k] = (member){.numbers = numbers,
                              .row = stream->nrows,
                              .s = s,
                              .nr = nr,
                              .nc = nc,
                              .narrow = gsv_is_narrow(nr, nc),
                              .place = (uint32_t)stream->columns};
        stream->numbers += numbers;
        stream->nrows += nr;
        stream->columns += nc;
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
        const int32_t nr = m->nr, nc = m->nc;
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

/* gsv_stream.side */
static int choose_side(const gsv_plan *plan) {
    const gsv_machine *m = gsv_machine_of(plan);
    const int64_t size = plan->schedule->panel_ptr[plan->l.nsuper] + m->side_column * plan->l.n;
    const int groups = size <= m->side_8 ? 8 : size <= m->side_4 ? 4 : size <= m->side_3 ? 3 : 1;
    return groups < m->groups ? groups : m->groups;
}

/* The supernodes in both orders, and the places of their columns. levels [nsuper + 1], depth [nsuper]: memory. */
static void arrange(const gsv_plan *plan, gsv_stream_draft *draft, int32_t *levels, int32_t *depth) {
    gsv_stream *stream = draft->stream;
    const int64_t count = draft->count;
    member *all = draft->member, *forward = all + count, *backward = forward + count;
    set_levels(plan, 0, stream->large, depth, all, count);
    sort_members(all, count, levels, forward);
    place_published(plan, stream, forward, count);
    for (int64_t k = 0; k < count; k++) /* depth becomes where each stands */
        depth[all[k].s] = (int32_t)k;
    for (int64_t k = 0; k < count; k++)
        all[depth[forward[k].s]] = forward[k];
    set_levels(plan, 1, stream->large, depth, all, count);
    sort_members(all, count, levels, backward);
}

gpusolve_status gsv_stream_begin(const gsv_plan *plan, const gsv_supernode_list *upper, gsv_stream *stream,
                                 gsv_stream_draft **draft, gsv_message *message) {
    const size_t nsuper = (size_t)plan->l.nsuper, count = (size_t)upper->count;
    const gsv_machine *machine = gsv_machine_of(plan);
    *stream = (gsv_stream){.supernodes = upper->count};
    gsv_stream_draft *made = *draft = gsv_calloc(1, sizeof *made);
    if (!made)
        return gsv_plan_no_memory(message);
    *made = (gsv_stream_draft){.plan = plan,
                               .stream = stream,
                               .count = upper->count,
                               .member = gsv_malloc(3 * count, sizeof *made->member),
                               .place = gsv_malloc((size_t)plan->l.n, sizeof *made->place)};
    int32_t *memory = gsv_malloc(2 * nsuper + 1, sizeof *memory);
    if (made->member)
        list_members(plan, upper, stream, made->member);
    stream->rows = gsv_malloc((size_t)stream->nrows + 1, sizeof *stream->rows);
    if (!made->member || !made->place || !memory || !stream->rows) {
        gsv_free(memory);
        return gsv_plan_no_memory(message);
    }
    stream->large = stream->numbers >= machine->large_stream;
    if (stream->numbers >= machine->block_least)
        stream->block_columns = GSV_BLOCK_COLUMNS;
    stream->side = stream->block_columns > 0 ? choose_side(plan) : 1;
    arrange(plan, made, memory, memory + nsuper + 1);
    gsv_free(memory);
    gsv_piece_list *lists[] = {&stream->forward, &stream->backward, &stream->block_forward,
                               &stream->block_backward};
    for (int k = 0; k < GSV_STREAM_LISTS; k++) {
        made->list[k].w = (gsv_writer){.plan = plan, .list = lists[k], .backward = k % 2, .block = k / 2};
        made->list[k].members = made->member + (size_t)(1 + k % 2) * count;
    }
    made->mapping = (upper->count + MAPPED - 1) / MAPPED;
    return GPUSOLVE_OK;
}

void gsv_stream_end(gsv_stream_draft *draft, int good) {
    if (!draft)
        return;
    gsv_stream *stream = draft->stream;
    for (int k = 0; k < GSV_STREAM_LISTS; k++) {
        const gsv_writer *w = &draft->list[k].w;
        if (good && w->list->task) {
            stream->bytes += 4 * (w->tasks + 1) + (int64_t)sizeof *w->list->piece * w->pieces;
            if (w->published > stream->published) /* only one list has sums there */
                stream->published = w->published;
        }
        gsv_free(draft->list[k].share);
    }
    stream->bytes += good ? 4 * (stream->nrows + 1) : 0;
    gsv_free(draft->member);
    gsv_free(draft->place);
    gsv_free(draft);
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
