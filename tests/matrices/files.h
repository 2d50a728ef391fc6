/* What the tests of the Matrix Market reader share: a folder of their own with files in it, and what is true of a matrix
 * that was refused. A program that includes this defines _POSIX_C_SOURCE first. */
#ifndef GPUSOLVE_TESTS_MATRICES_FILES_H
#define GPUSOLVE_TESTS_MATRICES_FILES_H

#include "check.h"

#include <dirent.h>
#include <stdlib.h>
#include <unistd.h>

static char folder[] = "/tmp/test_matrix.XXXXXX";

#define REAL "%%MatrixMarket matrix coordinate real symmetric\n"
#define HERMITIAN "%%MatrixMarket matrix coordinate complex hermitian\n"
#define GENERAL "%%MatrixMarket matrix coordinate real general\n"
#define COMPLEX_GENERAL "%%MatrixMarket matrix coordinate complex general\n"
#define INTEGER "%%MatrixMarket matrix coordinate integer symmetric\n"
#define INTEGER_GENERAL "%%MatrixMarket matrix coordinate integer general\n"

/* Writes bytes to a file of the test's folder. Returns its path, which lives until the next call. */
static inline const char *write_file(const char *name, const void *bytes, size_t size) {
    static char path[512];
    (void)snprintf(path, sizeof path, "%s/%s", folder, name);
    FILE *file = fopen(path, "wb");
    bool written = file != NULL && fwrite(bytes, 1, size, file) == size;
    written = file != NULL && fclose(file) == 0 && written;
    CHECK(written, "cannot write %s", path);
    return path;
}

static inline int load_text(const char *text, gsm_matrix *a, char *message, size_t size) {
    return gsm_load(write_file("text.mtx", text, strlen(text)), a, message, size);
}

/* All zero and nothing to release: AddressSanitizer and valgrind see what leaks. */
static inline void check_refused(const char *what, int status, int expected, const char *message,
                                 const char *said, const gsm_matrix *a) {
    CHECK(status == expected, "%s: %s: %s", what, gsm_status_name(status), message);
    CHECK(strstr(message, said) != NULL, "%s: message '%s' does not say '%s'", what, message, said);
    CHECK(a->colptr == NULL && a->rowidx == NULL && a->values == NULL && a->n == 0 && a->nnz == 0, "%s",
          what);
}

static inline bool make_folder(void) {
    if (mkdtemp(folder) == NULL) {
        perror(folder);
        return false;
    }
    return true;
}

/* Removes a folder of files. */
static inline void remove_files(const char *path) {
    DIR *list = opendir(path);
    char name[1024];
    for (const struct dirent *entry; list != NULL && (entry = readdir(list)) != NULL;) {
        if (entry->d_name[0] != '.') {
            (void)snprintf(name, sizeof name, "%s/%s", path, entry->d_name);
            (void)remove(name);
        }
    }
    if (list != NULL) {
        (void)closedir(list);
    }
    CHECK(rmdir(path) == 0, "%s is not empty", path);
}

#endif
