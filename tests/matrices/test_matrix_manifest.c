/* Every matrix of MANIFEST.tsv that is on the search path has the order, the nonzeros, the field and the
 * fingerprint that stand there. Matrices that are not there are counted and said; without any, the test is
 * skipped (77). The smallest of a family that is defined by a formula is always made and compared, so the
 * fingerprints of the manifest are never taken on trust alone. */
#define _POSIX_C_SOURCE 200809L

#include "check.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#ifndef GSM_MANIFEST
#define GSM_MANIFEST "matrices/MANIFEST.tsv"
#endif

enum { GROUP, NAME, ORDER, NONZEROS, KIND, SPD, FIELD, FINGERPRINT, SOURCE, COLUMNS };

/* Splits a line at its tabs; true if it has all columns. */
static bool split(char *line, char *column[COLUMNS]) {
    line[strcspn(line, "\n")] = '\0';
    for (int c = 0; c < COLUMNS; c++) {
        column[c] = line;
        char *tab = strchr(line, '\t');
        if ((tab == NULL) != (c == COLUMNS - 1)) {
            return false;
        }
        if (tab != NULL) {
            *tab = '\0';
            line = tab + 1;
        }
    }
    return true;
}

static void compare(char *const column[COLUMNS], const gsm_matrix *a) {
    const char *name = column[NAME];
    CHECK(structure_is_valid(a), "%s", name);
    CHECK(a->n == strtoll(column[ORDER], NULL, 10), "%s: n %" PRId64, name, a->n);
    CHECK(gsm_nonzeros(a) == strtoll(column[NONZEROS], NULL, 10), "%s: %" PRId64 " nonzeros", name,
          gsm_nonzeros(a));
    CHECK(strcmp(column[FIELD], a->is_complex ? "complex hermitian" : "real symmetric") == 0, "%s: %s", name,
          column[FIELD]);
    if (strcmp(column[FINGERPRINT], "-") != 0) {
        char hash[17];
        (void)snprintf(hash, sizeof hash, "%016" PRIx64, gsm_fingerprint(a));
        CHECK(strcmp(column[FINGERPRINT], hash) == 0, "%s: %s, not %s", name, hash, column[FINGERPRINT]);
    }
}

static bool is_prime(int k) {
    for (int d = 2; d * d <= k; d++) {
        if (k % d == 0) {
            return false;
        }
    }
    return k > 1;
}

/* Trefethen_20: the primes on the diagonal and ones where |i - j| is a power of two. */
static bool make_trefethen(gsm_matrix *a) {
    char folder[] = "/tmp/test_matrix_manifest.XXXXXX", path[100], message[300];
    if (mkdtemp(folder) == NULL) {
        return false;
    }
    (void)snprintf(path, sizeof path, "%s/Trefethen_20.mtx", folder);
    FILE *out = fopen(path, "w");
    if (out == NULL) {
        return false;
    }
    (void)fprintf(out, "%%%%MatrixMarket matrix coordinate integer symmetric\n20 20 89\n");
    for (int j = 1, prime = 2; j <= 20; j++, prime++) {
        while (!is_prime(prime)) {
            prime++;
        }
        (void)fprintf(out, "%d %d %d\n", j, j, prime);
        for (int step = 1; j + step <= 20; step *= 2) {
            (void)fprintf(out, "%d %d 1\n", j + step, j);
        }
    }
    bool written = fclose(out) == 0;
    int status = gsm_load(path, a, message, sizeof message);
    CHECK(written && status == GSM_SUCCESS, "%s", message);
    (void)remove(path);
    (void)rmdir(folder);
    return status == GSM_SUCCESS;
}

int main(void) {
    FILE *manifest = fopen(GSM_MANIFEST, "r");
    if (manifest == NULL) {
        perror(GSM_MANIFEST);
        return 1;
    }
    char line[1024], message[600];
    int compared = 0, absent = 0, rows = 0, made = 0;
    while (fgets(line, sizeof line, manifest) != NULL) {
        char *column[COLUMNS];
        if (line[0] == '#') {
            continue;
        }
        bool complete = split(line, column);
        CHECK(complete, "line of %s with other than %d columns", GSM_MANIFEST, COLUMNS);
        if (!complete || rows++ == 0) { /* the first row holds the titles */
            continue;
        }
        gsm_matrix a;
        if (strcmp(column[NAME], "Trefethen_20") == 0 && make_trefethen(&a)) {
            compare(column, &a);
            made++;
            gsm_free(&a);
        }
        if (strtoll(column[NONZEROS], NULL, 10) > 20000000) {
            (void)printf("skipped: %s, too large for a test\n", column[NAME]);
            continue;
        }
        char spec[2 * sizeof line];
        bool in_collection = strcmp(column[GROUP], "-") != 0;
        (void)snprintf(spec, sizeof spec, "%s%s%s", in_collection ? column[GROUP] : "",
                       in_collection ? "/" : "", column[NAME]);
        int status = gsm_load(spec, &a, message, sizeof message);
        if (status == GSM_SUCCESS) {
            compare(column, &a);
            compared++;
        } else {
            CHECK(status == GSM_NOT_FOUND, "%s: %s", spec, message);
            absent++;
        }
        gsm_free(&a);
    }
    (void)fclose(manifest);
    CHECK(rows > 60, "%d rows", rows);
    CHECK(made == 1, "Trefethen_20 is not in the manifest");
    (void)printf("%d matrices compared with the manifest, %d skipped: not on the search path\n", compared,
                 absent);
    int status = report("test_matrix_manifest");
    return status == 0 && compared == 0 ? 77 : status;
}
