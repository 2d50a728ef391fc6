/*
 * Selections: solves that touch only what some rows of b and some rows of x need of the tree (reach.h).
 *
 *      y1 = b spread over the columns of part 1     forward, D      part 1: the reach of b's rows
 *      y2 = y1 where part 2 has columns, else 0     backward        part 2: the reach of x's rows
 *      x  = rows of y2, 0 where part 2 has none
 *
 * Where the reaches are one, or there is one sweep, there is one part. A part is a factor by itself, with a
 * plan of its own and a copy of its panels, so that the executors solve with it as with any other: no sweep
 * knows of selections. On the host, and on CUDA in the first set of bits (gpusolve_solve), a sum takes the same
 * numbers in the same order as in the whole tree, but for those that are exactly zero. In the other sets its order
 * follows from the levels of the tree, which are other ones here.
 */
#include <string.h>

#include "../../memory.h"
#include "checks.h"
#include "gpusolve_selection.h"
#include "../schedule/tasks/tasks.h"
#include "../tree/reach.h"

typedef struct part {
    gpusolve_factor *factor;
    int32_t *supernodes; /* of the whole factor */
    gpusolve_workspace *workspace;
    gpusolve_dense y;
    unsigned steps;
} part;

struct gpusolve_selection {
    const gsv_executor *executor;
    int device;
    uint64_t factor_id, refreshes; /* of the factor when the numbers were copied, */
    int64_t plans;                 /* and when the parts were made */
    unsigned steps;
    int64_t b_count, x_count, max_nrhs;
    int32_t *b_rows, *x_rows; /* in L's order */
    int parts;                /* 1 or 2 */
    part part[2];
    gsv_row_list in, between, out;
    gpusolve_selection_info info;
    int captured;                /* some graph has a solve with it */
    gpusolve_selection *retired; /* as it was of earlier plans, kept for graphs that were captured; or NULL */
};

/* While a selection is made. */
typedef struct making {
    gpusolve_handle *handle;
    const gpusolve_factor *factor;
    gpusolve_selection *made;
    uint8_t *reach[2]; /* [nsuper] of each part */
    int32_t *shift[2]; /* [nsuper] gsv_reach_structure */
    int32_t *scratch;  /* [n] */
} making;

static gpusolve_status no_memory(const making *m) {
    return gsv_fail(&m->handle->message, GPUSOLVE_OUT_OF_MEMORY, "selection: out of host memory");
}

/* ------------------------------------------------------------------------------------------ arguments --- */

/* Check the caller's rows. NULL stands for all. */
static gpusolve_status check_rows(gpusolve_handle *handle, const char *name, int32_t n, int64_t count,
                                  const int64_t *rows) {
    gsv_message *message = &handle->message;
    if (count < 0 || count > INT32_MAX)
        return gsv_fail(message, GPUSOLVE_INVALID_ARGUMENT, "%s_count: is %lld", name, (long long)count);
    if (!rows && count != n && count > 0)
        return gsv_fail(message, GPUSOLVE_INVALID_ARGUMENT,
                        "%s_rows: is NULL, which stands for all %d rows, but %s_count is %lld", name, (int)n,
                        name, (long long)count);
    if ((uintptr_t)rows % sizeof *rows)
        return gsv_fail(message, GPUSOLVE_INVALID_ARGUMENT, "%s_rows: is not aligned to %zu bytes", name,
                        sizeof *rows);
    for (int64_t k = 0; rows && k < count; k++)
        if (rows[k] < 0 || rows[k] >= n)
            return gsv_fail(message, GPUSOLVE_INVALID_ARGUMENT, "%s_rows[%lld]: is %lld, the order is %d",
                            name, (long long)k, (long long)rows[k], (int)n);
    return GPUSOLVE_OK;
}

