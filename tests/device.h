/* Device memory for tests. Without CUDA nothing runs on a device, and the stand-ins below say so. */
#ifndef GPUSOLVE_TESTS_DEVICE_H
#define GPUSOLVE_TESTS_DEVICE_H

#include <stddef.h>

#ifdef GPUSOLVE_WITH_CUDA

#ifdef __cplusplus
extern "C" {
#endif

/* Allocated on the current device and filled from host memory; NULL on failure, never NULL for 0 bytes. */
void *device_new(const void *host, size_t bytes);
/* Fill device memory from the host, or with one byte. Done when they return, for streams of every kind. 0 on
 * success. */
int device_write(void *device, const void *host, size_t bytes);
int device_fill(void *device, int byte, size_t bytes);
/* Waits for the default stream's work, then copies to the host. 0 on success. */
int device_read(void *host, const void *device, size_t bytes);
void device_delete(void *device);
/* A stream that does not wait for the default one; NULL on failure. device_wait: 0 on success. */
void *device_stream(void);
int device_wait(void *stream);
void device_stream_delete(void *stream);

#ifdef __cplusplus
}
#endif

#else

static inline void *device_new(const void *host, size_t bytes) {
    (void)host;
    (void)bytes;
    return NULL;
}

static inline int device_read(void *host, const void *device, size_t bytes) {
    (void)host;
    (void)device;
    (void)bytes;
    return -1;
}

static inline void device_delete(void *device) {
    (void)device;
}

static inline void *device_stream(void) {
    return NULL;
}

static inline int device_wait(void *stream) {
    (void)stream;
    return -1;
}

static inline void device_stream_delete(void *stream) {
    (void)stream;
}

#endif
#endif
