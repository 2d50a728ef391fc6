/* The batches of an upload: cuda_upload_plan.h. Linear in the number of supernodes. */
#include "cuda_upload_plan.h"

#include "../memory.h"
#include "../trsm/cuda_panel_inverse.h"
#include "import_fields.h"

#include <stddef.h>

/* Cut all panels into batches: counts them, and writes them to `batches` unless that is NULL. */
static int32_t cut_batches(const gsv_plan *plan, int64_t number, gsv_panel_batch *batches,
                           gsv_upload_sizes *most) {
    const int64_t capacity = GSV_BATCH_BYTES / number;
    int32_t count = 0;
    int64_t begin = 0, chunk = 0;
    *most = (gsv_upload_sizes){0};
    for (int32_t first = 0, last = 0; first < plan->l.nsuper; first = last, count++) {
        gsv_upload_sizes size = {0};
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
    most->batches = count;
    return count;
}

gsv_upload_sizes gsv_upload_most(const gsv_plan *plan, int64_t number) {
    gsv_upload_sizes most;
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

/* Numbers of column k of supernode s, from the first-th on: `left` of them. */
typedef struct run {
    int32_t s, k;
    int64_t first, left;
} run;

/* Where number `at` of all is: in a panel of the batch. */
static run find_run(const gsv_upload_plan *way, const gsv_plan *plan, const gsv_panel_batch *batch,
                    int64_t at) {
    int32_t s = batch->first;
    for (int32_t above = batch->last; above - s > 1;) { /* start[s] <= at < start[above] */
        const int32_t middle = s + (above - s) / 2;
        if (way->start[middle] <= at)
            s = middle;
        else
            above = middle;
    }
    const int64_t nr = gsv_rows(plan, s);
    int64_t k = 0; /* columns before k hold k nr - k (k - 1) / 2 */
    at -= way->start[s];
    for (int64_t above = gsv_columns(plan, s); above - k > 1;) {
        const int64_t middle = k + (above - k) / 2;
        if (middle * nr - middle * (middle - 1) / 2 <= at)
            k = middle;
        else
            above = middle;
    }
    const int64_t first = at - (k * nr - k * (k - 1) / 2);
    return (run){s, (int32_t)k, first, nr - k - first};
}

static void next_run(const gsv_plan *plan, run *r) {
    if (++r->k == gsv_columns(plan, r->s)) {
        r->s++;
        r->k = 0;
    }
    r->first = 0;
    r->left = gsv_rows(plan, r->s) - r->k;
}

void gsv_upload_pack(const gsv_upload_plan *way, const gsv_plan *plan, const gpusolve_factor_data *data,
                     const gsv_panel_batch *batch, int64_t begin, int64_t end, char *to) {
    const int64_t number = (int64_t)gsv_dtype_bytes(data->dtype);
    for (run r = find_run(way, plan, batch, begin);; next_run(plan, &r)) {
        const int64_t count = r.left < end - begin ? r.left : end - begin;
        gsv_import_column(data, plan, r.s, r.k, r.first, count, to);
        to += count * number;
        begin += count;
        if (begin == end)
            return;
    }
}

int gsv_upload_check(const gsv_upload_plan *way, const gsv_plan *plan, const gpusolve_factor_data *data,
                     const gsv_panel_batch *batch, int64_t begin, int64_t end) {
    int good = 1;
    for (run r = find_run(way, plan, batch, begin);; next_run(plan, &r)) {
        const int64_t count = r.left < end - begin ? r.left : end - begin;
        const int64_t start =
            gsv_index(data->px, data->itype, r.s) + r.k * (int64_t)gsv_rows(plan, r.s) + r.k;
        good &= gsv_import_check_run(data, start + r.first, count, r.first == 0);
        begin += count;
        if (begin == end)
            return good;
    }
}