static gpusolve_status check_arguments(gpusolve_handle *handle, const gpusolve_factor *factor,
                                       gpusolve_system system, int64_t b_count, const int64_t *b_rows,
                                       int64_t x_count, const int64_t *x_rows, int64_t max_nrhs,
                                       gpusolve_selection **selection) {
    gpusolve_status status = gsv_check_factor(handle, factor);
    if (status)
        return status;
    if (!gsv_steps_of(system))
        return gsv_fail(&handle->message, GPUSOLVE_INVALID_ARGUMENT, "system: %d is no gpusolve_system",
                        (int)system);
    if (!(gsv_steps_of(system) & (GSV_FORWARD | GSV_BACKWARD)))
        return gsv_fail(&handle->message, GPUSOLVE_NOT_SUPPORTED, "system: %d solves with no triangle",
                        (int)system);
    status = check_rows(handle, "b", factor->plan.l.n, b_count, b_rows);
    if (!status)
        status = check_rows(handle, "x", factor->plan.l.n, x_count, x_rows);
    if (!status)
        status = gsv_check_max_nrhs(&factor->plan, factor->dtype, 1, max_nrhs, &handle->message);
    if (!status && !selection)
        status = gsv_fail(&handle->message, GPUSOLVE_INVALID_ARGUMENT, "selection: is NULL");
    if (!status && !handle->executor->selection)
        status = gsv_fail(&handle->message, GPUSOLVE_NOT_SUPPORTED, "handle: its backend has no selections");
    return status;
}

/* The rows in L's order: m->scratch is the inverse permutation if `permuted`. */
static int32_t *in_order_of_l(const making *m, int permuted, int64_t count, const int64_t *rows) {
    int32_t *list = gsv_malloc((size_t)count, sizeof *list);
    for (int64_t k = 0; list && k < count; k++) {
        const int64_t row = rows ? rows[k] : k;
        list[k] = permuted ? m->scratch[row] : (int32_t)row;
    }
    return list;
}

static gpusolve_status read_rows(making *m, const int64_t *b_rows, const int64_t *x_rows) {
    const gsv_structure *l = &m->factor->plan.l;
    gpusolve_selection *made = m->made;
    const int permuted = l->perm != NULL;
    for (int32_t i = 0; permuted && i < l->n; i++)
        m->scratch[l->perm[i]] = i;
    made->b_rows = in_order_of_l(m, permuted && (made->steps & GSV_PERMUTE_IN), made->b_count, b_rows);
    made->x_rows = in_order_of_l(m, permuted && (made->steps & GSV_PERMUTE_OUT), made->x_count, x_rows);
    if (!made->b_rows || !made->x_rows)
        return no_memory(m);
    memset(m->scratch, 0, (size_t)l->n * sizeof *m->scratch);
    for (int64_t k = 0; k < made->b_count; k++)
        if (m->scratch[made->b_rows[k]]++)
            return gsv_fail(&m->handle->message, GPUSOLVE_INVALID_ARGUMENT,
                            "b_rows[%lld]: is %lld, which was there before", (long long)k,
                            (long long)(b_rows ? b_rows[k] : k));
    return GPUSOLVE_OK;
}

/* ---------------------------------------------------------------------------------------------- parts --- */

/* Part p: the supernodes that its reach has marked, `count` of them. */
static gpusolve_status make_part(making *m, int p, int32_t count, unsigned steps) {
    const gpusolve_factor *whole = m->factor;
    part *to = &m->made->part[p];
    gsv_message *message = &m->handle->message;
    gsv_structure structure;
    to->steps = steps;
    to->supernodes = gsv_malloc((size_t)count, sizeof *to->supernodes);
    m->shift[p] = gsv_malloc((size_t)whole->plan.l.nsuper, sizeof *m->shift[p]);
    gpusolve_factor *factor = gsv_calloc(1, sizeof *factor);
    if (!to->supernodes || !m->shift[p] || !factor) {
        gsv_free(factor);
        return no_memory(m);
    }
    to->factor = factor;
    factor->executor = whole->executor;
    factor->device = whole->device;
    factor->dtype = whole->dtype;
    factor->has_d = whole->has_d;
    gpusolve_status status =
        gsv_reach_structure(&whole->plan, m->reach[p], to->supernodes, m->shift[p], &structure, message);
    if (!status)
        status = gsv_plan_create(&structure, m->handle->pool, &factor->plan, message);
    factor->plan.in_place = whole->plan.in_place;
    if (!status)
        status = factor->executor->plan(&factor->plan, m->handle->pool, message);
    if (!status)
        status = factor->executor->selection->extract(m->handle, whole, to->supernodes, factor);
    if (!status)
        status = gpusolve_workspace_create(m->handle, factor, m->made->max_nrhs, &to->workspace);
    if (status)
        return status;
    const int32_t n = factor->plan.l.n;
    to->y = (gpusolve_dense){factor->dtype, GPUSOLVE_COL_MAJOR, n, m->made->max_nrhs, n > 0 ? n : 1, NULL};
    return factor->executor->selection->allocate(
        m->handle, NULL, (size_t)n * (size_t)m->made->max_nrhs * gsv_dtype_bytes(factor->dtype),
        &to->y.values);
}

