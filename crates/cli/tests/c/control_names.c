// Names with control characters: of a thread; and of a mutex and a function, into whose names the test writes them.
#include <pthread.h>
#include <sys/prctl.h>

pthread_mutex_t renamed_mutex = PTHREAD_MUTEX_INITIALIZER;
static int turns;

__attribute__((noinline)) void renamed_function(void) {
    pthread_mutex_lock(&renamed_mutex);
    turns++;
    pthread_mutex_unlock(&renamed_mutex);
}

static void *work(void *nothing) {
    prctl(PR_SET_NAME, "\033[2J\n\aX");
    for (int i = 0; i < 1000; i++) renamed_function();
    return nothing;
}

int main(void) {
    pthread_t threads[2];
    for (int i = 0; i < 2; i++) pthread_create(&threads[i], NULL, work, NULL);
    for (int i = 0; i < 2; i++) pthread_join(threads[i], NULL);
    return turns != 2000;
}
