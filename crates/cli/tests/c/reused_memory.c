/* Each object lies where another one was destroyed. One helper function for each kind initialises both. */
#include <pthread.h>
#include <semaphore.h>
#include <time.h>

static union memory {
    pthread_mutex_t mutex;
    pthread_rwlock_t rwlock;
    pthread_spinlock_t spin;
    pthread_cond_t condition;
    sem_t semaphore;
} *memory;

#define PLAIN __attribute__((noipa))
/* Without it the last call would be a jump. */
#define RETURN __asm__ volatile("")

PLAIN static void queue_new(void) { pthread_mutex_init(&memory->mutex, NULL); RETURN; }
PLAIN static void index_new(void) { pthread_rwlock_init(&memory->rwlock, NULL); RETURN; }
PLAIN static void counter_new(void) { pthread_spin_init(&memory->spin, PTHREAD_PROCESS_PRIVATE); RETURN; }
PLAIN static void event_new(void) { pthread_cond_init(&memory->condition, NULL); RETURN; }
PLAIN static void slots_new(void) { sem_init(&memory->semaphore, 0, 0); RETURN; }

__attribute__((always_inline)) static inline void use_queue(void) { pthread_mutex_lock(&memory->mutex); pthread_mutex_unlock(&memory->mutex); }
__attribute__((always_inline)) static inline void use_index(void) { pthread_rwlock_rdlock(&memory->rwlock); pthread_rwlock_unlock(&memory->rwlock); }
__attribute__((always_inline)) static inline void use_counter(void) { pthread_spin_lock(&memory->spin); pthread_spin_unlock(&memory->spin); }
__attribute__((always_inline)) static inline void use_slots(void) { sem_post(&memory->semaphore); sem_wait(&memory->semaphore); }

__attribute__((always_inline)) static inline void use_event(void)
{
    static pthread_mutex_t outer = PTHREAD_MUTEX_INITIALIZER;
    struct timespec past = { 1, 0 };
    pthread_mutex_lock(&outer);
    pthread_cond_timedwait(&memory->condition, &outer, &past);
    pthread_mutex_unlock(&outer);
}

static void end_queue(void) { pthread_mutex_destroy(&memory->mutex); }
static void end_index(void) { pthread_rwlock_destroy(&memory->rwlock); }
static void end_counter(void) { pthread_spin_destroy(&memory->spin); }
static void end_event(void) { pthread_cond_destroy(&memory->condition); }
static void end_slots(void) { sem_destroy(&memory->semaphore); }

/* Uses of one call site share a row, so each function has uses of its own. No name says that it is a wrapper. */
#define OBJECTS(function, kind, times)                                                                                \
    PLAIN static void function##_##kind(void)                                                                         \
    {                                                                                                                 \
        kind##_new();                                                                                                 \
        for (int i = 0; i < times; i++)                                                                               \
            use_##kind();                                                                                             \
        end_##kind();                                                                                                 \
    }
#define KIND(kind) OBJECTS(first, kind, 3) OBJECTS(second, kind, 20) OBJECTS(third, kind, 7)
KIND(queue) KIND(index) KIND(counter) KIND(event) KIND(slots)

static void *in_a_thread(void *unused)
{
    third_queue(), third_index(), third_counter(), third_event(), third_slots();
    return unused;
}

int main(void)
{
    union memory on_stack;
    memory = &on_stack;
    first_queue(), second_queue();
    first_index(), second_index();
    first_counter(), second_counter();
    first_event(), second_event();
    first_slots(), second_slots();
    pthread_t thread;
    pthread_create(&thread, NULL, in_a_thread, NULL);
    pthread_join(thread, NULL);
    return 0;
}
