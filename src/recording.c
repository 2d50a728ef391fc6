#define _GNU_SOURCE /* pthread_rwlock_t */
#include "recording.h"

#include <pthread.h>

#include "device.h"

/* Read: a thread records. Write: a thread waits for a device. */
static pthread_rwlock_t recording = PTHREAD_RWLOCK_INITIALIZER;
static pthread_once_t watched = PTHREAD_ONCE_INIT;

/* In a child process the threads that held the lock are gone. Its calls find a device that they cannot use. */
static void free_in_child(void) {
    static const pthread_rwlock_t none = PTHREAD_RWLOCK_INITIALIZER;
    recording = none;
}

static void watch_forks(void) {
    pthread_atfork(NULL, NULL, free_in_child);
}

void gsv_cuda_recording_begins(void) {
    pthread_once(&watched, watch_forks);
    pthread_rwlock_rdlock(&recording);
}

void gsv_cuda_recording_ends(void) {
    pthread_rwlock_unlock(&recording);
}

gpusolve_status gsv_cuda_synchronize_device(const char *what, gsv_message *message) {
    pthread_once(&watched, watch_forks);
    pthread_rwlock_wrlock(&recording);
    const gpusolve_status status = gsv_cuda_check(cudaDeviceSynchronize(), what, message);
    pthread_rwlock_unlock(&recording);
    return status;
}
