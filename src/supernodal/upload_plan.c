/* The batches of an upload: upload_plan.h. Linear in the number of supernodes. */
#include "upload_plan.h"

#include "../memory.h"
#include "../trsm/cuda_panel_inverse.h"

#include <stddef.h>

/* Cut all panels into batches: counts them, and writes them to `batches` unless that is NULL. */
static int32_t cut_batches(const gsv_plan *plan, int64_t number, gsv_panel_batch *batches,
                           gsv_batch_sizes *most) {
    const int64_t capacity = GSV_BATCH_BYTES / number;
    int32_t count = 0;
    int64_t begin = 0, chunk = 0;
    *most = (gsv_batch_sizes){0, 0, 0};
    for (int32_t first = 0, last = 0; first < plan->l.nsuper; first = last, count++) {
        gsv_batch_sizes size = {0, 0, 0};
        int32_t wide = 0;
        while (last < plan->l.nsuper) {
            const int64_t nr = gsv_rows(plan, last), nc = gsv_columns(plan, last);
            const int64_t raw = gsv_trapezoid(plan, last);
            const int is_wide = !gsv_is_narrow(nr, nc);
            const int64_t inverse = is_wide ? gsv_wide_inverse(nc) : 0;
            if (last > first &&
                (size.raw + raw > capacity || size.inverse + inverse > 2 * capacity ||
                 (is_wide ? wide == GSV_BATCH_WIDE : last - first - wide == GSV_BATCH_NARROW)))
                break;
            wide += is_wide;
            size.raw += raw;
            size.inverse += inverse;
            size.sums += is_wide ? GSV_DIVISIONS * (3 * nc + 1) : 0;
            last++;
        }
        if (batches)
            batches[count] = (gsv_panel_batch){first, last, begin, begin + size.raw, chunk};
        begin += size.raw;
        chunk += (size.raw * number + GSV_CHUNK_BYTES - 1) / GSV_CHUNK_BYTES;
        most->raw = size.raw > most->raw ? size.raw : most->raw;
        most->inverse = size.inverse > most->inverse ? size.inverse : most->inverse;
        most->sums = size.sums > most->sums ? size.sums : most->sums;
    }
    if (batches)
        batches[count] = (gsv_panel_batch){plan->l.nsuper, plan->l.nsuper, begin, begin, chunk};
    return count;
}

gsv_batch_sizes gsv_upload_sizes(const gsv_plan *plan, int64_t number) {
    gsv_batch_sizes most;
    cut_batches(plan, number, NULL, &most);
    return most;
}

void gsv_upload_plan_free(gsv_upload_plan *plan) {
    if (!plan)
        return;
    gsv_free(plan->batches);
    gsv_free(plan->start);
    gsv_free(plan);
}

gsv_upload_plan *gsv_upload_plan_create(const gsv_plan *plan, int64_t number) {
    gsv_upload_plan *made = gsv_calloc(1, sizeof *made);
    if (!made)
        return NULL;
    made->count = cut_batches(plan, number, NULL, &made->most);
    made->batches = gsv_malloc((size_t)made->count + 1, sizeof *made->batches);
    made->start = gsv_malloc((size_t)plan->l.nsuper + 1, sizeof *made->start);
    if (!made->batches || !made->start) {
        gsv_upload_plan_free(made);
        return NULL;
    }
    cut_batches(plan, number, made->batches, &made->most);
    made->start[0] = 0;
    for (int32_t s = 0; s < plan->l.nsuper; s++)
        made->start[s + 1] = made->start[s] + gsv_trapezoid(plan, s);
    return made;
}
