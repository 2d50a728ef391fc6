/*
 * How a factor is cut for its way to the device (cuda/upload_plan.h), and what is copied: no device is wanted. Batches
 * have all panels, the last ones first, each number once, no more than there is room for, and no fewer batches than
 * there should be, and no place is used while another batch may be in it; pieces, with and without the caches, have the numbers of the lower
 * trapezoids, those of a file's blocks, too, and a check sees those of its own piece alone.
 */
#include "plan_example.h"

#include "supernodal/cuda/upload_plan.h"
#include "trsm/cuda/panels/inverse.h"

static int64_t most(int64_t a, int64_t b) {
    return a > b ? a : b;
}

/* One batch's own sizes; `sizes` gets the most of each. */
static void check_batch(const gsv_plan *plan, const gsv_upload_plan *way, int64_t number, int32_t index,
                        gsv_batch_size *sizes) {
    const gsv_panel_batch *b = &way->batches[index];
    int64_t raw = 0, inverse = 0, sums = 0;
    int32_t wide = 0;
    REQUIRE(b->first < b->last);
    CHECK(b->begin == way->start[b->first] && b->end == way->start[b->last]);
    for (int32_t s = b->first; s < b->last; s++) {
        const int64_t nr = gsv_rows(plan, s), nc = gsv_columns(plan, s);
        raw += gsv_trapezoid(plan, s);
        if (!gsv_is_narrow(nr, nc)) {
            wide++;
            inverse += gsv_wide_inverse(nc);
            sums += GSV_WIDE_SUMS * nc + 1;
        }
    }
    CHECK(b->wide == wide && b->end - b->begin == raw);
    CHECK(wide <= GSV_BATCH_WIDE && b->last - b->first - wide <= GSV_BATCH_NARROW);
    CHECK(b->last - b->first == 1 ||
          (raw * number <= GSV_BATCH_BYTES && inverse * number <= 2 * GSV_BATCH_BYTES));
    CHECK((b[1].chunk - b->chunk - 1) * GSV_CHUNK_BYTES < raw * number);
    CHECK((b[1].chunk - b->chunk) * GSV_CHUNK_BYTES >= raw * number);
    sizes->raw = most(sizes->raw, raw);
    sizes->inverse = most(sizes->inverse, inverse);
    sizes->sums = most(sizes->sums, sums);
}

static int64_t bytes_of(const gsv_panel_batch *b, int64_t number) {
    return ((b->end - b->begin) * number + 255) / 256 * 256;
}

/* Where batches arrive: no two of them have the same place, slot or lane, unless the device must be through with the first. */
static void check_places(const gsv_upload_plan *way, int64_t number) {
    const gsv_upload_room *room = &way->room;
    const int apart = room->apart;
    int32_t after = apart;
    CHECK(room->slots - apart >= 0 && room->slots - apart <= GSV_RING_SLOTS);
    CHECK(room->lanes >= 1 && room->lanes <= GSV_RING_LANES && room->ring <= room->raw);
    for (int32_t k = 0; k < way->count; k++) {
        const gsv_panel_batch *b = &way->batches[k];
        const int first = apart && k == 0;
        CHECK(b->at % 256 == 0 && b->at >= (first ? room->ring : 0));
        CHECK(b->at + bytes_of(b, number) <= (first ? room->raw : room->ring));
        CHECK(b->slot >= apart - first && b->slot < room->slots);
        CHECK(first ? b->lane == 0 : b->lane >= 1 && b->lane <= room->lanes);
        CHECK(first || (b->after >= after && b->after <= k));
        after = first ? after : b->after;
        for (int32_t j = first ? k : after; j < k; j++) {
            const gsv_panel_batch *other = &way->batches[j];
            CHECK(other->slot != b->slot);
            CHECK(other->at >= b->at + bytes_of(b, number) || b->at >= other->at + bytes_of(other, number));
        }
    }
}

