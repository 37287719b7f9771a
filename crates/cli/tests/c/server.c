/* A server on an abstract Unix socket, which no dead process keeps, and its client.
 *
 *   server NAME MODE          serves: each request takes the mutex once
 *   server NAME ask           succeeds if the server answers
 *   server NAME load NUMBER   makes requests, and prints how many of them there were
 */
#include <errno.h>
#include <pthread.h>
#include <signal.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

static const char *mode;
static pthread_mutex_t requests_lock = PTHREAD_MUTEX_INITIALIZER;
static long requests;

static int is(const char *name) { return strcmp(mode, name) == 0; }

static socklen_t address(const char *name, struct sockaddr_un *to) {
    memset(to, 0, sizeof *to);
    to->sun_family = AF_UNIX;
    strncpy(to->sun_path + 1, name, sizeof to->sun_path - 2);
    return offsetof(struct sockaddr_un, sun_path) + 1 + strlen(name);
}

static void *serve(void *socket) {
    int client = (int)(long)socket;
    char byte;
    while (read(client, &byte, 1) == 1) {
        pthread_mutex_lock(&requests_lock);
        long now = ++requests;
        pthread_mutex_unlock(&requests_lock);
        if (is("dies-in-load") && now > 100) {
            fprintf(stderr, "request %ld is one too many\n", now);
            abort();
        }
        if (write(client, &byte, 1) != 1) break;
    }
    close(client);
    return NULL;
}

static void crash(int signal) {
    (void)signal;
    raise(SIGSEGV);
}

static int server(const char *name) {
    if (is("dies-at-start")) {
        fprintf(stderr, "there is no configuration\n");
        return 3;
    }
    if (is("never-ready")) {
        printf("still thinking\n");
        fflush(stdout);
        for (;;) pause();
    }
    if (is("daemon") && fork() != 0) return 0;
    if (is("does-not-stop")) signal(SIGTERM, SIG_IGN);
    if (is("leaves-a-worker")) {
        /* Before the fork, so that the worker is never without it. */
        signal(SIGTERM, SIG_IGN);
        if (fork() == 0)
            for (;;) pause();
        signal(SIGTERM, SIG_DFL);
    }
    if (is("crashes-at-stop")) signal(SIGTERM, crash);
    signal(SIGPIPE, SIG_IGN);
    struct sockaddr_un to;
    socklen_t length = address(name, &to);
    int listener = socket(AF_UNIX, SOCK_STREAM, 0);
    if (bind(listener, (struct sockaddr *)&to, length) != 0) {
        fprintf(stderr, "bind: %s\n", strerror(errno));
        return 1;
    }
    listen(listener, 16);
    for (;;) {
        int client = accept(listener, NULL, NULL);
        pthread_t thread;
        if (client >= 0 && pthread_create(&thread, NULL, serve, (void *)(long)client) == 0) pthread_detach(thread);
    }
}

static int client(const char *name, long number) {
    struct sockaddr_un to;
    socklen_t length = address(name, &to);
    int server = socket(AF_UNIX, SOCK_STREAM, 0);
    if (connect(server, (struct sockaddr *)&to, length) != 0) return 1;
    char byte = 'x';
    for (long i = 0; i < number; i++)
        if (write(server, &byte, 1) != 1 || read(server, &byte, 1) != 1) {
            fprintf(stderr, "the server is gone\n");
            return 1;
        }
    const char *preload = getenv("LD_PRELOAD");
    printf("requests: %ld, preloaded: %s\n", number, preload && *preload ? preload : "nothing");
    return 0;
}

int main(int count, char **words) {
    if (count < 3) return 2;
    mode = words[2];
    if (is("ask")) return client(words[1], 1);
    if (is("load")) return client(words[1], count > 3 ? atol(words[3]) : 1000);
    return server(words[1]);
}
