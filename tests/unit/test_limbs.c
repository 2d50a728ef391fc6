/*
 * The limbs of the device's plan, walked here as the kernel walks them: chunk after chunk. Numbers are integers
 * modulo 2^64, so that a walk must agree with the plan's own maps to the last bit.
 */
#include "plan_example.h"
#include "stream_reference.h"

enum {
    IN_CHUNKS = 1,
    INNER = 2,
    BRINGS = 4,
    BRINGS_TWO = 8,
    NARROW = 16,
    WIDE = 32,
    SEVERAL = 64,
    MORE = 128,
    COLLIDES = 256,
    KEEPS_APART = 512
};
static int seen;

typedef struct walk {
    const gsv_plan *plan;
    vectors v; /* x, u: the reference's */
    uint64_t ring[GSV_LIMB_RING / 8], rows[GSV_LIMB_ROWS], front[GSV_LIMB_WIDEST];
    uint16_t lists[GSV_LIMB_RING / 2]; /* those in the ring */
    uint8_t *solved, *left;            /* [nsuper], [update rows] */
} walk;

/* So many bytes behind the beginning of a chunk's place in the ring; here each has the whole ring. */
static uint64_t *at(walk *w, const gsv_limb_chunk *c, int32_t bytes) {
    CHECK(bytes % 8 == 0 && bytes <= gsv_limb_bytes(c));
    return w->ring + bytes / 8;
}

/* What the producer copies. */
static void bring(walk *w, const gsv_limb_chunk *c) {
    const gsv_limbs *limbs = &w->plan->schedule->limbs;
    const int32_t bytes = gsv_limb_bytes(c);
    CHECK(bytes <= GSV_LIMB_RING && gsv_limb_panel(c) + 8 * c->numbers + 16 <= bytes);
    CHECK(c->lists % 8 == 0 && c->list_length % 8 == 0 && (c->list_length > 0) == (c->chunks > 0));
    for (int32_t k = 0; k < bytes / 8; k++)
        at(w, c, 0)[k] = 0x5555555555555555u;
    memcpy(at(w, c, 0), limbs->lists + c->lists, 2 * (size_t)c->list_length);
    memcpy(at(w, c, gsv_limb_panel(c)), w->v.panels + c->panel, 8 * (size_t)c->numbers);
    seen |= c->chunks == 0 ? IN_CHUNKS : 0;
    seen |= c->narrow ? NARROW : WIDE;
}

/* What a supernode begins with. */
static void stage(walk *w, const gsv_limb_chunk *c) {
    const gsv_schedule *schedule = w->plan->schedule;
    uint64_t *staged = w->rows + c->staged;
    for (int32_t i = 0; i < c->nc; i++)
        *staged++ = w->v.b[c->first_column + i];
    for (int32_t run = 0; run < GSV_LIMB_RUNS; run++) {
        seen |= c->brought[run] > 0 ? BRINGS << run : 0;
        for (uint32_t row = c->from[run]; row < c->from[run] + c->brought[run]; row++) {
            CHECK(row >= schedule->upper_updates && row < schedule->shared_updates);
            CHECK(staged < w->rows + GSV_LIMB_ROWS);
            *staged++ = w->v.u[row];
        }
    }
}

static uint64_t term(const walk *w, const gsv_limb_chunk *c, int32_t row) {
    const int32_t brought = row - c->staged - c->nc; /* which of those */
    CHECK(row <= GSV_LIMB_NOTHING);
    /* nobody writes there meanwhile, and it is none of the supernode's own columns */
    CHECK(row < c->place || row >= c->place + c->nr - c->nc);
    CHECK(row < c->staged || brought >= 0);
    seen |= row < GSV_LIMB_NOTHING && (brought < 0 || brought >= c->brought[0] + c->brought[1]) ? INNER : 0;
    return row == GSV_LIMB_NOTHING ? 0 : w->rows[row];
}

