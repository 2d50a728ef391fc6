/* What executors say about themselves. Text that is counted whether or not it fits: how a summary is put
 * together; and the tiers of a cost. */
#ifndef GSV_API_SUMMARY_H
#define GSV_API_SUMMARY_H

#include <stddef.h>

#include "../../dtype.h"
#include "../tree/plan.h"

typedef struct gsv_text {
    char *text;    /* the caller's; NUL-terminated after every gsv_text_add if bytes > 0 */
    size_t bytes;  /* room, with the NUL */
    size_t length; /* of the whole text, without the NUL */
} gsv_text;

void gsv_text_add(gsv_text *text, const char *format, ...) __attribute__((format(printf, 2, 3)));

/* Another tier, unless it is empty. `numbers` are those of its lower trapezoids. */
void gsv_cost_add(gpusolve_cost *cost, const char *name, int64_t supernodes, int64_t numbers, gsv_numbers of);

#endif
