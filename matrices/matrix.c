/* gsm_load: from a spec to a matrix. This file finds the file on the search path; market.c reads it,
 * generators/generate.c makes the others. */
#define _POSIX_C_SOURCE 200809L

#include "internal.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#ifndef GSM_SOURCE_DIR
#define GSM_SOURCE_DIR "."
#endif

static const char *const default_folders = "matrices:../shared/matrices";

/* Removes .mtx or .mtx.gz from the length of a file name; returns the length unchanged where the name has
 * neither. */
static size_t length_without_ending(const char *name) {
    static const char *const endings[] = {".mtx", ".mtx.gz"};
    size_t length = strlen(name);
    for (size_t e = 0; e < sizeof endings / sizeof endings[0]; e++) {
        size_t ending = strlen(endings[e]);
        if (length > ending && strcmp(name + length - ending, endings[e]) == 0) {
            return length - ending;
        }
    }
    return length;
}

static bool is_file(const char *path) {
    struct stat status;
    return stat(path, &status) == 0 && S_ISREG(status.st_mode);
}

/* Looks for NAME in one folder: tries base/folder/{"", GROUP/, NAME/}NAME{.mtx, .mtx.gz}. base, folder and
 * group may be empty. found [out] is a new string, or NULL where there is no such file. */
static int look_in_folder(const char *base, const char *folder, const char *group, const char *name,
                          char **found, gsm_report *report) {
    static const char *const endings[] = {".mtx", ".mtx.gz"};
    const char *const subfolders[] = {"", group, name};
    size_t size = strlen(base) + strlen(folder) + strlen(group) + 2 * strlen(name) + sizeof "///.mtx.gz";
    char *path = malloc(size);
    *found = NULL;
    if (path == NULL) {
        return gsm_fail_memory(report);
    }
    for (size_t s = 0; s < 3; s++) {
        if (s > 0 && subfolders[s][0] == '\0') {
            continue;
        }
        for (size_t e = 0; e < 2; e++) {
            (void)snprintf(path, size, "%s%s%s/%s%s%s%s", base, base[0] != '\0' ? "/" : "", folder,
                           subfolders[s], s > 0 ? "/" : "", name, endings[e]);
            if (is_file(path)) {
                *found = path;
                return GSM_SUCCESS;
            }
        }
    }
    free(path);
    return GSM_SUCCESS;
}

/* Looks for NAME in each folder of a list separated by colons. found [out] as above. */
static int look_in_folders(const char *folders, const char *group, const char *name, char **found,
                           gsm_report *report) {
    *found = NULL;
    while (*folders != '\0') {
        size_t length = strcspn(folders, ":");
        if (length > 0) {
            char *folder = strndup(folders, length);
            if (folder == NULL) {
                return gsm_fail_memory(report);
            }
            int status = look_in_folder("", folder, group, name, found, report);
            if (status == GSM_SUCCESS && *found == NULL && folder[0] != '/') {
                status = look_in_folder(GSM_SOURCE_DIR, folder, group, name, found, report);
            }
            free(folder);
            if (status != GSM_SUCCESS || *found != NULL) {
                return status;
            }
        }
        folders += length;
        folders += *folders == ':';
    }
    return GSM_SUCCESS;
}

/* [GROUP/]NAME: finds the file and reads it. */
static int load_named(const char *spec, gsm_matrix *matrix, gsm_report *report) {
    const char *slash = strchr(spec, '/');
    const char *name = slash == NULL ? spec : slash + 1;
    if (name[0] == '\0' || slash == spec || strchr(name, '/') != NULL || spec[0] == '.') {
        return gsm_fail(report, GSM_NOT_FOUND,
                        "'%s' is no generator, no NAME or GROUP/NAME, and no path ending in .mtx or .mtx.gz",
                        spec);
    }
    char *group = slash == NULL ? NULL : strndup(spec, (size_t)(slash - spec));
    if (slash != NULL && group == NULL) {
        return gsm_fail_memory(report);
    }
    const char *environment = getenv("GPUSOLVE_MATRICES");
    const char *const lists[] = {environment == NULL ? "" : environment, default_folders};
    char *path = NULL;
    int status = GSM_SUCCESS;
    for (size_t l = 0; l < 2 && status == GSM_SUCCESS && path == NULL; l++) {
        status = look_in_folders(lists[l], group == NULL ? "" : group, name, &path, report);
    }
    if (status == GSM_SUCCESS) {
        status =
            path != NULL
                ? gsm_read_market(path, group, matrix, report)
                : gsm_fail(report, GSM_NOT_FOUND,
                           "no file %s.mtx or %s.mtx.gz in the folders of GPUSOLVE_MATRICES (%s) or in %s",
                           name, name, environment == NULL ? "not set" : environment, default_folders);
    }
    if (status == GSM_SUCCESS) {
        gsm_set_name(matrix, name, strlen(name));
    }
    free(path);
    free(group);
    return status;
}

/* What gsm_load and gsm_load_file begin with. */
static int start_load(const char *spec, gsm_matrix *out, gsm_report *report) {
    if (report->text == NULL && report->size > 0) {
        report->size = 0;
        if (out != NULL) {
            memset(out, 0, sizeof *out);
        }
        return GSM_INVALID_ARGUMENT;
    }
    if (report->size > 0) {
        report->text[0] = '\0';
    }
    if (out != NULL) {
        memset(out, 0, sizeof *out);
    }
    return spec == NULL || out == NULL
               ? gsm_fail(report, GSM_INVALID_ARGUMENT, "%s is NULL", spec == NULL ? "spec" : "out")
               : GSM_SUCCESS;
}

/* A file, named as it is without its folder and ending. */
static int load_file(const char *path, gsm_matrix *out, gsm_report *report) {
    int status = gsm_read_market(path, NULL, out, report);
    if (status == GSM_SUCCESS) {
        const char *slash = strrchr(path, '/');
        const char *name = slash == NULL ? path : slash + 1;
        gsm_set_name(out, name, length_without_ending(name));
    }
    return status;
}

int gsm_load(const char *spec, gsm_matrix *out, char *message, size_t message_size) {
    gsm_report report = {message, message_size};
    int status = start_load(spec, out, &report);
    if (status != GSM_SUCCESS) {
        return status;
    }
    if (gsm_is_generator(spec)) {
        return gsm_generate(spec, out, &report);
    }
    return length_without_ending(spec) < strlen(spec) ? load_file(spec, out, &report)
                                                      : load_named(spec, out, &report);
}

int gsm_load_file(const char *path, gsm_matrix *out, char *message, size_t message_size) {
    gsm_report report = {message, message_size};
    int status = start_load(path, out, &report);
    return status == GSM_SUCCESS ? load_file(path, out, &report) : status;
}

const char *gsm_status_name(int status) {
    switch (status) {
#define GSM_STATUS_CASE(name, value) \
    case value:                      \
        return #name;
        GSM_STATUS_LIST(GSM_STATUS_CASE)
#undef GSM_STATUS_CASE
    default:
        return "unknown status";
    }
}
