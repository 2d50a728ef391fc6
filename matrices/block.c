/* Reads a dense block of the Matrix Market format: see block.h.
 *
 * Numbers of the array format are kept as they come, so memory grows with what is really there. Those of the coordinate
 * format are put in their places in zeroed memory; a set of bits says which places are taken. A block that is not general
 * is mirrored at the end. */
#include "block.h"
#include "tokens.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

#ifndef GSM_BLOCK_MOST                  /* the fuzz target wants few */
#define GSM_BLOCK_MOST (INT64_MAX / 64) /* numbers: twice the bytes of as many complex ones can be computed */
#endif

typedef enum block_kind { GENERAL, SYMMETRIC, HERMITIAN, SKEW } block_kind;

typedef struct block_file {
    gsm_text text;
    bool is_complex, is_integer, is_array;
    block_kind kind;
    int64_t wanted_rows, rows, cols;
    int64_t entries, count; /* lines with a number: declared, read */
    int64_t row, column;    /* of the next number of an array */
    double *values;
    int64_t capacity;     /* numbers that values has room for */
    unsigned char *taken; /* of a coordinate file: a bit for each place */
} block_file;

static int parts(const block_file *file) {
    return file->is_complex ? 2 : 1;
}

static int read_banner(block_file *file, char *line, gsm_report *report) {
    static const char *const kinds[] = {"general", "symmetric", "hermitian", "skew-symmetric"};
    const char *word[5];
    int status = gsm_read_banner(&file->text, line, word, report);
    if (status != GSM_SUCCESS) {
        return status;
    }
    const char *format = word[2], *field = word[3], *symmetry = word[4];
    file->is_array = strcasecmp(format, "array") == 0;
    file->is_complex = strcasecmp(field, "complex") == 0;
    file->is_integer = strcasecmp(field, "integer") == 0;
    if (!file->is_array && strcasecmp(format, "coordinate") != 0) {
        return gsm_refuse_word(&file->text, line, format, GSM_BAD_FILE, "is not 'array' or 'coordinate'",
                               report);
    }
    if (strcasecmp(field, "pattern") == 0) {
        return gsm_refuse_word(&file->text, line, field, GSM_UNSUPPORTED, "has no values", report);
    }
    if (!file->is_complex && !file->is_integer && strcasecmp(field, "real") != 0) {
        return gsm_refuse_word(&file->text, line, field, GSM_BAD_FILE, "is not real, integer or complex",
                               report);
    }
    int kind = GENERAL;
    while (kind <= SKEW && strcasecmp(symmetry, kinds[kind]) != 0) {
        kind++;
    }
    if (kind > SKEW) {
        return gsm_refuse_word(&file->text, line, symmetry, GSM_BAD_FILE,
                               "is not general, symmetric, hermitian or skew-symmetric", report);
    }
    if (kind == HERMITIAN && !file->is_complex) {
        return gsm_refuse_word(&file->text, line, symmetry, GSM_BAD_FILE, "goes with the field complex alone",
                               report);
    }
    file->kind = (block_kind)kind;
    return GSM_SUCCESS;
}

/* Numbers of a whole block, or of its lower triangle; the triangle of a skew-symmetric one has no diagonal. */
static int64_t most_entries(const block_file *file) {
    switch (file->kind) {
    case GENERAL:
        return file->rows * file->cols;
    case SKEW:
        return file->rows * (file->rows - 1) / 2;
    default:
        return file->rows * (file->rows + 1) / 2;
    }
}

static int check_sizes(block_file *file, int64_t entries, gsm_report *report) {
    const char *path = file->text.path;
    int64_t line = file->text.line;
    if (file->wanted_rows >= 0 && file->rows != file->wanted_rows) {
        return gsm_fail(report, GSM_BAD_FILE, "%s:%" PRId64 ": has %" PRId64 " rows, not %" PRId64, path,
                        line, file->rows, file->wanted_rows);
    }
    if (file->kind != GENERAL && file->rows != file->cols) {
        return gsm_fail(report, GSM_BAD_FILE, "%s:%" PRId64 ": %" PRId64 " x %" PRId64 " is not square", path,
                        line, file->rows, file->cols);
    }
    if (file->rows > 0 && file->cols > GSM_BLOCK_MOST / file->rows) {
        return gsm_fail(report, GSM_UNSUPPORTED,
                        "%s:%" PRId64 ": %" PRId64 " x %" PRId64 " numbers are too many", path, line,
                        file->rows, file->cols);
    }
    if (entries > most_entries(file)) {
        return gsm_fail(report, GSM_BAD_FILE,
                        "%s:%" PRId64 ": declares %" PRId64 " entries, more than %" PRId64 " x %" PRId64
                        " has room for",
                        path, line, entries, file->rows, file->cols);
    }
    return GSM_SUCCESS;
}

