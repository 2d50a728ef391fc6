/* Reads the Matrix Market format (coordinate; real, integer or complex; symmetric, hermitian or general),
 * plain or packed by gzip.
 *
 * One pass over the text in blocks collects the entries as triplets; those of the upper triangle are mirrored
 * into the lower one. Then each triangle is put into columns: at once when the file has that order, by two
 * bucket sorts otherwise. Memory grows with the entries that are really there, never with what the header
 * claims: a short file cannot ask for much. A message starts with PATH:LINE:COLUMN of the token that is wrong,
 * or with PATH:LINE where it is a line or an entry; columns are bytes, from 1. */
#define _POSIX_C_SOURCE 200809L

#include "text.h"
#include "tokens.h"
#include "triplets.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

typedef struct market_file {
    gsm_text text;
    bool is_complex, is_integer, is_general;
    int64_t n, entries; /* as the size line declares */
    gsm_triplets lower, upper;
} market_file;

/* Compares the comment "% name: GROUP/NAME" with the group that was asked for. */
static int check_group(const market_file *file, const char *comment, const char *group, gsm_report *report) {
    static const char key[] = "% name: ";
    if (group == NULL || strncmp(comment, key, sizeof key - 1) != 0) {
        return GSM_SUCCESS;
    }
    const char *stated = comment + sizeof key - 1;
    size_t length = strcspn(stated, "/ \t");
    if (stated[length] != '/' || (length == strlen(group) && strncmp(stated, group, length) == 0)) {
        return GSM_SUCCESS;
    }
    return gsm_fail(report, GSM_BAD_FILE, "%s:%" PRId64 ": is %.80s, not of the group %s", file->text.path,
                    file->text.line, stated, group);
}

/* %%MatrixMarket matrix FORMAT FIELD SYMMETRY */
static int read_banner(market_file *file, char *line, gsm_report *report) {
    const char *word[5];
    int banner = gsm_read_banner(&file->text, line, word, report);
    if (banner != GSM_SUCCESS) {
        return banner;
    }
    const char *format = word[2], *field = word[3], *symmetry = word[4];
    bool is_hermitian = strcasecmp(symmetry, "hermitian") == 0;
    bool is_symmetric = strcasecmp(symmetry, "symmetric") == 0;
    file->is_general = strcasecmp(symmetry, "general") == 0;
    file->is_complex = strcasecmp(field, "complex") == 0;
    file->is_integer = strcasecmp(field, "integer") == 0;
    if (strcasecmp(format, "coordinate") != 0) {
        int status = strcasecmp(format, "array") == 0 ? GSM_UNSUPPORTED : GSM_BAD_FILE;
        return gsm_refuse_word(&file->text, line, format, status, "is not 'coordinate'", report);
    }
    if (strcasecmp(field, "pattern") == 0) {
        return gsm_refuse_word(&file->text, line, field, GSM_UNSUPPORTED, "has no values", report);
    }
    if (!file->is_complex && !file->is_integer && strcasecmp(field, "real") != 0) {
        return gsm_refuse_word(&file->text, line, field, GSM_BAD_FILE, "is not real, integer or complex",
                               report);
    }
    if (strcasecmp(symmetry, "skew-symmetric") == 0) {
        return gsm_refuse_word(&file->text, line, symmetry, GSM_UNSUPPORTED,
                               "is neither symmetric nor Hermitian", report);
    }
    if (is_symmetric && file->is_complex) {
        return gsm_refuse_word(&file->text, line, symmetry, GSM_UNSUPPORTED, "and complex is not Hermitian",
                               report);
    }
    if (is_hermitian && !file->is_complex) {
        return gsm_refuse_word(&file->text, line, symmetry, GSM_BAD_FILE, "goes with the field complex alone",
                               report);
    }
    if (!file->is_general && !is_symmetric && !is_hermitian) {
        return gsm_refuse_word(&file->text, line, symmetry, GSM_BAD_FILE,
                               "is not symmetric, hermitian or general", report);
    }
    return GSM_SUCCESS;
}

