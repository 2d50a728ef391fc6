/* The words and numbers of one line of a Matrix Market file, each checked: what market.c and block.c read with. */
#ifndef GPUSOLVE_MATRICES_TOKENS_H
#define GPUSOLVE_MATRICES_TOKENS_H

#include "text.h"

/* The tokens of one line, from left to right. The first fault is kept as the status and as a message, which starts with
 * PATH:LINE:COLUMN; later calls do nothing then, and return zeros. */
typedef struct gsm_tokens {
    const gsm_text *file;
    const char *text, *at; /* at: behind the last token */
    gsm_report *report;
    int status;
} gsm_tokens;

/* text is the line that was read last. */
gsm_tokens gsm_tokens_start(const gsm_text *file, const char *text, gsm_report *report);

/* The next token as a count; what names it for the message. */
int64_t gsm_next_count(gsm_tokens *line, const char *what);

/* The next token as a count from 1 to most. */
int64_t gsm_next_index(gsm_tokens *line, const char *what, int64_t most);

/* The next token as a real number, or as an integer up to 2^53, or the next two as the parts of a complex number. */
void gsm_next_number(gsm_tokens *line, bool is_complex, bool is_integer, double value[2]);

/* Refuses what is left of the line; what: "follows the entry", say. */
void gsm_end_line(gsm_tokens *line, const char *what);

/* Takes the banner apart: word[0] .. word[4] are %%MatrixMarket, matrix, FORMAT, FIELD and SYMMETRY, in the line, which is cut
 * there. Refuses a line that does not have this form. */
int gsm_read_banner(const gsm_text *file, char *line, const char *word[5], gsm_report *report);

/* Refuses a word of the banner, which is line. */
int gsm_refuse_word(const gsm_text *file, const char *line, const char *word, int status, const char *fault,
                    gsm_report *report);

#endif
