/* gsm_load and gsm_load_block when memory runs out: malloc, calloc, realloc and strndup are made to fail at their k-th call, for
 * every k. Each time the status is GSM_OUT_OF_MEMORY and nothing is left allocated; with all calls granted,
 * the matrix is right. The linker routes the library's calls here (--wrap). */
#define _POSIX_C_SOURCE 200809L

#include "block.h"
#include "check.h"

#include <stdlib.h>
#include <string.h>
#include <unistd.h>

static long calls;   /* since the last reset */
static long fail_at; /* the call that fails, from 1; 0: none */

void *__real_malloc(size_t size);
void *__real_calloc(size_t count, size_t size);
void *__real_realloc(void *block, size_t size);
char *__real_strndup(const char *text, size_t length);
void *__wrap_malloc(size_t size);
void *__wrap_calloc(size_t count, size_t size);
void *__wrap_realloc(void *block, size_t size);
char *__wrap_strndup(const char *text, size_t length);

static bool fails_now(void) {
    return ++calls == fail_at;
}

void *__wrap_malloc(size_t size) {
    return fails_now() ? NULL : __real_malloc(size);
}

void *__wrap_calloc(size_t count, size_t size) {
    return fails_now() ? NULL : __real_calloc(count, size);
}

void *__wrap_realloc(void *block, size_t size) {
    return fails_now() ? NULL : __real_realloc(block, size);
}

char *__wrap_strndup(const char *text, size_t length) {
    return fails_now() ? NULL : __real_strndup(text, length);
}

static void exhaust(const char *spec, uint64_t fingerprint) {
    for (long k = 1; k < 10000; k++) {
        gsm_matrix a;
        char message[200];
        calls = 0;
        fail_at = k;
        int status = gsm_load(spec, &a, message, sizeof message);
        fail_at = 0;
        if (calls < k) {
            CHECK(k > 3 && status == GSM_SUCCESS, "%s with every call granted (%ld): %s", spec, calls,
                  message);
            CHECK(status != GSM_SUCCESS || gsm_fingerprint(&a) == fingerprint, "%s", spec);
            gsm_free(&a);
            return;
        }
        CHECK(status == GSM_OUT_OF_MEMORY && strcmp(message, "out of memory") == 0, "%s, call %ld: %s: %s",
              spec, k, gsm_status_name(status), message);
        CHECK(a.colptr == NULL && a.rowidx == NULL && a.values == NULL, "%s, call %ld", spec, k);
        gsm_free(&a);
    }
    CHECK(false, "%s: no end", spec);
}

/* The same of a block that is 3000 x 2 or 80 x 80; its last number is 7. */
static void exhaust_block(const char *path) {
    for (long k = 1; k < 100; k++) {
        gsm_block b;
        char message[200];
        calls = 0;
        fail_at = k;
        int status = gsm_load_block(path, -1, &b, message, sizeof message);
        fail_at = 0;
        if (calls < k) {
            CHECK(k > 3 && status == GSM_SUCCESS, "%s with every call granted (%ld): %s", path, calls,
                  message);
            CHECK(status != GSM_SUCCESS || (b.rows * b.cols > 5999 && b.values[b.rows * b.cols - 1] == 7),
                  "%s", path);
            gsm_free_block(&b);
            return;
        }
        CHECK(status == GSM_OUT_OF_MEMORY && strcmp(message, "out of memory") == 0, "%s, call %ld: %s: %s",
              path, k, gsm_status_name(status), message);
        CHECK(b.values == NULL && b.rows == 0, "%s, call %ld", path, k);
        gsm_free_block(&b);
    }
    CHECK(false, "%s: no end", path);
}

static void exhaust_blocks(const char *path) {
    static const char *const headers[] = {"array real general\n3000 2\n", "array real symmetric\n80 80\n",
                                          "coordinate real general\n3000 2 1\n"};
    static const int numbers[] = {6000, 80 * 81 / 2, 0};
    for (int h = 0; h < 3; h++) {
        FILE *file = fopen(path, "w");
        CHECK(file != NULL, "cannot write %s", path);
        if (file == NULL)
            return;
        (void)fprintf(file, "%%%%MatrixMarket matrix %s", headers[h]);
        for (int i = 0; i < numbers[h]; i++) {
            (void)fprintf(file, "7\n");
        }
        (void)fprintf(file, "%s", numbers[h] ? "" : "3000 2 7\n");
        CHECK(fclose(file) == 0, "cannot write %s", path);
        exhaust_block(path);
    }
}

static uint64_t fingerprint_of(const char *spec) {
    gsm_matrix a;
    char message[200];
    int status = gsm_load(spec, &a, message, sizeof message);
    CHECK(status == GSM_SUCCESS, "%s: %s", spec, message);
    uint64_t hash = status == GSM_SUCCESS ? gsm_fingerprint(&a) : 0;
    gsm_free(&a);
    return hash;
}

int main(void) {
    static const char *const generators[] = {"grid2d:4",
                                             "grid3d27:3",
                                             "elasticity3d:3",
                                             "shell:3",
                                             "rgg2d:60",
                                             "diag:5",
                                             "tridiag:100",
                                             "arrow:40,3,2",
                                             "forest:300",
                                             "shell:2@c",
                                             "rgg3d:60",
                                             "randomgraph:60,3",
                                             "powerlaw:60,2",
                                             "contrast:3:grid2d:4",
                                             "sequence:9:grid2d:4@c",
                                             "tetelasticity3d:3"};
    for (size_t g = 0; g < sizeof generators / sizeof generators[0]; g++) {
        exhaust(generators[g], fingerprint_of(generators[g]));
    }

    /* A general file whose entries come in the wrong order and outgrow the first block, found by name. One entry above
     * the diagonal is so small that it needs no mirror image in the file. */
    char folder[] = "/tmp/test_matrix_allocation.XXXXXX", path[200];
    if (mkdtemp(folder) == NULL || setenv("GPUSOLVE_MATRICES", folder, 1) != 0) {
        perror(folder);
        return 1;
    }
    (void)snprintf(path, sizeof path, "%s/gsm_some.mtx", folder);
    FILE *file = fopen(path, "w");
    if (file == NULL) {
        perror(path);
        return 1;
    }
    enum { ORDER = 5000 };
    (void)fprintf(file, "%%%%MatrixMarket matrix coordinate complex general\n%d %d %d\n", ORDER, ORDER,
                  3 * ORDER - 1);
    for (int i = ORDER; i >= 1; i--) {
        (void)fprintf(file, "%d %d 4 0\n", i, i);
        if (i < ORDER) {
            (void)fprintf(file, "%d %d 0.5 1\n%d %d 0.5 -1\n", i + 1, i, i, i + 1);
        }
    }
    (void)fprintf(file, "1 %d 1e-20 0\n", ORDER);
    CHECK(fclose(file) == 0, "cannot write %s", path);
    exhaust("Group/gsm_some", fingerprint_of(path));
    exhaust_blocks(path);
    (void)remove(path);
    (void)rmdir(folder);
    return report("test_matrix_allocation");
}
