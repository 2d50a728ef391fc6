#include "message.h"

#include <stdarg.h>
#include <stdio.h>
#include <string.h>

gpusolve_status gsv_fail(gsv_message *message, gpusolve_status status, const char *format, ...) {
    if (message) {
        va_list arguments;
        va_start(arguments, format);
        vsnprintf(message->text, sizeof message->text, format, arguments);
        va_end(arguments);
    }
    return status;
}

gpusolve_status gsv_fail_missing(gsv_message *message, const char *name) {
    static const char said[] = ": is NULL; the call that failed before said: ";
    gsv_message before = message ? *message : (gsv_message){.text = ""};
    const char *cause = strstr(before.text, said); /* of several such calls the first one's */
    cause = cause ? cause + strlen(said) : before.text;
    const size_t length = strlen(name);
    if (!*cause || (!strncmp(cause, name, length) && !strcmp(cause + length, ": is NULL")))
        return gsv_fail(message, GPUSOLVE_INVALID_ARGUMENT, "%s: is NULL", name);
    return gsv_fail(message, GPUSOLVE_INVALID_ARGUMENT, "%s%s%s", name, said, cause);
}
