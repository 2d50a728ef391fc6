/*
 * Recording launches on one thread and waiting for the whole device on another exclude each other: CUDA refuses
 * to synchronise a device while any of its streams is captured, and the refusal spoils the capture.
 *
 * The library captures streams of its own when it makes a workspace; it waits for a whole device in a refresh and
 * where a selection gets new numbers. What the caller captures is the caller's to keep apart from these.
 */
#ifndef GSV_RECORDING_H
#define GSV_RECORDING_H

#include "message.h"

#ifdef __cplusplus
extern "C" {
#endif

/* Around a capture of one of the library's streams. Several threads may record at once. */
void gsv_cuda_recording_begins(void);
void gsv_cuda_recording_ends(void);

/* cudaDeviceSynchronize on the current device, while nobody records; `what` is for the sentence. */
gpusolve_status gsv_cuda_synchronize_device(const char *what, gsv_message *message);

#ifdef __cplusplus
}
#endif
#endif
