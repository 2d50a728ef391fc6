/* The sentence that explains a failure. Lowest layer: includes nothing of the library but the public header.
 */
#ifndef GSV_MESSAGE_H
#define GSV_MESSAGE_H

#include "gpusolve.h"

#ifdef __cplusplus
extern "C" {
#endif

typedef struct gsv_message {
    char text[256];
} gsv_message;

/* Write the sentence (message may be NULL) and return the status: return gsv_fail(m, GPUSOLVE_..., "...",
 * ...). */
gpusolve_status gsv_fail(gsv_message *message, gpusolve_status status, const char *format, ...)
    __attribute__((format(printf, 3, 4)));

/* An object that a call needs is NULL, perhaps because the call that should have made it failed: the sentence that the handle
 * had before, the cause, is kept in the new one. Returns GPUSOLVE_INVALID_ARGUMENT. */
gpusolve_status gsv_fail_missing(gsv_message *message, const char *name);

#ifdef __cplusplus
}
#endif
#endif
