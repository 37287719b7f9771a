/* A library that loads what a program wants loaded without RTLD_DEEPBIND. PHP loads its extensions with it, whose calls then go
   to libc past every library that was preloaded. */
#define _GNU_SOURCE
#include <dlfcn.h>
#include <stddef.h>

void *dlopen(const char *name, int flags)
{
    static void *(*next)(const char *, int);
    if (next == NULL)
        next = (void *(*)(const char *, int))dlsym(RTLD_NEXT, "dlopen");
    return next(name, flags & ~RTLD_DEEPBIND);
}
