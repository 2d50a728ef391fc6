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

/* What is known of the batches so far. */
typedef struct counted {
    int32_t count;
    gsv_batch_size first, most; /* of the first batch, and of all others */
    int64_t bytes[2];           /* of the first, and of all others, where they arrive */
} counted;

static int64_t round_up(int64_t bytes) {
    return (bytes + 255) / 256 * 256;
}

static int64_t larger(int64_t a, int64_t b) {
    return a > b ? a : b;
}

static void count_batch(counted *c, const gsv_batch_size *size, int64_t number) {
    const int other = c->count > 0;
    gsv_batch_size *to = other ? &c->most : &c->first;
    to->raw = larger(to->raw, size->raw);
    to->inverse = larger(to->inverse, size->inverse);
    to->sums = larger(to->sums, size->sums);
    c->bytes[other] += round_up(size->raw * number);
    c->count++;
}

/* Cut the panels of supernodes lowest .. above - 1 into batches, from the last one on: counts them, and writes them to `batches` unless
 * that is NULL. */
static counted cut_batches(const gsv_plan *plan, int64_t number, int32_t lowest, int32_t above,
                           gsv_panel_batch *batches) {
    int64_t end = 0, chunk = 0;
    for (int32_t s = lowest; s < above; s++)
        end += gsv_trapezoid(plan, s);
    const int64_t capacity = batch_bytes(end * number) / number, most_inverse = 2 * GSV_BATCH_BYTES / number;
    counted c = {0};
    for (int32_t first = above, last; first > lowest;) {
        gsv_batch_size size = {0};
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
            batches[c.count] = (gsv_panel_batch){.first = first,
                                                 .last = last,
                                                 .wide = wide,
                                                 .begin = end - size.raw,
                                                 .end = end,
                                                 .chunk = chunk};
        end -= size.raw;
        chunk += (size.raw * number + GSV_CHUNK_BYTES - 1) / GSV_CHUNK_BYTES;
        count_batch(&c, &size, number);
    }
    if (batches)
        batches[c.count] = (gsv_panel_batch){.chunk = chunk};
    return c;
}

/* ------------------------------------------------------------------------------------------------ room --- */

static int smaller(int a, int b) {
    return a < b ? a : b;
}

/* The ring has room for all batches of a small factor, and for the largest one and several others of a large one. */
static gsv_upload_room make_room(const counted *c, int64_t number) {
    enum { RING = GSV_RING_SLOTS * GSV_BATCH_BYTES, BESIDE = RING / 2, MOST_INVERSE = 8 * GSV_BATCH_BYTES };
    gsv_upload_room room = {.apart = c->count > 1 && (c->first.raw * number > GSV_BATCH_BYTES ||
                                                      c->first.inverse * number > 2 * GSV_BATCH_BYTES)};
    gsv_batch_size most = c->most;
    int64_t all = c->bytes[1];
    if (room.apart) {
        room.first = c->first;
    } else {
        all += c->bytes[0];
        most = (gsv_batch_size){larger(most.raw, c->first.raw), larger(most.inverse, c->first.inverse),
                                larger(most.sums, c->first.sums)};
    }
    const int64_t wanted = larger(RING, round_up(most.raw * number) + BESIDE);
    room.most = most;
    room.ring = wanted < all ? wanted : all;
    room.raw = room.ring + (room.apart ? c->bytes[0] : 0);
    room.slots = room.apart + smaller(c->count - room.apart, GSV_RING_SLOTS);
    room.lanes = smaller(c->count - room.apart, most.inverse * number > MOST_INVERSE ? 1 : GSV_RING_LANES);
    return room;
}

gsv_upload_room gsv_upload_room_of(const gsv_plan *plan, int64_t number) {
    const counted c = cut_batches(plan, number, 0, plan->l.nsuper, NULL);
    return make_room(&c, number);
}

static int64_t bytes_of(const gsv_panel_batch *batch, int64_t number) {
    return round_up((batch->end - batch->begin) * number);
}

