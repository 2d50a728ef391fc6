/* Lines and numbers of a text file, plain or packed by gzip: what market.c and block.c read with. */
#ifndef GPUSOLVE_MATRICES_TEXT_H
#define GPUSOLVE_MATRICES_TEXT_H

#include "internal.h"

#include <stddef.h>

typedef struct gsm_text {
    void *file; /* a gzFile */
    const char *path;
    char *buffer; /* [GSM_TEXT_SIZE + 1] */
    size_t begin; /* unread bytes: buffer[begin] .. buffer[end - 1] */
    size_t end;
    int64_t line;  /* number of the line last returned, from 1 */
    bool after_cr; /* that line ended in CR: an LF that follows belongs to it */
} gsm_text;

#ifndef GSM_TEXT_SIZE           /* the fuzz target wants few */
#define GSM_TEXT_SIZE (1 << 18) /* bytes read at a time; also the longest line */
#endif

/* Opens path, which must outlive text; "-" is standard input. To be closed whatever is returned. */
int gsm_text_open(gsm_text *text, const char *path, gsm_report *report);
void gsm_text_close(gsm_text *text);

/* The next line, its end replaced by NUL; *line = NULL at the end of the file. It lives until the next call.
 * A line ends in LF, CR LF or CR. Truncated and corrupt gzip files are GSM_IO_ERROR, NUL bytes and lines longer
 * than GSM_TEXT_SIZE GSM_BAD_FILE. */
int gsm_text_next_line(gsm_text *text, char **line, gsm_report *report);

/* Blanks are spaces and tabs; they separate tokens. */
const char *gsm_skip_blanks(const char *text);

/* Reads a count: digits, at most 10^17. Returns the text behind it; NULL if there is none, and *fault says what is
 * wrong with the token, such as "is missing" (static text). */
const char *gsm_read_count(const char *text, int64_t *value, const char **fault);

/* Reads [+-]digits[.digits][x[+-]digits], where x is e, E, d or D, rounded correctly. A number that overflows is
 * refused; one that underflows becomes what it rounds to. With integer set: [+-]digits up to 2^53. Tokens of 500
 * bytes and more are refused. Returns the text behind it, or NULL with *fault as above. */
const char *gsm_read_real(const char *text, bool integer, double *value, const char **fault);

#endif