/* The front: those of its rows that are below its columns where the update vector will be. */
static void assemble(walk *w, const gsv_limb_chunk *c) {
    const uint16_t *lists = w->lists;
    memcpy(w->lists, at(w, c, 0), 2 * (size_t)c->list_length);
    int32_t end = c->nr; /* of the lists of several terms so far */
    CHECK(c->nr <= c->list_length && c->place + c->nr - c->nc <= GSV_LIMB_ROWS);
    for (int32_t i = 0; i < c->nr; i++) {
        uint64_t sum = i < c->nc ? w->rows[c->staged + i] : 0;
        if (lists[i] & GSV_LIMB_MORE) {
            const int32_t first = end;
            CHECK((lists[i] & ~GSV_LIMB_MORE) == first && first + 2 <= c->list_length);
            for (int more = 1; more && end < c->list_length; end++) {
                more = lists[end] & GSV_LIMB_MORE;
                CHECK(!more || end + 1 < c->list_length);
                sum += term(w, c, lists[end] & ~GSV_LIMB_MORE);
            }
            CHECK(end >= first + 2); /* the kernel reads two */
            seen |= end > first + 2 ? MORE : SEVERAL;
        } else
            sum += term(w, c, lists[i]);
        *(i < c->nc ? &w->front[i] : &w->rows[c->place + i - c->nc]) = sum;
    }
    CHECK(end > c->list_length - 8);
}

static int32_t supernode_at(const gsv_plan *plan, int32_t column) {
    int32_t low = 0, high = plan->l.nsuper;
    while (high - low > 1) {
        const int32_t middle = (low + high) / 2;
        *(plan->l.first_column[middle] <= column ? &low : &high) = middle;
    }
    return low;
}

static void multiply(walk *w, const gsv_limb_chunk *c) {
    const gsv_plan *plan = w->plan;
    const int32_t s = supernode_at(plan, c->first_column), nc = c->nc, nr = c->nr;
    const uint64_t *panel = at(w, c, gsv_limb_panel(c));
    CHECK(gsv_rows(plan, s) == nr && gsv_columns(plan, s) == nc && c->narrow == gsv_is_narrow(nr, nc));
    CHECK(plan->schedule->limbs.in[s] && nc <= GSV_LIMB_WIDEST);
    CHECK(c->row % GSV_TILE == 0 &&
          (c->narrow ? c->rows == nr : c->row + c->rows == nr || c->rows % GSV_TILE == 0));
    for (int32_t i = c->row; i < c->row + c->rows; i++) {
        uint64_t *kept = i < nc ? NULL : &w->rows[c->place + i - nc], sum = kept ? *kept : 0;
        for (int32_t k = 0; k < nc && k <= i; k++) {
            const int64_t from = place(plan, s, i, k) - c->panel;
            CHECK(from >= 0 && from < c->numbers);
            sum += panel[from] * w->front[k];
        }
        if (i < nc)
            CHECK(sum == w->v.x[c->first_column + i]);
        else
            CHECK(sum == w->v.u[plan->schedule->update_place[s] + i - nc]);
        if (kept)
            *kept = sum;
        if (i >= nc && c->root) {
            CHECK(c->update == plan->schedule->update_place[s]);
            w->left[c->update + (uint32_t)(i - nc)] = 1;
        }
    }
    if (c->last) {
        const int32_t parent = plan->parent[s];
        CHECK(c->row + c->rows == nr && !w->solved[s]);
        CHECK(c->root == (parent < 0 || !plan->schedule->limbs.in[parent]));
        w->solved[s] = 1;
    }
}

/* What it begins with is there; and then so is what the next one does, if there is one. */
static int64_t walk_limb(walk *w, const gsv_limb *limb, const gsv_limb *next) {
    const gsv_limb_chunk *chunks = w->plan->schedule->limbs.chunk,
                         *after = next ? chunks + next->first : NULL,
                         *last = chunks + limb->first + limb->chunks - 1;
    int64_t numbers = 0;
    CHECK(limb->chunks > 0 && limb->chunks <= GSV_LIMB_CHUNKS);
    for (const gsv_limb_chunk *chunk = chunks + limb->first; chunk <= last; chunk++) {
        const int collides = after && chunk == last && gsv_limb_collides(chunk, after);
        bring(w, chunk);
        CHECK((chunk->chunks > 0) == (chunk == chunks + limb->first || chunk[-1].last));
        if (chunk->chunks > 0) {
            CHECK(chunk[chunk->chunks - 1].last);
            assemble(w, chunk);
            if (chunk + chunk->chunks <= last)
                stage(w, chunk + chunk->chunks);
        }
        if (after && chunk == last && !collides)
            stage(w, after);
        multiply(w, chunk);
        if (collides)
            stage(w, after);
        seen |= !after || chunk < last ? 0 : collides ? COLLIDES : KEEPS_APART;
        numbers += chunk->numbers;
    }
    CHECK(last->last && last->root);
    return numbers;
}