/* ROWS COLUMNS, of a coordinate file ROWS COLUMNS ENTRIES; memory of a coordinate file. */
static int read_sizes(block_file *file, const char *text, gsm_report *report) {
    gsm_tokens line = gsm_tokens_start(&file->text, text, report);
    file->rows = gsm_next_count(&line, "number of rows");
    file->cols = gsm_next_count(&line, "number of columns");
    int64_t entries = file->is_array ? 0 : gsm_next_count(&line, "number of entries");
    gsm_end_line(&line, file->is_array ? "follows ROWS COLUMNS" : "follows ROWS COLUMNS ENTRIES");
    int status = line.status == GSM_SUCCESS ? check_sizes(file, entries, report) : line.status;
    if (status != GSM_SUCCESS) {
        return status;
    }
    file->entries = file->is_array ? most_entries(file) : entries;
    file->row = file->kind == SKEW ? 1 : 0;
    if (!file->is_array) {
        size_t numbers = (size_t)(file->rows * file->cols);
        file->values = calloc(numbers * (size_t)parts(file) + 1, sizeof *file->values);
        file->taken = calloc(numbers / 8 + 1, 1);
        if (file->values == NULL || file->taken == NULL) {
            return gsm_fail_memory(report);
        }
    }
    return GSM_SUCCESS;
}

/* Room for one more number of an array. */
static bool make_room(block_file *file) {
    if (file->count < file->capacity) {
        return true;
    }
    int64_t capacity = file->capacity < 512 ? 1024 : 2 * file->capacity;
    capacity = capacity < file->entries ? capacity : file->entries;
    double *values = realloc(file->values, ((size_t)(capacity * parts(file)) + 1) * sizeof *values);
    if (values == NULL) {
        return false;
    }
    file->values = values;
    file->capacity = capacity;
    return true;
}

/* A line of the array format: one number. */
static int read_number(block_file *file, const char *text, gsm_report *report) {
    gsm_tokens line = gsm_tokens_start(&file->text, text, report);
    double value[2];
    gsm_next_number(&line, file->is_complex, file->is_integer, value);
    gsm_end_line(&line, "follows the number");
    if (line.status != GSM_SUCCESS) {
        return line.status;
    }
    if (!make_room(file)) {
        return gsm_fail_memory(report);
    }
    memcpy(file->values + file->count * parts(file), value, (size_t)parts(file) * sizeof *value);
    return GSM_SUCCESS;
}

/* A line of the coordinate format: ROW COLUMN VALUE, or ROW COLUMN RE IM. */
static int read_entry(block_file *file, const char *text, gsm_report *report) {
    gsm_tokens line = gsm_tokens_start(&file->text, text, report);
    int64_t row = gsm_next_index(&line, "row", file->rows),
            column = gsm_next_index(&line, "column", file->cols);
    double value[2];
    gsm_next_number(&line, file->is_complex, file->is_integer, value);
    gsm_end_line(&line, "follows the entry");
    if (line.status != GSM_SUCCESS) {
        return line.status;
    }
    if (file->kind != GENERAL && row < column + (file->kind == SKEW)) {
        return gsm_fail(report, GSM_BAD_FILE,
                        "%s:%" PRId64 ": entry (%" PRId64 ", %" PRId64 ") is not in the lower triangle",
                        file->text.path, file->text.line, row, column);
    }
    size_t place = (size_t)((row - 1) + (column - 1) * file->rows);
    unsigned char bit = (unsigned char)(1u << place % 8);
    if (file->taken[place / 8] & bit) {
        return gsm_fail(report, GSM_BAD_FILE,
                        "%s:%" PRId64 ": entry (%" PRId64 ", %" PRId64 ") is given again", file->text.path,
                        file->text.line, row, column);
    }
    file->taken[place / 8] |= bit;
    memcpy(file->values + place * (size_t)parts(file), value, (size_t)parts(file) * sizeof *value);
    return GSM_SUCCESS;
}