/* What part p has, for the information about the selection. */
static void describe_part(gpusolve_selection *selection, int p, int same_bits) {
    const part *of = &selection->part[p];
    const gsv_plan *plan = &of->factor->plan;
    const int64_t number = (int64_t)gsv_dtype_bytes(of->factor->dtype);
    int64_t factor_bytes, workspace_bytes;
    if (of->steps & GSV_FORWARD) {
        selection->info.forward_supernodes = plan->l.nsuper;
        selection->info.forward_bytes = plan->nnz_l * number;
    }
    if (of->steps & GSV_BACKWARD) {
        selection->info.backward_supernodes = plan->l.nsuper;
        selection->info.backward_bytes = plan->nnz_l * number;
    }
    selection->executor->bytes(of->factor->device, same_bits, plan, of->factor->dtype, of->factor->has_d,
                               selection->max_nrhs, &factor_bytes, &workspace_bytes);
    const int copied = plan->in_place && selection->executor->backend == GPUSOLVE_BACKEND_HOST;
    for (int32_t s = 0; copied && s < plan->l.nsuper; s++) /* in place in the whole factor alone */
        factor_bytes += number * gsv_rows(plan, s) * gsv_columns(plan, s);
    selection->info.memory_bytes += factor_bytes + workspace_bytes + number * plan->l.n * selection->max_nrhs;
}

static gpusolve_status make_parts(making *m) {
    const unsigned steps = m->made->steps;
    const gsv_plan *plan = &m->factor->plan;
    const size_t nsuper = (size_t)plan->l.nsuper;
    const unsigned sweeps = steps & (GSV_FORWARD | GSV_SCALE | GSV_BACKWARD);
    int32_t count[2] = {0, 0};
    m->reach[0] = gsv_calloc(nsuper, 1);
    m->reach[1] = gsv_calloc(nsuper, 1);
    if (!m->reach[0] || !m->reach[1])
        return no_memory(m);
    if (steps & GSV_FORWARD)
        count[0] = gsv_reach_mark(plan, m->made->b_count, m->made->b_rows, m->reach[0]);
    else
        count[0] = gsv_reach_mark(plan, m->made->x_count, m->made->x_rows, m->reach[0]);
    if ((steps & GSV_FORWARD) && (steps & GSV_BACKWARD))
        count[1] = gsv_reach_mark(plan, m->made->x_count, m->made->x_rows, m->reach[1]);
    const int one =
        !((steps & GSV_FORWARD) && (steps & GSV_BACKWARD)) || memcmp(m->reach[0], m->reach[1], nsuper) == 0;
    m->made->parts = one ? 1 : 2;
    gpusolve_status status = make_part(m, 0, count[0], one ? sweeps : sweeps & ~(unsigned)GSV_BACKWARD);
    if (!status && !one)
        status = make_part(m, 1, count[1], GSV_BACKWARD);
    for (int p = 0; p < m->made->parts && !status; p++)
        describe_part(m->made, p, m->handle->same_bits);
    return status;
}

/* ---------------------------------------------------------------------------------------------- lists --- */

