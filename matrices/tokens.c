/* The words and numbers of one line: see tokens.h. */
#define _POSIX_C_SOURCE 200809L

#include "tokens.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>
#include <strings.h>

gsm_tokens gsm_tokens_start(const gsm_text *file, const char *text, gsm_report *report) {
    gsm_tokens line = {file, text, text, report, GSM_SUCCESS};
    return line;
}

static void refuse_token(gsm_tokens *line, const char *token, const char *what, const char *fault) {
    int length = (int)strcspn(token, " \t"), column = (int)(token - line->text) + 1;
    const gsm_text *text = line->file;
    line->status =
        length == 0 ? gsm_fail(line->report, GSM_BAD_FILE, "%s:%" PRId64 ":%d: the %s %s", text->path,
                               text->line, column, what, fault)
                    : gsm_fail(line->report, GSM_BAD_FILE, "%s:%" PRId64 ":%d: the %s '%.*s' %s", text->path,
                               text->line, column, what, length < 40 ? length : 40, token, fault);
}

int64_t gsm_next_count(gsm_tokens *line, const char *what) {
    int64_t value = 0;
    if (line->status == GSM_SUCCESS) {
        const char *fault = NULL, *token = gsm_skip_blanks(line->at);
        line->at = gsm_read_count(token, &value, &fault);
        if (line->at == NULL) {
            refuse_token(line, token, what, fault);
        }
    }
    return line->status == GSM_SUCCESS ? value : 0;
}

int64_t gsm_next_index(gsm_tokens *line, const char *what, int64_t most) {
    const char *before = line->at;
    int64_t value = gsm_next_count(line, what);
    if (line->status == GSM_SUCCESS && (value < 1 || value > most)) {
        char fault[48];
        (void)snprintf(fault, sizeof fault, "is outside 1 .. %" PRId64, most);
        refuse_token(line, gsm_skip_blanks(before), what, fault);
        return 0;
    }
    return value;
}

static double next_real(gsm_tokens *line, const char *what, bool is_integer) {
    double value = 0.0;
    if (line->status == GSM_SUCCESS) {
        const char *fault = NULL, *token = gsm_skip_blanks(line->at);
        line->at = gsm_read_real(token, is_integer, &value, &fault);
        if (line->at == NULL) {
            refuse_token(line, token, what, fault);
        }
    }
    return value;
}

void gsm_next_number(gsm_tokens *line, bool is_complex, bool is_integer, double value[2]) {
    value[0] = next_real(line, is_complex ? "real part" : "value", is_integer);
    value[1] = is_complex ? next_real(line, "imaginary part", is_integer) : 0.0;
}

void gsm_end_line(gsm_tokens *line, const char *what) {
    if (line->status == GSM_SUCCESS) {
        const char *token = gsm_skip_blanks(line->at);
        if (*token != '\0') {
            refuse_token(line, token, "text", what);
        }
    }
}

int gsm_read_banner(const gsm_text *file, char *line, const char *word[5], gsm_report *report) {
    char *rest = NULL;
    const char *found[6];
    for (int w = 0; w < 6; w++) {
        found[w] = strtok_r(w == 0 ? line : NULL, " \t", &rest);
    }
    if (found[0] == NULL || strcasecmp(found[0], "%%MatrixMarket") != 0 || found[4] == NULL ||
        found[5] != NULL || strcasecmp(found[1], "matrix") != 0) {
        return gsm_fail(report, GSM_BAD_FILE,
                        "%s:1:1: is not '%%%%MatrixMarket matrix FORMAT FIELD SYMMETRY'", file->path);
    }
    memcpy(word, found, 5 * sizeof *word);
    return GSM_SUCCESS;
}

int gsm_refuse_word(const gsm_text *file, const char *line, const char *word, int status, const char *fault,
                    gsm_report *report) {
    return gsm_fail(report, status, "%s:1:%d: '%.40s' %s", file->path, (int)(word - line) + 1, word, fault);
}
