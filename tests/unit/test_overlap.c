/* Overlap of two blocks of runs, against marking every byte, against every pair of runs, and by construction. */
#include "testing.h"

#include "overlap.h"

enum { MARKS = 512, CASES = 400000, PAIR_CASES = 3000 };

static gsv_bytes_block block_at(uint64_t start, uint64_t run, uint64_t pitch, uint64_t runs) {
    return (gsv_bytes_block){(const void *)(uintptr_t)start, run, pitch, runs};
}

static void check(const gsv_bytes_block *a, const gsv_bytes_block *b, int expected) {
    testing_in("%#llx: %llu, %llu, %llu; %#llx: %llu, %llu, %llu", (unsigned long long)(uintptr_t)a->start,
               (unsigned long long)a->run, (unsigned long long)a->pitch, (unsigned long long)a->runs,
               (unsigned long long)(uintptr_t)b->start, (unsigned long long)b->run,
               (unsigned long long)b->pitch, (unsigned long long)b->runs);
    CHECK(gsv_blocks_overlap(a, b) == expected);
    CHECK(gsv_blocks_overlap(b, a) == expected);
}

/* ------------------------------------------------------------------------------------ byte by byte --- */

/* Marks the bytes from base on that the block holds. 1 if one of them was marked before, by `other`. */
static int mark(const gsv_bytes_block *block, uint64_t base, unsigned char marks[MARKS], int mine,
                int other) {
    int found = 0;
    for (uint64_t k = 0; k < block->runs; k++)
        for (uint64_t byte = 0; byte < block->run; byte++) {
            const uint64_t offset = (uintptr_t)block->start - base + k * block->pitch + byte;
            if (offset > UINT64_MAX - base) /* behind the last address */
                continue;
            if (offset >= MARKS)
                REQUIRE(offset < MARKS);
            found |= marks[offset] == other;
            marks[offset] = (unsigned char)(marks[offset] | mine);
        }
    return found;
}

static gsv_bytes_block random_block(uint64_t *state, uint64_t base) {
    const uint64_t runs = (uint64_t)testing_random_below(state, 9);
    const uint64_t run = (uint64_t)testing_random_below(state, 9);
    const uint64_t start = (uint64_t)testing_random_below(state, 200);
    return block_at(base + start, run, (uint64_t)testing_random_below(state, 30), runs);
}

static void check_bytes(void) {
    static const uint64_t bases[] = {0, 4096, UINT64_MAX / 2, UINT64_MAX - 300, UINT64_MAX - 200};
    uint64_t state = 17;
    int overlapping = 0;
    for (int k = 0; k < CASES; k++) {
        const uint64_t base = bases[k % 5];
        const gsv_bytes_block a = random_block(&state, base);
        gsv_bytes_block b = random_block(&state, base);
        if (k % 3 == 0)
            b.pitch = a.pitch;
        unsigned char marks[MARKS] = {0};
        mark(&a, base, marks, 1, 2);
        const int expected = mark(&b, base, marks, 2, 1) != 0;
        check(&a, &b, expected);
        overlapping += expected;
    }
    testing_in("cases that overlap");
    CHECK(overlapping > CASES / 10 && overlapping < CASES * 9 / 10);
}

/* -------------------------------------------------------------------------------------- run by run --- */

static int some_pair_overlaps(const gsv_bytes_block *a, const gsv_bytes_block *b) {
    for (uint64_t i = 0; i < a->runs; i++)
        for (uint64_t j = 0; j < b->runs; j++) {
            const uint64_t s = (uintptr_t)a->start + i * a->pitch, t = (uintptr_t)b->start + j * b->pitch;
            if (s < t ? t - s < a->run : s - t < b->run)
                return 1;
        }
    return 0;
}

/* Long pitches and short runs: most remainders are tried before one is small enough, or none is. */
static void check_pairs(void) {
    uint64_t state = 29;
    int overlapping = 0;
    for (int k = 0; k < PAIR_CASES; k++) {
        const int bits = 6 + (int)testing_random_below(&state, 45);
        gsv_bytes_block block[2];
        for (int i = 0; i < 2; i++) {
            const uint64_t pitch = 1 + (uint64_t)testing_random_below(&state, (int64_t)1 << bits);
            const uint64_t run = 1 + (uint64_t)testing_random_below(&state, 1 + (int64_t)(pitch / 60));
            const uint64_t start = (uint64_t)testing_random_below(&state, (int64_t)1 << (bits + 2));
            block[i] = block_at(start, run, pitch, 1 + (uint64_t)testing_random_below(&state, 60));
        }
        const int expected = some_pair_overlaps(&block[0], &block[1]);
        check(&block[0], &block[1], expected);
        overlapping += expected;
    }
    testing_in("pairs that overlap");
    CHECK(overlapping > PAIR_CASES / 10 && overlapping < PAIR_CASES * 9 / 10);
}

/* ----------------------------------------------------------------------------- triangles, byte by byte --- */

static int triangle_meets_marks(const gsv_bytes_triangle *t, uint64_t base, const unsigned char *marks) {
    for (uint64_t j = 0; j < t->n; j++)
        for (uint64_t i = 0; i < t->n; i++)
            for (uint64_t byte = 0; byte < t->number; byte++) {
                const uint64_t offset = (uintptr_t)t->start - base + i * t->number + j * t->pitch + byte;
                const int belongs = i == j ? !t->unit : (i > j) == t->lower;
                if (offset >= MARKS)
                    REQUIRE(offset < MARKS);
                if (belongs && marks[offset])
                    return 1;
            }
    return 0;
}