/* ROWS COLUMNS ENTRIES */
static int read_sizes(market_file *file, const char *text, gsm_report *report) {
    gsm_tokens line = gsm_tokens_start(&file->text, text, report);
    int64_t rows = gsm_next_count(&line, "number of rows");
    int64_t columns = gsm_next_count(&line, "number of columns");
    int64_t entries = gsm_next_count(&line, "number of entries");
    gsm_end_line(&line, "follows ROWS COLUMNS ENTRIES");
    if (line.status != GSM_SUCCESS) {
        return line.status;
    }
    if (rows != columns) {
        return gsm_fail(report, GSM_UNSUPPORTED, "%s:%" PRId64 ": %" PRId64 " x %" PRId64 " is not square",
                        file->text.path, file->text.line, rows, columns);
    }
    if (rows > INT32_MAX) {
        return gsm_fail(report, GSM_UNSUPPORTED, "%s:%" PRId64 ": order %" PRId64 " exceeds 2^31 - 1",
                        file->text.path, file->text.line, rows);
    }
    int64_t most = file->is_general ? rows * rows : rows * (rows + 1) / 2;
    if (entries > most) {
        return gsm_fail(report, GSM_BAD_FILE,
                        "%s:%" PRId64 ": declares %" PRId64 " entries, more than order %" PRId64
                        " has room for",
                        file->text.path, file->text.line, entries, rows);
    }
    file->n = rows;
    file->entries = entries;
    return GSM_SUCCESS;
}

/* ROW COLUMN VALUE, or ROW COLUMN RE IM */
static int read_entry(market_file *file, const char *text, gsm_report *report) {
    gsm_tokens line = gsm_tokens_start(&file->text, text, report);
    int64_t row = gsm_next_index(&line, "row", file->n);
    int64_t column = gsm_next_index(&line, "column", file->n);
    double value[2] = {0.0, 0.0};
    gsm_next_number(&line, file->is_complex, file->is_integer, value);
    gsm_end_line(&line, "follows the entry");
    if (line.status != GSM_SUCCESS) {
        return line.status;
    }
    if (row == column && value[1] != 0.0 && !file->is_general) {
        return gsm_fail(report, GSM_BAD_FILE,
                        "%s:%" PRId64 ": diagonal entry %" PRId64 " has the imaginary part %.17g",
                        file->text.path, file->text.line, row, value[1]);
    }
    bool is_upper = row < column;
    if (is_upper) {
        value[1] = -value[1];
    }
    gsm_triplets *list = is_upper && file->is_general ? &file->upper : &file->lower;
    int64_t i = (is_upper ? column : row) - 1, j = (is_upper ? row : column) - 1;
    return gsm_triplets_push(list, i, j, value, file->text.line) ? GSM_SUCCESS : gsm_fail_memory(report);
}

