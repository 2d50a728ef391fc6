/*
 * Damaged files by the thousand. Bytes that change, are exchanged, go or are added: the file is refused, or nothing has changed
 * and the factor is the right one. Then damage under good checksums, which no accident makes: sizes that overflow, arrays that
 * contradict each other. Whatever they say, nothing is read that is not there (run it under AddressSanitizer), and what
 * is accepted solves.
 *
 *      fuzz_store [seconds] [seed]       default 3 seconds; the same seed gives the same files in the same order
 */
#define _POSIX_C_SOURCE 200809L /* mkdtemp */
#include "store_cases.h"

#include <time.h>

#include "supernodal/store/checksum.h"
#include "supernodal/store/format.h"

enum { KINDS = 3, SMALL = KINDS * 4, FILES = SMALL + 2, STATUSES = 32, LARGE_ONCE_IN = 40 };

typedef struct original {
    store_bytes file;
    store_answer answer;
} original;

typedef struct counts {
    long tried, right, accepted, refused[STATUSES];
} counts;

static gpusolve_handle *handle;

static original make(const gpusolve_factor_data *data) {
    original made;
    gpusolve_factor *factor = NULL;
    REQUIRE(gpusolve_factor_create(handle, data, &factor) == GPUSOLVE_OK);
    made.answer = store_ask(handle, factor, data->n, data->dtype);
    gpusolve_factor_destroy(factor);
    REQUIRE(gpusolve_factor_data_save(handle, data, store_path("factor")) == GPUSOLVE_OK);
    made.file = store_read(store_path("factor"));
    return made;
}

/* Small factors of all kinds and types, and two of several blocks. */
static void make_all(original *originals) {
    cholmod_common common;
    REQUIRE(cholmod_start(&common));
    for (int k = 0; k < SMALL; k++) {
        gpusolve_factor_data data = small_factor((gpusolve_factor_kind)(k % KINDS), (gpusolve_itype)(k & 1),
                                                 (gpusolve_dtype)(k / KINDS), 0, 0);
        originals[k] = make(&data);
        free_factor(&data);
    }
    for (int k = 0; k < 2; k++) {
        cholmod_factor *l = grid_factor(13, 13, 13, CHOLMOD_REAL, k, &common);
        const gpusolve_factor_data data = describe(l);
        originals[SMALL + k] = make(&data);
        cholmod_free_factor(&l, &common);
    }
    cholmod_finish(&common);
}

/* ---------------------------------------------------------------------------------------------- damage --- */

/* A place in the file, which is not empty, half of the time where the header has its numbers. */
static size_t place(const store_bytes *file, uint64_t *state) {
    enum { NUMBERS = 320 };
    const size_t most = testing_random_below(state, 2) || file->count < NUMBERS ? file->count : NUMBERS;
    return (size_t)testing_random_below(state, (int64_t)most);
}

/* A number that means something, or one far from all. */
static int64_t odd_number(const store_bytes *file, int64_t old, uint64_t *state) {
    const int64_t near = testing_random_below(state, 5) - 2;
    switch (testing_random_below(state, 8)) {
    case 0:
        return near;
    case 1:
        return (int64_t)file->count + near;
    case 2:
        return INT64_MAX - testing_random_below(state, 4096);
    case 3:
        return INT64_MIN + testing_random_below(state, 4096);
    case 4:
        return (int64_t)1 << testing_random_below(state, 63);
    case 5:
        return (int64_t)testing_random_bits(state);
    default:
        return (int64_t)((uint64_t)old + (uint64_t)near);
    }
}

/* A number of 8 or 4 bytes where one may stand. */
static void damage_number(store_bytes *file, uint64_t *state) {
    const size_t bytes = testing_random_below(state, 2) ? 8 : 4, at = place(file, state) / bytes * bytes;
    int64_t number = 0;
    if (at + bytes > file->count)
        return;
    memcpy(&number, file->bytes + at, bytes);
    number = odd_number(file, number, state);
    memcpy(file->bytes + at, &number, bytes);
}

