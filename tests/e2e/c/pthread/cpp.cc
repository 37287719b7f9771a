// The locks of C++, which are inline calls of pthread functions in the program itself, behind weak references.
#include "row.h"
#include <barrier>
#include <chrono>
#include <condition_variable>
#include <future>
#include <latch>
#include <mutex>
#include <semaphore>
#include <shared_mutex>
#include <stop_token>
#include <thread>
#include <vector>

using namespace std::chrono_literals;

namespace {

const char *yes(bool answer) { return answer ? "yes" : "no"; }

// What another thread is answered.
template <class F> bool elsewhere(F f)
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

// try_lock that gives back what it got.
template <class M> bool tried(M &m)
{
    return elsewhere([&] { return std::unique_lock<M>(m, std::try_to_lock).owns_lock(); });
}

template <class M> void exclusive(const char *name)
{
    static M m;
    long count = 0;
    m.lock();
    line(name, "taken: another gets it: %s", yes(tried(m)));
    m.unlock();
    line(name, "free: another gets it: %s", yes(tried(m)));
    run_all(4, [&](int) {
        for (int i = 0; i < 3000; i++) {
            std::lock_guard<M> guard(m);
            count++;
        }
    });
    line(name, "counted %ld", count);
}

template <class M> void recursive(const char *name)
{
    M m;
    m.lock();
    m.lock();
    line(name, "a third time: %s", yes(m.try_lock()));
    m.unlock();
    m.unlock();
    line(name, "another gets it: %s", yes(tried(m)));
    m.unlock();
    line(name, "now another gets it: %s", yes(tried(m)));
}

template <class M> void timed(const char *name)
{
    M m;
    auto waits = [&](auto ask) {
        return elsewhere([&] {
            auto begin = std::chrono::steady_clock::now();
            bool got = ask();
            if (got)
                m.unlock();
            else if (std::chrono::steady_clock::now() - begin < 10ms)
                line(name, "too early");
            return got;
        });
    };
    auto for_10ms = [&] { return m.try_lock_for(10ms); };
    auto until_10ms = [&] { return m.try_lock_until(std::chrono::system_clock::now() + 10ms); };
    m.lock();
    line(name, "taken: for a time: %s", yes(waits(for_10ms)));
    line(name, "taken: until a time: %s", yes(waits(until_10ms)));
    m.unlock();
    line(name, "free: for a time: %s", yes(waits(for_10ms)));
    line(name, "free: until a time: %s", yes(waits(until_10ms)));
}

template <class M> void shared(const char *name)
{
    M m;
    auto share = [&] { return elsewhere([&] { return std::shared_lock<M>(m, std::try_to_lock).owns_lock(); }); };
    m.lock_shared();
    line(name, "shared: another shares: %s", yes(share()));
    line(name, "shared: another writes: %s", yes(tried(m)));
    m.unlock_shared();
    m.lock();
    line(name, "written: another shares: %s", yes(share()));
    line(name, "written: another writes: %s", yes(tried(m)));
    m.unlock();
    long count = 0;
    run_all(4, [&](int) {
        for (int i = 0; i < 1000; i++) {
            if (i % 4 == 0) {
                std::unique_lock<M> lock(m);
                count++;
            } else {
                std::shared_lock<M> lock(m);
                if (count < 0)
                    abort();
            }
        }
    });
    line(name, "counted %ld", count);
}

void shared_timed()
{
    std::shared_timed_mutex m;
    m.lock();
    line("shared_timed_mutex", "shared for a time: %s", yes(elsewhere([&] { return m.try_lock_shared_for(10ms); })));
    line("shared_timed_mutex", "for a time: %s", yes(elsewhere([&] { return m.try_lock_for(10ms); })));
    m.unlock();
    line("shared_timed_mutex", "free: %s", yes(elsewhere([&] { return m.try_lock_shared_for(10ms); })));
}

template <class C, class M> void condition(const char *name)
{
    M m;
    C c;
    int turn = 0;
    {
        std::unique_lock<M> lock(m);
        line(name, "wait_for: %s", yes(c.wait_for(lock, 10ms) == std::cv_status::no_timeout));
        auto later = std::chrono::system_clock::now() + 10ms;
        line(name, "wait_until: %s", yes(c.wait_until(lock, later, [] { return false; })));
        auto steady = std::chrono::steady_clock::now() + 10ms;
        line(name, "wait_until steady: %s", yes(c.wait_until(lock, steady, [] { return false; })));
        line(name, "still held: %s", yes(!tried(m)));
    }
    run_all(3, [&](int mine) {
        for (int i = 0; i < 300; i++) {
            std::unique_lock<M> lock(m);
            c.wait(lock, [&] { return turn % 3 == mine; });
            turn++;
            c.notify_all();
        }
    });
    line(name, "turns %d", turn);
}

void once()
{
    static std::once_flag flag;
    int runs = 0, thrown = 0;
    std::mutex m;
    run_all(4, [&](int) {
        try {
            std::call_once(flag, [&] {
                std::lock_guard<std::mutex> guard(m);
                if (++runs < 3)
                    throw runs;
            });
        } catch (int) {
            std::lock_guard<std::mutex> guard(m);
            thrown++;
        }
    });
    line("call_once", "%d runs, %d of them threw", runs, thrown);
}

// A lock that a thrown exception releases, and a deadlock that std::lock avoids.
void unwound()
{
    std::mutex a, b;
    int caught = 0;
    long count = 0;
    for (int i = 0; i < 100; i++)
        try {
            std::lock_guard<std::mutex> guard(a);
            throw i;
        } catch (int) {
            caught++;
        }
    line("exceptions", "%d, free: %s", caught, yes(tried(a)));
    run_all(2, [&](int mine) {
        for (int i = 0; i < 500; i++) {
            std::scoped_lock both(mine ? a : b, mine ? b : a);
            count++;
        }
    });
    line("both", "%ld", count);
}

void rendezvous()
{
    std::latch latch(4);
    int completed = 0;
    std::barrier barrier(4, [&]() noexcept { completed++; });
    std::counting_semaphore<8> semaphore(0);
    run_all(4, [&](int) {
        latch.arrive_and_wait();
        for (int i = 0; i < 50; i++)
            barrier.arrive_and_wait();
        semaphore.release();
    });
    for (int i = 0; i < 4; i++)
        semaphore.acquire();
    line("latch, barrier and semaphore", "%d, one more: %s", completed, yes(semaphore.try_acquire_for(5ms)));
}

void futures()
{
    std::vector<std::future<int>> all;
    for (int i = 0; i < 20; i++)
        all.push_back(std::async(std::launch::async, [i] { return i; }));
    int sum = 0;
    for (auto &future : all)
        sum += future.get();
    line("futures", "%d", sum);
    std::condition_variable_any c;
    std::mutex m;
    bool stopped = false;
    {
        std::jthread thread([&](std::stop_token token) {
            std::unique_lock<std::mutex> lock(m);
            c.wait(lock, token, [] { return false; });
            stopped = token.stop_requested();
        });
    }
    line("stop token", "%s", yes(stopped));
}

// Before main, and after it.
struct Global {
    std::mutex m;
    Global() { std::lock_guard<std::mutex> guard(m); }
    ~Global()
    {
        std::lock_guard<std::mutex> guard(m);
        line("destructor of a global", "locks");
    }
} global;

} // namespace

int main()
{
    exclusive<std::mutex>("mutex");
    exclusive<std::recursive_mutex>("recursive_mutex");
    exclusive<std::timed_mutex>("timed_mutex");
    exclusive<std::shared_mutex>("shared_mutex");
    recursive<std::recursive_mutex>("recursive_mutex");
    recursive<std::recursive_timed_mutex>("recursive_timed_mutex");
    timed<std::timed_mutex>("timed_mutex");
    timed<std::recursive_timed_mutex>("recursive_timed_mutex");
    timed<std::shared_timed_mutex>("shared_timed_mutex");
    shared<std::shared_mutex>("shared_mutex");
    shared<std::shared_timed_mutex>("shared_timed_mutex");
    shared_timed();
    condition<std::condition_variable, std::mutex>("condition_variable");
    condition<std::condition_variable_any, std::shared_mutex>("condition_variable_any");
    once();
    unwound();
    rendezvous();
    futures();
    return 0;
}
