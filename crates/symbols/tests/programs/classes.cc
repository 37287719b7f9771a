#include "probe.h"
#include <functional>
#include <map>
#include <mutex>
#include <shared_mutex>
#include <string>

namespace app {

/* As RocksDB and others wrap theirs. */
class Mutex {
public:
    void Lock() {
        probe("wrapper"); /* line: Lock */
    }

private:
    std::mutex mutex_;
};

template <typename T> class Guard {
public:
    __attribute__((noinline)) explicit Guard(T *mutex, const std::string &reason) : mutex_(mutex) {
        reason_ = reason;
        mutex_->Lock(); /* line: Guard */
    }
    ~Guard() { reason_.clear(); }

private:
    T *mutex_;
    std::string reason_;
};

struct Shard {
    std::map<int, std::string> entries;
    std::mutex mutex;
};

class Cache {
public:
    static std::shared_mutex table_lock;
    __attribute__((noinline)) int insert(int key, const std::string &value);

private:
    Mutex lock_;
    std::map<int, std::string> entries_;
};

std::shared_mutex Cache::table_lock; /* line: table_lock */

int Cache::insert(int key, const std::string &value) {
    Guard<Mutex> guard(&lock_, value); /* line: insert */
    entries_[key] = value;
    return static_cast<int>(entries_.size());
}

namespace {
Shard shards[4]; /* line: shards */

__attribute__((noinline)) int hidden(Cache &cache, int key) {
    static std::mutex once; /* line: once */
    tell("once", &once);
    return cache.insert(key, "value") + 1; /* line: hidden */
}
} // namespace

template <typename Work> __attribute__((noinline)) int apply(Work work, int key) {
    return work(key) + 1; /* line: apply */
}

} // namespace app

std::mutex plain; /* line: plain */

int main(int argc, char **) {
    app::Cache cache;
    tell("table_lock", &app::Cache::table_lock);
    tell("shards", &app::shards[2].mutex);
    tell("plain", &plain);
    std::function<int(int)> work = [&cache](int key) {
        volatile char room[32];
        room[key] = 0;
        return app::hidden(cache, key) + room[key]; /* line: lambda */
    };
    int result = app::apply(work, argc); /* line: main */
    tell_maps();
    return result == 0;
}