/* Everything from the banner to the end of the file. */
static int read_text(block_file *file, gsm_report *report) {
    char *line = NULL;
    int status = gsm_text_next_line(&file->text, &line, report);
    if (status == GSM_SUCCESS && line == NULL) {
        return gsm_fail(report, GSM_BAD_FILE, "%s: is empty", file->text.path);
    }
    status = status == GSM_SUCCESS ? read_banner(file, line, report) : status;
    bool sized = false;
    while (status == GSM_SUCCESS) {
        status = gsm_text_next_line(&file->text, &line, report);
        if (status != GSM_SUCCESS || line == NULL) {
            break;
        }
        const char *text = gsm_skip_blanks(line);
        if (*text == '\0' || (!sized && *text == '%')) {
            continue;
        }
        if (!sized) {
            status = read_sizes(file, line, report);
            sized = true;
        } else if (file->count == file->entries) {
            status = gsm_fail(report, GSM_BAD_FILE,
                              "%s:%" PRId64 ":%d: text behind the last of %" PRId64 " entries: '%.60s'",
                              file->text.path, file->text.line, (int)(text - line) + 1, file->count, text);
        } else {
            status = file->is_array ? read_number(file, line, report) : read_entry(file, line, report);
            file->count++;
        }
    }
    if (status == GSM_SUCCESS && !sized) {
        status = gsm_fail(report, GSM_BAD_FILE, "%s:%" PRId64 ": ends before its size line", file->text.path,
                          file->text.line);
    }
    if (status == GSM_SUCCESS && file->count < file->entries) {
        status =
            gsm_fail(report, GSM_BAD_FILE, "%s:%" PRId64 ": ends after %" PRId64 " of %" PRId64 " entries",
                     file->text.path, file->text.line, file->count, file->entries);
    }
    return status;
}

/* The lower triangle of an array, which is listed without gaps, moves to its places; from the last number on, for no place
 * is before that of the number. */
static int spread_triangle(block_file *file, gsm_report *report) {
    size_t n = (size_t)file->rows, width = (size_t)parts(file), bytes = width * sizeof(double);
    size_t first = file->kind == SKEW ? 1 : 0, from = (size_t)file->entries;
    double *values = realloc(file->values, (n * n * width + 1) * sizeof *values);
    if (values == NULL) {
        return gsm_fail_memory(report);
    }
    file->values = values;
    for (size_t j = n; j-- > 0;) {
        for (size_t i = n; i-- > j + first;) {
            from--;
            memmove(values + (i + j * n) * width, values + from * width, bytes);
        }
    }
    return GSM_SUCCESS;
}

/* Fills what a block that is not general does not list. */
static void mirror(block_file *file) {
    size_t n = (size_t)file->rows, width = (size_t)parts(file);
    double re = file->kind == SKEW ? -1.0 : 1.0, im = file->kind == SYMMETRIC ? 1.0 : -1.0;
    for (size_t j = 0; j < n; j++) {
        if (file->kind == SKEW) {
            memset(file->values + (j + j * n) * width, 0, width * sizeof(double));
        }
        for (size_t i = j + 1; i < n; i++) {
            const double *lower = file->values + (i + j * n) * width;
            double *upper = file->values + (j + i * n) * width;
            upper[0] = re * lower[0];
            if (width == 2) {
                upper[1] = im * lower[1];
            }
        }
    }
}

/* The numbers of a file that was read to its end, in all places. */
static int finish(block_file *file, gsm_report *report) {
    if (file->values == NULL) { /* no number at all */
        file->values = calloc((size_t)(file->rows * file->cols * parts(file)) + 1, sizeof *file->values);
    }
    if (file->values == NULL) {
        return gsm_fail_memory(report);
    }
    if (file->kind == GENERAL) {
        return GSM_SUCCESS;
    }
    int status = file->is_array ? spread_triangle(file, report) : GSM_SUCCESS;
    if (status == GSM_SUCCESS) {
        mirror(file);
    }
    return status;
}

int gsm_load_block(const char *path, int64_t rows, gsm_block *out, char *message, size_t message_size) {
    gsm_report report = {message, message == NULL ? 0 : message_size};
    if (report.size > 0) {
        message[0] = '\0';
    }
    if (out != NULL) {
        memset(out, 0, sizeof *out);
    }
    if (path == NULL || out == NULL) {
        return gsm_fail(&report, GSM_INVALID_ARGUMENT, "%s is NULL", path == NULL ? "path" : "out");
    }
    block_file file = {.wanted_rows = rows};
    int status = gsm_text_open(&file.text, path, &report);
    status = status == GSM_SUCCESS ? read_text(&file, &report) : status;
    status = status == GSM_SUCCESS ? finish(&file, &report) : status;
    if (status == GSM_SUCCESS) {
        out->rows = file.rows;
        out->cols = file.cols;
        out->is_complex = file.is_complex;
        out->values = file.values;
        file.values = NULL;
    }
    free(file.values);
    free(file.taken);
    gsm_text_close(&file.text);
    return status;
}

void gsm_free_block(gsm_block *block) {
    if (block != NULL) {
        free(block->values);
        memset(block, 0, sizeof *block);
    }
}
