// Locks behind a wrapper, like RocksDB's: the class that locks does not tell what is locked.
#include <pthread.h>

namespace port {
class Mutex {
  public:
    __attribute__((noinline)) Mutex() { pthread_mutex_init(&mutex_, nullptr); }
    __attribute__((noinline)) void Lock() { pthread_mutex_lock(&mutex_); asm volatile(""); }
    __attribute__((noinline)) void Unlock() { pthread_mutex_unlock(&mutex_); asm volatile(""); }

  private:
    pthread_mutex_t mutex_;
};
} // namespace port

class Journal {
  public:
    __attribute__((noinline)) Journal() { asm volatile(""); }
    __attribute__((noinline)) void Append()
    {
        mutex_.Lock();
        mutex_.Unlock();
    }

  private:
    port::Mutex mutex_;
};

class Index {
  public:
    __attribute__((noinline)) Index() { asm volatile(""); }
    __attribute__((noinline)) void Find()
    {
        mutex_.Lock();
        mutex_.Unlock();
    }

  private:
    port::Mutex mutex_;
};

int main()
{
    Journal *journal = new Journal;
    Index *index = new Index;
    for (int i = 0; i < 60; i++)
        journal->Append();
    for (int i = 0; i < 30; i++)
        index->Find();
}
