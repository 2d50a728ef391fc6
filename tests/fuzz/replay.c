/* Runs a fuzz target over the files that are named, or over those of folders: what was found stays mended. */
#include "bytes.h"

#include <dirent.h>
#include <string.h>

static long replayed;

static void replay(const char *path) {
    FILE *file = fopen(path, "rb");
    FUZZ_CHECK(file);
    FUZZ_CHECK(fseek(file, 0, SEEK_END) == 0);
    const long size = ftell(file);
    FUZZ_CHECK(size >= 0 && fseek(file, 0, SEEK_SET) == 0);
    uint8_t *bytes = malloc((size_t)size + 1); /* exactly as long for AddressSanitizer, but never 0 */
    uint8_t *exact = size > 0 ? realloc(bytes, (size_t)size) : bytes;
    FUZZ_CHECK(exact && fread(exact, 1, (size_t)size, file) == (size_t)size);
    fclose(file);
    LLVMFuzzerTestOneInput(exact, (size_t)size);
    free(exact);
    replayed++;
}

int main(int argc, char **argv) {
    for (int k = 1; k < argc; k++) {
        DIR *folder = opendir(argv[k]);
        if (!folder) {
            replay(argv[k]);
            continue;
        }
        for (const struct dirent *entry; (entry = readdir(folder)) != NULL;) {
            char path[4096];
            if (entry->d_name[0] == '.')
                continue;
            snprintf(path, sizeof path, "%s/%s", argv[k], entry->d_name);
            replay(path);
        }
        closedir(folder);
    }
    printf("%ld inputs\n", replayed);
    return replayed == 0;
}
