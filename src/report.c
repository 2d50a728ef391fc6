/* gpusolve_report: an adapter's words become the handle's last error. */
#include "handle.h"

gpusolve_status gpusolve_report(gpusolve_handle *handle, gpusolve_status status, const char *text) {
    GSV_ENTER(handle);
    if (status == GPUSOLVE_OK)
        return status;
    return gsv_fail(&handle->message, status, "%s", text ? text : gpusolve_status_message(status));
}
