/** @file
 * gpusolve's saved factors: a factor in a file, to be loaded by another process, on another machine, on another backend. */
#ifndef GPUSOLVE_STORE_H
#define GPUSOLVE_STORE_H

#include "gpusolve.h"

#ifdef __cplusplus
extern "C" {
#endif

/**
 * Save a factor from its plain arrays, bit for bit. The handle lends its threads and its last error; its backend is not used.
 * @param data  [in, host] everything that gpusolve_factor_create would refuse is refused; in_place is not looked at
 * @param path  [in, host] the file. If there is one it is replaced, and keeps its permissions; a symbolic link is followed
 *
 * The file holds the arrays without gaps, with zeros above the diagonals, and a split-complex factor as interleaved: about as many
 * bytes as they have. They are under checksums. Nothing of a backend is in it: a factor that was saved beside a GPU can be loaded
 * on the host, and the other way round. It is in the byte order of the machine.
 *
 * The file is written beside its place, as ".gpusolve-PROCESS-NUMBER", brought to the disk and then renamed. So at any time,
 * also after a crash of the system, there is the old file or the whole new one. A process that is killed while it writes leaves
 * the file of the other name behind.
 *
 * @retval GPUSOLVE_FILE_ERROR the file cannot be written: the sentence names it, and says why. What was there is as it was.
 */
GPUSOLVE_API gpusolve_status gpusolve_factor_data_save(gpusolve_handle *handle,
                                                       const gpusolve_factor_data *data, const char *path);

/**
 * Save a factor whose arrays are not at hand any more, by reading its numbers back from the backend. They come back to rounding,
 * for backends keep what they multiply by: the host reciprocals of the diagonal and quotients beside it, CUDA the
 * inverses of the diagonal triangles, which are inverted once more. So the factor that is loaded solves as accurately, but not
 * with the same bits: where these matter save the arrays. A host factor with in_place has them still, and is saved bit for bit.
 *
 * L L' is saved as a supernodal factor. L D L' is saved as compressed columns with the zeros that supernodes hold, and with an
 * index for each number. Blocks; needs host memory for the arrays meanwhile, and on CUDA device memory for the widest
 * panel. The rest is as above.
 * @param factor  [in] of the handle's backend and device. CUDA: the handle's stream must not be under capture
 */
GPUSOLVE_API gpusolve_status gpusolve_factor_save(gpusolve_handle *handle, const gpusolve_factor *factor,
                                                  const char *path);

/**
 * Load a factor: gpusolve_factor_create with the arrays of a file, which are read into memory and given back at the end.
 * The factor is the one that gpusolve_factor_create makes of the data that was saved, with the same bits in every solve, and
 * takes refreshes with data of that pattern.
 * @param path    [in, host] a file that was saved by this version of the library or by an earlier one
 * @param factor  [out, host] the new factor; NULL on failure
 *
 * Every byte of the file is checked against its checksums, and all arrays as gpusolve_factor_create checks them.
 *
 * @retval GPUSOLVE_FILE_ERROR there is no such file, or it cannot be read.
 * @retval GPUSOLVE_INVALID_FILE it is not a saved factor (foreign), or is truncated, or damaged: the sentence says which.
 * @retval GPUSOLVE_NOT_SUPPORTED its format is newer than this library, or it comes from a machine of the other byte order.
 */
GPUSOLVE_API gpusolve_status gpusolve_factor_load(gpusolve_handle *handle, const char *path,
                                                  gpusolve_factor **factor);

/** How a file is mapped. */
typedef struct gpusolve_map_options {
    size_t size; /**< sizeof(gpusolve_map_options); set by GPUSOLVE_MAP_OPTIONS_INIT */
    int verify; /**< 1 (default): compare the numbers with their checksums. The host reads them once more for that; CUDA compares
                  * those of a supernodal factor on their way to the device. 0: do not. All else is compared in any case, and
                  * numbers that no factor can have are refused */
} gpusolve_map_options;

/** The default options: gpusolve_map_options o = GPUSOLVE_MAP_OPTIONS_INIT. */
#define GPUSOLVE_MAP_OPTIONS_INIT \
    { sizeof(gpusolve_map_options), 1 }

/**
 * The same without a copy of the numbers in memory: they are read where the file is mapped, and go from there to where the backend
 * wants them, on CUDA through its pinned buffers. That saves memory, and time if the file is in the page cache.
 * The mapping ends with the call. Nobody may write or shorten the file while the call runs: the system ends a process that
 * reads a mapped file behind its new end. To replace it by gpusolve_factor_data_save is safe.
 * @param options  [in, host] NULL for the defaults
 */
GPUSOLVE_API gpusolve_status gpusolve_factor_map(gpusolve_handle *handle, const char *path,
                                                 const gpusolve_map_options *options,
                                                 gpusolve_factor **factor);

#ifdef __cplusplus
}
#endif

#endif /* GPUSOLVE_STORE_H */
