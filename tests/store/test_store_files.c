/*
 * What saving and loading refuse, and say; and what becomes of files: one that is replaced is the old one or the new one, whichever call
 * of the system fails.
 */
#define _POSIX_C_SOURCE 200809L /* mkdtemp, mkfifo, symlink */
#include "store_cases.h"

#include <sys/resource.h>

#include "supernodal/store/checksum.h"
#include "supernodal/store/file.h"
#include "supernodal/store/format.h"

static gpusolve_handle *handle;
static gpusolve_factor_data data;
static store_answer answer;

static gpusolve_status load(const char *path) {
    gpusolve_factor *factor = (gpusolve_factor *)&data;
    const gpusolve_status status = gpusolve_factor_load(handle, path, &factor);
    CHECK((status == GPUSOLVE_OK) == (factor != NULL));
    if (factor)
        CHECK(store_answers(handle, factor, &answer));
    gpusolve_factor_destroy(factor);
    return status;
}

static gpusolve_status map(const char *path, int verify) {
    gpusolve_map_options options = GPUSOLVE_MAP_OPTIONS_INIT;
    gpusolve_factor *factor = (gpusolve_factor *)&data;
    options.verify = verify;
    const gpusolve_status status = gpusolve_factor_map(handle, path, &options, &factor);
    CHECK((status == GPUSOLVE_OK) == (factor != NULL));
    if (factor)
        CHECK(store_answers(handle, factor, &answer));
    gpusolve_factor_destroy(factor);
    return status;
}

static gpusolve_status save(const char *path) {
    return gpusolve_factor_data_save(handle, &data, path);
}

/* Both ways to load it refuse it so. */
static void check_refused(const char *path, gpusolve_status status, const char *word) {
    CHECK_REFUSED(handle, load(path), status, word);
    CHECK_REFUSED(handle, map(path, 1), status, word);
    CHECK_REFUSED(handle, map(path, 0), status, word);
}

static void test_arguments(void) {
    testing_in("arguments");
    const char *path = store_path("none");
    gpusolve_factor *factor = NULL;
    gpusolve_map_options options = GPUSOLVE_MAP_OPTIONS_INIT;
    CHECK_REFUSED(handle, gpusolve_factor_data_save(handle, NULL, path), GPUSOLVE_INVALID_ARGUMENT,
                  "data: is NULL");
    CHECK_REFUSED(handle, save(NULL), GPUSOLVE_INVALID_ARGUMENT, "path: is NULL");
    CHECK_REFUSED(handle, save(""), GPUSOLVE_INVALID_ARGUMENT, "path: is empty");
    gpusolve_factor_data wrong = data;
    wrong.size--;
    CHECK_REFUSED(handle, gpusolve_factor_data_save(handle, &wrong, path), GPUSOLVE_INVALID_ARGUMENT,
                  "data->size");
    wrong = data;
    wrong.minor = 2;
    CHECK_REFUSED(handle, gpusolve_factor_data_save(handle, &wrong, path), GPUSOLVE_NOT_POSITIVE_DEFINITE,
                  "column 2");
    wrong = data;
    wrong.ssize--;
    CHECK_REFUSED(handle, gpusolve_factor_data_save(handle, &wrong, path), GPUSOLVE_INVALID_FACTOR, "pi[");
    gpusolve_factor_data nan = copy_factor(&data, GPUSOLVE_INT32, GPUSOLVE_DOUBLE, 0);
    set_number(&nan, 1, NAN);
    CHECK_REFUSED(handle, gpusolve_factor_data_save(handle, &nan, path), GPUSOLVE_NOT_FINITE, "column 0");
    free_factor(&nan);
    CHECK_REFUSED(handle, gpusolve_factor_load(handle, NULL, &factor), GPUSOLVE_INVALID_ARGUMENT,
                  "path: is NULL");
    CHECK_REFUSED(handle, gpusolve_factor_load(handle, path, NULL), GPUSOLVE_INVALID_ARGUMENT,
                  "factor: is NULL");
    CHECK_REFUSED(handle, gpusolve_factor_map(handle, "", NULL, &factor), GPUSOLVE_INVALID_ARGUMENT,
                  "path: is empty");
    CHECK_REFUSED(handle, gpusolve_factor_map(handle, path, NULL, NULL), GPUSOLVE_INVALID_ARGUMENT,
                  "factor: is NULL");
    options.size = 1;
    CHECK_REFUSED(handle, gpusolve_factor_map(handle, path, &options, &factor), GPUSOLVE_INVALID_ARGUMENT,
                  "options->size");
    CHECK_REFUSED(handle, map(path, 2), GPUSOLVE_INVALID_ARGUMENT, "options->verify: is 2");
    CHECK_STATUS(gpusolve_factor_data_save(NULL, &data, path), GPUSOLVE_INVALID_ARGUMENT);
    CHECK_STATUS(gpusolve_factor_load(NULL, path, &factor), GPUSOLVE_INVALID_ARGUMENT);
    CHECK_STATUS(gpusolve_factor_map(NULL, path, NULL, &factor), GPUSOLVE_INVALID_ARGUMENT);
    CHECK(store_count() == 0);
}

