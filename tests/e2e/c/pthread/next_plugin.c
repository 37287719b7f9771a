/* A plugin that asks for the functions that come after its own. */
#define _GNU_SOURCE
#include <dlfcn.h>
#include <stddef.h>

void *plugin_next(const char *name)
{
    void *found = dlsym(RTLD_NEXT, name);
    return dlerror() == NULL ? found : NULL;
}
