/* Files, as saving and loading want them: every failure is a status whose sentence names the file, a call that a signal
 * interrupts goes on, and a file that is replaced is the old one or the new one at any time. */
#ifndef GSV_STORE_FILE_H
#define GSV_STORE_FILE_H

#include <stddef.h>
#include <stdint.h>

#include "../../message.h"

/* The path is there and not empty. */
gpusolve_status gsv_path_check(const char *path, gsv_message *message);
/* The end of a path, for a sentence that is no longer than a message. */
const char *gsv_path_end(const char *path);

/* GPUSOLVE_FILE_ERROR: "path: PATH: DOING: what the system says of the error". */
gpusolve_status gsv_file_fail(const char *path, const char *doing, int error, gsv_message *message);

/* Open a regular file for reading; anything else is refused, and no pipe is waited for. *bytes is its length. */
gpusolve_status gsv_file_open(const char *path, int *fd, int64_t *bytes, gsv_message *message);
void gsv_file_close(int fd);

enum { GSV_FILE_ENDED = -1 };

/* All these bytes, from that place on. Any thread may call these. 0, an errno, or GSV_FILE_ENDED: the file is shorter. */
int gsv_file_read(int fd, void *to, size_t bytes, int64_t offset);
int gsv_file_write(int fd, const void *from, size_t bytes, int64_t offset);

/* The file as read-only memory, or NULL, and *error. */
const void *gsv_file_map(int fd, int64_t bytes, int *error);
/* Pages of it that will be read, which the system may read ahead; and that will not be read soon, which it may unmap. On a page's start. */
void gsv_file_expect(const void *memory, int64_t bytes);
void gsv_file_leave(const void *memory, int64_t bytes);
void gsv_file_unmap(const void *memory, int64_t bytes);

/* A file that is to be at `path` once it is complete. Until then it is beside it, as ".gpusolve-PROCESS-NUMBER". */
typedef struct gsv_new_file {
    int fd;
    char *path, *beside, *folder;
} gsv_new_file;

/* Then either commit: it is on the disk, and at its path; or abandon: it is gone, and what was there before is as it was. */
gpusolve_status gsv_new_file_begin(const char *path, int64_t bytes, gsv_new_file *file, gsv_message *message);
gpusolve_status gsv_new_file_commit(gsv_new_file *file, gsv_message *message);
void gsv_new_file_abandon(gsv_new_file *file);

/* Test hook: the k-th call of the system from now on fails as on a full or broken disk, k = 1, 2, ...; 0: none does. Process-wide.
 * Returns what was left to count of the number before. */
int64_t gsv_fail_file(int64_t k);

#endif
