/* A library of a program, with functions of its own under names of libc. It has no name for the dynamic linker but that of
 * its file. */
static const char *called;

#define OWN(name)                                                                                                      \
    long own_##name(void) __asm__(#name);                                                                              \
    long own_##name(void)                                                                                              \
    {                                                                                                                  \
        called = #name;                                                                                                \
        return 0;                                                                                                      \
    }

OWN(clock_gettime)
OWN(close)
OWN(dlsym)
OWN(getauxval)
OWN(munmap)
OWN(pread64)
OWN(pthread_getspecific)
OWN(statx)
OWN(time)
OWN(write)

const char *called_in_library(void)
{
    return called ? called : "none";
}