static int32_t check_limbs(const char *spec, cholmod_common *common) {
    testing_in("%s", spec);
    plan_example e;
    open_named(&e, spec, common);
    const gsv_plan *plan = &e.plan;
    walk *w = calloc(1, sizeof *w);
    REQUIRE(w);
    w->plan = plan;
    w->v = make_vectors(plan);
    w->left = calloc((size_t)plan->update_ptr[plan->l.nsuper] + 1, 1);
    w->solved = calloc((size_t)plan->l.nsuper + 1, 1);
    REQUIRE(w->left && w->solved);
    const gsv_limbs *limbs = &plan->schedule->limbs;
    int64_t before = INT64_MAX; /* what the limb before costs */
    if (limbs->count > 0)
        stage(w, limbs->chunk + limbs->limb[0].first);
    for (int32_t k = 0; k < limbs->count; k++) {
        const int64_t numbers =
            walk_limb(w, &limbs->limb[k], k + 1 < limbs->count ? &limbs->limb[k + 1] : NULL);
        int64_t cost = numbers;
        for (int32_t c = 0; c < limbs->limb[k].chunks; c++)
            cost += limbs->chunk[limbs->limb[k].first + c].chunks > 0 ? GSV_LIMB_COST : 0;
        CHECK(cost <= before && cost <= gsv_machine_default.limb_most);
        before = cost;
    }
    for (int32_t s = 0; s < plan->l.nsuper; s++) {
        const int in = limbs->in[s], parent = plan->parent[s];
        CHECK(in == w->solved[s] && !(in && plan->schedule->branches.of[s] >= 0));
        if (parent >= 0 && limbs->in[parent])
            CHECK(in || plan->schedule->branches.of[s] >= 0); /* whole subtrees */
        for (int64_t u = 0; u < gsv_updates(plan, s); u++)
            CHECK(w->left[plan->schedule->update_place[s] + u] ==
                  (in && !(parent >= 0 && limbs->in[parent])));
    }
    const int32_t count = limbs->count;
    free_vectors(&w->v);
    free(w->left);
    free(w->solved);
    free(w);
    close_example(&e, common);
    return count;
}

static void check_random(const char *spec, cholmod_common *common) {
    check_limbs(spec, common);
}

int main(void) {
    cholmod_common common;
    cholmod_start(&common);
    for (int large = 0; large < 2; large++) { /* limbs as large in these as in others */
        tuning.limb_least = large ? gsv_machine_default.limb_most : gsv_machine_default.limb_least;
        CHECK(check_limbs("diag:1", &common) == 1);
        check_limbs("tridiag:3000", &common);
        check_limbs("forest:2000", &common);
        check_limbs("arrow:300,20,7", &common);
        check_limbs("arrow:5000,0,4", &common); /* one front with very many children */
        check_limbs("grid2d:90", &common);
        check_limbs("grid3d:14", &common);
        check_limbs("elasticity3d:12", &common);
        CHECK(check_limbs("grid3d:26", &common) > 1);
        CHECK(check_limbs("grid2d:300", &common) > 1);
        CHECK(check_limbs("shell:90", &common) > 1);
        with_random(100, check_random, &common);
    }
    CHECK(seen == (IN_CHUNKS | INNER | BRINGS | BRINGS_TWO | NARROW | WIDE | SEVERAL | MORE | COLLIDES |
                   KEEPS_APART));
    cholmod_finish(&common);
    return testing_done();
}
