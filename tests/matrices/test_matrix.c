/* gsm_load on files: what is read is right, packed and damaged files are read or refused, and the fingerprint depends
 * on the matrix alone. Needs no file from elsewhere; test_matrix_files has every form and every refusal. */
#define _POSIX_C_SOURCE 200809L

#include "files.h"

#include <inttypes.h>
#include <locale.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>
#include <zlib.h>

static uint64_t fingerprint_of(const char *text) {
    gsm_matrix a;
    char message[300];
    int status = load_text(text, &a, message, sizeof message);
    CHECK(status == GSM_SUCCESS, "%s", message);
    uint64_t hash = status == GSM_SUCCESS ? gsm_fingerprint(&a) : 0;
    gsm_free(&a);
    return hash;
}

/* The 3 x 3 matrix that most good files hold. */
static void check_three(const char *what, const char *text) {
    static const int64_t colptr[] = {0, 2, 4, 5};
    static const int32_t rowidx[] = {0, 2, 1, 2, 2};
    static const double values[] = {4, -1.5, 5, 0.25, 6};
    gsm_matrix a;
    char message[300];
    int status = load_text(text, &a, message, sizeof message);
    CHECK(status == GSM_SUCCESS && message[0] == '\0', "%s: %s", what, message);
    if (status == GSM_SUCCESS) {
        CHECK(a.n == 3 && a.nnz == 5 && a.is_complex == 0 && strcmp(a.name, "text") == 0, "%s", what);
        CHECK(structure_is_valid(&a), "%s", what);
        CHECK(memcmp(a.colptr, colptr, sizeof colptr) == 0 && memcmp(a.rowidx, rowidx, sizeof rowidx) == 0,
              "%s", what);
        CHECK(memcmp(a.values, values, sizeof values) == 0, "%s", what);
        CHECK(gsm_nonzeros(&a) == 7, "%s", what);
    }
    gsm_free(&a);
    CHECK(a.colptr == NULL && a.n == 0, "%s", what);
}

static void test_good_files(void) {
    check_three("sorted", REAL "3 3 5\n1 1 4\n3 1 -1.5\n2 2 5\n3 2 .25\n3 3 6\n");
    check_three("unsorted", REAL "3 3 5\n3 3 6\n3 2 0.25\n1 1 4\n2 2 5\n3 1 -1.5\n");
    check_three("upper triangle", REAL "3 3 5\n1 1 4\n2 2 5\n1 3 -1.5\n2 3 0.25\n3 3 6\n");
    check_three("no last newline", REAL "3 3 5\n1 1 4\n3 1 -1.5\n2 2 5\n3 2 0.25\n3 3 6");
    check_three("carriage returns",
                "%%MatrixMarket matrix coordinate real symmetric\r\n% c\r\n3 3 5\r\n1 1 4\r\n3 1 -1.5\r\n"
                "2 2 5\r\n3 2 0.25\r\n3 3 6\r\n");
    check_three("case, blanks, comments",
                "%%matrixmarket MATRIX Coordinate REAL Symmetric\n%\n\n% x y z\n  3\t3 5 \n\n1 1 +4.\n"
                " 3 1 -15e-1\n2 2 5E0\n\n3 2 2500.0e-4\n3 3 6\n\n  \n");
    check_three("general", GENERAL "3 3 7\n1 1 4\n3 1 -1.5\n2 2 5\n3 2 0.25\n1 3 -1.5\n2 3 0.25\n3 3 6\n");
    check_three("general, a zero without its mirror",
                GENERAL "3 3 8\n1 2 0\n1 1 4\n3 1 -1.5\n2 2 5\n3 2 0.25\n1 3 -1.5\n2 3 0.25\n3 3 6\n");

    gsm_matrix a;
    char message[300];
    CHECK(load_text(HERMITIAN "2 2 3\n1 1 2 0\n1 2 0.5 -3\n2 2 40 0\n", &a, message, sizeof message) ==
              GSM_SUCCESS,
          "%s", message);
    CHECK(a.is_complex == 1 && a.nnz == 3 && structure_is_valid(&a), "Hermitian");
    CHECK(a.values != NULL && a.values[2] == 0.5 && a.values[3] == 3.0, "the mirror image is conjugated");
    gsm_free(&a);
    CHECK(load_text(COMPLEX_GENERAL "2 2 4\n1 1 2 0\n1 2 0.5 -3\n2 1 0.5 3\n2 2 40 0\n", &a, message,
                    sizeof message) == GSM_SUCCESS,
          "%s", message);
    CHECK(a.nnz == 3 && a.values[3] == 3.0, "complex general");
    gsm_free(&a);
    CHECK(load_text(INTEGER "1 1 1\n1 1 9007199254740992\n", &a, message, sizeof message) == GSM_SUCCESS,
          "%s", message);
    CHECK(a.values != NULL && a.values[0] == 9007199254740992.0, "2^53");
    gsm_free(&a);
    CHECK(load_text(REAL "0 0 0\n", &a, message, sizeof message) == GSM_SUCCESS, "%s", message);
    CHECK(a.n == 0 && a.nnz == 0 && structure_is_valid(&a), "order 0");
    gsm_free(&a);
}

