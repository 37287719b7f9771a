// Locks of every sort of name. The program uses each one and prints the kind that replaced it.
#include "marks.h"
#include <mutex>
#include <stdlib.h>

#define NOINLINE __attribute__((noinline))

static pthread_mutex_t cache_lock = PTHREAD_MUTEX_INITIALIZER; // line: cache_lock
static pthread_mutex_t buckets[4];
static struct {
    long length;
    pthread_mutex_t lock;
    struct {
        char padding[8];
        pthread_mutex_t guard;
    } ends[2];
} shards[3];
static std::mutex plain;

class Cache {
  public:
    static std::mutex table_lock;
};
std::mutex Cache::table_lock;

static void use(const char *name, pthread_mutex_t *mutex)
{
    pthread_mutex_lock(mutex);
    pthread_mutex_unlock(mutex);
    say(name, mutex);
}

static void use(const char *name, std::mutex *mutex)
{
    mutex->lock();
    mutex->unlock();
    say(name, mutex->native_handle());
}

NOINLINE static void work()
{
    static pthread_mutex_t guard;
    use("work::guard", &guard);
}

NOINLINE static pthread_mutex_t *queue_new()
{
    pthread_mutex_t *mutex = static_cast<pthread_mutex_t *>(malloc(sizeof *mutex));
    pthread_mutex_init(mutex, nullptr); // line: queue_new
    return mutex;
}

__attribute__((always_inline)) static inline void prepare(pthread_mutex_t *mutex)
{
    pthread_mutex_init(mutex, nullptr);
}

NOINLINE static pthread_mutex_t *ring_open()
{
    // Not as large as a queue's: two functions that do the same are one to the compiler.
    pthread_mutex_t *mutex = static_cast<pthread_mutex_t *>(malloc(2 * sizeof *mutex));
    prepare(mutex); // line: ring_open
    return mutex;
}

namespace port {
class Mutex {
  public:
    NOINLINE Mutex()
    {
        pthread_mutex_init(&mutex_, nullptr);
        asm volatile("");
    }
    pthread_mutex_t mutex_;
};
} // namespace port

class Journal {
  public:
    NOINLINE Journal() { asm volatile(""); }
    port::Mutex mutex_;
};

class Index {
  public:
    NOINLINE Index() { asm volatile(""); }
    port::Mutex mutex_;
};

// A mutex of zeroes is a mutex.
NOINLINE static void wild_use(pthread_mutex_t *mutex)
{
    pthread_mutex_lock(mutex); // line: wild_use
    pthread_mutex_unlock(mutex);
    say("wild_use", mutex);
}

int main()
{
    use("cache_lock", &cache_lock);
    use("buckets[0]", &buckets[0]);
    use("buckets[3]", &buckets[3]);
    use("shards[0].lock", &shards[0].lock);
    use("shards[2].lock", &shards[2].lock);
    use("shards[1].ends[0].guard", &shards[1].ends[0].guard);
    use("shards[1].ends[1].guard", &shards[1].ends[1].guard);
    use("plain", &plain);
    use("Cache::table_lock", &Cache::table_lock);
    work();
    use("queue_new", queue_new());
    use("ring_open", ring_open());
    use("Journal", &(new Journal)->mutex_.mutex_);
    use("Index", &(new Index)->mutex_.mutex_);
    wild_use(static_cast<pthread_mutex_t *>(calloc(1, sizeof(pthread_mutex_t))));
    return 0;
}