/* What is no file, or cannot be one. */
static void test_places(void) {
    testing_in("places");
    char long_path[2000];
    check_refused(store_path("none"), GPUSOLVE_FILE_ERROR, "none: cannot be opened: No such file");
    CHECK_REFUSED(handle, save(store_path("no/folder")), GPUSOLVE_FILE_ERROR,
                  "no/folder: cannot be written: No such");
    memset(long_path, 'a', sizeof long_path);
    long_path[sizeof long_path - 1] = '\0';
    CHECK_REFUSED(handle, load(long_path), GPUSOLVE_FILE_ERROR, "aaa: cannot be opened: File name too long");
    CHECK_STATUS(save(long_path), GPUSOLVE_FILE_ERROR);
    check_refused(store_folder, GPUSOLVE_INVALID_FILE, "is not a regular file");
    CHECK_REFUSED(handle, save(store_folder), GPUSOLVE_INVALID_ARGUMENT, "is not a regular file");
    REQUIRE(mkfifo(store_path("pipe"), 0600) ==
            0); /* nobody writes to it, so to open it and wait would hang */
    check_refused(store_path("pipe"), GPUSOLVE_INVALID_FILE, "is not a regular file");
    CHECK_REFUSED(handle, save(store_path("pipe")), GPUSOLVE_INVALID_ARGUMENT, "is not a regular file");
    CHECK(unlink(store_path("pipe")) == 0 && store_count() == 0);
}

/* A link stays a link, a file keeps its permissions, a name without a folder is in this one. */
static void test_replaced(void) {
    testing_in("replaced");
    struct stat about;
    store_write(store_path("old"), (const unsigned char *)"old", 3);
    REQUIRE(chmod(store_path("old"), 0640) == 0);
    REQUIRE(symlink("old", store_path("link")) == 0);
    CHECK_STATUS(save(store_path("link")), GPUSOLVE_OK);
    CHECK(lstat(store_path("link"), &about) == 0 && S_ISLNK(about.st_mode));
    CHECK(stat(store_path("old"), &about) == 0 && S_ISREG(about.st_mode) && (about.st_mode & 0777) == 0640);
    CHECK_STATUS(load(store_path("link")), GPUSOLVE_OK);
    CHECK(unlink(store_path("old")) == 0);
    CHECK_REFUSED(handle, save(store_path("link")), GPUSOLVE_FILE_ERROR, "link: cannot be followed");
    CHECK(unlink(store_path("link")) == 0 && store_count() == 0);

    char before[512];
    REQUIRE(getcwd(before, sizeof before) != NULL && chdir(store_folder) == 0);
    CHECK_STATUS(save("here"), GPUSOLVE_OK);
    CHECK(store_count() == 1);
    CHECK_STATUS(map("here", 1), GPUSOLVE_OK);
    CHECK(unlink("here") == 0 && chdir(before) == 0);
}

