/* Every form of a Matrix Market file that gsm_load takes, and every refusal with its whole message: the path, the line,
 * the column where there is one, and the fault. Needs no file from elsewhere. */
#define _POSIX_C_SOURCE 200809L

#include "files.h"

#include <stdlib.h>
#include <string.h>

/* ------------------------------------------------------------------------------------------- forms --- */

/* Reads text, which must hold the matrix with these entries. */
static void check_matrix(const char *what, const char *text, int64_t n, int64_t nnz, const int32_t *row,
                         const double *value) {
    gsm_matrix a;
    char message[400];
    int status = load_text(text, &a, message, sizeof message);
    CHECK(status == GSM_SUCCESS && message[0] == '\0', "%s: %s", what, message);
    if (status == GSM_SUCCESS) {
        size_t parts = a.is_complex ? 2 : 1;
        CHECK(structure_is_valid(&a) && a.n == n && a.nnz == nnz, "%s: order %d, %d entries", what, (int)a.n,
              (int)a.nnz);
        CHECK(a.nnz == nnz && memcmp(a.rowidx, row, (size_t)nnz * sizeof *row) == 0, "%s: rows", what);
        for (size_t k = 0; a.nnz == nnz && k < parts * (size_t)nnz; k++) {
            CHECK(a.values[k] == value[k], "%s: number %d is %.17g, not %.17g", what, (int)k, a.values[k],
                  value[k]);
        }
    }
    gsm_free(&a);
}

static void test_line_ends(void) {
    static const int32_t row[] = {0, 1, 1};
    static const double value[] = {4, -1.5, 5};
    static const char banner[] = "%%MatrixMarket matrix coordinate real symmetric";
    static const char *const ends[] = {"\n", "\r\n", "\r"};
    for (size_t e = 0; e < 3; e++) {
        const char *end = ends[e];
        for (int last = 0; last < 2; last++) { /* with and without an end of the last line */
            char text[300];
            (void)snprintf(text, sizeof text, "%s%s%% a comment%s2 2 3%s1 1 4%s%s2 1 -1.5%s2 2 5%s", banner,
                           end, end, end, end, end, end, last ? end : "");
            check_matrix(e == 0 ? "LF" : e == 1 ? "CR LF" : "CR", text, 2, 3, row, value);
            (void)snprintf(text, sizeof text, "%s%s%% a comment%s2 2 3%s1 1 4%s%s2 1 x%s2 2 5%s", banner, end,
                           end, end, end, end, end, last ? end : "");
            gsm_matrix a;
            char message[400];
            int status = load_text(text, &a, message, sizeof message);
            check_refused("the line's number", status, GSM_BAD_FILE, message,
                          "text.mtx:6:5: the value 'x' is not a number", &a);
        }
    }
    check_matrix("mixed",
                 "%%MatrixMarket matrix coordinate real symmetric\r2 2 3\n1 1 4\r\n2 1 -1.5\r2 2 5\n", 2, 3,
                 row, value);
    check_matrix("CR CR LF",
                 "%%MatrixMarket matrix coordinate real symmetric\r\r\n2 2 3\r\r\n1 1 4\n2 1 -1.5\n2 2 5", 2,
                 3, row, value);
}

/* The end of a line falls on the border between two blocks, which are of 2^18 bytes. */
static void test_border(void) {
    enum { BLOCK = 1 << 18 };
    static const char *const ends[] = {"\n", "\r\n", "\r"};
    char *text = malloc(BLOCK + 200);
    CHECK(text != NULL, "out of memory");
    for (int e = 0; text != NULL && e < 3; e++) {
        for (int shift = -3; shift <= 3; shift++) {
            size_t length = (size_t)snprintf(text, 100, "%s%%", REAL);
            while (length < (size_t)(BLOCK - 1 + shift)) {
                text[length] = (length & 1023) == 1023 ? '\n' : '%'; /* no line is too long */
                length++;
            }
            int lines = 1;
            for (size_t k = 0; k < length; k++) {
                lines += text[k] == '\n';
            }
            const char *end = ends[e];
            length += (size_t)snprintf(text + length, 100, "%s1 1 1%s1 1 7%s1 1 8%s", end, end, end, end);
            gsm_matrix a;
            char message[400], said[80];
            int status = gsm_load(write_file("border.mtx", text, length), &a, message, sizeof message);
            (void)snprintf(said, sizeof said, ":%d:1: text behind the last of 1 entries: '1 1 8'", lines + 3);
            check_refused("border", status, GSM_BAD_FILE, message, said, &a);
        }
    }
    free(text);
}

