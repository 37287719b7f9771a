/* Built twice: as a shared library, and as the program that uses it. */
#include "probe.h"
#include <pthread.h>

typedef int callback(int);

#ifdef LIBRARY

pthread_mutex_t library_lock = PTHREAD_MUTEX_INITIALIZER; /* line: library_lock */
static pthread_mutex_t private_lock;                      /* line: private_lock */

__attribute__((noinline)) static int private_function(callback *call, int n) {
    tell("library_lock", &library_lock);
    tell("private_lock", &private_lock);
    return call(n) + 1; /* line: private_function */
}

int public_function(callback *call, int n) {
    return private_function(call, n) + 1; /* line: public_function */
}

/* An alias, of which the shorter name is shown. */
int __public_function_in_full(callback *call, int n) __attribute__((alias("public_function")));

#else

int public_function(callback *call, int n);

__attribute__((noinline)) static int called_back(int n) {
    probe("library"); /* line: called_back */
    return n + 1;
}

int main(int argc, char **argv) {
    (void)argv;
    int result = public_function(called_back, argc) + 1; /* line: main */
    tell_maps();
    return result == 0;
}

#endif