/* A packed file: whole, cut off at every length, with its checksum or its data damaged. */
static void test_packed_files(void) {
    static const char text[] = REAL "3 3 5\n1 1 4\n3 1 -1.5\n2 2 5\n3 2 .25\n3 3 6\n";
    char path[512];
    (void)snprintf(path, sizeof path, "%s/packed.mtx.gz", folder);
    gzFile packed = gzopen(path, "wb");
    CHECK(packed != NULL && gzwrite(packed, text, sizeof text - 1) > 0 && gzclose(packed) == Z_OK,
          "cannot write %s", path);
    unsigned char bytes[512];
    FILE *file = fopen(path, "rb");
    size_t size = file == NULL ? 0 : fread(bytes, 1, sizeof bytes, file);
    if (file != NULL) {
        (void)fclose(file);
    }
    gsm_matrix a;
    char message[400];
    int status = gsm_load(path, &a, message, sizeof message);
    CHECK(status == GSM_SUCCESS, "%s", message);
    CHECK(status != GSM_SUCCESS || gsm_fingerprint(&a) == fingerprint_of(text),
          "packing changes the fingerprint");
    CHECK(strcmp(a.name, "packed") == 0, "%s", a.name);
    gsm_free(&a);
    for (size_t length = 2; length < size; length++) { /* shorter ones are not gzip's and read as text */
        status = gsm_load(write_file("cut.mtx.gz", bytes, length), &a, message, sizeof message);
        CHECK(status == GSM_IO_ERROR || status == GSM_BAD_FILE, "cut at %zu: %s", length,
              gsm_status_name(status));
        CHECK(length < 24 || strstr(message, "cannot be read to its end") != NULL, "cut at %zu: %s", length,
              message);
        gsm_free(&a);
    }
    CHECK(size > 40, "%zu bytes", size);
    bytes[size - 6] ^= 1; /* the checksum */
    status = gsm_load(write_file("damaged.mtx.gz", bytes, size), &a, message, sizeof message);
    check_refused("checksum", status, GSM_IO_ERROR, message, "cannot be read", &a);
    status = gsm_load(folder, &a, message, sizeof message);
    CHECK(status == GSM_NOT_FOUND, "a folder: %s", gsm_status_name(status));
    status = gsm_load("/nowhere/at/all.mtx", &a, message, sizeof message);
    check_refused("absent", status, GSM_NOT_FOUND, message, "/nowhere/at/all.mtx", &a);
    (void)snprintf(path, sizeof path, "%s/folder.mtx", folder);
    CHECK(mkdir(path, 0700) == 0, "%s", path);
    status = gsm_load(path, &a, message, sizeof message);
    check_refused("a folder", status, GSM_IO_ERROR, message, "cannot be read", &a);
    (void)rmdir(path);
}

