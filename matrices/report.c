/* What every reader and generator needs: the message of a failure, a matrix's name and its end. */
#include "internal.h"

#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

int gsm_fail(gsm_report *report, int status, const char *format, ...) {
    if (report->size > 0) {
        va_list arguments;
        va_start(arguments, format);
        if (vsnprintf(report->text, report->size, format, arguments) < 0) {
            report->text[0] = '\0';
        }
        va_end(arguments);
    }
    return status;
}

int gsm_fail_memory(gsm_report *report) {
    return gsm_fail(report, GSM_OUT_OF_MEMORY, "out of memory");
}

void gsm_set_name(gsm_matrix *matrix, const char *text, size_t length) {
    if (length >= sizeof matrix->name) {
        length = sizeof matrix->name - 1;
    }
    memcpy(matrix->name, text, length);
    matrix->name[length] = '\0';
}

void gsm_free(gsm_matrix *matrix) {
    if (matrix == NULL) {
        return;
    }
    free(matrix->colptr);
    free(matrix->rowidx);
    free(matrix->values);
    memset(matrix, 0, sizeof *matrix);
}
