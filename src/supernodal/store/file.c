/* Files: file.h. */
#define _DEFAULT_SOURCE /* madvise, strerror_r of POSIX */
#define _FILE_OFFSET_BITS 64
#include "file.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <unistd.h>

#include "../../memory.h"

/* ---------------------------------------------------------------------------------------------- faults --- */

static _Atomic int64_t to_fail;

int64_t gsv_fail_file(int64_t k) {
    return atomic_exchange(&to_fail, k);
}

/* Is this call of the system the one to fail? Then errno says why. */
static int fails(int error) {
    if (atomic_load_explicit(&to_fail, memory_order_relaxed) <= 0 || atomic_fetch_sub(&to_fail, 1) != 1)
        return 0;
    errno = error;
    return 1;
}

/* ----------------------------------------------------------------------------------------------- paths --- */

enum { SHOWN = 120 };

gpusolve_status gsv_path_check(const char *path, gsv_message *message) {
    if (!path)
        return gsv_fail(message, GPUSOLVE_INVALID_ARGUMENT, "path: is NULL");
    return path[0] ? GPUSOLVE_OK : gsv_fail(message, GPUSOLVE_INVALID_ARGUMENT, "path: is empty");
}

const char *gsv_path_end(const char *path) {
    const size_t length = strlen(path);
    return length > SHOWN ? path + length - SHOWN : path;
}

gpusolve_status gsv_file_fail(const char *path, const char *doing, int error, gsv_message *message) {
    char text[80] = "";
    if (error == GSV_FILE_ENDED)
        return gsv_fail(message, GPUSOLVE_INVALID_FILE, "path: %s: became shorter while it was read",
                        gsv_path_end(path));
    if (strerror_r(error, text, sizeof text) != 0 || !text[0])
        snprintf(text, sizeof text, "error %d", error);
    return gsv_fail(message, GPUSOLVE_FILE_ERROR, "path: %s: %s: %s", gsv_path_end(path), doing, text);
}

/* --------------------------------------------------------------------------------------------- reading --- */

static int open_again(const char *path, int flags, mode_t mode) {
    int fd;
    do
        fd = fails(EACCES) ? -1 : open(path, flags | O_CLOEXEC, mode);
    while (fd < 0 && errno == EINTR);
    return fd;
}

void gsv_file_close(int fd) {
    close(fd);
}

gpusolve_status gsv_file_open(const char *path, int *fd, int64_t *bytes, gsv_message *message) {
    struct stat about;
    *fd = open_again(path, O_RDONLY | O_NONBLOCK, 0); /* or a pipe would be waited for */
    if (*fd < 0)
        return gsv_file_fail(path, "cannot be opened", errno, message);
    gpusolve_status status = GPUSOLVE_OK;
    if (fails(EIO) || fstat(*fd, &about) != 0)
        status = gsv_file_fail(path, "cannot be read", errno, message);
    else if (!S_ISREG(about.st_mode))
        status =
            gsv_fail(message, GPUSOLVE_INVALID_FILE, "path: %s: is not a regular file", gsv_path_end(path));
    else
        *bytes = about.st_size;
    if (status) {
        close(*fd);
        *fd = -1;
    }
    return status;
}

enum { AT_ONCE = 1 << 30 }; /* bytes that one call of the system is asked for: more may be refused */

int gsv_file_read(int fd, void *to, size_t bytes, int64_t offset) {
    char *at = to;
    while (bytes > 0) {
        const ssize_t got = fails(EIO) ? -1 : pread(fd, at, bytes < AT_ONCE ? bytes : AT_ONCE, (off_t)offset);
        if (got == 0)
            return GSV_FILE_ENDED;
        if (got < 0) {
            if (errno != EINTR)
                return errno;
            continue;
        }
        at += got;
        bytes -= (size_t)got;
        offset += got;
    }
    return 0;
}

const void *gsv_file_map(int fd, int64_t bytes, int *error) {
    void *memory =
        fails(ENOMEM) ? MAP_FAILED : mmap(NULL, (size_t)bytes, PROT_READ, MAP_SHARED, fd, (off_t)0);
    *error = memory == MAP_FAILED ? errno : 0;
    return memory == MAP_FAILED ? NULL : memory;
}

void gsv_file_expect(const void *memory, int64_t bytes) {
    madvise((void *)(uintptr_t)memory, (size_t)bytes, MADV_WILLNEED); /* advice: no harm if it is refused */
}

void gsv_file_leave(const void *memory, int64_t bytes) {
    madvise((void *)(uintptr_t)memory, (size_t)bytes, MADV_DONTNEED);
}

void gsv_file_unmap(const void *memory, int64_t bytes) {
    munmap((void *)(uintptr_t)memory, (size_t)bytes);
}

/* --------------------------------------------------------------------------------------------- writing --- */

int gsv_file_write(int fd, const void *from, size_t bytes, int64_t offset) {
    const char *at = from;
    while (bytes > 0) {
        const ssize_t put =
            fails(ENOSPC) ? -1 : pwrite(fd, at, bytes < AT_ONCE ? bytes : AT_ONCE, (off_t)offset);
        if (put < 0 && errno != EINTR)
            return errno;
        if (put == 0)
            return EIO;
        if (put > 0) {
            at += put;
            bytes -= (size_t)put;
            offset += put;
        }
    }
    return 0;
}

