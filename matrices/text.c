/* Lines and numbers of a text file: see text.h. */
#define _POSIX_C_SOURCE 200809L

#include "text.h"

#include <errno.h>
#include <inttypes.h>
#include <locale.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>
#include <zlib.h>

/* ------------------------------------------------------------------------------------------ lines --- */

int gsm_text_open(gsm_text *text, const char *path, gsm_report *report) {
    memset(text, 0, sizeof *text);
    text->path = path;
    errno = 0;
    text->file = gzopen(path, "rb");
    if (text->file == NULL) {
        bool absent = errno == ENOENT || errno == ENOTDIR;
        return errno == 0 || errno == ENOMEM
                   ? gsm_fail_memory(report)
                   : gsm_fail(report, absent ? GSM_NOT_FOUND : GSM_IO_ERROR, "%s: %s", path, strerror(errno));
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

int gsm_text_next_line(gsm_text *text, char **line, gsm_report *report) {
    char *end = memchr(text->buffer + text->begin, '\n', text->end - text->begin);
    *line = NULL;
    if (end == NULL) {
        bool at_end = false;
        int status = refill(text, &at_end, report);
        if (status != GSM_SUCCESS) {
            return status;
        }
        end = memchr(text->buffer, '\n', text->end);
        if (end == NULL && !at_end) {
            return gsm_fail(report, GSM_BAD_FILE, "%s:%" PRId64 ": line longer than %d bytes", text->path,
                            text->line + 1, (int)GSM_TEXT_SIZE);
        }
        if (end == NULL && text->end == 0) {
            return GSM_SUCCESS;
        }
    }
    char *begin = text->buffer + text->begin;
    if (end == NULL) { /* the last line has no newline */
        end = text->buffer + text->end;
        text->begin = text->end;
    } else {
        text->begin = (size_t)(end + 1 - text->buffer);
    }
    text->line++;
    if (memchr(begin, '\0', (size_t)(end - begin)) != NULL) {
        return gsm_fail(report, GSM_BAD_FILE, "%s:%" PRId64 ": a NUL byte: not a text file", text->path,
                        text->line);
    }
    *end = '\0';
    *line = begin;
    return GSM_SUCCESS;
}

/* ---------------------------------------------------------------------------------------- numbers --- */

const char *gsm_skip_blanks(const char *text) {
    while (*text == ' ' || *text == '\t' || *text == '\r') {
        text++;
    }
    return text;
}

/* Whether a token may end here. */
static bool ends_token(char c) {
    return c == '\0' || c == ' ' || c == '\t' || c == '\r';
}

const char *gsm_read_count(const char *text, int64_t *value) {
    int64_t v = 0;
    text = gsm_skip_blanks(text);
    const char *digits = text;
    for (; *text >= '0' && *text <= '9'; text++) {
        v = 10 * v + (*text - '0');
        if (v > INT64_C(100000000000000000)) {
            return NULL;
        }
    }
    *value = v;
    return text > digits && ends_token(*text) ? text : NULL;
}

/* The slow, exact way: strtod, which wants the decimal point of the locale. length is that of the token. */
static bool read_real_slowly(const char *token, size_t length, double *value) {
    char copy[512];
    const char *local_point = localeconv()->decimal_point;
    const char *point = memchr(token, '.', length);
    size_t before = point == NULL ? length : (size_t)(point - token);
    size_t inserted = point == NULL ? 0 : strlen(local_point);
    size_t after = point == NULL ? 0 : length - before - 1;
    if (before + inserted + after >= sizeof copy) {
        return false;
    }
    memcpy(copy, token, before);
    memcpy(copy + before, local_point, inserted);
    memcpy(copy + before + inserted, token + length - after, after);
    copy[before + inserted + after] = '\0';
    char *end = NULL;
    *value = strtod(copy, &end);
    return *end == '\0';
}

/* Digits that fit 53 bits times or over a power of ten up to 22 are exact in one operation (Clinger, 1990);
 * others go to strtod. */
const char *gsm_read_real(const char *text, bool integer, double *value) {
    static const double powers[] = {1e0,  1e1,  1e2,  1e3,  1e4,  1e5,  1e6,  1e7,  1e8,  1e9,  1e10, 1e11,
                                    1e12, 1e13, 1e14, 1e15, 1e16, 1e17, 1e18, 1e19, 1e20, 1e21, 1e22};
    const uint64_t exact = UINT64_C(1) << 53;
    text = gsm_skip_blanks(text);
    const char *token = text;
    bool negative = *text == '-';
    text += *text == '-' || *text == '+';
    uint64_t digits = 0;
    int point = 0, exponent = 0;
    bool any = false, too_long = false;
    for (; (*text >= '0' && *text <= '9') || *text == '.'; text++) {
        if (*text == '.') {
            if (point != 0 || integer) {
                return NULL;
            }
            point = 1;
            continue;
        }
        any = true;
        too_long = too_long || digits > exact;
        digits = too_long ? digits : 10 * digits + (uint64_t)(*text - '0');
        exponent -= point;
    }
    if (!any) {
        return NULL;
    }
    if ((*text == 'e' || *text == 'E') && !integer) {
        text++;
        bool down = *text == '-';
        text += *text == '-' || *text == '+';
        if (*text < '0' || *text > '9') {
            return NULL;
        }
        int power = 0;
        for (; *text >= '0' && *text <= '9'; text++) {
            power = power < 100000 ? 10 * power + (*text - '0') : power;
        }
        exponent += down ? -power : power;
    }
    if (!ends_token(*text)) {
        return NULL;
    }
    if (!too_long && digits <= exact && exponent >= -22 && exponent <= 22) {
        double v = (double)digits;
        v = exponent < 0 ? v / powers[-exponent] : v * powers[exponent];
        *value = negative ? -v : v;
    } else if (integer || !read_real_slowly(token, (size_t)(text - token), value)) {
        return NULL;
    }
    return isfinite(*value) ? text : NULL;
}