/* Where part p has column j of L, or -1. */
static int32_t place_in(const making *m, int p, int32_t j) {
    const int32_t s = gsv_supernode_of(&m->factor->plan, j);
    return m->reach[p][s] ? j + m->shift[p][s] : -1;
}

/* Hand a list over to the backend. */
static gpusolve_status upload_list(const making *m, int64_t count, const int32_t *from, const int32_t *to,
                                   gsv_row_list *list) {
    const gsv_selection_functions *functions = m->factor->executor->selection;
    gpusolve_status status = GPUSOLVE_OK;
    void *memory = NULL;
    list->count = count;
    if (from)
        status = functions->allocate(m->handle, from, (size_t)count * sizeof *from, &memory);
    list->from = memory;
    memory = NULL;
    if (!status && to)
        status = functions->allocate(m->handle, to, (size_t)count * sizeof *to, &memory);
    list->to = memory;
    return status;
}

/* Rows of b that the first part has not got do not matter to what is wanted. */
static gpusolve_status make_lists(making *m) {
    gpusolve_selection *made = m->made;
    const gsv_plan *plan = &m->factor->plan;
    const int64_t most = made->b_count > made->x_count ? made->b_count : made->x_count;
    const int64_t room = most > plan->l.n ? most : plan->l.n;
    int32_t *from = gsv_malloc((size_t)room, sizeof *from), *to = gsv_malloc((size_t)room, sizeof *to);
    gpusolve_status status = from && to ? GPUSOLVE_OK : no_memory(m);
    int64_t count = 0;
    for (int64_t k = 0; !status && k < made->b_count; k++) {
        to[count] = place_in(m, 0, made->b_rows[k]);
        from[count] = (int32_t)k;
        count += to[count] >= 0;
    }
    if (!status)
        status = upload_list(m, count, from, to, &made->in);
    count = 0;
    for (int32_t s = 0; !status && made->parts == 2 && s < plan->l.nsuper; s++)
        for (int32_t j = plan->l.first_column[s];
             m->reach[0][s] && m->reach[1][s] && j < plan->l.first_column[s + 1]; j++) {
            from[count] = j + m->shift[0][s];
            to[count++] = j + m->shift[1][s];
        }
    if (!status && made->parts == 2)
        status = upload_list(m, count, from, to, &made->between);
    for (int64_t k = 0; !status && k < made->x_count; k++)
        from[k] = place_in(m, made->parts - 1, made->x_rows[k]);
    if (!status)
        status = upload_list(m, made->x_count, from, NULL, &made->out);
    gsv_free(from);
    gsv_free(to);
    return status;
}

/* Parts and lists, for the rows there are. */
static gpusolve_status fill_selection(making *m) {
    m->made->refreshes = m->factor->refreshes;
    m->made->plans = m->factor->plans;
    m->made->info = (gpusolve_selection_info){.size = sizeof m->made->info};
    gpusolve_status status = make_parts(m);
    if (!status)
        status = make_lists(m);
    for (int p = 0; p < 2; p++) {
        gsv_free(m->reach[p]);
        gsv_free(m->shift[p]);
    }
    return status;
}

/* ------------------------------------------------------------------------------------------ interface --- */

gpusolve_status gpusolve_selection_create(gpusolve_handle *handle, const gpusolve_factor *factor,
                                          gpusolve_system system, int64_t b_count, const int64_t *b_rows,
                                          int64_t x_count, const int64_t *x_rows, int64_t max_nrhs,
                                          gpusolve_selection **selection) {
    if (selection)
        *selection = NULL;
    GSV_ENTER(handle);
    gpusolve_status status =
        check_arguments(handle, factor, system, b_count, b_rows, x_count, x_rows, max_nrhs, selection);
    if (status)
        return status;

    making m = {.handle = handle, .factor = factor, .made = gsv_calloc(1, sizeof *m.made)};
    if (!m.made)
        return no_memory(&m);
    m.made->executor = factor->executor;
    m.made->device = factor->device;
    m.made->factor_id = factor->id;
    m.made->steps = gsv_steps_of(system);
    m.made->b_count = b_count;
    m.made->x_count = x_count;
    /* wider blocks, of a part with few rows, would mean more memory, and little less time */
    m.made->max_nrhs = max_nrhs < GSV_TASKS_32 ? max_nrhs : GSV_TASKS_32;
    m.scratch = gsv_malloc((size_t)factor->plan.l.n, sizeof *m.scratch);
    status = m.scratch ? read_rows(&m, b_rows, x_rows) : no_memory(&m);
    gsv_free(m.scratch);
    if (!status)
        status = fill_selection(&m);
    if (status)
        gpusolve_selection_destroy(m.made);
    else
        *selection = m.made;
    return status;
}

