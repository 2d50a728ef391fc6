/*
 * Saved factors on their way to the device, block by block: one whose root is so large that it is apart from the other batches
 * (cuda/upload_plan.h), with many leaves. With any number of threads, loaded, mapped, or mapped without a look at the checksums, it
 * has the bits of the factor that is made of the arrays; so has one with triangles that must be split. Damage is named: the first block, whichever
 * thread met another; a number that no factor can have; a read that fails. Nothing is left behind.
 */
#define _POSIX_C_SOURCE 200809L      /* mkdtemp */
#include "supernodal/cuda/support.h" /* before the cases, whose arrays have short names */

#include "store/store_cases.h"

#include <unistd.h>

#include "memory.h"
#include "supernodal/store/file.h"
#include "supernodal/store/format.h"

enum { LEAVES = 300, LEAF = 60, BELOW = 300, ROOT = 2950, COLUMNS = LEAVES * LEAF + ROOT, WAYS = 3 };

typedef struct arrow {
    int32_t super[LEAVES + 2], pi[LEAVES + 2], px[LEAVES + 2];
    int32_t *s;
    double *x;
    gpusolve_factor_data data;
} arrow;

static void fill_panel(double *l, int32_t nr, int32_t nc, int32_t k) {
    for (int32_t j = 0; j < nc; j++)
        for (int32_t row = 0; row < nr; row++)
            l[(int64_t)j * nr + row] = row < j    ? NAN
                                       : row == j ? 1 + k % 5 / 8.0
                                                  : ((row * 7 + j * 3 + k) % 11 - 5) / (8.0 * nr);
}

static void open_arrow(arrow *a) {
    const int32_t rows = LEAVES * (LEAF + BELOW) + ROOT;
    a->s = malloc((size_t)rows * sizeof *a->s);
    REQUIRE(a->s);
    a->super[0] = a->pi[0] = a->px[0] = 0;
    for (int32_t k = 0; k <= LEAVES; k++) {
        const int32_t nc = k < LEAVES ? LEAF : ROOT, nr = k < LEAVES ? LEAF + BELOW : ROOT;
        a->super[k + 1] = a->super[k] + nc;
        a->pi[k + 1] = a->pi[k] + nr;
        a->px[k + 1] = a->px[k] + nr * nc;
        for (int32_t row = 0; row < nr; row++)
            a->s[a->pi[k] + row] = row < nc ? a->super[k] + row : LEAVES * LEAF + 8 * (row - nc) + k % 8;
    }
    a->x = malloc((size_t)a->px[LEAVES + 1] * sizeof *a->x);
    REQUIRE(a->x);
    for (int32_t k = 0; k <= LEAVES; k++)
        fill_panel(a->x + a->px[k], a->pi[k + 1] - a->pi[k], a->super[k + 1] - a->super[k], k);
    a->data = (gpusolve_factor_data)GPUSOLVE_FACTOR_DATA_INIT;
    a->data.n = a->data.minor = COLUMNS;
    a->data.nsuper = LEAVES + 1;
    a->data.ssize = rows;
    a->data.xsize = a->px[LEAVES + 1];
    a->data.super = a->super;
    a->data.pi = a->pi;
    a->data.px = a->px;
    a->data.s = a->s;
    a->data.x = a->x;
}

/* A triangle whose inverse grows so much that it is split. */
static void make_steep(arrow *a, int32_t k) {
    const int32_t nr = a->pi[k + 1] - a->pi[k];
    const double g = pow(1e9, 1.0 / LEAF) - 1;
    for (int32_t j = 0; j < LEAF; j++)
        for (int32_t row = j; row < LEAF; row++)
            a->x[a->px[k] + j * nr + row] = row == j ? 1 : -g;
}

static gpusolve_status load(gpusolve_handle *handle, int way, gpusolve_factor **factor) {
    gpusolve_map_options options = GPUSOLVE_MAP_OPTIONS_INIT;
    options.verify = way == 1;
    *factor = (gpusolve_factor *)&options;
    const gpusolve_status status = way == 0
                                       ? gpusolve_factor_load(handle, store_path("factor"), factor)
                                       : gpusolve_factor_map(handle, store_path("factor"), &options, factor);
    CHECK((status == GPUSOLVE_OK) == (*factor != NULL));
    return status;
}