/* Everything from the banner to the end of the file. */
static int read_text(market_file *file, const char *group, gsm_report *report) {
    char *line = NULL;
    int status = gsm_text_next_line(&file->text, &line, report);
    if (status == GSM_SUCCESS && line == NULL) {
        return gsm_fail(report, GSM_BAD_FILE, "%s: is empty", file->text.path);
    }
    status = status == GSM_SUCCESS ? read_banner(file, line, report) : status;
    file->lower = gsm_triplets_start(file->is_complex);
    file->upper = gsm_triplets_start(file->is_complex);
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
            status = read_sizes(file, line, report);
            sized = true;
        } else if (count == file->entries) {
            status = gsm_fail(report, GSM_BAD_FILE,
                              "%s:%" PRId64 ":%d: text behind the last of %" PRId64 " entries: '%.60s'",
                              file->text.path, file->text.line, (int)(text - line) + 1, count, text);
        } else {
            status = read_entry(file, line, report);
            count++;
        }
    }
    if (status == GSM_SUCCESS && !sized) {
        status = gsm_fail(report, GSM_BAD_FILE, "%s:%" PRId64 ": ends before its size line", file->text.path,
                          file->text.line);
    }
    if (status == GSM_SUCCESS && count < file->entries) {
        status =
            gsm_fail(report, GSM_BAD_FILE, "%s:%" PRId64 ": ends after %" PRId64 " of %" PRId64 " entries",
                     file->text.path, file->text.line, count, file->entries);
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
static int order_triangle(market_file *file, gsm_triplets *list, gsm_report *report) {
    if (list->sorted) {
        return GSM_SUCCESS;
    }
    if (!gsm_triplets_sort(list, file->n)) {
        return gsm_fail_memory(report);
    }
    int64_t k = gsm_triplets_repeated(list);
    if (k < 0) {
        return GSM_SUCCESS;
    }
    bool is_upper = list == &file->upper;
    return gsm_fail(report, GSM_BAD_FILE,
                    "%s:%" PRId64 ": entry (%d, %d) is given again; before%s on line %" PRId64,
                    file->text.path, list->line[k], (is_upper ? list->column[k] : list->row[k]) + 1,
                    (is_upper ? list->row[k] : list->column[k]) + 1,
                    file->is_general ? "" : ", or its mirror image,", list->line[k - 1]);
}

/* A number for a message: "1.5", or "(1.5, -2)". */
static void number_text(const market_file *file, const double value[2], char *text, size_t size) {
    (void)snprintf(text, size, file->is_complex ? "(%.17g, %.17g)" : "%.17g", value[0], value[1]);
}

/* The matrix of a general file as one triangle. */
static int make_symmetric(market_file *file, gsm_report *report) {
    gsm_mismatch m;
    if (!gsm_triplets_symmetrise(&file->lower, &file->upper, file->n, &m)) {
        return gsm_fail_memory(report);
    }
    if (m.line == 0) {
        return GSM_SUCCESS;
    }
    if (m.row == m.column) {
        return gsm_fail(report, GSM_UNSUPPORTED,
                        "%s:%" PRId64 ": diagonal entry %" PRId64
                        " has the imaginary part %.17g: not Hermitian",
                        file->text.path, m.line, m.row + 1, m.value[1]);
    }
    char value[64], mirror[64], other[112] = "is absent";
    number_text(file, m.value, value, sizeof value);
    if (m.mirror_line != 0) {
        number_text(file, m.mirror, mirror, sizeof mirror);
        (void)snprintf(other, sizeof other, "= %s on line %" PRId64, mirror, m.mirror_line);
    }
    return gsm_fail(report, GSM_UNSUPPORTED,
                    "%s:%" PRId64 ": (%" PRId64 ", %" PRId64 ") = %s, but (%" PRId64 ", %" PRId64
                    ") %s: not %s, by %.3g (allowed: %.3g)",
                    file->text.path, m.line, m.row + 1, m.column + 1, value, m.column + 1, m.row + 1, other,
                    file->is_complex ? "Hermitian" : "symmetric", m.difference, m.allowed);
}

/* Moves the lower triangle into matrix. */
static int compress(market_file *file, gsm_matrix *matrix, gsm_report *report) {
    gsm_triplets *list = &file->lower;
    int64_t *colptr = calloc((size_t)file->n + 1, sizeof *colptr);
    void *rows = list->row, *values = list->value;
    bool enough = colptr != NULL && gsm_resize(&rows, list->count, sizeof *list->row);
    list->row = rows;
    enough = enough && gsm_resize(&values, list->count, (file->is_complex ? 2 : 1) * sizeof *list->value);
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
    market_file file = {0};
    int status = gsm_text_open(&file.text, path, report);
    status = status == GSM_SUCCESS ? read_text(&file, group, report) : status;
    status = status == GSM_SUCCESS ? check_count(&file, report) : status;
    status = status == GSM_SUCCESS ? order_triangle(&file, &file.lower, report) : status;
    status = status == GSM_SUCCESS ? order_triangle(&file, &file.upper, report) : status;
    status = status == GSM_SUCCESS && file.is_general ? make_symmetric(&file, report) : status;
    status = status == GSM_SUCCESS ? compress(&file, matrix, report) : status;
    gsm_triplets_free(&file.lower);
    gsm_triplets_free(&file.upper);
    gsm_text_close(&file.text);
    return status;
}