static void free_list(const gpusolve_selection *selection, const gsv_row_list *list) {
    selection->executor->selection->release(selection->device, list->from);
    selection->executor->selection->release(selection->device, list->to);
}

/* Parts and lists. */
static void empty_selection(gpusolve_selection *selection) {
    for (int p = 0; p < 2; p++) {
        part *of = &selection->part[p];
        selection->executor->selection->release(selection->device, of->y.values);
        gpusolve_workspace_destroy(of->workspace);
        gpusolve_factor_destroy(of->factor);
        gsv_free(of->supernodes);
    }
    free_list(selection, &selection->in);
    free_list(selection, &selection->between);
    free_list(selection, &selection->out);
}

void gpusolve_selection_destroy(gpusolve_selection *selection) {
    while (selection) {
        gpusolve_selection *retired = selection->retired;
        empty_selection(selection);
        gsv_free(selection->b_rows);
        gsv_free(selection->x_rows);
        gsv_free(selection);
        selection = retired;
    }
}

static gpusolve_status check_selection(gpusolve_handle *handle, const gpusolve_selection *selection) {
    if (!selection)
        return gsv_fail_missing(&handle->message, "selection");
    if (selection->executor != handle->executor || selection->device != handle->device)
        return gsv_fail(&handle->message, GPUSOLVE_INVALID_ARGUMENT,
                        "selection: belongs to another backend or device than the handle");
    return GPUSOLVE_OK;
}

gpusolve_status gpusolve_selection_get_info(gpusolve_handle *handle, const gpusolve_selection *selection,
                                            gpusolve_selection_info *info) {
    GSV_ENTER(handle);
    gpusolve_status status = check_selection(handle, selection);
    if (status)
        return status;
    if (!info)
        return gsv_fail(&handle->message, GPUSOLVE_INVALID_ARGUMENT, "info: is NULL");
    if (info->size != sizeof *info)
        return gsv_fail(&handle->message, GPUSOLVE_INVALID_ARGUMENT, "info->size: is %zu, must be %zu",
                        info->size, sizeof *info);
    *info = selection->info;
    for (int p = 0; p < selection->parts; p++)
        info->memory_bytes += selection->part[p].factor->more_bytes;
    for (const gpusolve_selection *old = selection->retired; old; old = old->retired)
        info->memory_bytes += old->info.memory_bytes;
    return GPUSOLVE_OK;
}

/* Parts and lists anew, for a factor that was planned again; on failure as they were. */
static gpusolve_status make_again(gpusolve_handle *handle, const gpusolve_factor *factor,
                                  gpusolve_selection *selection) {
    making m = {.handle = handle, .factor = factor, .made = gsv_malloc(1, sizeof *m.made)};
    if (!m.made)
        return no_memory(&m);
    *m.made = *selection;
    memset(m.made->part, 0, sizeof m.made->part);
    m.made->in = m.made->between = m.made->out = (gsv_row_list){0};
    gpusolve_status status = fill_selection(&m);
    for (int p = 0; selection->captured && p < selection->parts && !status; p++)
        status = selection->executor->expire(selection->part[p].factor, &handle->message);
    if (status) {
        empty_selection(m.made);
        gsv_free(m.made);
        return status;
    }
    const gpusolve_selection old = *selection;
    *selection = *m.made;
    selection->captured = 0;
    *m.made = old;
    if (m.made->captured) {
        m.made->b_rows = m.made->x_rows = NULL; /* they have gone */
        selection->retired = m.made;
    } else {
        empty_selection(m.made);
        gsv_free(m.made);
    }
    return status;
}