/* Numbers in every length come out as strtod reads them, whatever the locale. */
static void test_numbers(void) {
    enum { COUNT = 4000 };
    static char text[COUNT * 64];
    static double expected[COUNT];
    uint64_t state = 12345;
    size_t length = (size_t)snprintf(text, sizeof text, "%s%d %d %d\n", REAL, COUNT, COUNT, COUNT);
    for (int i = 0; i < COUNT; i++) {
        state = state * UINT64_C(6364136223846793005) + UINT64_C(1442695040888963407);
        double v = ((double)(state >> 11) - 4503599627370496.0) * pow(10.0, (double)(i % 60) - 40.0);
        char number[40];
        (void)snprintf(number, sizeof number, i % 3 == 0 ? "%.*e" : "%.*g", i % 20, v);
        expected[i] = strtod(number, NULL);
        char *letter = strchr(number, 'e');
        if (letter != NULL && i % 2 == 0) { /* as Fortran writes it */
            *letter = i % 4 == 0 ? 'D' : 'd';
        }
        length += (size_t)snprintf(text + length, sizeof text - length, "%d %d %s\n", i + 1, i + 1, number);
    }
    static const char *const locales[] = {"C", "de_DE.UTF-8", "fr_FR.UTF-8"};
    for (size_t l = 0; l < 3; l++) {
        if (setlocale(LC_NUMERIC, locales[l]) == NULL) {
            (void)printf("skipped: numbers in the locale %s, which is not installed\n", locales[l]);
            continue;
        }
        gsm_matrix a;
        char message[300];
        int status = load_text(text, &a, message, sizeof message);
        CHECK(status == GSM_SUCCESS, "locale %s: %s", locales[l], message);
        for (int i = 0; status == GSM_SUCCESS && i < COUNT; i++) {
            CHECK(a.values[i] == expected[i], "locale %s: entry %d is %.17g, not %.17g", locales[l], i,
                  a.values[i], expected[i]);
        }
        gsm_free(&a);
    }
    (void)setlocale(LC_NUMERIC, "C");
}

/* Files damaged at random are read or refused, never worse; what is read is valid. */
static void test_damaged_files(void) {
    static const char *const bases[] = {
        REAL "% name: A/b\n3 3 5\n1 1 4\n3 1 -1.5e0\n2 2 5\n3 2 .25\n3 3 6\n",
        GENERAL "3 3 7\n1 1 4\n3 1 -1.5\n2 2 5\n3 2 0.25\n1 3 -1.5\n2 3 0.25\n3 3 6\n",
        HERMITIAN "2 2 3\n1 1 2 0\n1 2 0.5 -3\n2 2 40 0\n",
    };
    static const char alphabet[] = "0123456789.+-eE \n\t%\r1112223ncx";
    uint64_t state = 1;
    int read = 0;
    for (int k = 0; k < 1500; k++) {
        char text[300], message[300];
        size_t length = strlen(bases[k % 3]);
        memcpy(text, bases[k % 3], length);
        for (int change = 0; change <= k % 4; change++) {
            state = state * UINT64_C(6364136223846793005) + UINT64_C(1442695040888963407);
            size_t at = 40 + (size_t)(state >> 33) % (length - 40), what = (size_t)(state >> 20) % 40;
            if (what < 2) {
                length = at + 1;
            } else if (what < 10) {
                memmove(text + at + 1, text + at, length - at);
                length++;
            }
            text[at] = what == 39 ? (char)(state >> 50) : alphabet[(state >> 40) % (sizeof alphabet - 1)];
            length = length < 42 ? 42 : length;
        }
        gsm_matrix a;
        int status = gsm_load(write_file("text.mtx", text, length), &a, message, sizeof message);
        CHECK(status == GSM_SUCCESS || status == GSM_BAD_FILE || status == GSM_UNSUPPORTED, "%d: %s", k,
              message);
        CHECK((status == GSM_SUCCESS) == (message[0] == '\0'), "%d: %s", k, message);
        CHECK(status == GSM_SUCCESS ? structure_is_valid(&a) : a.colptr == NULL, "%d", k);
        read += status == GSM_SUCCESS;
        gsm_free(&a);
    }
    CHECK(read > 75 && read < 1425, "%d of 1500 damaged files were read", read);
}

