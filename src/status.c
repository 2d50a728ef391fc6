#include "gpusolve.h"

#define TEXT_(x) #x
#define TEXT(x) TEXT_(x)

const char *gpusolve_status_name(gpusolve_status status) {
    switch (status) {
#define NAME_CASE(name, value, message) \
    case name:                          \
        return #name;
        GPUSOLVE_STATUS_LIST(NAME_CASE)
#undef NAME_CASE
    }
    return "unknown status";
}

const char *gpusolve_status_message(gpusolve_status status) {
    switch (status) {
#define MESSAGE_CASE(name, value, message) \
    case name:                             \
        return message;
        GPUSOLVE_STATUS_LIST(MESSAGE_CASE)
#undef MESSAGE_CASE
    }
    return "unknown status";
}

const char *gpusolve_version(void) {
    return TEXT(GPUSOLVE_VERSION_MAJOR) "." TEXT(GPUSOLVE_VERSION_MINOR) "." TEXT(GPUSOLVE_VERSION_PATCH);
}