enum { NAME = 64, NAMES = 1000 }; /* bytes of a name, and how many are tried */

static void forget(gsv_new_file *file) {
    gsv_free(file->path);
    gsv_free(file->beside);
    gsv_free(file->folder);
    *file = (gsv_new_file){.fd = -1};
}

void gsv_new_file_abandon(gsv_new_file *file) {
    if (file->fd >= 0) {
        close(file->fd);
        unlink(file->beside);
    }
    forget(file);
}

/* Another name beside the path: no process has a file of that name, as far as this one knows. */
static void name_beside(gsv_new_file *file) {
    static _Atomic uint64_t last;
    snprintf(strrchr(file->beside, '.'), NAME, ".gpusolve-%ld-%llu", (long)getpid(),
             (unsigned long long)atomic_fetch_add(&last, 1));
}

/* The three paths. A symbolic link stays one: what it leads to is replaced. */
static gpusolve_status name_files(const char *path, gsv_new_file *file, gsv_message *message) {
    char led_to[PATH_MAX];
    struct stat about;
    if (lstat(path, &about) == 0 && S_ISLNK(about.st_mode)) {
        if (!realpath(path, led_to))
            return gsv_file_fail(path, "cannot be followed", errno, message);
        path = led_to;
    }
    const char *slash = strrchr(path, '/');
    const size_t folder = slash ? (size_t)(slash - path) + 1 : 0, length = strlen(path);
    file->path = gsv_malloc(length + 1, 1);
    file->beside = gsv_malloc(folder + NAME, 1);
    file->folder = gsv_malloc(folder + 2, 1);
    if (!file->path || !file->beside || !file->folder)
        return gsv_fail(message, GPUSOLVE_OUT_OF_MEMORY, "out of host memory for a path");
    memcpy(file->path, path, length + 1);
    memcpy(file->beside, path, folder);
    memcpy(file->beside + folder, ".", 2);
    memcpy(file->folder, folder > 0 ? path : ".", folder > 0 ? folder : 1);
    file->folder[folder > 0 ? folder : 1] = '\0';
    return GPUSOLVE_OK;
}

/* A file longer than the process may write would end the process by a signal. */
static gpusolve_status check_limit(const char *path, int64_t bytes, gsv_message *message) {
    struct rlimit limit;
    if (getrlimit(RLIMIT_FSIZE, &limit) == 0 && limit.rlim_cur != RLIM_INFINITY &&
        (uint64_t)bytes > (uint64_t)limit.rlim_cur)
        return gsv_file_fail(path, "cannot be written", EFBIG, message);
    return GPUSOLVE_OK;
}

gpusolve_status gsv_new_file_begin(const char *path, int64_t bytes, gsv_new_file *file,
                                   gsv_message *message) {
    struct stat old;
    *file = (gsv_new_file){.fd = -1};
    gpusolve_status status = check_limit(path, bytes, message);
    if (!status)
        status = name_files(path, file, message);
    const int exists = !status && stat(file->path, &old) == 0;
    if (exists && !S_ISREG(old.st_mode))
        status = gsv_fail(message, GPUSOLVE_INVALID_ARGUMENT, "path: %s: is not a regular file",
                          gsv_path_end(path));
    if (!status) {
        int tries = NAMES; /* a name may be taken, by a process that was killed or is on another machine */
        do {
            name_beside(file);
            file->fd = open_again(file->beside, O_WRONLY | O_CREAT | O_EXCL, 0666);
        } while (file->fd < 0 && errno == EEXIST && --tries > 0);
        if (file->fd < 0)
            status = gsv_file_fail(path, "cannot be written", errno, message);
    }
    /* who may read the old file may read the new one, and nobody else */
    if (!status && exists && (fails(EPERM) || fchmod(file->fd, old.st_mode & 0777) != 0))
        status = gsv_file_fail(path, "its permissions cannot be kept", errno, message);
    if (!status && (fails(ENOSPC) || ftruncate(file->fd, (off_t)bytes) != 0))
        status = gsv_file_fail(path, "cannot be written", errno, message);
    if (status)
        gsv_new_file_abandon(file);
    return status;
}

/* The folder knows its new file when the system crashes. Not all file systems can do that. */
static int flush_folder(const char *folder) {
    const int fd = open_again(folder, O_RDONLY | O_DIRECTORY, 0);
    if (fd < 0)
        return errno == EACCES ? 0 : errno; /* a folder may be written that may not be read */
    const int error = fsync(fd) != 0 && errno != EINVAL ? errno : 0;
    close(fd);
    return error;
}

gpusolve_status gsv_new_file_commit(gsv_new_file *file, gsv_message *message) {
    int error = 0;
    while (fails(ENOSPC) || fsync(file->fd) != 0)
        if (errno != EINTR) {
            error = errno;
            break;
        }
    const int fd = file->fd;
    file->fd = -1;
    if (close(fd) != 0 && errno != EINTR && !error)
        error = errno;
    if (!error && (fails(EACCES) || rename(file->beside, file->path) != 0))
        error = errno;
    if (error)
        unlink(file->beside);
    else
        error = flush_folder(file->folder);
    const gpusolve_status status =
        error ? gsv_file_fail(file->path, "cannot be written", error, message) : GPUSOLVE_OK;
    forget(file);
    return status;
}