static gsv_upload_plan *check_cut(const gsv_plan *plan, int64_t number) {
    gsv_upload_plan *way = gsv_upload_plan_create(plan, number, 0, plan->l.nsuper);
    REQUIRE(way);
    gsv_batch_size first = {0}, sizes = {0};
    const int64_t bytes = way->start[plan->l.nsuper] * number;
    int32_t next = plan->l.nsuper;
    CHECK(way->start[0] == 0 && way->batches[0].chunk == 0);
    for (int32_t k = 0; k < way->count; k++) {
        CHECK(way->batches[k].last == next);
        next = way->batches[k].first;
        check_batch(plan, way, number, k, way->room.apart && k == 0 ? &first : &sizes);
    }
    CHECK(next == 0);
    CHECK(bytes <= GSV_LEAST_BATCH || way->count > 1 || plan->l.nsuper == 1);
    CHECK(bytes > GSV_LEAST_BATCH || way->count == 1 || plan->l.nsuper > GSV_BATCH_NARROW);
    const gsv_upload_room asked = gsv_upload_room_of(plan, number);
    CHECK(memcmp(&way->room.first, &first, sizeof first) == 0);
    CHECK(memcmp(&way->room.most, &sizes, sizeof sizes) == 0);
    CHECK(asked.apart == way->room.apart && asked.slots == way->room.slots && asked.lanes == way->room.lanes);
    CHECK(asked.ring == way->room.ring && asked.raw == way->room.raw);
    CHECK(memcmp(&asked.first, &first, sizeof first) == 0 && memcmp(&asked.most, &sizes, sizeof sizes) == 0);
    check_places(way, number);
    return way;
}

/* Pieces of odd lengths; their checks together know the diagonal. */
static void check_pieces(plan_example *e, const gsv_upload_plan *way, const double *expected) {
    enum { LONGEST = 5000, OVER = 4 };
    static double cached[LONGEST + OVER], past[LONGEST + OVER] __attribute__((aligned(16)));
    double *values = e->l->x, *diagonal = malloc((size_t)e->plan.l.n * sizeof *diagonal);
    uint64_t seed = 5;
    REQUIRE(diagonal != NULL);
    memset(diagonal, 0xff, (size_t)e->plan.l.n * sizeof *diagonal);
    for (int32_t k = 0; k < way->count; k++) {
        const gsv_panel_batch *b = &way->batches[k];
        for (int64_t begin = b->begin, end; begin < b->end; begin = end) {
            end = begin + 1 + (int64_t)(LONGEST * 0.499 * (1 + testing_random(&seed)));
            end = end < b->end ? end : b->end;
            const size_t count = (size_t)(end - begin);
            for (size_t i = 0; i < LONGEST + OVER; i++)
                cached[i] = past[i] = -7;
            gsv_upload_pack(way, &e->plan, &e->data, b, begin, end, (char *)cached);
            gsv_upload_pack_past_cache(way, &e->plan, &e->data, b, begin, end, (char *)past);
            CHECK(memcmp(cached, expected + begin, count * sizeof *cached) == 0);
            CHECK(memcmp(past, cached, sizeof cached) == 0 && past[count] == -7);
            CHECK(gsv_upload_check(way, &e->plan, &e->data, b, begin, end, diagonal));
        }
    }
    for (int32_t s = 0; s < e->plan.l.nsuper; s++)
        for (int32_t k = 0; k < gsv_columns(&e->plan, s); k++) {
            const int64_t before = (int64_t)k * gsv_rows(&e->plan, s) - (int64_t)k * (k - 1) / 2;
            CHECK(diagonal[e->plan.l.first_column[s] + k] == expected[way->start[s] + before]);
        }
    /* the last number of all is the first batch's */
    const gsv_panel_batch *b = &way->batches[0];
    double *last = values + e->data.xsize - 1, kept = *last;
    *last = NAN;
    CHECK(!gsv_upload_check(way, &e->plan, &e->data, b, b->end - 1, b->end, diagonal));
    CHECK(b->end - b->begin < 2 ||
          gsv_upload_check(way, &e->plan, &e->data, b, b->begin, b->end - 1, diagonal));
    *last = kept;
    free(diagonal);
}

