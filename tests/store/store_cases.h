/* What the tests of saved factors share: a folder of their own, and whole files in memory. Wants POSIX. */
#ifndef STORE_CASES_H
#define STORE_CASES_H

#include "api/small_factor.h"

#include <dirent.h>
#include <sys/stat.h>

#include "folder.h"
#include "gpusolve_store.h"

static char store_folder[256];

/* A folder that is this process's own. */
static inline void store_begin(void) {
    snprintf(store_folder, sizeof store_folder, "%s/gpusolve-store-XXXXXX", testing_folder());
    REQUIRE(mkdtemp(store_folder) != NULL);
}

/* A path in it. Valid until the next but three. */
static inline const char *store_path(const char *name) {
    static char paths[4][512];
    static int next;
    char *path = paths[next++ % 4];
    snprintf(path, sizeof paths[0], "%s/%s", store_folder, name);
    return path;
}

/* How many files are in the folder. */
static inline int store_count(void) {
    DIR *folder = opendir(store_folder);
    REQUIRE(folder != NULL);
    int count = 0;
    for (const struct dirent *entry; (entry = readdir(folder)) != NULL;)
        count += strcmp(entry->d_name, ".") != 0 && strcmp(entry->d_name, "..") != 0;
    closedir(folder);
    return count;
}

/* Files that the process has open. */
static inline int store_open_files(void) {
    DIR *folder = opendir("/proc/self/fd");
    if (!folder)
        return 0;
    int count = 0;
    while (readdir(folder))
        count++;
    closedir(folder);
    return count;
}

static inline void store_end(void) {
    testing_in("at the end");
    CHECK(store_count() == 0);
    CHECK(rmdir(store_folder) == 0);
}

typedef struct store_bytes {
    unsigned char *bytes;
    size_t count;
} store_bytes;

static inline store_bytes store_read(const char *path) {
    store_bytes whole = {NULL, 0};
    struct stat about;
    FILE *file = fopen(path, "rb");
    REQUIRE(file != NULL && fstat(fileno(file), &about) == 0);
    whole.count = (size_t)about.st_size;
    whole.bytes = malloc(whole.count + 1);
    REQUIRE(whole.bytes && fread(whole.bytes, 1, whole.count, file) == whole.count);
    fclose(file);
    return whole;
}

static inline void store_write(const char *path, const unsigned char *bytes, size_t count) {
    FILE *file = fopen(path, "wb");
    REQUIRE(file != NULL && fwrite(bytes, 1, count, file) == count && fclose(file) == 0);
}

/* A right-hand side, and the answer of a factor to it: what makes two factors the same. */
typedef struct store_answer {
    gpusolve_dense b, x;
} store_answer;

static inline store_answer store_ask(gpusolve_handle *handle, const gpusolve_factor *factor, int64_t n,
                                     gpusolve_dtype dtype) {
    store_answer answer = {testing_block(dtype, GPUSOLVE_COL_MAJOR, n, 3, 0),
                           testing_block(dtype, GPUSOLVE_COL_MAJOR, n, 3, 0)};
    testing_fill(&answer.b, 5);
    CHECK_STATUS(gpusolve_solve(handle, factor, NULL, GPUSOLVE_A, &answer.b, &answer.x), GPUSOLVE_OK);
    return answer;
}

static inline void store_forget(store_answer *answer) {
    free(answer->b.values);
    free(answer->x.values);
}

/* The factor answers with these bits, none of which are those of a NaN. */
static inline int store_answers(gpusolve_handle *handle, const gpusolve_factor *factor,
                                const store_answer *expected) {
    store_answer got = store_ask(handle, factor, expected->b.rows, expected->b.dtype);
    int same = testing_same_bits(&got.x, 0, &expected->x, 0, got.x.cols);
    for (int64_t j = 0; j < got.x.cols; j++)
        for (int64_t row = 0; row < got.x.rows; row++)
            same &= isfinite(cabs(testing_get(&got.x, row, j)));
    store_forget(&got);
    return same;
}

/* The factor answers with these numbers, but for `times` roundings of the largest. A NaN is near nothing. */
static inline int store_is_near(gpusolve_handle *handle, const gpusolve_factor *factor,
                                const store_answer *expected, double times) {
    store_answer got = store_ask(handle, factor, expected->b.rows, expected->b.dtype);
    double largest = 0, difference = 0;
    for (int64_t j = 0; j < got.x.cols; j++)
        for (int64_t row = 0; row < got.x.rows; row++) {
            const double complex wanted = testing_get(&expected->x, row, j);
            largest = testing_worse(largest, cabs(wanted));
            difference = testing_worse(difference, cabs(testing_get(&got.x, row, j) - wanted));
        }
    store_forget(&got);
    return difference <= times * testing_epsilon(expected->b.dtype) * largest;
}

#endif