/* A factor that is loaded needs its file no more. */
static void test_gone(void) {
    testing_in("gone");
    gpusolve_factor *factor = NULL;
    CHECK_STATUS(save(store_path("factor")), GPUSOLVE_OK);
    CHECK_STATUS(gpusolve_factor_map(handle, store_path("factor"), NULL, &factor), GPUSOLVE_OK);
    store_write(store_path("factor"), (const unsigned char *)"", 0);
    CHECK(factor && store_answers(handle, factor, &answer));
    gpusolve_factor_destroy(factor);
    CHECK(unlink(store_path("factor")) == 0);
}

static void write_header(const store_bytes *file, gsv_store_header h, int seal) {
    if (seal)
        h.checksum = gsv_store_header_checksum(&h);
    memcpy(file->bytes, &h, sizeof h);
    store_write(store_path("factor"), file->bytes, file->count);
}

/* Each kind of wrong file is called what it is. */
static void test_kinds(void) {
    testing_in("kinds of files");
    const char *path = store_path("factor");
    store_write(path, (const unsigned char *)"", 0);
    check_refused(path, GPUSOLVE_INVALID_FILE, "factor: is not a factor that gpusolve has saved");
    store_write(path, (const unsigned char *)"%%MatrixMarket matrix", 21);
    check_refused(path, GPUSOLVE_INVALID_FILE, "is not a factor that gpusolve has saved");
    CHECK_STATUS(save(path), GPUSOLVE_OK);
    store_bytes file = store_read(path);
    gsv_store_header h, changed;
    memcpy(&h, file.bytes, sizeof h);

    store_write(path, file.bytes, 100);
    check_refused(path, GPUSOLVE_INVALID_FILE, "is truncated: it has only 100 bytes");
    store_write(path, file.bytes, file.count - 1);
    check_refused(path, GPUSOLVE_INVALID_FILE, "is truncated");
    file.bytes[file.count] = 0;
    store_write(path, file.bytes, file.count + 1);
    check_refused(path, GPUSOLVE_INVALID_FILE, "is damaged");

    changed = h;
    changed.version = GSV_STORE_VERSION + 1;
    write_header(&file, changed, 1);
    check_refused(path, GPUSOLVE_NOT_SUPPORTED, "is newer: its format has version 3");
    changed = h;
    changed.order = 0x04030201;
    write_header(&file, changed, 0);
    check_refused(path, GPUSOLVE_NOT_SUPPORTED, "the other byte order");
    changed = h;
    changed.n++;
    write_header(&file, changed, 0);
    check_refused(path, GPUSOLVE_INVALID_FILE, "is damaged: in its header");
    write_header(&file, changed, 1);
    check_refused(path, GPUSOLVE_INVALID_FILE, "is damaged: in its header");
    memcpy(file.bytes, &h, sizeof h);

    const struct {
        int64_t at;
        const char *word;
    } places[] = {{h.table.offset, "is damaged: in its checksums"},
                  {h.structure.offset + 4, "is damaged: in its structure, between bytes 8192 and 12288"},
                  {h.values.offset + 9, "is damaged: in its values, between bytes 12288 and 12400"}};
    for (int k = 0; k < 3; k++) {
        file.bytes[places[k].at] ^= 16;
        store_write(path, file.bytes, file.count);
        CHECK_REFUSED(handle, load(path), GPUSOLVE_INVALID_FILE, places[k].word);
        CHECK_REFUSED(handle, map(path, 1), GPUSOLVE_INVALID_FILE, places[k].word);
        file.bytes[places[k].at] ^= 16;
    }
    store_write(path, file.bytes, file.count);
    CHECK_STATUS(load(path), GPUSOLVE_OK);
    CHECK_STATUS(map(path, 0), GPUSOLVE_OK);
    free(file.bytes);
    CHECK(unlink(path) == 0);
}

