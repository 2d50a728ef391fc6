/* Opens plug-ins, each named by an argument, and runs their checks. It knows nothing of CHOLMOD. */
#include <dlfcn.h>
#include <stdio.h>

int main(int count, char **arguments) {
    int wrong = count < 2;
    for (int turn = 0; turn < 2; turn++)
        for (int k = 1; k < count; k++) {
            int (*check)(void) = NULL;
            void *plugin = dlopen(arguments[k], RTLD_NOW | RTLD_LOCAL);
            if (plugin)
                *(void **)&check = dlsym(plugin, "plugin_check");
            if (!check) {
                printf("%s\n", dlerror());
                return 1;
            }
            wrong += check();
            dlclose(plugin); /* in the second turn another may lie at its address */
        }
    printf("%d wrong\n", wrong);
    return wrong != 0;
}
