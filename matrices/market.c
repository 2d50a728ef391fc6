/* Reads the Matrix Market format (coordinate; real, integer or complex; symmetric, hermitian or general),
 * plain or packed by gzip.
 *
 * One pass over the text in blocks collects the entries as triplets; those of the upper triangle are mirrored
 * into the lower one. Then each triangle is put into columns: at once when the file has that order, by two
 * bucket sorts otherwise. Memory grows with the entries that are really there, never with what the header
 * claims: a short file cannot ask for much. */
#define _POSIX_C_SOURCE 200809L

#include "text.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

/* --------------------------------------------------------------------------------------- triplets --- */

/* Entries of one triangle, as lower ones. */
typedef struct triplets {
    int32_t *row, *column; /* [count] */
    double *value;         /* [count] or [2 count] */
    int64_t count, capacity;
    bool sorted; /* columns ascending, rows strictly ascending in each */
} triplets;

static void triplets_free(triplets *list) {
    free(list->row);
    free(list->column);
    free(list->value);
    memset(list, 0, sizeof *list);
}

/* realloc for count elements; the old block stays where it fails. */
static bool resize(void **block, int64_t count, size_t size) {
    if ((uint64_t)count > SIZE_MAX / size) {
        return false;
    }
    void *grown = realloc(*block, count > 0 ? (size_t)count * size : 1);
    if (grown != NULL) {
        *block = grown;
    }
    return grown != NULL;
}

static bool triplets_push(triplets *list, int64_t row, int64_t column, double re, double im,
                          bool is_complex) {
    if (list->count == list->capacity) {
        int64_t capacity = list->capacity < 4096 ? 4096 : 2 * list->capacity;
        void *rows = list->row, *columns = list->column, *values = list->value;
        bool grown = resize(&rows, capacity, sizeof *list->row);
        list->row = rows;
        grown = grown && resize(&columns, capacity, sizeof *list->column);
        list->column = columns;
        grown = grown && resize(&values, capacity, (is_complex ? 2 : 1) * sizeof *list->value);
        list->value = values;
        if (!grown) {
            return false;
        }
        list->capacity = capacity;
    }
    int64_t k = list->count++;
    if (k > 0) {
        int64_t last = list->column[k - 1];
        list->sorted = list->sorted && (column > last || (column == last && row > list->row[k - 1]));
    }
    list->row[k] = (int32_t)row;
    list->column[k] = (int32_t)column;
    if (is_complex) {
        list->value[2 * k] = re;
        list->value[2 * k + 1] = im;
    } else {
        list->value[k] = re;
    }
    return true;
}

/* Sorts by column, then row: a bucket sort by row, and a stable one by column. */
static bool triplets_sort(triplets *list, int64_t n, bool is_complex) {
    int64_t count = list->count;
    triplets sorted = {.count = count, .capacity = count, .sorted = true};
    void *next = NULL, *order = NULL, *rows = NULL, *columns = NULL, *values = NULL;
    bool enough = resize(&next, n + 1, sizeof(int64_t)) && resize(&order, count, sizeof(int64_t)) &&
                  resize(&rows, count, sizeof(int32_t)) && resize(&columns, count, sizeof(int32_t)) &&
                  resize(&values, count, (is_complex ? 2 : 1) * sizeof(double));
    sorted.row = rows;
    sorted.column = columns;
    sorted.value = values;
    if (enough) {
        int64_t *place = next, *by_row = order;
        for (int pass = 0; pass < 2; pass++) {
            const int32_t *key = pass == 0 ? list->row : list->column;
            memset(place, 0, ((size_t)n + 1) * sizeof *place);
            for (int64_t k = 0; k < count; k++) {
                place[key[k] + 1]++;
            }
            for (int64_t i = 0; i < n; i++) {
                place[i + 1] += place[i];
            }
            for (int64_t k = 0; k < count; k++) {
                if (pass == 0) {
                    by_row[place[key[k]]++] = k;
                    continue;
                }
                int64_t from = by_row[k], to = place[key[from]]++;
                sorted.row[to] = list->row[from];
                sorted.column[to] = list->column[from];
                if (is_complex) {
                    sorted.value[2 * to] = list->value[2 * from];
                    sorted.value[2 * to + 1] = list->value[2 * from + 1];
                } else {
                    sorted.value[to] = list->value[from];
                }
            }
        }
        triplets_free(list);
        *list = sorted;
    } else {
        triplets_free(&sorted);
    }
    free(next);
    free(order);
    return enough;
}