static void test_numbers(void) {
    static const int32_t row[] = {0, 1, 2, 3, 4, 5, 6, 7};
    static const double value[] = {1000, 1000, 1.5, -2.5e-7, 0x1.fffffffffffffp1023, 5e-324, 0, 0.1};
    check_matrix("D exponents",
                 REAL "8 8 8\n1 1 1.0D+03\n2 2 1.0d3\n3 3 +.15D1\n4 4 -25.D-8\n5 5 1.7976931348623157D308\n"
                      "6 6 4.9406564584124654d-324\n7 7 1D-400\n8 8 0.1000000000000000055511151231257827D0\n",
                 8, 8, row, value);
    check_matrix("E exponents",
                 REAL "8 8 8\n1 1 1.0E+03\n2 2 1.0e3\n3 3 +.15E1\n4 4 -25.E-8\n5 5 1.7976931348623157E308\n"
                      "6 6 4.9406564584124654e-324\n7 7 1E-400\n8 8 0.1000000000000000055511151231257827e0\n",
                 8, 8, row, value);
    static const double complex_value[] = {20, 0, 0.5, 30, 40, 0};
    static const int32_t complex_row[] = {0, 1, 1};
    check_matrix("D exponents, complex", HERMITIAN "2 2 3\n1 1 2D1 0D0\n2 1 5D-1 3d+1\n2 2 4D1 0\n", 2, 3,
                 complex_row, complex_value);
}

/* ------------------------------------------------------------------------ symmetric up to rounding --- */

static void test_rounding(void) {
    const double t = 0x1p-40;
    static const int32_t row[] = {0, 1, 1};
    char text[400];
    /* sqrt(4 * 16) = 8: differences up to 2^-37 */
    (void)snprintf(text, sizeof text, "%s2 2 4\n1 1 4\n2 1 1\n1 2 %.17g\n2 2 16\n", GENERAL, 1 + 8 * t);
    check_matrix("the largest difference", text, 2, 3, row, (double[]){4, 1 + 4 * t, 16});
    (void)snprintf(text, sizeof text, "%s2 2 4\n2 2 16\n1 2 1\n2 1 %.17g\n1 1 4\n", GENERAL, 1 - 8 * t);
    check_matrix("another order", text, 2, 3, row, (double[]){4, 1 - 4 * t, 16});
    (void)snprintf(text, sizeof text, "%s2 2 3\n1 1 4\n2 1 %.17g\n2 2 16\n", GENERAL, 2 * t);
    check_matrix("below alone", text, 2, 3, row, (double[]){4, t, 16});
    (void)snprintf(text, sizeof text, "%s2 2 3\n1 1 4\n1 2 %.17g\n2 2 16\n", GENERAL, 2 * t);
    check_matrix("above alone", text, 2, 3, row, (double[]){4, t, 16});
    (void)snprintf(text, sizeof text, "%s3 3 4\n1 1 1\n2 2 1\n1 3 %.17g\n3 3 1\n", GENERAL, t);
    check_matrix("above alone, in the midst", text, 3, 4, (int32_t[]){0, 2, 1, 2},
                 (double[]){1, t / 2, 1, 1});
    (void)snprintf(text, sizeof text, "%s2 2 4\n1 1 4\n2 1 %.17g\n1 2 %.17g\n2 2 16\n", GENERAL, 0x1p-990,
                   0x3p-990);
    check_matrix("small beside the diagonal", text, 2, 3, row, (double[]){4, 0x1p-989, 16});
    check_matrix("the largest number",
                 GENERAL "2 2 4\n1 1 1.7976931348623157e308\n2 1 1.7976931348623155e308\n"
                         "1 2 1.7976931348623157e308\n2 2 1.7976931348623157e308\n",
                 2, 3, row,
                 (double[]){0x1.fffffffffffffp1023, 0x1.ffffffffffffep1023, 0x1.fffffffffffffp1023});
    check_matrix("equal, without a diagonal", GENERAL "2 2 4\n1 1 0\n2 1 1\n1 2 1\n2 2 0\n", 2, 3, row,
                 (double[]){0, 1, 0});
    check_matrix("integer", INTEGER_GENERAL "2 2 4\n1 1 4\n2 1 1\n1 2 1\n2 2 16\n", 2, 3, row,
                 (double[]){4, 1, 16});
    (void)snprintf(text, sizeof text, "%s2 2 4\n1 1 4 %.17g\n2 1 1 %.17g\n1 2 1 -2\n2 2 16 -1e-20\n",
                   COMPLEX_GENERAL, t, 2 + 8 * t);
    check_matrix("Hermitian", text, 2, 3, row, (double[]){4, 0, 1, 2 + 4 * t, 16, 0});
}

