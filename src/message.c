#include "message.h"

#include <stdarg.h>
#include <stdio.h>

gpusolve_status gsv_fail(gsv_message *message, gpusolve_status status, const char *format, ...) {
    if (message) {
        va_list arguments;
        va_start(arguments, format);
        vsnprintf(message->text, sizeof message->text, format, arguments);
        va_end(arguments);
    }
    return status;
}
