// std::shared_mutex and std::shared_timed_mutex: read-write locks of pthread, called inline by the program itself.
#include "expect.h"
#include <chrono>
#include <mutex>
#include <shared_mutex>
#include <thread>
#include <vector>

using namespace std::chrono_literals;

namespace {

// What another thread is answered.
template <class F> bool there(F f)
{
    bool answer = false;
    std::thread([&] { answer = f(); }).join();
    return answer;
}

template <class F> void run_all(int threads, F f)
{
    std::vector<std::thread> all;
    for (int i = 0; i < threads; i++)
        all.emplace_back(f, i);
    for (auto &thread : all)
        thread.join();
}

template <class M> bool can_write(M &m)
{
    return there([&] { return std::unique_lock<M>(m, std::try_to_lock).owns_lock(); });
}

template <class M> bool can_read(M &m)
{
    return there([&] { return std::shared_lock<M>(m, std::try_to_lock).owns_lock(); });
}

template <class M> void excludes(const char *name)
{
    M m;
    line(name, "excludes");
    m.lock();
    SAME(false, can_read(m));
    SAME(false, can_write(m));
    m.unlock();
    m.lock_shared();
    SAME(true, can_read(m));
    SAME(false, can_write(m));
    m.unlock_shared();
    SAME(true, can_write(m));
    SAME(true, m.try_lock());
    SAME(false, can_read(m));
    m.unlock();
    SAME(true, m.try_lock_shared());
    SAME(false, can_write(m));
    SAME(true, can_read(m));
    m.unlock_shared();
    SAME(true, can_write(m));
}

// The lock knows that the caller writes, and the library makes an exception of that.
template <class M> void deadlock_is_thrown(const char *name)
{
    M m;
    int thrown = 0;
    line(name, "its own deadlock");
    m.lock();
    try {
        m.lock_shared();
    } catch (const std::system_error &e) {
        thrown = e.code() == std::errc::resource_deadlock_would_occur;
    }
    SAME(1, thrown);
    m.unlock();
    SAME(true, can_write(m));
}

// Readers see whole pairs, and all writes are counted. Exceptions release both sides.
template <class M> void counts(const char *name)
{
    M m;
    long first = 0, second = 0;
    run_all(6, [&](int me) {
        for (int i = 0; i < 1000; i++)
            try {
                if ((i + me) % 5 == 0) {
                    std::unique_lock<M> lock(m);
                    first++;
                    second--;
                    if (i % 3 == 0)
                        throw i;
                } else {
                    std::shared_lock<M> lock(m);
                    HOLDS(first + second == 0);
                    if (i % 4 == 0)
                        throw i;
                }
            } catch (int) {
            }
    });
    line(name, "counted %ld", first);
    SAME(1200, first);
    SAME(true, can_write(m));
}

// A call of the C++ class for another thread.
template <class M> int read_and_release(void *m) { return std::shared_lock<M>(*static_cast<M *>(m)), 0; }
template <class M> int write_and_release(void *m) { return std::unique_lock<M>(*static_cast<M *>(m)), 0; }

int read_in_a_minute(void *m)
{
    std::shared_lock<std::shared_timed_mutex> lock(*static_cast<std::shared_timed_mutex *>(m), 1min);
    return lock.owns_lock() ? 0 : ETIMEDOUT;
}

int write_in_a_minute(void *m)
{
    std::unique_lock<std::shared_timed_mutex> lock(*static_cast<std::shared_timed_mutex *>(m), 1min);
    return lock.owns_lock() ? 0 : ETIMEDOUT;
}

// A reader reads again while a writer waits.
template <class M> void recursion(const char *name)
{
    M m;
    struct job writer;
    line(name, "a reader reads again");
    m.lock_shared();
    start_asleep(&writer, write_and_release<M>, &m);
    {
        std::shared_lock<M> again(m);
        std::shared_lock<M> tried(m, std::try_to_lock);
        SAME(true, tried.owns_lock());
        SAME(false, can_write(m));
    }
    m.unlock_shared();
    EXPECT(0, answer_of(&writer));
    SAME(true, can_write(m));
}

// Locks that change hands: moved, swapped, released, adopted, deferred.
template <class M> void movable(const char *name)
{
    M a, b;
    line(name, "moved");
    std::shared_lock<M> first(a), second(b, std::defer_lock);
    SAME(false, second.owns_lock());
    second.lock();
    std::swap(first, second);
    SAME(true, first.mutex() == &b);
    first.unlock();
    SAME(true, can_write(b));
    SAME(false, can_write(a));
    std::shared_lock<M> third(std::move(second));
    SAME(false, second.owns_lock());
    third.release();
    SAME(false, can_write(a));
    {
        std::shared_lock<M> adopted(a, std::adopt_lock);
    }
    SAME(true, can_write(a));
    {
        std::scoped_lock both(a, b);
        SAME(false, can_read(a));
        SAME(false, can_read(b));
    }
    SAME(true, can_write(b));
}

// What a wait answers, and whether it waited for as long.
template <class F> bool in_time(F wait, bool wanted)
{
    return there([&] {
        auto begin = std::chrono::steady_clock::now();
        bool got = wait();
        return got == wanted && (got || std::chrono::steady_clock::now() - begin >= 5ms);
    });
}

void timed()
{
    using M = std::shared_timed_mutex;
    M m;
    auto system = [] { return std::chrono::system_clock::now() + 6ms; };
    auto steady = [] { return std::chrono::steady_clock::now() + 6ms; };
    auto reads = [&](bool got) { return got ? (m.unlock_shared(), true) : false; };
    auto writes = [&](bool got) { return got ? (m.unlock(), true) : false; };
    line("shared_timed_mutex", "times");
    m.lock();
    SAME(true, in_time([&] { return reads(m.try_lock_shared_for(6ms)); }, false));
    SAME(true, in_time([&] { return reads(m.try_lock_shared_until(system())); }, false));
    SAME(true, in_time([&] { return reads(m.try_lock_shared_until(steady())); }, false));
    SAME(true, in_time([&] { return writes(m.try_lock_for(6ms)); }, false));
    SAME(true, in_time([&] { return writes(m.try_lock_until(system())); }, false));
    SAME(true, in_time([&] { return writes(m.try_lock_until(steady())); }, false));
    m.unlock();
    m.lock_shared();
    SAME(true, in_time([&] { return reads(m.try_lock_shared_for(1min)); }, true));
    SAME(true, in_time([&] { return reads(m.try_lock_shared_until(system())); }, true));
    SAME(true, in_time([&] { return writes(m.try_lock_for(6ms)); }, false));
    SAME(true, in_time([&] { return writes(m.try_lock_until(steady())); }, false));
    m.unlock_shared();
    SAME(true, in_time([&] { return writes(m.try_lock_for(-1s)); }, true));
    SAME(true, in_time([&] { return reads(m.try_lock_shared_for(0s)); }, true));
    SAME(true, in_time([&] { return std::shared_lock<M>(m, 1min).owns_lock(); }, true));
    SAME(true, in_time([&] { return std::unique_lock<M>(m, steady()).owns_lock(); }, true));
    SAME(true, can_write(m));
}

// A wait that the release ends.
void timed_wait_is_ended()
{
    std::shared_timed_mutex m;
    struct job readers[2], writer;
    line("shared_timed_mutex", "a wait that the release ends");
    m.lock();
    start_asleep(&readers[0], read_in_a_minute, &m);
    start_asleep(&readers[1], read_and_release<std::shared_timed_mutex>, &m);
    start_asleep(&writer, write_in_a_minute, &m);
    m.unlock();
    EXPECT(0, answer_of(&readers[0]));
    EXPECT(0, answer_of(&readers[1]));
    EXPECT(0, answer_of(&writer));
    SAME(true, can_write(m));
}

// Before main, and after it.
struct Global {
    std::shared_mutex m;
    Global() { std::shared_lock<std::shared_mutex> lock(m); }
    ~Global()
    {
        std::unique_lock<std::shared_mutex> lock(m);
        line("destructor of a global", "locks");
    }
} global;

template <class M> void all(const char *name)
{
    excludes<M>(name);
    deadlock_is_thrown<M>(name);
    counts<M>(name);
    recursion<M>(name);
    movable<M>(name);
}

} // namespace

int main()
{
    all<std::shared_mutex>("shared_mutex");
    all<std::shared_timed_mutex>("shared_timed_mutex");
    timed();
    timed_wait_is_ended();
    return 0;
}
