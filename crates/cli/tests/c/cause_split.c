/* Planted: four tables that have nothing to do with each other share one lock. */
#include "cause.h"

static pthread_mutex_t all_tables = PTHREAD_MUTEX_INITIALIZER;
static long users, orders, prices, events;

#define TABLE(name)                                                                                                    \
    __attribute__((noinline)) static void add_to_##name(void)                                                          \
    {                                                                                                                  \
        pthread_mutex_lock(&all_tables);                                                                               \
        name++;                                                                                                        \
        compute(5000);                                                                                                 \
        pthread_mutex_unlock(&all_tables);                                                                             \
    }                                                                                                                  \
    static void *work_on_##name(void *argument)                                                                        \
    {                                                                                                                  \
        for (int i = 0; i < 20000; i++)                                                                                \
            add_to_##name();                                                                                           \
        return argument;                                                                                               \
    }
TABLE(users)
TABLE(orders)
TABLE(prices)
TABLE(events)

int main(void)
{
    run(4, (void *(*[])(void *)){work_on_users, work_on_orders, work_on_prices, work_on_events});
    return 0;
}