static int64_t live_at_start; /* allocations of the program's own pools */

static int nothing_is_left(void) {
    return gsv_live_allocations() == live_at_start && gsv_live_on_device() == 0;
}

/* In every way, with every number of threads. */
static void check_bits(const arrow *a, int split) {
    static const int threads[] = {1, 2, 5, 16};
    for (int t = 0; t < 4; t++) {
        gpusolve_handle *handle = testing_handle(GPUSOLVE_BACKEND_CUDA, threads[t]);
        gpusolve_factor *factor = NULL;
        gpusolve_info info = {.size = sizeof info};
        double logdet = 0, got = NAN;
        REQUIRE(gpusolve_factor_create(handle, &a->data, &factor) == GPUSOLVE_OK);
        REQUIRE(((gsv_cuda_factor *)factor->prepared)->upload->room.apart);
        CHECK_STATUS(gpusolve_factor_info(handle, factor, 1, &info), GPUSOLVE_OK);
        CHECK((info.split_supernodes > 0) == split);
        CHECK_STATUS(gpusolve_factor_logdet(handle, factor, &logdet, NULL), GPUSOLVE_OK);
        store_answer answer = store_ask(handle, factor, COLUMNS, GPUSOLVE_DOUBLE);
        gpusolve_factor_destroy(factor);
        if (t == 0)
            CHECK_STATUS(gpusolve_factor_data_save(handle, &a->data, store_path("factor")), GPUSOLVE_OK);
        for (int way = 0; way < WAYS; way++) {
            testing_in("split %d, %d threads, way %d", split, threads[t], way);
            REQUIRE(load(handle, way, &factor) == GPUSOLVE_OK);
            CHECK(store_answers(handle, factor, &answer));
            CHECK_STATUS(gpusolve_factor_logdet(handle, factor, &got, NULL), GPUSOLVE_OK);
            CHECK(got == logdet);
            if (threads[t] == 5) {
                CHECK_STATUS(gpusolve_factor_refresh(handle, factor, &a->data), GPUSOLVE_OK);
                CHECK(store_answers(handle, factor, &answer));
            }
            gpusolve_factor_destroy(factor);
        }
        store_forget(&answer);
        gpusolve_destroy(handle);
        testing_in("split %d, %d threads, at the end", split, threads[t]);
        CHECK(nothing_is_left());
    }
}

static void refused(gpusolve_handle *handle, int way, gpusolve_status expected, const char *word) {
    const int64_t live = gsv_live_allocations(), on_device = gsv_live_on_device();
    gpusolve_factor *factor;
    CHECK_REFUSED(handle, load(handle, way, &factor), expected, word);
    CHECK(gsv_live_allocations() == live && gsv_live_on_device() == on_device);
}

/* One byte of the values changes, or changes back. */
static void flip(int64_t at) {
    FILE *file = fopen(store_path("factor"), "r+b");
    REQUIRE(file && fseek(file, (long)at, SEEK_SET) == 0);
    const int byte = fgetc(file);
    REQUIRE(fseek(file, (long)at, SEEK_SET) == 0 && fputc(byte ^ 64, file) != EOF && fclose(file) == 0);
}

static gsv_store_header read_header(void) {
    gsv_store_header h;
    FILE *file = fopen(store_path("factor"), "rb");
    REQUIRE(file && fread(&h, sizeof h, 1, file) == 1 && fclose(file) == 0);
    return h;
}

static void check_damage(gpusolve_handle *handle) {
    const gsv_store_header h = read_header();
    const int64_t last = h.values.blocks - 1, places[] = {0, 1, last / 3, last - 60, last};
    for (int k = 0; k < 5; k++)
        for (int way = 0; way < 2; way++) {
            char word[128];
            const gsv_store_range block = gsv_store_block(&h.values, places[k]);
            testing_in("block %lld of %lld, way %d", (long long)places[k], (long long)last + 1, way);
            snprintf(word, sizeof word, "is damaged: in its values, between bytes %lld and %lld",
                     (long long)block.offset, (long long)(block.offset + block.bytes));
            flip(block.offset + block.bytes - 1);
            flip(h.file_bytes - 9); /* in the last one, too */
            refused(handle, way, GPUSOLVE_INVALID_FILE, word);
            flip(h.file_bytes - 9);
            flip(block.offset + block.bytes - 1);
        }
}

