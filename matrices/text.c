/* Lines and numbers of a text file: see text.h. */
#define _POSIX_C_SOURCE 200809L

#include "text.h"

#include <errno.h>
#include <inttypes.h>
#include <locale.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>
#include <unistd.h>
#include <zlib.h>

/* ------------------------------------------------------------------------------------------ lines --- */

int gsm_text_open(gsm_text *text, const char *path, gsm_report *report) {
    memset(text, 0, sizeof *text);
    text->path = path;
    errno = 0;
    if (strcmp(path, "-") == 0) {
        text->path = "standard input";
        int copy = dup(STDIN_FILENO); /* which is closed in the end; standard input stays open */
        text->file = copy < 0 ? NULL : gzdopen(copy, "rb");
        if (text->file == NULL && copy >= 0) {
            (void)close(copy);
            errno = 0;
        }
    } else {
        text->file = gzopen(path, "rb");
    }
    if (text->file == NULL) {
        bool absent = errno == ENOENT || errno == ENOTDIR;
        return errno == 0 || errno == ENOMEM ? gsm_fail_memory(report)
                                             : gsm_fail(report, absent ? GSM_NOT_FOUND : GSM_IO_ERROR,
                                                        "%s: %s", text->path, strerror(errno));
    }
    (void)gzbuffer(text->file, GSM_TEXT_SIZE);
    text->buffer = malloc(GSM_TEXT_SIZE + 1);
    return text->buffer == NULL ? gsm_fail_memory(report) : GSM_SUCCESS;
}

void gsm_text_close(gsm_text *text) {
    free(text->buffer);
    if (text->file != NULL) {
        (void)gzclose(text->file);
    }
    memset(text, 0, sizeof *text);
}

/* Reads until the buffer is full or the file ends. */
static int refill(gsm_text *text, bool *at_end, gsm_report *report) {
    memmove(text->buffer, text->buffer + text->begin, text->end - text->begin);
    text->end -= text->begin;
    text->begin = 0;
    int wanted = (int)(GSM_TEXT_SIZE - text->end);
    int got = gzread(text->file, text->buffer + text->end, (unsigned)wanted);
    *at_end = got < wanted;
    if (got >= 0) {
        text->end += (size_t)got;
    }
    if (*at_end) {
        int code = Z_OK;
        const char *reason = gzerror(text->file, &code);
        if (code == Z_MEM_ERROR) {
            return gsm_fail_memory(report);
        }
        if (got < 0 || code == Z_BUF_ERROR || code == Z_DATA_ERROR) {
            return gsm_fail(report, GSM_IO_ERROR, "%s: cannot be read to its end: %s", text->path,
                            code == Z_ERRNO ? strerror(errno) : reason);
        }
    }
    return GSM_SUCCESS;
}

/* The first LF, CR or NUL of the unread bytes from begin on, or NULL. */
static char *find_end(const gsm_text *text, size_t begin) {
    for (size_t k = begin; k < text->end; k++) {
        char c = text->buffer[k];
        if (c == '\n' || c == '\r' || c == '\0') {
            return text->buffer + k;
        }
    }
    return NULL;
}

/* Skips the LF of a CR LF, which may be the first byte of the next block. */
static int skip_line_feed(gsm_text *text, gsm_report *report) {
    bool at_end = false;
    int status = text->begin == text->end ? refill(text, &at_end, report) : GSM_SUCCESS;
    if (status == GSM_SUCCESS) {
        text->begin += text->begin < text->end && text->buffer[text->begin] == '\n';
        text->after_cr = false;
    }
    return status;
}

int gsm_text_next_line(gsm_text *text, char **line, gsm_report *report) {
    *line = NULL;
    int status = text->after_cr ? skip_line_feed(text, report) : GSM_SUCCESS;
    if (status != GSM_SUCCESS) {
        return status;
    }
    char *end = find_end(text, text->begin);
    if (end == NULL) {
        bool at_end = false;
        size_t searched = text->end - text->begin;
        status = refill(text, &at_end, report);
        if (status != GSM_SUCCESS) {
            return status;
        }
        end = find_end(text, searched);
        if (end == NULL && !at_end) {
            return gsm_fail(report, GSM_BAD_FILE, "%s:%" PRId64 ": line longer than %d bytes", text->path,
                            text->line + 1, (int)GSM_TEXT_SIZE);
        }
        if (end == NULL && text->end == 0) {
            return GSM_SUCCESS;
        }
    }
    char *begin = text->buffer + text->begin;
    text->line++;
    if (end == NULL) { /* the last line has no end */
        end = text->buffer + text->end;
        text->begin = text->end;
    } else if (*end == '\0') {
        return gsm_fail(report, GSM_BAD_FILE, "%s:%" PRId64 ":%d: a NUL byte: not a text file", text->path,
                        text->line, (int)(end - begin) + 1);
    } else {
        text->begin = (size_t)(end + 1 - text->buffer);
        text->after_cr = *end == '\r';
    }
    *end = '\0';
    *line = begin;
    return GSM_SUCCESS;
}

/* ---------------------------------------------------------------------------------------- numbers --- */

const char *gsm_skip_blanks(const char *text) {
    while (*text == ' ' || *text == '\t') {
        text++;
    }
    return text;
}