static void test_norm(void) {
    gsm_matrix a = {0};
    CHECK(gsm_load("grid2d:3", &a, NULL, 0) == GSM_SUCCESS && gsm_norm(&a) == 8,
          "Laplacian: 4 + 4 neighbours");
    if (a.values) {
        a.values[0] = -100;
        CHECK(gsm_norm(&a) == 102, "a corner of -100 and two neighbours");
        a.values[0] = NAN;
        CHECK(isnan(gsm_norm(&a)), "NaN");
    }
    gsm_free(&a);
}

static void test_fingerprint(void) {
    static const char base[] = REAL "3 3 5\n1 1 4\n3 1 -1.5\n2 2 5\n3 2 .25\n3 3 6\n";
    uint64_t hash = fingerprint_of(base);
    CHECK(hash == UINT64_C(0x3a4b5058f5c0d468), "%016" PRIx64, hash);
    CHECK(hash == fingerprint_of(REAL "3 3 5\n3 3 6e0\n2 3 25e-2\n1 1 4\n2 2 5.0\n3 1 -1.50\n"),
          "order, triangle and digits");
    CHECK(hash == fingerprint_of(REAL "3 3 6\n1 1 4\n2 1 0\n3 1 -1.5\n2 2 5\n3 2 .25\n3 3 6\n"),
          "explicit zero");
    CHECK(hash == fingerprint_of(REAL "3 3 6\n1 1 4\n2 1 -0\n3 1 -1.5\n2 2 5\n3 2 .25\n3 3 6\n"),
          "negative zero");
    CHECK(fingerprint_of(HERMITIAN "2 2 3\n1 1 2 0\n2 1 0 1\n2 2 2 -0\n") ==
              fingerprint_of(HERMITIAN "2 2 3\n1 1 2 0\n2 1 -0 1\n2 2 2 0\n"),
          "negative zero as a part");
    static const char *const others[] = {
        REAL "3 3 5\n1 1 4\n3 1 1.5\n2 2 5\n3 2 .25\n3 3 6\n",                 /* one sign */
        REAL "3 3 5\n1 1 4\n3 1 1.5\n2 2 5\n3 2 -.25\n3 3 6\n",                /* two signs */
        REAL "3 3 5\n1 1 4\n3 1 .25\n2 2 5\n3 2 -1.5\n3 3 6\n",                /* values exchanged */
        REAL "3 3 5\n1 1 4\n2 1 -1.5\n2 2 5\n3 2 .25\n3 3 6\n",                /* a position */
        REAL "3 3 5\n1 1 4\n3 1 -1.5000000000000002\n2 2 5\n3 2 .25\n3 3 6\n", /* the last bit */
        REAL "4 4 6\n1 1 4\n3 1 -1.5\n2 2 5\n3 2 .25\n3 3 6\n4 4 0\n",         /* the order */
        HERMITIAN "3 3 5\n1 1 4 0\n3 1 -1.5 0\n2 2 5 0\n3 2 .25 0\n3 3 6 0\n", /* the field */
    };
    for (size_t k = 0; k < sizeof others / sizeof others[0]; k++) {
        CHECK(fingerprint_of(others[k]) != hash, "change %zu leaves the fingerprint as it was", k);
    }
}

/* The part of a spec that the message on its absence repeats. */
static const char *absent_name(const char *spec) {
    return strcmp(spec, "Good/gsm_absent") == 0 ? "gsm_absent" : spec;
}

#define LONG_NAME "a_name_of_forty_bytes_0123456789abcdefghi"

