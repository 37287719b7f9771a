/* Computes in one function for some CPU time. */
#include <time.h>

static volatile unsigned long numbers[64];

__attribute__((noinline)) void burn(int rounds)
{
    for (int round = 0; round < rounds; round++)
        for (int i = 1; i < 63; i++) {
            unsigned long before = numbers[i - 1], after = numbers[i + 1];
            if (before > after)
                numbers[i] = before * 3 + after;
            else
                numbers[i] = before ^ (after >> 1);
        }
}

int main(void)
{
    while (clock() < CLOCKS_PER_SEC / 5)
        burn(1000);
    return 0;
}
