/* A library that is loaded late, and a mutex that lies in it. */
#include <pthread.h>
#include <stdlib.h>

pthread_mutex_t in_library = PTHREAD_MUTEX_INITIALIZER;

pthread_mutex_t *library_mutex(void)
{
    return &in_library;
}

pthread_mutex_t *library_create(void)
{
    pthread_mutex_t *m = malloc(sizeof *m);
    if (m != NULL)
        pthread_mutex_init(m, NULL);
    return m;
}
