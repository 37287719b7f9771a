// A queue on the heap whose mutex has a static initialiser: no call initialises it, and no symbol names it. Two threads race for
// its first use: `first_uses ROUNDS [push|pop|any [HOLD]]`; `any`: chance decides. HOLD is the length of a section in microseconds.
// At the end the program prints which function was first, the kinds that replaced the mutexes, and a speed that depends on that.
#include "marks.h"
#include <atomic>
#include <stdlib.h>
#include <thread>
#include <time.h>
#include <unistd.h>

#define NOINLINE __attribute__((noinline))

static std::atomic<const char *> first{nullptr};

static void was_first(const char *name)
{
    const char *nobody = nullptr;
    first.compare_exchange_strong(nobody, name);
}

static long hold_us;

static void hold()
{
    if (hold_us)
        usleep(hold_us);
}

class Queue {
  public:
    NOINLINE void push()
    {
        pthread_mutex_lock(&mutex_); // line: push
        was_first("push");
        hold();
        length_++;
        pthread_mutex_unlock(&mutex_);
    }
    NOINLINE void pop()
    {
        pthread_mutex_lock(&mutex_); // line: pop
        was_first("pop");
        hold();
        length_--;
        pthread_mutex_unlock(&mutex_);
    }
    pthread_mutex_t mutex_ = PTHREAD_MUTEX_INITIALIZER;
    long length_ = 0;
};

static bool is_ours(const void *mutex)
{
    uint16_t mark;
    memcpy(&mark, (const char *)mutex + 22, sizeof mark);
    return mark >> 8 == 0xb5 && (mark & 15) != 0;
}

class Log {
  public:
    NOINLINE void write()
    {
        pthread_mutex_lock(&mutex_);
        lines_++;
        pthread_mutex_unlock(&mutex_);
    }
    pthread_mutex_t mutex_ = PTHREAD_MUTEX_INITIALIZER;
    long lines_ = 0;
};

int main(int argc, char **argv)
{
    long rounds = argc > 1 ? atol(argv[1]) : 1000;
    struct timespec now;
    clock_gettime(CLOCK_MONOTONIC, &now);
    bool any = argc < 3 || argv[2][0] == 'a';
    bool push_first = any ? now.tv_nsec / 1000 % 2 : argv[2][1] == 'u';
    hold_us = argc > 3 ? atol(argv[3]) : 0;
    Queue *queue = new Queue;
    Log *log = new Log;
    std::atomic<int> ready{0};
    auto race = [&](bool pushes) {
        ready++;
        while (ready < 2)
            usleep(10);
        if (pushes != push_first)
            while (!first)
                usleep(10);
        for (long i = 0; i < rounds; i++)
            pushes ? queue->push() : queue->pop();
    };
    std::thread pusher(race, true), popper(race, false);
    pusher.join();
    popper.join();
    log->write();
    printf("first %s\n", first.load());
    say("queue", &queue->mutex_);
    say("log", &log->mutex_);
    printf("tps: %d\n", is_ours(&queue->mutex_) ? 200 : 100);
    return queue->length_ != 0;
}
