/* Loads the library that its argument names, and runs it. */
#include <dlfcn.h>
#include <stdio.h>

int main(int argc, char **argv)
{
    void *library = argc > 1 ? dlopen(argv[1], RTLD_NOW) : NULL;
    void (*run)(void) = library ? (void (*)(void))dlsym(library, "plugin_run") : NULL;
    if (!run) {
        fprintf(stderr, "%s\n", dlerror());
        return 1;
    }
    run();
    return 0;
}
