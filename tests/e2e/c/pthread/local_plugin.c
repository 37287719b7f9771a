/* A plugin with a function of a name of libc. It is loaded with RTLD_LOCAL, so only the plugin's own calls lead to it. */
#include <errno.h>
#include <pthread.h>

int pthread_cond_wait(pthread_cond_t *c, pthread_mutex_t *m)
{
    return (void *)c == (void *)m ? 0 : EINVAL;
}