/* The k-th call of the system fails, for every k until it gets by: the old file is there, or, once, the new one. */
static void test_faults(void) {
    const char *path = store_path("factor");
    for (int call = 0; call < 3; call++) {
        int64_t k = 1;
        for (int left = 0; left <= 0 && k < 100; k++) {
            testing_in("call %d, k = %d", call, (int)k);
            if (call == 0)
                store_write(path, (const unsigned char *)"old", 3);
            else
                CHECK_STATUS(save(path), GPUSOLVE_OK);
            const int64_t live = gsv_live_allocations();
            const int open_files = store_open_files();
            gsv_fail_file(k);
            const gpusolve_status status = call == 0 ? save(path) : call == 1 ? load(path) : map(path, 1);
            left = gsv_fail_file(0) > 0;
            CHECK(status == GPUSOLVE_FILE_ERROR || status == GPUSOLVE_OK);
            CHECK(status == GPUSOLVE_OK || !left);
            CHECK(status == GPUSOLVE_OK || strstr(gpusolve_last_error(handle), path) != NULL);
            CHECK(store_count() == 1 && store_open_files() == open_files);
            CHECK(call > 0 || status == GPUSOLVE_OK || gsv_live_allocations() == live);
            if (call == 0 && status) {
                store_bytes old = store_read(path);
                CHECK(old.count == 3 && memcmp(old.bytes, "old", 3) == 0);
                free(old.bytes);
            } else {
                CHECK_STATUS(load(path), GPUSOLVE_OK);
            }
        }
        CHECK(k > 4 && k < 100);
    }
    CHECK(unlink(path) == 0);
}

/* A limit of the process, beyond which the system would end it. */
static void test_limit(void) {
    testing_in("a limit of the process");
    struct rlimit before, small;
    REQUIRE(getrlimit(RLIMIT_FSIZE, &before) == 0);
    small = before;
    small.rlim_cur = 4096;
    REQUIRE(setrlimit(RLIMIT_FSIZE, &small) == 0);
    CHECK_REFUSED(handle, save(store_path("factor")), GPUSOLVE_FILE_ERROR, "File too large");
    REQUIRE(setrlimit(RLIMIT_FSIZE, &before) == 0);
    CHECK(store_count() == 0);
}

/* The checksum: of no bytes, of one bit that changes at any place, of places that change. */
static void test_checksum(void) {
    testing_in("checksum");
    enum { BYTES = 200 };
    unsigned char bytes[BYTES];
    for (int k = 0; k < BYTES; k++)
        bytes[k] = (unsigned char)(7 * k);
    const uint64_t whole = gsv_checksum(bytes, BYTES, 3);
    CHECK(whole == gsv_checksum(bytes, BYTES, 3) && whole != gsv_checksum(bytes, BYTES, 4));
    CHECK(gsv_checksum(bytes, 0, 0) != gsv_checksum(bytes, 0, 1));
    for (int k = 0; k < 8 * BYTES; k++) {
        bytes[k / 8] ^= (unsigned char)(1 << k % 8);
        const uint64_t other = gsv_checksum(bytes, BYTES, 3);
        CHECK(other != whole && __builtin_popcountll(other ^ whole) > 8); /* 32 is the mean */
        bytes[k / 8] ^= (unsigned char)(1 << k % 8);
    }
    memset(bytes, 0, BYTES); /* zeros count */
    for (size_t k = 1; k < BYTES; k++)
        CHECK(gsv_checksum(bytes, k, 3) != gsv_checksum(bytes, k - 1, 3));
}

int main(void) {
    gpusolve_factor *factor = NULL;
    store_begin();
    handle = testing_handle(GPUSOLVE_BACKEND_HOST, 2);
    data = small_factor(GPUSOLVE_SUPERNODAL_LL, GPUSOLVE_INT32, GPUSOLVE_DOUBLE, 0, 0);
    REQUIRE(gpusolve_factor_create(handle, &data, &factor) == GPUSOLVE_OK);
    answer = store_ask(handle, factor, data.n, data.dtype);
    gpusolve_factor_destroy(factor);
    test_checksum();
    test_arguments();
    test_places();
    test_replaced();
    test_gone();
    test_kinds();
    test_faults();
    test_limit();
    store_forget(&answer);
    free_factor(&data);
    gpusolve_destroy(handle);
    store_end();
    return testing_done();
}
