/* Looks like a Go program with cgo: by its section. It takes a pthread mutex in C. */
#include <pthread.h>

__attribute__((section(".go.buildinfo"), used)) static const char build[32] = "\377 Go buildinf:";
static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;

int main(void)
{
    pthread_mutex_lock(&lock);
    pthread_mutex_unlock(&lock);
    return build[0] == 0;
}
