/* A library that is loaded while the program runs, with a static lock and one that its own function initialises. */
#include "marks.h"
#include <stdlib.h>

static pthread_mutex_t plugin_lock = PTHREAD_MUTEX_INITIALIZER;

__attribute__((noinline)) static pthread_mutex_t *plugin_new(void)
{
    pthread_mutex_t *lock = malloc(sizeof *lock);
    pthread_mutex_init(lock, NULL);
    return lock;
}

void plugin_run(void)
{
    pthread_mutex_t *own = plugin_new();
    for (int i = 0; i < 10; i++) {
        pthread_mutex_lock(&plugin_lock);
        pthread_mutex_lock(own);
        pthread_mutex_unlock(own);
        pthread_mutex_unlock(&plugin_lock);
    }
    say("plugin_lock", &plugin_lock);
    say("plugin_new", own);
}