/* ---------------------------------------------------------------------------------------- refusals --- */

typedef struct bad_file {
    const char *text;
    int status;
    const char *said; /* what the message says behind the path */
} bad_file;

#define BANNER "%%MatrixMarket matrix "
#define NO_BANNER ":1:1: is not '%%MatrixMarket matrix FORMAT FIELD SYMMETRY'"
#define TWO REAL "2 2 2\n1 1 1\n"

static const bad_file bad_files[] = {
    /* the banner */
    {"", GSM_BAD_FILE, ": is empty"},
    {"\n", GSM_BAD_FILE, NO_BANNER},
    {"3 3 1\n1 1 1\n", GSM_BAD_FILE, NO_BANNER},
    {BANNER "coordinate real\n1 1 1\n1 1 1\n", GSM_BAD_FILE, NO_BANNER},
    {BANNER "coordinate real symmetric more\n1 1 1\n1 1 1\n", GSM_BAD_FILE, NO_BANNER},
    {"%%MatrixMarket vector coordinate real symmetric\n1 1 1\n1 1 1\n", GSM_BAD_FILE, NO_BANNER},
    {BANNER "array real symmetric\n1 1\n1\n", GSM_UNSUPPORTED, ":1:23: 'array' is not 'coordinate'"},
    {BANNER "sparse real symmetric\n1 1 1\n1 1 1\n", GSM_BAD_FILE, ":1:23: 'sparse' is not 'coordinate'"},
    {BANNER "coordinate pattern symmetric\n1 1 1\n1 1\n", GSM_UNSUPPORTED, ":1:34: 'pattern' has no values"},
    {BANNER "coordinate quaternion symmetric\n1 1 1\n1 1 1\n", GSM_BAD_FILE,
     ":1:34: 'quaternion' is not real, integer or complex"},
    {BANNER "coordinate real skew-symmetric\n1 1 0\n", GSM_UNSUPPORTED,
     ":1:39: 'skew-symmetric' is neither symmetric nor Hermitian"},
    {BANNER "coordinate complex symmetric\n1 1 1\n1 1 1 0\n", GSM_UNSUPPORTED,
     ":1:42: 'symmetric' and complex is not Hermitian"},
    {BANNER "coordinate real hermitian\n1 1 1\n1 1 1\n", GSM_BAD_FILE,
     ":1:39: 'hermitian' goes with the field complex alone"},
    {BANNER "coordinate real diagonal\n1 1 1\n1 1 1\n", GSM_BAD_FILE,
     ":1:39: 'diagonal' is not symmetric, hermitian or general"},
    /* the size line */
    {REAL, GSM_BAD_FILE, ":1: ends before its size line"},
    {REAL "% only comments\n", GSM_BAD_FILE, ":2: ends before its size line"},
    {REAL "2 2\n", GSM_BAD_FILE, ":2:4: the number of entries is missing"},
    {REAL "2 2 2 2\n", GSM_BAD_FILE, ":2:7: the text '2' follows ROWS COLUMNS ENTRIES"},
    {REAL "2 2 -1\n", GSM_BAD_FILE, ":2:5: the number of entries '-1' is not a whole number"},
    {REAL "2 2 1.0\n", GSM_BAD_FILE, ":2:5: the number of entries '1.0' is not a whole number"},
    {REAL "  2\tx 2\n", GSM_BAD_FILE, ":2:5: the number of columns 'x' is not a whole number"},
    {REAL "99999999999999999999 2 1\n", GSM_BAD_FILE,
     ":2:1: the number of rows '99999999999999999999' is too large"},
    {REAL "2147483648 2147483648 2147483648\n", GSM_UNSUPPORTED, ":2: order 2147483648 exceeds 2^31 - 1"},
    {REAL "2 3 1\n1 1 1\n", GSM_UNSUPPORTED, ":2: 2 x 3 is not square"},
    {REAL "2 2 4\n1 1 1\n2 1 1\n2 2 1\n1 2 1\n", GSM_BAD_FILE,
     ":2: declares 4 entries, more than order 2 has room for"},
    {GENERAL "2 2 5\n1 1 1\n", GSM_BAD_FILE, ":2: declares 5 entries, more than order 2 has room for"},
    /* how many entries there are */
    {REAL "2147483647 2147483647 2147483647\n1 1 1\n", GSM_BAD_FILE,
     ":3: ends after 1 of 2147483647 entries"},
    {REAL "2 2 3\n1 1 1\n2 2 1\n", GSM_BAD_FILE, ":4: ends after 2 of 3 entries"},
    {TWO "2 2 1\n2 1 1\n", GSM_BAD_FILE, ":5:1: text behind the last of 2 entries: '2 1 1'"},
    {TWO "2 2 1\n  xyz\n", GSM_BAD_FILE, ":5:3: text behind the last of 2 entries: 'xyz'"},
    {REAL "3 3 2\n1 1 1\n2 2 1\n", GSM_UNSUPPORTED, ": 2 entries in the lower triangle of order 3: singular"},
    {REAL "2147483647 2147483647 2\n2 1 1\n1 1 1\n", GSM_UNSUPPORTED, /* no 16 GB for the order */
     ": 2 entries in the lower triangle of order 2147483647: singular"},
    /* indices */
    {REAL "2 2 2\n0 1 1\n2 2 1\n", GSM_BAD_FILE, ":3:1: the row '0' is outside 1 .. 2"},
    {TWO "3 2 1\n", GSM_BAD_FILE, ":4:1: the row '3' is outside 1 .. 2"},
    {TWO " 2 4294967298 1\n", GSM_BAD_FILE, ":4:4: the column '4294967298' is outside 1 .. 2"},
    {TWO "-2 2 1\n", GSM_BAD_FILE, ":4:1: the row '-2' is not a whole number"},
    {TWO "2 2.0 1\n", GSM_BAD_FILE, ":4:3: the column '2.0' is not a whole number"},
    {TWO "2\n", GSM_BAD_FILE, ":4:2: the column is missing"},
    {TWO "% comment\n2 2 1\n", GSM_BAD_FILE, ":4:1: the row '%' is not a whole number"},
    /* values */
    {TWO "2 2\n", GSM_BAD_FILE, ":4:4: the value is missing"},
    {TWO "2 2 1 0\n", GSM_BAD_FILE, ":4:7: the text '0' follows the entry"},
    {TWO "2 2 nan\n", GSM_BAD_FILE, ":4:5: the value 'nan' is not finite"},
    {TWO "2 2 -NaN\n", GSM_BAD_FILE, ":4:5: the value '-NaN' is not finite"},
    {TWO "2 2 inf\n", GSM_BAD_FILE, ":4:5: the value 'inf' is not finite"},
    {TWO "2 2 +Infinity\n", GSM_BAD_FILE, ":4:5: the value '+Infinity' is not finite"},
    {TWO "2 2 1e400\n", GSM_BAD_FILE, ":4:5: the value '1e400' is too large for double precision"},
    {TWO "2 2 -1D309\n", GSM_BAD_FILE, ":4:5: the value '-1D309' is too large for double precision"},
    {TWO "2 2 1.7976931348623159e308\n", GSM_BAD_FILE,
     ":4:5: the value '1.7976931348623159e308' is too large for double precision"},
    {TWO "2 2 1e99999999999999999999\n", GSM_BAD_FILE,
     ":4:5: the value '1e99999999999999999999' is too large for double precision"},
    {TWO "2 2 0x10\n", GSM_BAD_FILE, ":4:5: the value '0x10' is not a number"},
    {TWO "2 2 1e\n", GSM_BAD_FILE, ":4:5: the value '1e' is not a number"},
    {TWO "2 2 1D\n", GSM_BAD_FILE, ":4:5: the value '1D' is not a number"},
    {TWO "2 2 1D+\n", GSM_BAD_FILE, ":4:5: the value '1D+' is not a number"},
    {TWO "2 2 1D3e2\n", GSM_BAD_FILE, ":4:5: the value '1D3e2' is not a number"},
    {TWO "2 2 1.0+300\n", GSM_BAD_FILE, ":4:5: the value '1.0+300' is not a number"},
    {TWO "2 2 1Q3\n", GSM_BAD_FILE, ":4:5: the value '1Q3' is not a number"},
    {TWO "2 2 D3\n", GSM_BAD_FILE, ":4:5: the value 'D3' is not a number"},
    {TWO "2 2 1.2.3\n", GSM_BAD_FILE, ":4:5: the value '1.2.3' is not a number"},
    {TWO "2 2 1,5\n", GSM_BAD_FILE, ":4:5: the value '1,5' is not a number"},
    {TWO "2 2 .\n", GSM_BAD_FILE, ":4:5: the value '.' is not a number"},
    {TWO "2 2 --1\n", GSM_BAD_FILE, ":4:5: the value '--1' is not a number"},
    {INTEGER "1 1 1\n1 1 1.5\n", GSM_BAD_FILE, ":3:5: the value '1.5' is not an integer"},
    {INTEGER "1 1 1\n1 1 1D0\n", GSM_BAD_FILE, ":3:5: the value '1D0' is not an integer"},
    {INTEGER "1 1 1\n1 1 nan\n", GSM_BAD_FILE, ":3:5: the value 'nan' is not finite"},
    {INTEGER "1 1 1\n1 1 9007199254740993\n", GSM_BAD_FILE,
     ":3:5: the value '9007199254740993' is beyond 2^53"},
    {HERMITIAN "2 2 3\n1 1 2 0\n2 1 1\n2 2 2 0\n", GSM_BAD_FILE, ":4:6: the imaginary part is missing"},
    {HERMITIAN "2 2 3\n1 1 2 0\n2 1 i 1\n2 2 2 0\n", GSM_BAD_FILE, ":4:5: the real part 'i' is not a number"},
    {HERMITIAN "2 2 3\n1 1 2 0\n2 1 1 inf\n2 2 2 0\n", GSM_BAD_FILE,
     ":4:7: the imaginary part 'inf' is not finite"},
    {HERMITIAN "2 2 3\n1 1 2 0\n2 1 1 1\n2 2 2 1e-30\n", GSM_BAD_FILE,
     ":5: diagonal entry 2 has the imaginary part 1.0000000000000001e-30"},
    /* an entry that is given twice */
    {REAL "2 2 3\n1 1 1\n2 2 1\n2 2 1\n", GSM_BAD_FILE,
     ":5: entry (2, 2) is given again; before, or its mirror image, on line 4"},
    {REAL "3 3 6\n1 1 1\n2 2 1\n3 3 1\n3 1 1\n1 3 1\n1 1 1\n", GSM_BAD_FILE,
     ":7: entry (3, 1) is given again; before, or its mirror image, on line 6"},
    {GENERAL "2 2 4\n1 1 2\n1 2 1\n1 2 1\n2 2 2\n", GSM_BAD_FILE,
     ":5: entry (1, 2) is given again; before on line 4"},
    /* a general matrix that is not symmetric */
    {GENERAL "2 2 4\n1 1 2\n2 1 1\n1 2 1.5\n2 2 2\n", GSM_UNSUPPORTED,
     ":4: (2, 1) = 1, but (1, 2) = 1.5 on line 5: not symmetric, by 0.5 (allowed: 1.82e-12)"},
    {GENERAL "2 2 4\n1 1 2\n\n1 2 1.5\n2 1 1.75\n2 2 2\n", GSM_UNSUPPORTED,
     ":5: (1, 2) = 1.5, but (2, 1) = 1.75 on line 6: not symmetric, by 0.25 (allowed: 1.82e-12)"},
    {GENERAL "2 2 4\n1 1 4\n2 1 1\n1 2 1.0000000000072764\n2 2 16\n", GSM_UNSUPPORTED, /* 2^-37 and a bit */
     ":4: (2, 1) = 1, but (1, 2) = 1.0000000000072764 on line 5: not symmetric, by 7.28e-12 (allowed: "
     "7.28e-12)"},
    {GENERAL "2 2 3\n1 1 2\n2 1 1\n2 2 2\n", GSM_UNSUPPORTED,
     ":4: (2, 1) = 1, but (1, 2) is absent: not symmetric, by 1 (allowed: 1.82e-12)"},
    {GENERAL "2 2 3\n1 1 2\n1 2 1\n2 2 2\n", GSM_UNSUPPORTED,
     ":4: (1, 2) = 1, but (2, 1) is absent: not symmetric, by 1 (allowed: 1.82e-12)"},
    {GENERAL "3 3 7\n3 2 1\n2 1 5\n1 2 4\n2 3 2\n1 1 9\n2 2 9\n3 3 9\n",
     GSM_UNSUPPORTED, /* the first of two */
     ":3: (3, 2) = 1, but (2, 3) = 2 on line 6: not symmetric, by 1 (allowed: 8.19e-12)"},
    {GENERAL "2 2 3\n1 1 2\n2 1 1\n1 2 1.0000000000000002\n", GSM_UNSUPPORTED, /* (2, 2) is absent */
     ":4: (2, 1) = 1, but (1, 2) = 1.0000000000000002 on line 5: not symmetric, by 2.22e-16 (allowed: 0)"},
    {GENERAL "2 2 4\n1 1 1\n2 2 1\n2 1 1.5e308\n1 2 -1.5e308\n",
     GSM_UNSUPPORTED, /* the difference overflows */
     ":5: (2, 1) = 1.5e+308, but (1, 2) = -1.5e+308 on line 6: not symmetric, by inf (allowed: 9.09e-13)"},
    {INTEGER_GENERAL "2 2 4\n1 1 2\n2 1 1\n1 2 2\n2 2 2\n", GSM_UNSUPPORTED,
     ":4: (2, 1) = 1, but (1, 2) = 2 on line 5: not symmetric, by 1 (allowed: 1.82e-12)"},
    {COMPLEX_GENERAL "2 2 4\n1 1 2 0\n1 2 1 1\n2 1 1 1\n2 2 2 0\n", GSM_UNSUPPORTED,
     ":4: (1, 2) = (1, 1), but (2, 1) = (1, 1) on line 5: not Hermitian, by 2 (allowed: 1.82e-12)"},
    {COMPLEX_GENERAL "2 2 3\n1 1 2 0\n2 1 3 4\n2 2 2 0\n", GSM_UNSUPPORTED,
     ":4: (2, 1) = (3, 4), but (1, 2) is absent: not Hermitian, by 5 (allowed: 1.82e-12)"},
    {COMPLEX_GENERAL "2 2 2\n1 1 2 0\n2 2 2 1e-9\n", GSM_UNSUPPORTED,
     ":4: diagonal entry 2 has the imaginary part 1.0000000000000001e-09: not Hermitian"},
};

