/* fingerprint SPEC...: loads each matrix and prints one line of six columns separated by tabs: spec, n,
 * stored entries (lower triangle), nonzeros (both triangles), field, fingerprint. fingerprint --list prints
 * the generators. Exit status: 0, 1 if any matrix could not be loaded, 2 on wrong usage. */
#include "matrix.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

int main(int argc, char **argv) {
    if (argc < 2) {
        (void)fprintf(stderr, "usage: fingerprint --list | SPEC...\n");
        return 2;
    }
    if (strcmp(argv[1], "--list") == 0) {
        (void)fputs(gsm_generators(), stdout);
        return 0;
    }
    int failed = 0;
    for (int a = 1; a < argc; a++) {
        char message[512];
        gsm_matrix matrix;
        int status = gsm_load(argv[a], &matrix, message, sizeof message);
        if (status != GSM_SUCCESS) {
            (void)fprintf(stderr, "fingerprint: %s: %s: %s\n", argv[a], gsm_status_name(status), message);
            failed = 1;
            continue;
        }
        (void)printf("%s\t%" PRId64 "\t%" PRId64 "\t%" PRId64 "\t%s\t%016" PRIx64 "\n", argv[a], matrix.n,
                     matrix.nnz, gsm_nonzeros(&matrix), matrix.is_complex ? "complex" : "real",
                     gsm_fingerprint(&matrix));
        gsm_free(&matrix);
    }
    return failed;
}
