/* The batches of an upload: cuda/upload_plan.h. Linear in the number of supernodes. */
#include "upload_plan.h"

#include "../../memory.h"
#include "../../trsm/cuda/panels/inverse.h"
#include "../import/fields.h"

#include <stdalign.h>
#include <stddef.h>
#include <string.h>
#ifdef __x86_64__
#include <emmintrin.h>
#endif

/* Bytes of a batch of a factor of `bytes` bytes. */
static int64_t batch_bytes(int64_t bytes) {
    const int64_t share = bytes / 8 * 5;
    return share < GSV_LEAST_BATCH ? GSV_LEAST_BATCH : share < GSV_BATCH_BYTES ? share : GSV_BATCH_BYTES;
}

/* Cut the panels of supernodes lowest .. above - 1 into batches, from the last one on: counts
 * them, and writes them to `batches` unless that is NULL. */
static int32_t cut_batches(const gsv_plan *plan, int64_t number, int32_t lowest, int32_t above,
                           gsv_panel_batch *batches, gsv_upload_sizes *most) {
    int64_t end = 0, chunk = 0;
    for (int32_t s = lowest; s < above; s++)
        end += gsv_trapezoid(plan, s);
    const int64_t capacity = batch_bytes(end * number) / number, most_inverse = 2 * GSV_BATCH_BYTES / number;
    int32_t count = 0;
    *most = (gsv_upload_sizes){0};
    for (int32_t first = above, last; first > lowest; count++) {
        gsv_upload_sizes size = {0};
        int32_t wide = 0;
        for (last = first; first > lowest; first--) {
            const int64_t nr = gsv_rows(plan, first - 1), nc = gsv_columns(plan, first - 1);
            const int64_t raw = gsv_trapezoid(plan, first - 1);
            const int is_wide = !gsv_is_narrow(nr, nc);
            const int64_t inverse = is_wide ? gsv_wide_inverse(nc) : 0;
            if (last > first &&
                (size.raw + raw > capacity || size.inverse + inverse > most_inverse ||
                 (is_wide ? wide == GSV_BATCH_WIDE : last - first - wide == GSV_BATCH_NARROW)))
                break;
            wide += is_wide;
            size.raw += raw;
            size.inverse += inverse;
            size.sums += is_wide ? GSV_WIDE_SUMS * nc + 1 : 0;
        }
        if (batches)
            batches[count] = (gsv_panel_batch){first, last, wide, end - size.raw, end, chunk};
        end -= size.raw;
        chunk += (size.raw * number + GSV_CHUNK_BYTES - 1) / GSV_CHUNK_BYTES;
        most->raw = size.raw > most->raw ? size.raw : most->raw;
        most->inverse = size.inverse > most->inverse ? size.inverse : most->inverse;
        most->sums = size.sums > most->sums ? size.sums : most->sums;
    }
    if (batches)
        batches[count] = (gsv_panel_batch){.chunk = chunk};
    most->batches = count;
    return count;
}

gsv_upload_sizes gsv_upload_most(const gsv_plan *plan, int64_t number) {
    gsv_upload_sizes most;
    cut_batches(plan, number, 0, plan->l.nsuper, NULL, &most);
    return most;
}

void gsv_upload_plan_free(gsv_upload_plan *plan) {
    if (!plan)
        return;
    gsv_free(plan->batches);
    gsv_free(plan->start);
    gsv_free(plan);
}

gsv_upload_plan *gsv_upload_plan_create(const gsv_plan *plan, int64_t number, int32_t first, int32_t last) {
    gsv_upload_plan *made = gsv_calloc(1, sizeof *made);
    if (!made)
        return NULL;
    made->first = first;
    made->last = last;
    made->count = cut_batches(plan, number, first, last, NULL, &made->most);
    made->batches = gsv_malloc((size_t)made->count + 1, sizeof *made->batches);
    made->start = gsv_malloc((size_t)(last - first) + 1, sizeof *made->start);
    if (!made->batches || !made->start) {
        gsv_upload_plan_free(made);
        return NULL;
    }
    cut_batches(plan, number, first, last, made->batches, &made->most);
    made->start[0] = 0;
    for (int32_t s = first; s < last; s++)
        made->start[s - first + 1] = made->start[s - first] + gsv_trapezoid(plan, s);
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
        if (gsv_upload_start(way, middle) <= at)
            s = middle;
        else
            above = middle;
    }
    const int64_t nr = gsv_rows(plan, s);
    int64_t k = 0; /* columns before k hold k nr - k (k - 1) / 2 */
    at -= gsv_upload_start(way, s);
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
    const int64_t number = (int64_t)gsv_panel_bytes(gsv_import_numbers(data));
    for (run r = find_run(way, plan, batch, begin);; next_run(plan, &r)) {
        const int64_t count = r.left < end - begin ? r.left : end - begin;
        gsv_import_column(data, plan, r.s, r.k, r.first, count, to);
        to += count * number;
        begin += count;
        if (begin == end)
            return;
    }
}

static void copy_past_cache(char *to, const char *from, int64_t bytes) {
    int64_t done = 0;
#ifdef __x86_64__
    for (; done + 16 <= bytes; done += 16)
        _mm_stream_si128((__m128i *)(to + done), _mm_load_si128((const __m128i *)(from + done)));
    _mm_sfence(); /* before anybody says that it is there */
#endif
    memcpy(to + done, from + done, (size_t)(bytes - done));
}

void gsv_upload_pack_past_cache(const gsv_upload_plan *way, const gsv_plan *plan,
                                const gpusolve_factor_data *data, const gsv_panel_batch *batch, int64_t begin,
                                int64_t end, char *to) {
    enum { BLOCK = 1 << 14 }; /* fits into the first cache */
    alignas(16) char block[BLOCK];
    const int64_t number = (int64_t)gsv_panel_bytes(gsv_import_numbers(data)), numbers = BLOCK / number;
    for (; begin < end; begin += numbers, to += BLOCK) {
        const int64_t stop = begin + numbers < end ? begin + numbers : end;
        gsv_upload_pack(way, plan, data, batch, begin, stop, block);
        copy_past_cache(to, block, (stop - begin) * number);
    }
}

int gsv_upload_check(const gsv_upload_plan *way, const gsv_plan *plan, const gpusolve_factor_data *data,
                     const gsv_panel_batch *batch, int64_t begin, int64_t end, double *diagonal) {
    int good = 1;
    for (run r = find_run(way, plan, batch, begin);; next_run(plan, &r)) {
        const int64_t count = r.left < end - begin ? r.left : end - begin;
        const int32_t j = plan->l.first_column[r.s] + r.k;
        double entry;
        good &=
            gsv_import_check_run(data, gsv_stored_column(data, plan, r.s, j).start, r.first, count, &entry);
        if (r.first == 0) /* one thread has a column's first piece */
            diagonal[j] = entry;
        begin += count;
        if (begin == end)
            return good;
    }
}
