#include "support.h"

#include "../../memory.h"

#include <stdio.h>
#include <string.h>

gsv_device_dense gsv_cuda_dense(const gpusolve_dense *dense) {
    return (gsv_device_dense){dense->values, gsv_row_stride(dense), gsv_column_stride(dense),
                              (int32_t)dense->cols};
}

gpusolve_status gsv_cuda_check_memory(gpusolve_handle *handle, const char *name, const void *values,
                                      size_t number, int *on_device) {
    int where = GSV_PAGEABLE;
    const int previous = gsv_cuda_enter(handle->device);
    const gpusolve_status status =
        gsv_cuda_check_pointer(handle->device, name, values, &where, &handle->message);
    gsv_cuda_leave(previous);
    *on_device = status == GPUSOLVE_OK && (where == GSV_MANAGED || where == GSV_ON_DEVICE);
    if (*on_device && (uintptr_t)values % number) /* kernels read whole numbers */
        return gsv_fail(&handle->message, GPUSOLVE_INVALID_ARGUMENT,
                        "%s: is in device memory and not aligned to %zu bytes", name, number);
    return status;
}

gsv_device_dense gsv_cuda_packed(const gpusolve_dense *dense, void *values) {
    gpusolve_dense packed = *dense;
    packed.values = values;
    packed.ld = dense->order == GPUSOLVE_ROW_MAJOR ? dense->cols : dense->rows;
    return gsv_cuda_dense(&packed);
}

const gsv_launchers *gsv_cuda_launchers(gsv_numbers numbers, gsv_upper upper) {
    static const gsv_launchers *const of[][3] = {
        [GSV_NUMBERS_S] = {&gsv_stream_s, &gsv_stream_m, &gsv_tasks_m},
        [GSV_NUMBERS_D] = {&gsv_stream_d, &gsv_stream_d, &gsv_tasks_d},
        [GSV_NUMBERS_C] = {&gsv_stream_c, &gsv_stream_c, &gsv_tasks_c},
        [GSV_NUMBERS_Z] = {&gsv_stream_z, &gsv_stream_z, &gsv_tasks_z},
        [GSV_NUMBERS_DS] = {&gsv_stream_ds, &gsv_stream_m, &gsv_tasks_m},
        [GSV_NUMBERS_ZC] = {&gsv_stream_zc, &gsv_stream_zc, &gsv_tasks_c},
    };
    return of[numbers][upper];
}

const gsv_launchers *gsv_cuda_movers(gsv_numbers numbers, gsv_upper upper) {
    return gsv_cuda_launchers((gsv_numbers)gsv_vector_dtype(numbers), upper);
}

gpusolve_status gsv_cuda_probe(int *device, char *name, size_t name_bytes, gsv_message *message) {
    int count = 0;
    cudaError_t error = cudaGetDeviceCount(&count);
    if (error != cudaSuccess || count == 0) {
        cudaGetLastError();
        return gsv_fail(message, GPUSOLVE_NO_DEVICE, "no CUDA device: %s",
                        error == cudaSuccess ? "none found" : cudaGetErrorString(error));
    }
    if (*device >= count || *device < -1)
        return gsv_fail(message, GPUSOLVE_NO_DEVICE, "options->device = %d, devices are 0 .. %d", *device,
                        count - 1);
    if (*device == -1 && (error = cudaGetDevice(device)) != cudaSuccess)
        return gsv_cuda_check(error, "cudaGetDevice", message);
    struct cudaDeviceProp properties;
    if ((error = cudaGetDeviceProperties(&properties, *device)) != cudaSuccess)
        return gsv_cuda_check(error, "cudaGetDeviceProperties", message);
    snprintf(name, name_bytes, "%s", properties.name);
    return GPUSOLVE_OK;
}

void gsv_cuda_synchronize(int device, void *stream) {
    const int previous = gsv_cuda_enter(device);
    cudaStreamSynchronize((cudaStream_t)stream);
    gsv_cuda_leave(previous);
}
