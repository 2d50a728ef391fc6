/* The inversion of a batch: upload_invert.h. */
#include "upload_invert.h"

void gsv_list_batch(const gsv_batch_work *w, int64_t index) {
    const gsv_plan *plan = &w->factor->plan;
    const gsv_panel_batch *batch = &w->way->batches[index];
    const gsv_batch_slot *slot = &w->p->slots[batch->slot];
    gsv_batch_counts *counts = &w->p->counts[index % (GSV_MOST_SLOTS + 1)];
    const gsv_lane *lane = &w->p->lanes[batch->lane];
    char *lists = w->p->lists[index % GSV_HOST_LISTS];
    float *const k = w->p->k;
    counts->narrow = batch->last - batch->first - batch->wide;
    const int64_t wide_at = counts->narrow * (int64_t)sizeof(gsv_narrow_panel),
                  starts_at = wide_at + batch->wide * (int64_t)sizeof(gsv_wide_panel);
    gsv_narrow_panel *narrow = (gsv_narrow_panel *)lists;
    gsv_wide_panel *wide = (gsv_wide_panel *)(lists + wide_at), *first = wide;
    gsv_wide_batch *b = &counts->wide;
    int64_t inverse = 0, sums = 0;
    *b = (gsv_wide_batch){.count = batch->wide,
                          .panels = (const gsv_wide_panel *)(slot->lists + wide_at),
                          .starts = (const int32_t *)(slot->lists + starts_at),
                          .raw = w->p->raw + batch->at,
                          .packed = (void *)w->device->plan.panels,
                          .inverse = lane->inverse,
                          .sums = lane->sums,
                          .eager = w->finer != NULL};
    for (int32_t s = batch->first; s < batch->last; s++) {
        const int32_t nr = gsv_rows(plan, s), nc = gsv_columns(plan, s);
        const int64_t from = gsv_upload_start(w->way, s) - batch->begin, to = plan->schedule->panel_ptr[s];
        uint8_t *const cut = w->p->cut + plan->l.first_column[s];
        const double least = gsv_is_narrow(nr, nc) ? GSV_NARROW_FINER : GSV_FINER;
        const float finer = w->finer && w->finer[s] > least ? w->finer[s] : (float)least;
        if (gsv_is_narrow(nr, nc)) {
            *narrow++ = (gsv_narrow_panel){from, to, k + s, cut, nr, nc, finer};
        } else {
            *wide++ = (gsv_wide_panel){from, to, inverse, sums, k + s, cut, nr, nc, finer};
            inverse += gsv_wide_inverse(nc);
            sums += GSV_WIDE_SUMS * (int64_t)nc;
        }
    }
    b->k = b->sums + sums;
    gsv_wide_plan(first, (int32_t *)(lists + starts_at), b);
    counts->bytes = starts_at;
    if (b->count > 0)
        counts->bytes += 4 * (GSV_INVERT_DOUBLE + b->levels) * (int64_t)(b->count + 1);
}

cudaError_t gsv_invert_batch(const gsv_batch_work *w, int64_t index) {
    const gsv_panel_batch *batch = &w->way->batches[index];
    const cudaStream_t stream = w->p->lanes[batch->lane].stream;
    const gsv_batch_counts *counts = &w->p->counts[index % (GSV_MOST_SLOTS + 1)];
    const cudaError_t error = cudaStreamWaitEvent(stream, w->p->slots[batch->slot].arrived, 0);
    return error == cudaSuccess
               ? gsv_invert_triangles(gsv_panel_dtype(w->factor->numbers), &counts->wide, stream)
               : error;
}

static cudaError_t invert_narrow(const gsv_batch_work *w, const gsv_panel_batch *batch, int32_t count) {
    const cudaStream_t stream = w->p->narrow;
    const gsv_batch_slot *slot = &w->p->slots[batch->slot];
    cudaError_t error = cudaStreamWaitEvent(stream, slot->arrived, 0);
    if (error == cudaSuccess)
        error = gsv_invert_narrow(gsv_panel_dtype(w->factor->numbers), (const gsv_narrow_panel *)slot->lists,
                                  count, w->p->raw + batch->at, (void *)w->device->plan.panels,
                                  w->finer != NULL, stream);
    return error;
}

cudaError_t gsv_write_batch(const gsv_batch_work *w, int64_t index) {
    const gsv_panel_batch *batch = &w->way->batches[index];
    const cudaStream_t stream = w->p->lanes[batch->lane].stream;
    const gsv_batch_slot *slot = &w->p->slots[batch->slot];
    const gsv_batch_counts *counts = &w->p->counts[index % (GSV_MOST_SLOTS + 1)];
    const int wanted = index < w->way->batches[w->way->count - 1].after; /* its place, by another batch */
    cudaError_t error = counts->narrow > 0 ? invert_narrow(w, batch, counts->narrow) : cudaSuccess;
    if (error == cudaSuccess)
        error = gsv_write_wide(gsv_panel_dtype(w->factor->numbers), &counts->wide, stream);
    if (error == cudaSuccess && wanted && counts->narrow > 0)
        error = cudaEventRecord(slot->narrow, w->p->narrow);
    if (error == cudaSuccess && wanted && counts->narrow > 0)
        error = cudaStreamWaitEvent(stream, slot->narrow, 0);
    return error == cudaSuccess && wanted ? cudaEventRecord(slot->done, stream) : error;
}