static void test_bad_files(void) {
    for (size_t b = 0; b < sizeof bad_files / sizeof bad_files[0]; b++) {
        const bad_file *bad = &bad_files[b];
        gsm_matrix a;
        char message[400], expected[500];
        memset(&a, 0xff, sizeof a);
        int status = load_text(bad->text, &a, message, sizeof message);
        (void)snprintf(expected, sizeof expected, "%s/text.mtx%s", folder, bad->said);
        check_refused(bad->text, status, bad->status, message, expected, &a);
        CHECK(strlen(message) == strlen(expected), "'%s' is more than '%s'", message, expected);
    }
}

/* What no string can hold. */
static void test_bad_bytes(void) {
    gsm_matrix a;
    char message[400];
    static const char with_nul[] = REAL "1 1 1\n1 1 1\0 2\n";
    int status = gsm_load(write_file("nul.mtx", with_nul, sizeof with_nul - 1), &a, message, sizeof message);
    check_refused("NUL", status, GSM_BAD_FILE, message, "nul.mtx:3:6: a NUL byte: not a text file", &a);
    size_t length = (size_t)1 << 20;
    char *line = malloc(length);
    CHECK(line != NULL, "out of memory");
    if (line != NULL) {
        memset(line, 'x', length);
        memcpy(line, REAL "%", sizeof REAL);
        status = gsm_load(write_file("long.mtx", line, length), &a, message, sizeof message);
        check_refused("long line", status, GSM_BAD_FILE, message, "long.mtx:2: line longer than 262144 bytes",
                      &a);
    }
    free(line);
    static char text[800];
    for (size_t digits = 499; digits <= 500; digits++) { /* 500 are too many */
        size_t begin = (size_t)snprintf(text, sizeof text, "%s1 1 1\n1 1 ", REAL);
        memset(text + begin, '1', digits);
        text[begin + 1] = '.';
        text[begin + digits] = '\0';
        status = load_text(text, &a, message, sizeof message);
        CHECK(status == (digits < 500 ? GSM_SUCCESS : GSM_BAD_FILE), "%d bytes: %s", (int)digits, message);
        CHECK(digits < 500 || strstr(message, "has 500 bytes or more") != NULL, "%s", message);
        gsm_free(&a);
    }
}

int main(void) {
    if (!make_folder()) {
        return 1;
    }
    test_line_ends();
    test_border();
    test_numbers();
    test_rounding();
    test_bad_files();
    test_bad_bytes();
    remove_files(folder);
    return report("test_matrix_files");
}