/* Whether a token may end here. */
static bool ends_token(char c) {
    return c == '\0' || c == ' ' || c == '\t';
}

const char *gsm_read_count(const char *text, int64_t *value, const char **fault) {
    int64_t v = 0;
    text = gsm_skip_blanks(text);
    const char *digits = text;
    for (; *text >= '0' && *text <= '9'; text++) {
        v = 10 * v + (*text - '0');
        if (v > INT64_C(100000000000000000)) {
            *fault = "is too large";
            return NULL;
        }
    }
    *value = v;
    if (text > digits && ends_token(*text)) {
        return text;
    }
    *fault = *digits == '\0' ? "is missing" : "is not a whole number";
    return NULL;
}

/* What is wrong with a token that is no number. */
static const char *find_fault(const char *token, bool integer) {
    const char *word = token + (*token == '-' || *token == '+');
    if (*token == '\0') {
        return "is missing";
    }
    if (strncasecmp(word, "nan", 3) == 0 || strncasecmp(word, "inf", 3) == 0) {
        return "is not finite";
    }
    return integer ? "is not an integer" : "is not a number";
}

/* The slow, exact way: strtod, which wants the decimal point of the locale and no D for an exponent. length is that
 * of the token, which has the form that gsm_read_real takes; at most 500 bytes are read. */
static bool read_real_slowly(const char *token, size_t length, double *value) {
    char copy[512];
    const char *local_point = localeconv()->decimal_point;
    const char *point = memchr(token, '.', length);
    size_t before = point == NULL ? length : (size_t)(point - token);
    size_t inserted = point == NULL ? 0 : strlen(local_point);
    size_t after = point == NULL ? 0 : length - before - 1;
    if (length >= 500 || before + inserted + after >= sizeof copy) {
        return false;
    }
    memcpy(copy, token, before);
    memcpy(copy + before, local_point, inserted);
    memcpy(copy + before + inserted, token + length - after, after);
    copy[before + inserted + after] = '\0';
    char *letter = strpbrk(copy, "dD");
    if (letter != NULL) {
        *letter = 'e';
    }
    char *end = NULL;
    *value = strtod(copy, &end);
    return *end == '\0';
}

/* A number as it is written: digits times a power of ten. */
typedef struct decimal {
    uint64_t digits;
    int exponent;
    bool negative, too_long; /* too_long: digits lacks the last ones */
} decimal;

/* The exponent behind its letter; NULL where there is none. */
static const char *scan_exponent(const char *text, decimal *number) {
    bool down = *text == '-';
    text += *text == '-' || *text == '+';
    if (*text < '0' || *text > '9') {
        return NULL;
    }
    int power = 0;
    for (; *text >= '0' && *text <= '9'; text++) {
        power = power < 100000 ? 10 * power + (*text - '0') : power;
    }
    number->exponent += down ? -power : power;
    return text;
}

/* Takes a token apart; returns the text behind it, or NULL where it is no number. */
static const char *scan_real(const char *text, bool integer, decimal *number) {
    const uint64_t exact = UINT64_C(1) << 53;
    int point = 0;
    bool any = false;
    memset(number, 0, sizeof *number);
    number->negative = *text == '-';
    text += *text == '-' || *text == '+';
    for (; (*text >= '0' && *text <= '9') || *text == '.'; text++) {
        if (*text == '.') {
            if (point != 0 || integer) {
                return NULL;
            }
            point = 1;
            continue;
        }
        any = true;
        number->too_long = number->too_long || number->digits > exact;
        number->digits = number->too_long ? number->digits : 10 * number->digits + (uint64_t)(*text - '0');
        number->exponent -= point;
    }
    bool raised = *text == 'e' || *text == 'E' || *text == 'd' || *text == 'D';
    if (any && raised && !integer) {
        text = scan_exponent(text + 1, number);
    }
    return any && text != NULL && ends_token(*text) ? text : NULL;
}

/* Digits that fit 53 bits times or over a power of ten up to 22 are exact in one operation (Clinger, 1990);
 * others go to strtod. */
const char *gsm_read_real(const char *text, bool integer, double *value, const char **fault) {
    static const double powers[] = {1e0,  1e1,  1e2,  1e3,  1e4,  1e5,  1e6,  1e7,  1e8,  1e9,  1e10, 1e11,
                                    1e12, 1e13, 1e14, 1e15, 1e16, 1e17, 1e18, 1e19, 1e20, 1e21, 1e22};
    const uint64_t exact = UINT64_C(1) << 53;
    const char *token = gsm_skip_blanks(text);
    decimal number;
    text = scan_real(token, integer, &number);
    if (text == NULL) {
        *fault = find_fault(token, integer);
        return NULL;
    }
    if (!number.too_long && number.digits <= exact && number.exponent >= -22 && number.exponent <= 22) {
        double v = (double)number.digits;
        v = number.exponent < 0 ? v / powers[-number.exponent] : v * powers[number.exponent];
        *value = number.negative ? -v : v;
    } else if (integer) {
        *fault = "is beyond 2^53";
        return NULL;
    } else if (!read_real_slowly(token, (size_t)(text - token), value)) {
        *fault = "has 500 bytes or more";
        return NULL;
    }
    if (!isfinite(*value)) {
        *fault = "is too large for double precision";
        return NULL;
    }
    return text;
}