/* Where batches arrive, and which of them must have gone by then. */
static void place_batches(gsv_upload_plan *way, int64_t number) {
    const gsv_upload_room *room = &way->room;
    const int apart = room->apart, slots = room->slots - apart;
    int64_t at = 0;
    if (apart)
        way->batches[0].at = room->ring;
    for (int32_t k = apart, after = apart; k < way->count; k++) {
        gsv_panel_batch *b = &way->batches[k];
        const int64_t bytes = bytes_of(b, number);
        b->slot = apart + (k - apart) % slots;
        b->lane = 1 + (k - apart) % room->lanes;
        b->at = at + bytes <= room->ring ? at : 0;
        at = b->at + bytes;
        int32_t before = k - 1; /* the last one before it that is in its place, or has its slot */
        while (before >= after && before > k - slots &&
               (way->batches[before].at >= at ||
                way->batches[before].at + bytes_of(&way->batches[before], number) <= b->at))
            before--;
        after = before + 1;
        b->after = after;
    }
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
    const counted c = cut_batches(plan, number, first, last, NULL);
    made->first = first;
    made->last = last;
    made->count = c.count;
    made->room = make_room(&c, number);
    made->batches = gsv_malloc((size_t)made->count + 1, sizeof *made->batches);
    made->start = gsv_malloc((size_t)(last - first) + 1, sizeof *made->start);
    if (!made->batches || !made->start) {
        gsv_upload_plan_free(made);
        return NULL;
    }
    cut_batches(plan, number, first, last, made->batches);
    place_batches(made, number);
    made->start[0] = 0;
    for (int32_t s = first; s < last; s++)
        made->start[s - first + 1] = made->start[s - first] + gsv_trapezoid(plan, s);
    return made;
}

/* ---------------------------------------------------------------------------------------------- blocks --- */

/* Where in x the diagonal of column k of supernode s is. */
static int64_t diagonal_of(const gsv_plan *plan, const gpusolve_factor_data *data, int32_t s, int32_t k) {
    return gsv_stored_column(data, plan, s, plan->l.first_column[s] + k).start;
}

static int64_t numbers_of_block(const gpusolve_factor_data *data, const gsv_blocks *blocks) {
    return blocks->bytes / (int64_t)gsv_dtype_bytes(data->dtype);
}

int64_t gsv_upload_first_block(const gsv_plan *plan, const gpusolve_factor_data *data,
                               const gsv_panel_batch *batch, const gsv_blocks *blocks) {
    return diagonal_of(plan, data, batch->first, 0) / numbers_of_block(data, blocks);
}

gsv_panel_batch *gsv_upload_cut_blocks(const gsv_upload_plan *way, const gsv_plan *plan,
                                       const gpusolve_factor_data *data, const gsv_blocks *blocks) {
    const int64_t together = GSV_CHUNK_BYTES / blocks->bytes;
    gsv_panel_batch *cut = gsv_malloc((size_t)way->count + 1, sizeof *cut);
    int64_t chunk = 0;
    for (int32_t k = 0; k < way->count && cut; k++) {
        cut[k] = way->batches[k];
        cut[k].chunk = chunk;
        const int32_t s = cut[k].last - 1;
        const int64_t last =
            diagonal_of(plan, data, s, gsv_columns(plan, s) - 1) + gsv_rows(plan, s) - gsv_columns(plan, s);
        const int64_t count =
            last / numbers_of_block(data, blocks) - gsv_upload_first_block(plan, data, &cut[k], blocks) + 1;
        chunk += (count + together - 1) / together;
    }
    if (cut)
        cut[way->count] = (gsv_panel_batch){.chunk = chunk};
    return cut;
}

int64_t gsv_upload_block_begin(const gsv_upload_plan *way, const gsv_plan *plan,
                               const gpusolve_factor_data *data, const gsv_panel_batch *batch,
                               const gsv_blocks *blocks, int64_t block) {
    const int64_t place = block * numbers_of_block(data, blocks); /* in x */
    int32_t s = batch->first, k = 0; /* the last column whose diagonal is before it */
    if (place <= diagonal_of(plan, data, s, 0))
        return batch->begin;
    for (int32_t above = batch->last; above - s > 1;) {
        const int32_t middle = s + (above - s) / 2;
        if (diagonal_of(plan, data, middle, 0) < place)
            s = middle;
        else
            above = middle;
    }
    for (int32_t above = gsv_columns(plan, s); above - k > 1;) {
        const int32_t middle = k + (above - k) / 2;
        if (diagonal_of(plan, data, s, middle) < place)
            k = middle;
        else
            above = middle;
    }
    const int64_t nr = gsv_rows(plan, s), before = place - diagonal_of(plan, data, s, k);
    return gsv_upload_start(way, s) + k * nr - (int64_t)k * (k - 1) / 2 + (before < nr - k ? before : nr - k);
}

/* ---------------------------------------------------------------------------------------------- pieces --- */

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

int64_t gsv_upload_diagonal_block(const gsv_upload_plan *way, const gsv_plan *plan,
                                  const gpusolve_factor_data *data, const gsv_panel_batch *batch,
                                  const gsv_blocks *blocks, int64_t at) {
    const run r = find_run(way, plan, batch, at);
    return diagonal_of(plan, data, r.s, r.k) / numbers_of_block(data, blocks);
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