/* Chunks of blocks: together they have all numbers of a batch, each in its place, and fit into a buffer. */
static void check_blocks(const plan_example *e, const gsv_upload_plan *way, const double *expected,
                         int64_t bytes) {
    const gsv_blocks blocks = {.bytes = bytes};
    const int64_t pieces = GSV_CHUNK_BYTES / bytes, each = bytes / (int64_t)sizeof(double);
    gsv_panel_batch *cut = gsv_upload_cut_blocks(way, &e->plan, &e->data, &blocks);
    double *piece = malloc((size_t)bytes);
    REQUIRE(cut && piece && cut[0].chunk == 0);
    for (int32_t k = 0; k < way->count; k++) {
        const gsv_panel_batch *b = &cut[k];
        const int64_t first = gsv_upload_first_block(&e->plan, &e->data, b, &blocks);
        int64_t next = b->begin;
        CHECK(b->begin == way->batches[k].begin && b->end == way->batches[k].end && b[1].chunk > b->chunk);
        for (int64_t i = 0; i < pieces * (b[1].chunk - b->chunk); i++) {
            const int64_t end = gsv_upload_block_begin(way, &e->plan, &e->data, b, &blocks, first + i + 1);
            CHECK(gsv_upload_block_begin(way, &e->plan, &e->data, b, &blocks, first + i) == next);
            REQUIRE(next <= end && end - next <= each);
            if (next < end) {
                const int64_t top = gsv_upload_diagonal_block(way, &e->plan, &e->data, b, &blocks, next);
                CHECK(top <= first + i &&
                      (top == first + i ||
                       next == gsv_upload_block_begin(way, &e->plan, &e->data, b, &blocks, top + 1) ||
                       top + 1 < first + i));
                gsv_upload_pack(way, &e->plan, &e->data, b, next, end, (char *)piece);
            }
            CHECK(memcmp(piece, expected + next, (size_t)(end - next) * sizeof *piece) == 0);
            next = end;
        }
        CHECK(next == b->end);
    }
    free(piece);
    gsv_free(cut);
}

/* Returns the number of batches of a factor in double precision. */
static int32_t check(const char *spec, cholmod_common *common) {
    plan_example e;
    testing_in("%s", spec);
    open_example(&e, testing_load(spec, common), common);
    const gsv_plan *plan = &e.plan;
    gsv_upload_plan_free(check_cut(plan, 4));
    gsv_upload_plan_free(check_cut(plan, 16));
    gsv_upload_plan *way = check_cut(plan, 8);
    double *expected = malloc((size_t)way->start[plan->l.nsuper] * sizeof *expected), *to = expected;
    REQUIRE(expected);
    for (int32_t s = 0; s < plan->l.nsuper; s++) {
        const int64_t nr = gsv_rows(plan, s), px = ((const int32_t *)e.l->px)[s];
        for (int64_t j = 0; j < gsv_columns(plan, s); j++)
            for (int64_t i = j; i < nr; i++)
                *to++ = ((const double *)e.l->x)[px + j * nr + i];
    }
    check_pieces(&e, way, expected);
    check_blocks(&e, way, expected, GSV_CHUNK_BYTES / 2);
    check_blocks(&e, way, expected, 1 << 12);
    const int32_t batches = way->count;
    free(expected);
    gsv_upload_plan_free(way);
    close_example(&e, common);
    return batches;
}

int main(void) {
    cholmod_common common;
    cholmod_start(&common);
    CHECK(check("diag:1", &common) == 1);
    CHECK(check("diag:40000", &common) == 2); /* more narrow panels than a batch may have */
    check("arrow:300,20,7", &common);
    check("elasticity3d:12", &common);
    CHECK(check("grid2d:300", &common) == 2);
    CHECK(check("shell:90", &common) > 2);
    cholmod_finish(&common);
    return testing_done();
}