/* Runs of bytes change places: also whole pages and blocks. */
static void exchange(store_bytes *file, uint64_t *state) {
    static const size_t runs[] = {1, 8, 64, 4096, GSV_STORE_BLOCK};
    const size_t run = runs[testing_random_below(state, 5)];
    if (2 * run > file->count)
        return;
    const size_t places = file->count / run;
    unsigned char *a = file->bytes + (size_t)testing_random_below(state, (int64_t)places) * run,
                  *b = file->bytes + (size_t)testing_random_below(state, (int64_t)places) * run;
    for (size_t k = 0; k < run; k++) {
        const unsigned char kept = a[k];
        a[k] = b[k];
        b[k] = kept;
    }
}

/* Shorter, or longer by zeros. */
static void change_length(store_bytes *file, uint64_t *state) {
    enum { MORE = 5000 };
    const size_t count = testing_random_below(state, 4)
                             ? (size_t)testing_random_below(state, (int64_t)file->count + 1)
                             : file->count + (size_t)testing_random_below(state, MORE);
    unsigned char *bytes = realloc(file->bytes, count + 1);
    REQUIRE(bytes != NULL);
    if (count > file->count)
        memset(bytes + file->count, 0, count - file->count);
    *file = (store_bytes){bytes, count};
}

static void damage(store_bytes *file, uint64_t *state) {
    if (file->count == 0) {
        change_length(file, state);
        return;
    }
    const size_t at = place(file, state);
    switch (testing_random_below(state, 6)) {
    case 0:
        change_length(file, state);
        break;
    case 1:
        exchange(file, state);
        break;
    case 2:
        file->bytes[at] = (unsigned char)testing_random_bits(state);
        break;
    case 3:
        file->bytes[at] ^= (unsigned char)(1 << testing_random_below(state, 8));
        break;
    default:
        damage_number(file, state);
    }
}

/* All checksums as they should be, if the header says where the blocks are. */
static void seal(store_bytes *file) {
    gsv_store_header h;
    if (file->count < sizeof h)
        return;
    memcpy(&h, file->bytes, sizeof h);
    gsv_store_header computed = h;
    if (gsv_store_lay_out(&computed) && computed.file_bytes <= (int64_t)file->count) {
        const gsv_store_region *regions[] = {&computed.structure, &computed.values};
        for (int r = 0; r < 2; r++)
            for (int64_t k = 0; k < regions[r]->blocks; k++) {
                const gsv_store_range block = gsv_store_block(regions[r], k);
                const int64_t number = regions[r]->first + k;
                const uint64_t sum =
                    gsv_checksum(file->bytes + block.offset, (size_t)block.bytes, (uint64_t)number);
                memcpy(file->bytes + computed.table.offset + 8 * number, &sum, sizeof sum);
            }
        h.table_checksum = gsv_checksum(file->bytes + computed.table.offset, (size_t)computed.table.bytes, 0);
    }
    h.checksum = gsv_store_header_checksum(&h);
    memcpy(file->bytes, &h, sizeof h);
}

/* The header that belongs to the sizes that were damaged, so that what follows is looked at. */
static void lay_out_again(store_bytes *file) {
    gsv_store_header h;
    if (file->count < sizeof h)
        return;
    memcpy(&h, file->bytes, sizeof h);
    if (!gsv_store_lay_out(&h) || h.file_bytes > 4 * (int64_t)GSV_STORE_BLOCK)
        return;
    unsigned char *bytes = calloc((size_t)h.file_bytes + 1, 1);
    REQUIRE(bytes != NULL);
    memcpy(bytes, file->bytes, file->count < (size_t)h.file_bytes ? file->count : (size_t)h.file_bytes);
    memcpy(bytes, &h, sizeof h);
    free(file->bytes);
    *file = (store_bytes){bytes, (size_t)h.file_bytes};
}

/* ------------------------------------------------------------------------------------------------ files --- */

