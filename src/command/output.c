/* Writing under a temporary name, and putting the file in its place. */
#define _XOPEN_SOURCE 700

#include "output.h"

#include "command.h"

#include <errno.h>
#include <inttypes.h>
#include <limits.h>
#include <pthread.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

/* ----------------------------------------------------------------- temporary files, also for signals --- */

enum { FILES = 2 };
static char temporaries[FILES][PATH_MAX]; /* "": none. Changed only while signals are blocked */

static void remove_temporaries(int number) {
    for (int i = 0; i < FILES; i++)
        if (temporaries[i][0])
            unlink(temporaries[i]);
    raise(number); /* whose action is the default again: it ends the program once this returns */
}

static void watch_signals(void) {
    static const int numbers[] = {SIGINT, SIGTERM, SIGHUP};
    struct sigaction action = {.sa_handler = remove_temporaries}, before;
    action.sa_flags = (int)SA_RESETHAND;
    for (size_t i = 0; i < sizeof numbers / sizeof numbers[0]; i++)
        if (!sigaction(numbers[i], NULL, &before) && before.sa_handler == SIG_DFL)
            sigaction(numbers[i], &action, NULL);
}

static void block_signals(sigset_t *before) {
    sigset_t all;
    sigfillset(&all);
    pthread_sigmask(SIG_SETMASK, &all, before);
}

static void forget(const char *temporary) {
    for (int i = 0; i < FILES; i++)
        if (!strcmp(temporaries[i], temporary))
            temporaries[i][0] = '\0';
}

/* A new file beside target; -1 with errno. */
static int make_temporary(command_output *out) {
    const char *slash = strrchr(out->target, '/');
    const char *name = slash ? slash + 1 : out->target;
    const size_t folder = (size_t)(name - out->target), size = strlen(out->target) + sizeof "..XXXXXX";
    sigset_t before;
    int number, place = 0;
    if (size > PATH_MAX) {
        errno = ENAMETOOLONG;
        return -1;
    }
    out->temporary = malloc(size);
    if (!out->temporary)
        return -1;
    /* the name's head alone, for a name may be as long as names can be */
    (void)snprintf(out->temporary, size, "%.*s.%.200s.XXXXXX", (int)folder, out->target, name);
    watch_signals();
    block_signals(&before);
    number = mkstemp(out->temporary);
    while (number >= 0 && place < FILES && temporaries[place][0])
        place++;
    if (number >= 0 && place < FILES)
        memcpy(temporaries[place], out->temporary, strlen(out->temporary) + 1);
    pthread_sigmask(SIG_SETMASK, &before, NULL);
    if (number < 0) {
        free(out->temporary);
        out->temporary = NULL;
    }
    return number;
}

/* ------------------------------------------------------------------------------------------- opening --- */

static int complain(const command_output *out, const char *reason) {
    return command_complain(-1, "%s: %s", strcmp(out->path, "-") ? out->path : "standard output", reason);
}

/* The permissions of the file that is replaced, else those of any new file. */
static mode_t permissions(const struct stat *old) {
    mode_t mask;
    if (old)
        return old->st_mode & 0777;
    mask = umask(0);
    umask(mask);
    return 0666 & ~mask;
}

/* The file behind path, which may be a link; a link that leads nowhere is replaced. */
static char *find_target(const char *path) {
    char *target = realpath(path, NULL);
    return target || errno != ENOENT ? target : strdup(path);
}

static int open_beside(command_output *out, const struct stat *old) {
    int number;
    if (old && access(out->path, W_OK))
        return complain(out, strerror(errno));
    out->target = find_target(out->path);
    if (!out->target)
        return complain(out, strerror(errno));
    number = make_temporary(out);
    if (number < 0)
        return complain(out, strerror(errno));
    (void)fchmod(number, permissions(old));
    out->file = fdopen(number, "w");
    if (!out->file) {
        close(number);
        return complain(out, strerror(errno));
    }
    return 0;
}

int output_open(command_output *out, const char *path) {
    struct stat old;
    int exists;
    *out = (command_output){.path = path};
    if (!strcmp(path, "-")) {
        out->file = stdout;
        return 0;
    }
    exists = !stat(path, &old);
    if (exists && S_ISDIR(old.st_mode))
        return complain(out, strerror(EISDIR));
    if (!exists && errno != ENOENT)
        return complain(out, strerror(errno));
    if (!exists || S_ISREG(old.st_mode))
        return open_beside(out, exists ? &old : NULL);
    out->file = fopen(path, "w");
    return out->file ? 0 : complain(out, strerror(errno));
}

/* ------------------------------------------------------------------------------------------- writing --- */

/* The shortest of 15, 16 and 17 digits that is read back as the same number. */
static void put_number(FILE *file, double value) {
    char text[40];
    for (int digits = 15; digits <= 17; digits++) {
        (void)snprintf(text, sizeof text, "%.*g", digits, value);
        if (strtod(text, NULL) == value)
            break;
    }
    fputs(text, file);
}

int output_block(command_output *out, int64_t rows, int64_t cols, int is_complex, const double *values) {
    const int64_t count = rows * cols;
    fprintf(out->file, "%%%%MatrixMarket matrix array %s general\n%" PRId64 " %" PRId64 "\n",
            is_complex ? "complex" : "real", rows, cols);
    for (int64_t k = 0; k < count && !ferror(out->file); k++) {
        put_number(out->file, values[is_complex ? 2 * k : k]);
        if (is_complex) {
            fputc(' ', out->file);
            put_number(out->file, values[2 * k + 1]);
        }
        fputc('\n', out->file);
    }
    return ferror(out->file) || fflush(out->file) ? complain(out, strerror(errno)) : 0;
}

int output_commit(command_output *out) {
    sigset_t before;
    int failed = 0;
    FILE *file = out->file;
    out->file = NULL;
    if (file == stdout)
        return fflush(stdout) ? complain(out, strerror(errno)) : 0;
    if (fflush(file) || (out->temporary && fsync(fileno(file))))
        failed = errno;
    if (fclose(file) && !failed)
        failed = errno;
    if (failed)
        return complain(out, strerror(failed));
    if (!out->temporary)
        return 0;
    block_signals(&before);
    failed = rename(out->temporary, out->target);
    if (!failed)
        forget(out->temporary);
    pthread_sigmask(SIG_SETMASK, &before, NULL);
    if (failed)
        return complain(out, strerror(errno));
    free(out->temporary);
    out->temporary = NULL;
    return 0;
}

void output_discard(command_output *out) {
    if (out->file && out->file != stdout)
        (void)fclose(out->file);
    if (out->temporary) {
        sigset_t before;
        block_signals(&before);
        unlink(out->temporary);
        forget(out->temporary);
        pthread_sigmask(SIG_SETMASK, &before, NULL);
    }
    free(out->temporary);
    free(out->target);
    *out = (command_output){0};
}
