// memcached's client: T threads, each with one connection, send N requests (9 gets to a set), 16 at a time.
#include <arpa/inet.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <time.h>
#include <unistd.h>
static int port, n;
static void *client(void *seed) {
    unsigned x = (unsigned)(long)seed * 2654435761u + 1;
    int s = socket(AF_INET, SOCK_STREAM, 0), one = 1;
    struct sockaddr_in a = {.sin_family = AF_INET, .sin_port = htons(port), .sin_addr.s_addr = htonl(INADDR_LOOPBACK)};
    if (connect(s, (struct sockaddr *)&a, sizeof a)) { perror("connect"); exit(1); }
    setsockopt(s, IPPROTO_TCP, TCP_NODELAY, &one, sizeof one);
    char out[8192], in[65536];
    for (int i = 0; i < n; i += 16) {
        int len = 0, ends = 0;
        for (int k = 0; k < 16; k++) {
            x ^= x << 13, x ^= x >> 17, x ^= x << 5;
            if (x % 10 == 0) len += sprintf(out + len, "set k%u 0 0 32\r\n%032u\r\n", x % 1000, x);
            else len += sprintf(out + len, "get k%u\r\n", x % 1000);
            ends++;
        }
        if (write(s, out, len) != len) exit(1);
        int got = 0, have = 0;
        while (got < ends) {
            int r = read(s, in + have, sizeof in - have);
            if (r <= 0) exit(1);
            have += r;
            got = 0;
            for (char *p = in; (p = memmem(p, in + have - p, "\r\n", 2)); p += 2)
                got += !memcmp(p - 3 >= in ? p - 3 : in, "END", 3) || (p - 6 >= in && !memcmp(p - 6, "STORED", 6));
        }
    }
    close(s);
    return 0;
}
int main(int c, char **v) {
    port = atoi(v[1]);
    int t = atoi(v[2]);
    n = atoi(v[3]);
    pthread_t th[64];
    struct timespec a, b;
    clock_gettime(CLOCK_MONOTONIC, &a);
    for (long i = 0; i < t; i++) pthread_create(th + i, 0, client, (void *)(i + 1));
    for (int i = 0; i < t; i++) pthread_join(th[i], 0);
    clock_gettime(CLOCK_MONOTONIC, &b);
    printf("%.3f\n", b.tv_sec - a.tv_sec + (b.tv_nsec - a.tv_nsec) / 1e9);
}