/* The numbers of a factor that was refreshed, and the structure of one that was planned again. */
static gpusolve_status follow_factor(gpusolve_handle *handle, const gpusolve_factor *factor,
                                     gpusolve_selection *selection) {
    int capturing = 0;
    gpusolve_status status = GPUSOLVE_OK;
    if (selection->executor->is_capturing)
        status = selection->executor->is_capturing(handle, &capturing);
    selection->captured |= capturing;
    if (status || selection->refreshes == factor->refreshes)
        return status;
    if (capturing)
        return gsv_fail(&handle->message, GPUSOLVE_INVALID_ARGUMENT,
                        "selection: the factor was refreshed; solve with the selection once outside of a "
                        "capture first");
    if (selection->plans != factor->plans)
        return make_again(handle, factor, selection);
    for (int p = 0; p < selection->parts && !status; p++)
        status = selection->executor->selection->extract(handle, factor, selection->part[p].supernodes,
                                                         selection->part[p].factor);
    if (!status)
        selection->refreshes = factor->refreshes;
    return status;
}

/* At most max_nrhs columns. */
static gpusolve_status solve_columns(gpusolve_handle *handle, const gpusolve_selection *selection,
                                     const gpusolve_dense *b, const gpusolve_dense *x) {
    const gsv_executor *executor = selection->executor;
    const gsv_row_list *list = &selection->in;
    gpusolve_dense from = *b;
    gpusolve_status status = GPUSOLVE_OK;
    for (int p = 0; p < selection->parts && !status; p++) {
        const part *with = &selection->part[p];
        gpusolve_dense y = with->y;
        y.cols = b->cols;
        status = executor->selection->move(handle, list, 1, &from, &y);
        if (!status && y.rows > 0)
            status = executor->solve(handle, with->factor, with->workspace, with->steps, &y, &y);
        from = y;
        list = &selection->between;
    }
    return status ? status : executor->selection->move(handle, &selection->out, 0, &from, x);
}

/* Blocks of the factor's type. */
static gpusolve_status solve_blocks(gpusolve_handle *handle, const gpusolve_selection *selection,
                                    const gpusolve_dense *b, const gpusolve_dense *x) {
    gpusolve_status status = GPUSOLVE_OK;
    for (int64_t first = 0; !status && first < b->cols; first += selection->max_nrhs) {
        const int64_t left = b->cols - first;
        const int64_t cols = left < selection->max_nrhs ? left : selection->max_nrhs;
        const gpusolve_dense b_block = gsv_dense_columns(b, first, cols);
        const gpusolve_dense x_block = gsv_dense_columns(x, first, cols);
        status = solve_columns(handle, selection, &b_block, &x_block);
    }
    return status;
}

gpusolve_status gpusolve_solve_selected(gpusolve_handle *handle, const gpusolve_factor *factor,
                                        gpusolve_selection *selection, const gpusolve_dense *b,
                                        const gpusolve_dense *x) {
    GSV_ENTER(handle);
    gsv_view view = GSV_AS_IT_IS;
    gpusolve_status status = gsv_check_factor(handle, factor);
    if (!status)
        status = check_selection(handle, selection);
    if (!status && selection->factor_id != factor->id)
        status =
            gsv_fail(&handle->message, GPUSOLVE_INVALID_ARGUMENT, "selection: was made for another factor");
    if (!status)
        status = gsv_check_selected(handle, factor, selection->b_count, selection->x_count, b, x, &view);
    if (status || x->rows == 0 || x->cols == 0)
        return status;
    status = follow_factor(handle, factor, selection);
    for (int64_t k = 0; !status && k < gsv_view_pieces(view, b); k++) {
        const gpusolve_dense from = gsv_view_piece(view, b, k), to = gsv_view_piece(view, x, k);
        status = solve_blocks(handle, selection, &from, &to);
    }
    return status;
}
