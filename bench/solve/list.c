#define _DEFAULT_SOURCE /* scandir */
#include "list.h"

#include <dirent.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "matrices/matrix.h"

static int ends_with(const char *name, const char *end) {
    size_t length = strlen(name), end_length = strlen(end);

    return length > end_length && !strcmp(name + length - end_length, end);
}

static int is_matrix(const struct dirent *entry) {
    return ends_with(entry->d_name, ".mtx") || ends_with(entry->d_name, ".mtx.gz");
}

/* The matrices in a folder, without their endings; says whether the folder is there. */
static int list_folder(const char *folder) {
    struct dirent **entries;
    int count = scandir(folder, &entries, is_matrix, alphasort);

    if (count < 0)
        return 0;
    if (count)
        printf("%s:\n", folder);
    for (int i = 0; i < count; i++) {
        printf("  %.*s\n", (int)(strstr(entries[i]->d_name, ".mtx") - entries[i]->d_name),
               entries[i]->d_name);
        free(entries[i]);
    }
    free(entries);
    return 1;
}

/* A relative folder is looked for where gsm_load looks: here, else where the sources are. */
static void list_either(const char *folder) {
    char path[8192];

    if (list_folder(folder) || folder[0] == '/')
        return;
    snprintf(path, sizeof path, "%s/%s", BENCH_SOURCE_FOLDER, folder);
    list_folder(path);
}

void bench_list(void) {
    const char *path = getenv("GPUSOLVE_MATRICES");

    while (path && *path) {
        size_t length = strcspn(path, ":");
        char folder[4000];

        snprintf(folder, sizeof folder, "%.*s", (int)length, path);
        if (length)
            list_either(folder);
        path += length + (path[length] == ':');
    }
    list_either("matrices");
    list_either("../shared/matrices");
    printf("generators:\n%s", gsm_generators());
}
