/* What a selection is made of: its rows in L's order, its parts, and the lists of rows that move between them. */
#include "selection.h"

#include "../../memory.h"
#include "../tree/reach.h"
#include "checks.h"

#include <string.h>

gpusolve_status gsv_selection_no_memory(const gsv_selection_making *m) {
    return gsv_fail(&m->handle->message, GPUSOLVE_OUT_OF_MEMORY, "selection: out of host memory");
}

/* The rows in L's order: m->scratch is the inverse permutation if `permuted`. */
static int32_t *in_order_of_l(const gsv_selection_making *m, int permuted, int64_t count,
                              const int64_t *rows) {
    int32_t *list = gsv_malloc((size_t)count, sizeof *list);
    for (int64_t k = 0; list && k < count; k++) {
        const int64_t row = rows ? rows[k] : k;
        list[k] = permuted ? m->scratch[row] : (int32_t)row;
    }
    return list;
}

gpusolve_status gsv_selection_read_rows(gsv_selection_making *m, const int64_t *b_rows,
                                        const int64_t *x_rows) {
    const gsv_structure *l = &m->factor->plan.l;
    gpusolve_selection *made = m->made;
    const int permuted = l->perm != NULL;
    for (int32_t i = 0; permuted && i < l->n; i++)
        m->scratch[l->perm[i]] = i;
    made->b_rows = in_order_of_l(m, permuted && (made->steps & GSV_PERMUTE_IN), made->b_count, b_rows);
    made->x_rows = in_order_of_l(m, permuted && (made->steps & GSV_PERMUTE_OUT), made->x_count, x_rows);
    if (!made->b_rows || !made->x_rows)
        return gsv_selection_no_memory(m);
    memset(m->scratch, 0, (size_t)l->n * sizeof *m->scratch);
    for (int64_t k = 0; k < made->b_count; k++)
        if (m->scratch[made->b_rows[k]]++)
            return gsv_fail(&m->handle->message, GPUSOLVE_INVALID_ARGUMENT,
                            "b_rows[%lld]: is %lld, which was there before", (long long)k,
                            (long long)(b_rows ? b_rows[k] : k));
    return GPUSOLVE_OK;
}

/* ---------------------------------------------------------------------------------------------- parts --- */

/* Part p: the `count` supernodes that its reach has marked. */
static gpusolve_status make_part(gsv_selection_making *m, int p, int32_t count, unsigned steps) {
    const gpusolve_factor *whole = m->factor;
    gsv_part *to = &m->made->part[p];
    gsv_message *message = &m->handle->message;
    gsv_structure structure;
    to->steps = steps;
    to->supernodes = gsv_malloc((size_t)count, sizeof *to->supernodes);
    m->shift[p] = gsv_malloc((size_t)whole->plan.l.nsuper, sizeof *m->shift[p]);
    gpusolve_factor *factor = gsv_calloc(1, sizeof *factor);
    if (!to->supernodes || !m->shift[p] || !factor) {
        gsv_free(factor);
        return gsv_selection_no_memory(m);
    }
    to->factor = factor;
    factor->executor = whole->executor;
    factor->device = whole->device;
    factor->numbers = whole->numbers;
    factor->dtype = whole->dtype;
    factor->has_d = whole->has_d;
    gpusolve_status status =
        gsv_reach_structure(&whole->plan, m->reach[p], to->supernodes, m->shift[p], &structure, message);
    if (!status)
        status = gsv_plan_create(&structure, m->handle->pool, &factor->plan, message);
    factor->plan.in_place = whole->plan.in_place;
    factor->plan.floats = whole->plan.floats;
    factor->plan.machine = whole->plan.machine;
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
    const gsv_part *of = &selection->part[p];
    const gsv_plan *plan = &of->factor->plan;
    const int64_t number = (int64_t)gsv_panel_bytes(of->factor->numbers);
    int64_t factor_bytes, workspace_bytes;
    if (of->steps & GSV_FORWARD) {
        selection->info.forward_supernodes = plan->l.nsuper;
        selection->info.forward_bytes = plan->nnz_l * number;
    }
    if (of->steps & GSV_BACKWARD) {
        selection->info.backward_supernodes = plan->l.nsuper;
        selection->info.backward_bytes = plan->nnz_l * number;
    }
    selection->executor->bytes(of->factor->device, same_bits, plan, of->factor->numbers, of->factor->has_d,
                               selection->max_nrhs, &factor_bytes, &workspace_bytes);
    const int copied = plan->in_place && selection->executor->backend == GPUSOLVE_BACKEND_HOST;
    for (int32_t s = 0; copied && s < plan->l.nsuper; s++) /* in place in the whole factor alone */
        factor_bytes += number * gsv_rows(plan, s) * gsv_columns(plan, s);
    selection->info.memory_bytes += factor_bytes + workspace_bytes +
                                    (int64_t)gsv_dtype_bytes(of->y.dtype) * plan->l.n * selection->max_nrhs;
}

static gpusolve_status make_parts(gsv_selection_making *m) {
    const unsigned steps = m->made->steps;
    const gsv_plan *plan = &m->factor->plan;
    const size_t nsuper = (size_t)plan->l.nsuper;
    const unsigned sweeps = steps & (GSV_FORWARD | GSV_SCALE | GSV_BACKWARD);
    int32_t count[2] = {0, 0};
    m->reach[0] = gsv_calloc(nsuper, 1);
    m->reach[1] = gsv_calloc(nsuper, 1);
    if (!m->reach[0] || !m->reach[1])
        return gsv_selection_no_memory(m);
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
static int32_t place_in(const gsv_selection_making *m, int p, int32_t j) {
    const int32_t s = gsv_supernode_of(&m->factor->plan, j);
    return m->reach[p][s] ? j + m->shift[p][s] : -1;
}

/* Hand a list over to the backend. */
static gpusolve_status upload_list(const gsv_selection_making *m, int64_t count, const int32_t *from,
                                   const int32_t *to, gsv_row_list *list) {
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
static gpusolve_status make_lists(gsv_selection_making *m) {
    gpusolve_selection *made = m->made;
    const gsv_plan *plan = &m->factor->plan;
    const int64_t most = made->b_count > made->x_count ? made->b_count : made->x_count;
    const int64_t room = most > plan->l.n ? most : plan->l.n;
    int32_t *from = gsv_malloc((size_t)room, sizeof *from), *to = gsv_malloc((size_t)room, sizeof *to);
    gpusolve_status status = from && to ? GPUSOLVE_OK : gsv_selection_no_memory(m);
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

gpusolve_status gsv_selection_fill(gsv_selection_making *m) {
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