/* ------------------------------------------------------------------------------------------- file --- */

typedef struct market_file {
    gsm_text text;
    bool is_complex, is_integer, is_general;
    int64_t n, entries; /* as the size line declares */
    triplets lower, upper;
} market_file;

/* Compares the comment "% name: GROUP/NAME" with the group that was asked for. */
static int check_group(const market_file *file, const char *comment, const char *group, gsm_report *report) {
    static const char key[] = "% name: ";
    if (group == NULL || strncmp(comment, key, sizeof key - 1) != 0) {
        return GSM_SUCCESS;
    }
    const char *stated = comment + sizeof key - 1;
    size_t length = strcspn(stated, "/ \t\r");
    if (stated[length] != '/' || (length == strlen(group) && strncmp(stated, group, length) == 0)) {
        return GSM_SUCCESS;
    }
    return gsm_fail(report, GSM_BAD_FILE, "%s: is %.80s, not of the group %s", file->text.path, stated,
                    group);
}

/* %%MatrixMarket matrix FORMAT FIELD SYMMETRY */
static int read_banner(market_file *file, char *line, gsm_report *report) {
    const char *path = file->text.path;
    char *rest = NULL;
    char *word[6];
    for (int w = 0; w < 6; w++) {
        word[w] = strtok_r(w == 0 ? line : NULL, " \t\r", &rest);
    }
    if (word[0] == NULL || strcasecmp(word[0], "%%MatrixMarket") != 0 || word[4] == NULL || word[5] != NULL ||
        strcasecmp(word[1], "matrix") != 0) {
        return gsm_fail(report, GSM_BAD_FILE, "%s:1: is not '%%%%MatrixMarket matrix FORMAT FIELD SYMMETRY'",
                        path);
    }
    const char *format = word[2], *field = word[3], *symmetry = word[4];
    bool is_hermitian = strcasecmp(symmetry, "hermitian") == 0;
    bool is_symmetric = strcasecmp(symmetry, "symmetric") == 0;
    file->is_general = strcasecmp(symmetry, "general") == 0;
    file->is_complex = strcasecmp(field, "complex") == 0;
    file->is_integer = strcasecmp(field, "integer") == 0;
    if (strcasecmp(format, "coordinate") != 0) {
        return gsm_fail(report, strcasecmp(format, "array") == 0 ? GSM_UNSUPPORTED : GSM_BAD_FILE,
                        "%s:1: format '%.40s' is not 'coordinate'", path, format);
    }
    if (strcasecmp(field, "pattern") == 0) {
        return gsm_fail(report, GSM_UNSUPPORTED, "%s:1: a pattern has no values", path);
    }
    if (!file->is_complex && !file->is_integer && strcasecmp(field, "real") != 0) {
        return gsm_fail(report, GSM_BAD_FILE, "%s:1: field '%.40s' is not real, integer or complex", path,
                        field);
    }
    if (strcasecmp(symmetry, "skew-symmetric") == 0 || (is_symmetric && file->is_complex)) {
        return gsm_fail(report, GSM_UNSUPPORTED, "%s:1: %s %s is neither real symmetric nor Hermitian", path,
                        field, symmetry);
    }
    if ((!file->is_general && !is_symmetric && !is_hermitian) || (is_hermitian && !file->is_complex)) {
        return gsm_fail(report, GSM_BAD_FILE, "%s:1: symmetry '%.40s' does not go with field '%.40s'", path,
                        symmetry, field);
    }
    return GSM_SUCCESS;
}

/* ROWS COLUMNS ENTRIES */
static int read_sizes(market_file *file, const char *line, gsm_report *report) {
    int64_t rows = 0, columns = 0, entries = 0;
    const char *text = gsm_read_count(line, &rows);
    text = text == NULL ? NULL : gsm_read_count(text, &columns);
    text = text == NULL ? NULL : gsm_read_count(text, &entries);
    if (text == NULL || *gsm_skip_blanks(text) != '\0') {
        return gsm_fail(report, GSM_BAD_FILE, "%s:%" PRId64 ": is not 'ROWS COLUMNS ENTRIES': '%.60s'",
                        file->text.path, file->text.line, line);
    }
    if (rows != columns) {
        return gsm_fail(report, GSM_UNSUPPORTED, "%s: %" PRId64 " x %" PRId64 " is not square",
                        file->text.path, rows, columns);
    }
    if (rows > INT32_MAX) {
        return gsm_fail(report, GSM_UNSUPPORTED, "%s: order %" PRId64 " exceeds 2^31 - 1", file->text.path,
                        rows);
    }
    int64_t most = file->is_general ? rows * rows : rows * (rows + 1) / 2;
    if (entries > most) {
        return gsm_fail(report, GSM_BAD_FILE,
                        "%s: declares %" PRId64 " entries, more than order %" PRId64 " has room for",
                        file->text.path, entries, rows);
    }
    file->n = rows;
    file->entries = entries;
    return GSM_SUCCESS;
}

