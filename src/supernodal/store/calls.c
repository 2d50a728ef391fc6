/* The calls of gpusolve_store.h: arguments, then a file (write.c, read.c), then a factor (api/factor.c). */
#include "gpusolve_store.h"

#include "../api/checks.h"
#include "../api/factor.h"
#include "export.h"
#include "file.h"
#include "store.h"

/* Everything that gpusolve_factor_create would refuse, is: what is saved can be loaded. */
static gpusolve_status check_factor(const gpusolve_factor_data *data, gsv_pool *pool, gsv_message *message) {
    gsv_structure structure;
    gsv_plan plan;
    gpusolve_status status = gsv_import_structure(data, pool, &structure, message);
    if (!status)
        status = gsv_plan_create(&structure, pool, &plan, message);
    if (status)
        return status;
    status = gsv_import_check_values(data, &plan, pool, NULL, message);
    gsv_plan_free(&plan);
    return status;
}

gpusolve_status gpusolve_factor_data_save(gpusolve_handle *handle, const gpusolve_factor_data *data,
                                          const char *path) {
    GSV_ENTER(handle);
    gsv_message *message = &handle->message;
    if (!data)
        return gsv_fail(message, GPUSOLVE_INVALID_ARGUMENT, "data: is NULL");
    gpusolve_status status = gsv_check_record("data", data, sizeof *data, message);
    if (status)
        return status;
    gpusolve_factor_data saved = *data;
    saved.in_place = 0;
    status = check_factor(&saved, handle->pool, message);
    if (!status)
        status = gsv_path_check(path, message);
    return status ? status : gsv_store_write(&saved, path, handle->pool, message);
}

gpusolve_status gpusolve_factor_save(gpusolve_handle *handle, const gpusolve_factor *factor,
                                     const char *path) {
    GSV_ENTER(handle);
    gsv_message *message = &handle->message;
    gsv_exported exported;
    gpusolve_status status = gsv_check_factor(handle, factor);
    if (!status)
        status = gsv_path_check(path, message);
    if (!status)
        status = gsv_check_not_captured(handle, "this call waits for it");
    if (!status)
        status = gsv_export(handle, factor, &exported);
    if (status)
        return status;
    status = check_factor(&exported.data, handle->pool, message);
    if (!status)
        status = gsv_store_write(&exported.data, path, handle->pool, message);
    gsv_exported_free(&exported);
    return status;
}

static gpusolve_status load(gpusolve_handle *handle, const char *path, int how, gpusolve_factor **factor) {
    gsv_stored stored;
    gpusolve_status status = gsv_store_open(path, how, handle->pool, &stored, &handle->message);
    if (status)
        return status;
    const int at_once =
        !handle->executor->brings_blocks || stored.data.kind != GPUSOLVE_SUPERNODAL_LL || stored.data.n == 0;
    if (at_once)
        status = stored.numbers.bring_all(stored.numbers.context, handle->pool, &handle->message);
    if (!status)
        status = gsv_factor_make_of(handle, &stored.data, NULL, at_once ? NULL : &stored.numbers, factor);
    gsv_stored_free(&stored);
    return status;
}

static gpusolve_status check_factor_out(gpusolve_factor **factor, gsv_message *message) {
    return factor ? GPUSOLVE_OK : gsv_fail(message, GPUSOLVE_INVALID_ARGUMENT, "factor: is NULL");
}

gpusolve_status gpusolve_factor_load(gpusolve_handle *handle, const char *path, gpusolve_factor **factor) {
    if (factor)
        *factor = NULL;
    GSV_ENTER(handle);
    gpusolve_status status = gsv_path_check(path, &handle->message);
    if (!status)
        status = check_factor_out(factor, &handle->message);
    return status ? status : load(handle, path, GSV_STORED_VERIFY, factor);
}

gpusolve_status gpusolve_factor_map(gpusolve_handle *handle, const char *path,
                                    const gpusolve_map_options *options, gpusolve_factor **factor) {
    static const gpusolve_map_options DEFAULT = GPUSOLVE_MAP_OPTIONS_INIT;
    if (factor)
        *factor = NULL;
    GSV_ENTER(handle);
    gsv_message *message = &handle->message;
    const gpusolve_map_options *o = options ? options : &DEFAULT;
    gpusolve_status status = gsv_path_check(path, message);
    if (!status)
        status = gsv_check_record("options", o, sizeof *o, message);
    if (!status && o->verify != 0 && o->verify != 1)
        status =
            gsv_fail(message, GPUSOLVE_INVALID_ARGUMENT, "options->verify: is %d, not 0 or 1", o->verify);
    if (!status)
        status = check_factor_out(factor, message);
    return status ? status : load(handle, path, GSV_STORED_MAP | (o->verify ? GSV_STORED_VERIFY : 0), factor);
}
