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
#include "selection.h"

#include <stdio.h>
#include <string.h>

#include "../../memory.h"
#include "checks.h"
#include "../schedule/tasks/tasks.h"

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
    char list[16];
    snprintf(list, sizeof list, "%s_rows", name);
    return gsv_check_list(handle, list, n, count, rows);
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

    gsv_selection_making m = {.handle = handle, .factor = factor, .made = gsv_calloc(1, sizeof *m.made)};
    if (!m.made)
        return gsv_selection_no_memory(&m);
    m.made->executor = factor->executor;
    m.made->device = factor->device;
    m.made->factor_id = factor->id;
    m.made->steps = gsv_steps_of(system);
    m.made->b_count = b_count;
    m.made->x_count = x_count;
    /* wider blocks, of a part with few rows, would mean more memory, and little less time */
    m.made->max_nrhs = max_nrhs < GSV_TASKS_32 ? max_nrhs : GSV_TASKS_32;
    m.scratch = gsv_malloc((size_t)factor->plan.l.n, sizeof *m.scratch);
    status = m.scratch ? gsv_selection_read_rows(&m, b_rows, x_rows) : gsv_selection_no_memory(&m);
    gsv_free(m.scratch);
    if (!status)
        status = gsv_selection_fill(&m);
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
        gsv_part *of = &selection->part[p];
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
    return selection ? gsv_check_owner(handle, "selection", selection->executor, selection->device)
                     : gsv_fail_missing(&handle->message, "selection");
}

gpusolve_status gpusolve_selection_get_info(gpusolve_handle *handle, const gpusolve_selection *selection,
                                            gpusolve_selection_info *info) {
    GSV_ENTER(handle);
    gpusolve_status status = check_selection(handle, selection);
    if (!status)
        status = gsv_check_record("info", info, sizeof *info, &handle->message);
    if (status)
        return status;
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
    gsv_selection_making m = {.handle = handle, .factor = factor, .made = gsv_malloc(1, sizeof *m.made)};
    if (!m.made)
        return gsv_selection_no_memory(&m);
    *m.made = *selection;
    memset(m.made->part, 0, sizeof m.made->part);
    m.made->in = m.made->between = m.made->out = (gsv_row_list){0};
    gpusolve_status status = gsv_selection_fill(&m);
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
        const gsv_part *with = &selection->part[p];
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