/* ROW COLUMN RE [IM] */
static int read_entry(market_file *file, const char *line, gsm_report *report) {
    int64_t row = 0, column = 0;
    double re = 0.0, im = 0.0;
    const char *text = gsm_read_count(line, &row);
    text = text == NULL ? NULL : gsm_read_count(text, &column);
    text = text == NULL ? NULL : gsm_read_real(text, file->is_integer, &re);
    if (file->is_complex) {
        text = text == NULL ? NULL : gsm_read_real(text, false, &im);
    }
    if (text == NULL || *gsm_skip_blanks(text) != '\0') {
        return gsm_fail(report, GSM_BAD_FILE,
                        "%s:%" PRId64 ": is not 'ROW COLUMN %s' with finite values: '%.60s'", file->text.path,
                        file->text.line, file->is_complex ? "RE IM" : "VALUE", line);
    }
    if (row < 1 || row > file->n || column < 1 || column > file->n) {
        return gsm_fail(report, GSM_BAD_FILE,
                        "%s:%" PRId64 ": entry (%" PRId64 ", %" PRId64 ") is outside 1 .. %" PRId64,
                        file->text.path, file->text.line, row, column, file->n);
    }
    if (row == column && im != 0.0) {
        return gsm_fail(report, GSM_BAD_FILE,
                        "%s:%" PRId64 ": diagonal entry %" PRId64 " has an imaginary part", file->text.path,
                        file->text.line, row);
    }
    bool is_upper = row < column;
    triplets *list = is_upper && file->is_general ? &file->upper : &file->lower;
    bool pushed = is_upper ? triplets_push(list, column - 1, row - 1, re, -im, file->is_complex)
                           : triplets_push(list, row - 1, column - 1, re, im, file->is_complex);
    return pushed ? GSM_SUCCESS : gsm_fail_memory(report);
}

/* Everything from the banner to the end of the file. */
static int read_text(market_file *file, const char *group, gsm_report *report) {
    char *line = NULL;
    int status = gsm_text_next_line(&file->text, &line, report);
    if (status == GSM_SUCCESS && line == NULL) {
        return gsm_fail(report, GSM_BAD_FILE, "%s: is empty", file->text.path);
    }
    status = status == GSM_SUCCESS ? read_banner(file, line, report) : status;
    bool sized = false;
    int64_t count = 0;
    while (status == GSM_SUCCESS) {
        status = gsm_text_next_line(&file->text, &line, report);
        if (status != GSM_SUCCESS || line == NULL) {
            break;
        }
        const char *text = gsm_skip_blanks(line);
        if (*text == '\0') {
            continue;
        }
        if (!sized && *text == '%') {
            status = check_group(file, text, group, report);
        } else if (!sized) {
            status = read_sizes(file, text, report);
            sized = true;
        } else if (count == file->entries) {
            status = gsm_fail(report, GSM_BAD_FILE,
                              "%s:%" PRId64 ": text behind the last of %" PRId64 " entries: '%.60s'",
                              file->text.path, file->text.line, count, text);
        } else {
            status = read_entry(file, text, report);
            count++;
        }
    }
    if (status == GSM_SUCCESS && !sized) {
        status = gsm_fail(report, GSM_BAD_FILE, "%s: ends before its size line", file->text.path);
    }
    if (status == GSM_SUCCESS && count < file->entries) {
        status = gsm_fail(report, GSM_BAD_FILE, "%s: ends after %" PRId64 " of %" PRId64 " entries",
                          file->text.path, count, file->entries);
    }
    return status;
}

/* Before anything is allocated that grows with the order: a short file cannot ask for much. */
static int check_count(const market_file *file, gsm_report *report) {
    return file->lower.count >= file->n
               ? GSM_SUCCESS
               : gsm_fail(report, GSM_UNSUPPORTED,
                          "%s: %" PRId64 " entries in the lower triangle of order %" PRId64 ": singular",
                          file->text.path, file->lower.count, file->n);
}

