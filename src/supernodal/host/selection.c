/*
 * Parts of a factor on the host: panels are copied as they are, packed or in the caller's form, for either
 * follows from a panel's rows and columns alone; only where it stands differs.
 */
#include "executor.h"

#include <string.h>

#include "../../dense_kernels/panel_host.h"
#include "../../memory.h"
#include "../../pool.h"

/* Numbers of a panel. */
static int64_t panel_numbers(const gsv_plan *plan, int32_t s) {
    const int64_t nc = gsv_columns(plan, s), nr = gsv_rows(plan, s);
    return plan->in_place ? nr * nc : gsv_panel_size(nc, nr - nc);
}

/* Where the panels go, in real numbers; start may be NULL. Returns those of all panels. */
static int64_t place_panels(const gpusolve_factor *part, int64_t *start) {
    const gsv_plan *plan = &part->plan;
    if (!plan->in_place)
        return gsv_host_pack_layout(plan, gsv_panel_dtype(part->numbers), start);
    const int64_t reals = (int64_t)(gsv_dtype_bytes(part->dtype) / gsv_real_bytes(part->dtype));
    int64_t end = 0;
    for (int32_t s = 0; s < plan->l.nsuper; s++) {
        if (start)
            start[s] = end;
        end += reals * panel_numbers(plan, s);
    }
    return end;
}

/* Memory for a part, its panels' places, and zeros between and behind them. NULL: out of memory. */
static gsv_host_factor *make_room(const gpusolve_factor *part) {
    const int64_t numbers = place_panels(part, NULL);
    gsv_host_factor *to = gsv_host_factor_create(part, numbers);
    if (to && numbers > 0) {
        memset(to->packed, 0, (size_t)numbers * gsv_real_bytes(gsv_panel_dtype(part->numbers)));
        place_panels(part, to->start);
    }
    return to;
}

static gpusolve_status extract(gpusolve_handle *handle, const gpusolve_factor *whole,
                               const int32_t *supernodes, gpusolve_factor *part) {
    const gsv_host_factor *from = whole->prepared;
    const gsv_plan *plan = &part->plan;
    const size_t real = gsv_real_bytes(gsv_panel_dtype(part->numbers)),
                 real_of_d = gsv_real_bytes(part->dtype), number = gsv_panel_bytes(part->numbers);
    if (!part->prepared && !(part->prepared = make_room(part)))
        return gsv_fail(&handle->message, GPUSOLVE_OUT_OF_MEMORY, "selection: out of host memory");
    gsv_host_factor *to = part->prepared;
    to->isa = from->isa;
    for (int32_t k = 0; k < plan->l.nsuper; k++) {
        const int32_t s = supernodes[k], nc = gsv_columns(plan, k);
        memcpy((char *)to->packed + (size_t)to->start[k] * real,
               (const char *)from->values + (size_t)from->start[s] * real,
               (size_t)panel_numbers(plan, k) * number);
        if (to->d)
            memcpy((char *)to->d + (size_t)plan->l.first_column[k] * real_of_d,
                   (const char *)from->d + (size_t)whole->plan.l.first_column[s] * real_of_d,
                   (size_t)nc * real_of_d);
    }
    return GPUSOLVE_OK;
}

static gpusolve_status allocate(gpusolve_handle *handle, const void *from, size_t bytes, void **memory) {
    *memory = gsv_malloc(bytes, 1);
    if (!*memory)
        return gsv_fail(&handle->message, GPUSOLVE_OUT_OF_MEMORY, "selection: out of host memory");
    if (from)
        memcpy(*memory, from, bytes);
    return GPUSOLVE_OK;
}

static void release(int device, void *memory) {
    (void)device;
    gsv_free(memory);
}

/* One column; `number` is a constant wherever this is called. */
static inline void move_column(const gsv_row_list *list, const char *from, size_t from_row, char *to,
                               size_t to_row, size_t number) {
    for (int64_t k = 0; k < list->count; k++) {
        const int64_t source = list->from ? list->from[k] : k, target = list->to ? list->to[k] : k;
        if (source < 0)
            memset(to + (size_t)target * to_row, 0, number);
        else
            memcpy(to + (size_t)target * to_row, from + (size_t)source * from_row, number);
    }
}

typedef struct moving {
    const gsv_row_list *list;
    const gpusolve_dense *from, *to;
    int clear;
} moving;

static void move_columns(void *context, int64_t j, int member) {
    const moving *m = context;
    const gsv_row_list *list = m->list;
    const size_t number = gsv_dtype_bytes(m->to->dtype);
    const size_t from_row = (size_t)gsv_row_stride(m->from) * number;
    const size_t to_row = (size_t)gsv_row_stride(m->to) * number;
    char *to = (char *)m->to->values + (size_t)(j * gsv_column_stride(m->to)) * number;
    (void)member;
    if (m->clear)
        memset(to, 0, (size_t)m->to->rows * number);
    if (list->count == 0)
        return;
    const char *from = (const char *)m->from->values + (size_t)(j * gsv_column_stride(m->from)) * number;
    if (number == 4)
        move_column(list, from, from_row, to, to_row, 4);
    else if (number == 8)
        move_column(list, from, from_row, to, to_row, 8);
    else
        move_column(list, from, from_row, to, to_row, 16);
}

/* Numbers that are worth another thread. */
enum { GRAIN = 50000 };

/* A block that is cleared is a selection's own: columns without padding. */
static gpusolve_status move(gpusolve_handle *handle, const gsv_row_list *list, int clear,
                            const gpusolve_dense *from, const gpusolve_dense *to) {
    moving m = {list, from, to, clear};
    const int64_t numbers = (list->count + (clear ? to->rows : 0)) * to->cols;
    gsv_pool_each(handle->pool, gsv_pool_share(handle->pool, numbers, GRAIN), to->cols, move_columns, &m);
    return GPUSOLVE_OK;
}

const gsv_selection_functions gsv_host_selection = {extract, allocate, release, move};