static void check_triangles(void) {
    const uint64_t base = 1 << 20;
    uint64_t state = 43;
    int overlapping = 0;
    for (int k = 0; k < CASES; k++) {
        gsv_bytes_triangle t = {NULL,  1 + (uint64_t)testing_random_below(&state, 3),
                                0,     (uint64_t)testing_random_below(&state, 8),
                                k & 1, (k >> 1) & 1};
        t.pitch = t.n * t.number + (uint64_t)testing_random_below(&state, 6);
        t.start = (const void *)(uintptr_t)(base + (uint64_t)testing_random_below(&state, 150));
        gsv_bytes_block b = random_block(&state, base);
        if (k % 3 == 0)
            b.pitch = t.pitch + (k % 2 ? t.number : 0); /* along the rows, or along the diagonal */
        unsigned char marks[MARKS] = {0};
        mark(&b, base, marks, 1, 2);
        const int expected = triangle_meets_marks(&t, base, marks);
        testing_in("triangle %d: n %llu", k, (unsigned long long)t.n);
        CHECK(gsv_triangle_overlaps(&t, &b) == expected);
        overlapping += expected;
    }
    testing_in("triangles that overlap");
    CHECK(overlapping > CASES / 10 && overlapping < CASES * 9 / 10);
}

/* ------------------------------------------------------------------------------------ by construction --- */

/*
 * Single bytes at pitches g p and g q, p and q without a common divisor, n runs each, n <= p, n <= q. The
 * blocks are placed so that run i of one is run j of the other; no other pair can be, and after a shift by
 * less than g none is.
 */
static void check_constructed(void) {
    static const uint64_t p[] = {1000003, 500000003, 536870909, (uint64_t)1 << 29}; /* no common divisors */
    const uint64_t g = 7, base = (uint64_t)1 << 62;
    for (int x = 0; x < 4; x++)
        for (int y = 0; y < 4; y++) {
            const uint64_t n = p[x] < p[y] ? p[x] : p[y], pick[] = {0, 1, n / 3, n - 2, n - 1};
            for (int i = 0; i < 5 && x != y; i++)
                for (int j = 0; j < 5; j++) {
                    const uint64_t other = base + pick[i] * g * p[x] - pick[j] * g * p[y];
                    gsv_bytes_block a = block_at(base, 1, g * p[x], n), b = block_at(other, 1, g * p[y], n);
                    check(&a, &b, 1);
                    b.start = (const void *)(uintptr_t)(other + g - 1);
                    check(&a, &b, 0);
                    a.run = g; /* now the run reaches that byte, but not the one after */
                    check(&a, &b, 1);
                    a.run = g - 1;
                    check(&a, &b, 0);
                    b.start = (const void *)(uintptr_t)other;
                    a.run = 1;
                    a.runs = pick[i]; /* the one run that would do is missing */
                    check(&a, &b, 0);
                }
        }
}

static void check_single(void) {
    gsv_bytes_block a = block_at(0, 0, 0, 0), b = block_at(0, 100, 100, 100);
    check(&a, &b, 0);
    check(&a, &a, 0);
    a.run = 1;
    check(&a, &b, 0);
    a = block_at(0, 0, 1, UINT64_MAX);
    check(&a, &b, 0);
    a = block_at(UINT64_MAX, 1, 1, 1);
    check(&a, &b, 0);
    check(&a, &a, 1);
    b = block_at(0, UINT64_MAX, UINT64_MAX, UINT64_MAX);
    check(&a, &b, 1); /* the second run begins at the last address */
    b.runs = 1;
    check(&a, &b, 0);
    a = block_at(1, UINT64_MAX, 0, UINT64_MAX);
    check(&a, &b, 1);

    /* halves of the rows of one matrix, 2^31 columns, and one row too many */
    const uint64_t ld = (uint64_t)1 << 20, columns = (uint64_t)1 << 31;
    a = block_at(4096, ld / 2, ld, columns);
    b = block_at(4096 + ld / 2, ld / 2, ld, columns);
    check(&a, &b, 0);
    a.run++;
    check(&a, &b, 1);
    a.run--;
    b.run++; /* reaches the next column */
    check(&a, &b, 1);
    b.start = (const char *)b.start + (columns - 1) * ld; /* but behind the last one there is none */
    check(&a, &b, 0);
}

static void check_addressable(void) {
    testing_in("addressable");
    gsv_bytes_block a = block_at(UINT64_MAX - 9, 10, 0, 1);
    CHECK(gsv_block_is_addressable(&a));
    a.run = 11;
    CHECK(!gsv_block_is_addressable(&a));
    a.runs = 0;
    CHECK(gsv_block_is_addressable(&a));
    a = block_at(0, 1, (uint64_t)1 << 32, (uint64_t)1 << 32);
    CHECK(gsv_block_is_addressable(&a));
    a.runs++;
    CHECK(!gsv_block_is_addressable(&a));
    a = block_at(1, UINT64_MAX, UINT64_MAX, UINT64_MAX);
    CHECK(!gsv_block_is_addressable(&a));
    a.run = 0;
    CHECK(gsv_block_is_addressable(&a));
}

int main(void) {
    check_bytes();
    check_pairs();
    check_triangles();
    check_constructed();
    check_single();
    check_addressable();
    return testing_done();
}