/* Sorts one triangle and refuses entries given twice. */
static int order_triangle(market_file *file, triplets *list, gsm_report *report) {
    if (list->sorted) {
        return GSM_SUCCESS;
    }
    if (!triplets_sort(list, file->n, file->is_complex)) {
        return gsm_fail_memory(report);
    }
    for (int64_t k = 1; k < list->count; k++) {
        if (list->row[k] == list->row[k - 1] && list->column[k] == list->column[k - 1]) {
            return gsm_fail(report, GSM_BAD_FILE, "%s: entry (%d, %d) is given twice%s", file->text.path,
                            list->row[k] + 1, list->column[k] + 1,
                            file->is_general ? "" : ", or in both triangles");
        }
    }
    return GSM_SUCCESS;
}

/* Whether both triangles of a general file agree, an absent entry counting as zero. */
static int check_symmetry(const market_file *file, gsm_report *report) {
    const triplets *a = &file->lower, *b = &file->upper;
    for (int64_t p = 0, q = 0; p < a->count || q < b->count;) {
        int64_t at_p = p < a->count ? (int64_t)a->column[p] * file->n + a->row[p] : INT64_MAX;
        int64_t at_q = q < b->count ? (int64_t)b->column[q] * file->n + b->row[q] : INT64_MAX;
        bool has_p = at_p <= at_q, has_q = at_q <= at_p;
        int32_t row = has_p ? a->row[p] : b->row[q], column = has_p ? a->column[p] : b->column[q];
        bool same = true;
        int parts = file->is_complex ? 2 : 1;
        for (int c = 0; c < parts; c++) {
            double x = has_p ? a->value[parts * p + c] : 0.0;
            double y = has_q ? b->value[parts * q + c] : 0.0;
            same = same && x == y;
        }
        if (!same && row != column) {
            return gsm_fail(report, GSM_UNSUPPORTED, "%s: entries (%d, %d) and (%d, %d) differ: not %s",
                            file->text.path, row + 1, column + 1, column + 1, row + 1,
                            file->is_complex ? "Hermitian" : "symmetric");
        }
        p += has_p;
        q += has_q;
    }
    return GSM_SUCCESS;
}

/* Moves the lower triangle into matrix. */
static int compress(market_file *file, gsm_matrix *matrix, gsm_report *report) {
    triplets *list = &file->lower;
    int64_t *colptr = calloc((size_t)file->n + 1, sizeof *colptr);
    void *rows = list->row, *values = list->value;
    bool enough = colptr != NULL && resize(&rows, list->count, sizeof *list->row);
    list->row = rows;
    enough = enough && resize(&values, list->count, (file->is_complex ? 2 : 1) * sizeof *list->value);
    list->value = values;
    if (!enough) {
        free(colptr);
        return gsm_fail_memory(report);
    }
    for (int64_t k = 0; k < list->count; k++) {
        colptr[list->column[k] + 1]++;
    }
    for (int64_t j = 0; j < file->n; j++) {
        colptr[j + 1] += colptr[j];
    }
    matrix->n = file->n;
    matrix->nnz = list->count;
    matrix->is_complex = file->is_complex;
    matrix->colptr = colptr;
    matrix->rowidx = list->row;
    matrix->values = list->value;
    list->row = NULL;
    list->value = NULL;
    return GSM_SUCCESS;
}

int gsm_read_market(const char *path, const char *group, gsm_matrix *matrix, gsm_report *report) {
    market_file file = {.lower.sorted = true, .upper.sorted = true};
    int status = gsm_text_open(&file.text, path, report);
    status = status == GSM_SUCCESS ? read_text(&file, group, report) : status;
    status = status == GSM_SUCCESS ? check_count(&file, report) : status;
    status = status == GSM_SUCCESS ? order_triangle(&file, &file.lower, report) : status;
    status = status == GSM_SUCCESS ? order_triangle(&file, &file.upper, report) : status;
    status = status == GSM_SUCCESS && file.is_general ? check_symmetry(&file, report) : status;
    status = status == GSM_SUCCESS ? compress(&file, matrix, report) : status;
    triplets_free(&file.lower);
    triplets_free(&file.upper);
    gsm_text_close(&file.text);
    return status;
}