/* Load the file in one of three ways. sealed: its checksums are right, whatever it says. */
static void try_file(const original *o, const store_bytes *file, int way, int sealed, counts *seen) {
    const char *path = store_path("factor");
    const int64_t live = gsv_live_allocations();
    const int changed = file->count != o->file.count || memcmp(file->bytes, o->file.bytes, file->count) != 0;
    gpusolve_map_options options = GPUSOLVE_MAP_OPTIONS_INIT;
    gpusolve_factor *factor = (gpusolve_factor *)&options;
    options.verify = way == 1;
    store_write(path, file->bytes, file->count);
    const gpusolve_status status = way == 0 ? gpusolve_factor_load(handle, path, &factor)
                                            : gpusolve_factor_map(handle, path, &options, &factor);
    const size_t values = (size_t)((const gsv_store_header *)(const void *)o->file.bytes)->values.offset;
    const int may_be_wrong = sealed || (way == 2 && file->count == o->file.count &&
                                        memcmp(file->bytes, o->file.bytes, values) == 0);
    seen->tried++;
    CHECK((status == GPUSOLVE_OK) == (factor != NULL));
    if (status == GPUSOLVE_OK && (!may_be_wrong || !changed)) {
        CHECK(!changed);
        CHECK(store_answers(handle, factor, &o->answer));
        seen->right++;
    } else if (status == GPUSOLVE_OK) {
        gpusolve_info info = {.size = sizeof info};
        CHECK_STATUS(gpusolve_factor_info(handle, factor, 1, &info), GPUSOLVE_OK);
        store_answer any = store_ask(handle, factor, info.n, info.dtype);
        store_forget(&any);
        seen->accepted++;
    } else {
        CHECK(changed && strlen(gpusolve_last_error(handle)) > 0);
        CHECK(may_be_wrong || status == GPUSOLVE_INVALID_FILE || status == GPUSOLVE_NOT_SUPPORTED);
        CHECK(status != GPUSOLVE_INTERNAL_ERROR && status != GPUSOLVE_FILE_ERROR);
        seen->refused[status]++;
    }
    gpusolve_factor_destroy(factor);
    gpusolve_destroy(handle);
    handle = testing_handle(GPUSOLVE_BACKEND_HOST, 1);
    CHECK(gsv_live_allocations() <= live);
}

static void try_one(const original *o, uint64_t *state, counts *seen) {
    enum { MOST = 3 };
    store_bytes file = {malloc(o->file.count + 1), o->file.count};
    REQUIRE(file.bytes != NULL);
    memcpy(file.bytes, o->file.bytes, file.count);
    const int64_t count = testing_random_below(state, MOST + 1);
    const int sealed = (int)testing_random_below(state, 2);
    for (int64_t k = 0; k < count; k++)
        damage(&file, state);
    if (sealed && testing_random_below(state, 2))
        lay_out_again(&file);
    if (sealed)
        seal(&file);
    try_file(o, &file, (int)testing_random_below(state, 3), sealed, seen);
    free(file.bytes);
}

/* A file of every length up to its own. */
static void try_lengths(const original *o, counts *seen) {
    for (size_t count = 0; count <= o->file.count;
         count += count < 600 || count + 600 > o->file.count ? 1 : 97) {
        const store_bytes file = {o->file.bytes, count};
        testing_in("length %zu", count);
        try_file(o, &file, 0, 0, seen);
    }
}

int main(int argc, char **argv) {
    const double seconds = argc > 1 ? atof(argv[1]) : 3;
    uint64_t state = argc > 2 ? strtoull(argv[2], NULL, 10) : 1;
    static original originals[FILES];
    counts seen = {0};
    state = state ? state : 1;
    store_begin();
    handle = testing_handle(GPUSOLVE_BACKEND_HOST, 1);
    make_all(originals);
    try_lengths(&originals[1], &seen);
    const clock_t end = clock() + (clock_t)(seconds * CLOCKS_PER_SEC);
    for (long round = 0; round < 1000 || clock() < end; round++) {
        testing_in("round %ld", round);
        const int large = testing_random_below(&state, LARGE_ONCE_IN) == 0;
        const int64_t which =
            large ? SMALL + testing_random_below(&state, FILES - SMALL) : testing_random_below(&state, SMALL);
        try_one(&originals[which], &state, &seen);
    }
    printf("%ld files: %ld right, %ld other factors", seen.tried, seen.right, seen.accepted);
    for (int status = 0; status < STATUSES; status++)
        if (seen.refused[status])
            printf(", %ld %s", seen.refused[status], gpusolve_status_name((gpusolve_status)status));
    printf("\n");
    testing_in("all rounds");
    CHECK(seen.right > 0 && seen.accepted > 0 && seen.refused[GPUSOLVE_INVALID_FILE] > seen.tried / 4);
    for (int k = 0; k < FILES; k++) {
        free(originals[k].file.bytes);
        store_forget(&originals[k].answer);
    }
    gpusolve_destroy(handle);
    CHECK(unlink(store_path("factor")) == 0);
    store_end();
    return testing_done();
}
