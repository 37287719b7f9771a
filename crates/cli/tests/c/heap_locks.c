/* Locks on the heap: two kinds of objects, each initialised by its own function; one without initialisation; one address
   that is used for two locks in turn. */
#include <pthread.h>
#include <stdlib.h>

struct queue {
    long length;
    pthread_mutex_t lock;
};

struct log {
    pthread_mutex_t lock;
};

__attribute__((noinline)) static struct queue *queue_new(void)
{
    struct queue *queue = calloc(1, sizeof *queue);
    pthread_mutex_init(&queue->lock, NULL);
    return queue;
}

__attribute__((noinline)) static void queue_push(struct queue *queue)
{
    pthread_mutex_lock(&queue->lock);
    queue->length++;
    pthread_mutex_unlock(&queue->lock);
}

__attribute__((noinline)) static void log_open(struct log *log)
{
    pthread_mutex_init(&log->lock, NULL);
}

__attribute__((noinline)) static void log_write(struct log *log)
{
    pthread_mutex_lock(&log->lock);
    pthread_mutex_unlock(&log->lock);
}

/* A mutex of zeroes is initialised. */
__attribute__((noinline)) static void wild_use(pthread_mutex_t *lock)
{
    pthread_mutex_lock(lock);
    pthread_mutex_unlock(lock);
}

int main(void)
{
    for (int i = 0; i < 3; i++) {
        struct queue *queue = queue_new();
        for (int k = 0; k < 40; k++)
            queue_push(queue);
    }
    /* The same address: first a log's lock, then a queue's. */
    struct queue *reused = calloc(1, sizeof *reused);
    log_open((struct log *)&reused->lock);
    for (int i = 0; i < 20; i++)
        log_write((struct log *)&reused->lock);
    pthread_mutex_destroy(&reused->lock);
    pthread_mutex_t *wild = calloc(1, sizeof *wild);
    for (int i = 0; i < 10; i++)
        wild_use(wild);
    return 0;
}