/* A number above the diagonal is in no batch, but is under a checksum; below it, it is found by its value, too. */
static void check_numbers(gpusolve_handle *handle, const arrow *a) {
    const gsv_store_header h = read_header();
    const double bad[] = {NAN, -1, 0};
    static const gpusolve_status statuses[] = {GPUSOLVE_NOT_FINITE, GPUSOLVE_NOT_POSITIVE_DEFINITE,
                                               GPUSOLVE_SINGULAR};
    static const int32_t places[] = {0, LEAVES / 2, LEAVES};
    for (int k = 0; k < 9; k++) {
        const int64_t at = h.values.offset + 8 * (int64_t)a->px[places[k / 3]];
        char word[64];
        double kept;
        testing_in("panel %d, number %g", (int)places[k / 3], bad[k % 3]);
        FILE *file = fopen(store_path("factor"), "r+b");
        REQUIRE(file && fseek(file, (long)at, SEEK_SET) == 0 && fread(&kept, sizeof kept, 1, file) == 1);
        REQUIRE(fseek(file, (long)at, SEEK_SET) == 0 && fwrite(&bad[k % 3], sizeof kept, 1, file) == 1);
        fflush(file);
        snprintf(word, sizeof word, k % 3 ? "(%d,%d)" : "column %d of L", (int)a->super[places[k / 3]],
                 (int)a->super[places[k / 3]]);
        refused(handle, 2, statuses[k % 3], word);
        refused(handle, 1, GPUSOLVE_INVALID_FILE, "is damaged: in its values");
        REQUIRE(fseek(file, (long)at, SEEK_SET) == 0 && fwrite(&kept, sizeof kept, 1, file) == 1);
        fclose(file);
    }
    flip(h.values.offset + 8 * (a->px[LEAVES] + (int64_t)ROOT * (ROOT - 1)));
    refused(handle, 0, GPUSOLVE_INVALID_FILE, "is damaged: in its values");
    refused(handle, 1, GPUSOLVE_INVALID_FILE, "is damaged: in its values");
    flip(h.values.offset + 8 * (a->px[LEAVES] + (int64_t)ROOT * (ROOT - 1)));
}

/* The k-th call of the system fails. */
static void check_faults(gpusolve_handle *handle) {
    static const int64_t calls[] = {1, 2, 3, 4, 5, 6, 7, 20, 90};
    for (int k = 0; k < 9; k++)
        for (int way = 0; way < 2; way++) {
            const int64_t live = gsv_live_allocations(), on_device = gsv_live_on_device();
            const int open_files = store_open_files();
            gpusolve_factor *factor;
            testing_in("call %d of the system, way %d", (int)calls[k], way);
            gsv_fail_file(calls[k]);
            const gpusolve_status status = load(handle, way, &factor);
            const int met = gsv_fail_file(0) <= 0;
            CHECK(status == (met ? GPUSOLVE_FILE_ERROR : GPUSOLVE_OK));
            CHECK(met || way == 1);
            gpusolve_factor_destroy(factor);
            CHECK(gsv_live_allocations() == live && gsv_live_on_device() == on_device);
            CHECK(store_open_files() == open_files);
        }
}

int main(void) {
    gpusolve_backend backends[2];
    live_at_start = gsv_live_allocations();
    if (testing_backends(backends) < 2) {
        printf("skipped: no CUDA device\n");
        return TESTING_SKIPPED;
    }
    static arrow a;
    store_begin();
    open_arrow(&a);
    check_bits(&a, 0);
    gpusolve_handle *handle = testing_handle(GPUSOLVE_BACKEND_CUDA, 4);
    gpusolve_factor *factor;
    REQUIRE(load(handle, 1, &factor) == GPUSOLVE_OK); /* what the handle keeps is there from now on */
    gpusolve_factor_destroy(factor);
    check_damage(handle);
    check_numbers(handle, &a);
    check_faults(handle);
    gpusolve_destroy(handle);
    make_steep(&a, LEAVES / 2);
    check_bits(&a, 1);
    CHECK(unlink(store_path("factor")) == 0);
    store_end();
    free(a.s);
    free(a.x);
    CHECK(nothing_is_left());
    return testing_done();
}
