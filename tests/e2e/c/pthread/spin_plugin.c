/* A plugin that uses spin locks by its own binding of libc's functions, which may be past the hooks. */
#include <pthread.h>

int plugin_lock(pthread_spinlock_t *s) { return pthread_spin_lock(s); }
int plugin_trylock(pthread_spinlock_t *s) { return pthread_spin_trylock(s); }
int plugin_unlock(pthread_spinlock_t *s) { return pthread_spin_unlock(s); }