static void test_search_path(void) {
    char path[512], spec[600], message[600];
    gsm_matrix a;
    static const char plain[] = REAL "1 1 1\n1 1 7\n", named[] = REAL "% name: Good/in_group\n1 1 1\n1 1 8\n";
    (void)write_file("gsm_plain.mtx", plain, sizeof plain - 1);
    (void)snprintf(path, sizeof path, "%s/Good", folder);
    CHECK(mkdir(path, 0700) == 0, "%s", path);
    (void)write_file("Good/in_group.mtx", named, sizeof named - 1);
    (void)snprintf(spec, sizeof spec, "/nowhere:%s::", folder);
    CHECK(setenv("GPUSOLVE_MATRICES", spec, 1) == 0, "setenv");
    CHECK(gsm_load("gsm_plain", &a, message, sizeof message) == GSM_SUCCESS, "%s", message);
    CHECK(a.values != NULL && a.values[0] == 7.0 && strcmp(a.name, "gsm_plain") == 0, "NAME");
    gsm_free(&a);
    CHECK(gsm_load("Any/gsm_plain", &a, message, sizeof message) == GSM_SUCCESS, "%s", message);
    gsm_free(&a);
    CHECK(gsm_load("Good/in_group", &a, message, sizeof message) == GSM_SUCCESS, "%s", message);
    CHECK(a.values != NULL && a.values[0] == 8.0 && strcmp(a.name, "in_group") == 0, "GROUP/NAME");
    gsm_free(&a);
    (void)write_file("in_group.mtx", named, sizeof named - 1);
    static const char long_name[] = LONG_NAME LONG_NAME;
    const char *long_path = write_file(LONG_NAME LONG_NAME ".mtx", plain, sizeof plain - 1);
    CHECK(gsm_load(long_path, &a, message, sizeof message) == GSM_SUCCESS, "%s", message);
    CHECK(strlen(a.name) == 63 && strncmp(a.name, long_name, 63) == 0, "a long name is cut: %s", a.name);
    gsm_free(&a);
    (void)remove(long_path);
    check_refused("wrong group", gsm_load("Bad/in_group", &a, message, sizeof message), GSM_BAD_FILE, message,
                  "Good/in_group, not of the group Bad", &a);
    static const char *const absent[] = {"gsm_absent", "Good/gsm_absent", "",        "/", "Good/",
                                         "a/b/c",      "../gsm_plain",    "grid9d:4"};
    for (size_t k = 0; k < sizeof absent / sizeof absent[0]; k++) {
        check_refused(absent[k], gsm_load(absent[k], &a, message, sizeof message), GSM_NOT_FOUND, message,
                      absent_name(absent[k]), &a);
    }
    (void)unsetenv("GPUSOLVE_MATRICES");
    check_refused("unset", gsm_load("gsm_plain", &a, message, sizeof message), GSM_NOT_FOUND, message,
                  "not set", &a);
}

static void test_arguments(void) {
    gsm_matrix a;
    char message[10];
    CHECK(gsm_load(NULL, &a, message, sizeof message) == GSM_INVALID_ARGUMENT && a.colptr == NULL,
          "spec NULL");
    CHECK(gsm_load("diag:1", NULL, message, sizeof message) == GSM_INVALID_ARGUMENT, "out NULL");
    CHECK(gsm_load("diag:1", &a, NULL, 5) == GSM_INVALID_ARGUMENT && a.colptr == NULL, "message NULL");
    CHECK(gsm_load("diag:x", &a, NULL, 0) == GSM_INVALID_ARGUMENT, "no message");
    memset(message, 'x', sizeof message);
    CHECK(gsm_load("diag:x", &a, message, 5) == GSM_INVALID_ARGUMENT, "short message");
    CHECK(strlen(message) == 4 && message[5] == 'x', "short message");
    CHECK(gsm_load("diag:1", &a, NULL, 0) == GSM_SUCCESS, "no message");
    gsm_free(&a);
    gsm_free(&a);
    gsm_free(NULL);
    CHECK(strcmp(gsm_status_name(GSM_BAD_FILE), "GSM_BAD_FILE") == 0, "%s", gsm_status_name(GSM_BAD_FILE));
    CHECK(strcmp(gsm_status_name(-1), "unknown status") == 0 &&
              strcmp(gsm_status_name(99), "unknown status") == 0,
          "names");
}

int main(void) {
    if (!make_folder()) {
        return 1;
    }
    test_good_files();
    test_packed_files();
    test_numbers();
    test_damaged_files();
    test_fingerprint();
    test_norm();
    test_search_path();
    test_arguments();
    char path[512];
    (void)snprintf(path, sizeof path, "%s/Good", folder);
    remove_files(path);
    remove_files(folder);
    return report("test_matrix");
}
