/* A library for LD_PRELOAD: a network that makes one mistake with what volano's server sends, or delivers it late.
 *
 * MISTAKE says which. It is made with the 50th message from the server. A message is 100 bytes long, and its last header
 * field, the position in the room, is not 0; the client always sends 0 there.
 */
#define _GNU_SOURCE
#include <pthread.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <unistd.h>

enum { MESSAGE = 100, POSITION = 12, THE_ONE = 50 };

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static int count;
static int held_for = -1;
static char held[MESSAGE];

static ssize_t really_send(int fd, const void *bytes, size_t length, int flags)
{
    return syscall(SYS_sendto, fd, bytes, length, flags, NULL, 0);
}

static int is_from_server(const void *bytes, size_t length)
{
    static const char zero[4];
    return length == MESSAGE && memcmp((const char *)bytes + POSITION, zero, sizeof zero) != 0;
}

static ssize_t with_mistake(const char *mistake, int fd, const void *bytes, int flags)
{
    char altered[MESSAGE];
    switch (mistake[0]) {
    case 'l': /* lose */
        return MESSAGE;
    case 'r': /* repeat */
        really_send(fd, bytes, MESSAGE, flags);
        return really_send(fd, bytes, MESSAGE, flags);
    case 'e': /* exchange with the next one on this connection */
        memcpy(held, bytes, MESSAGE);
        held_for = fd;
        return MESSAGE;
    default: /* alter */
        memcpy(altered, bytes, MESSAGE);
        altered[MESSAGE - 1] ^= 1;
        return really_send(fd, altered, MESSAGE, flags);
    }
}

ssize_t recv(int fd, void *bytes, size_t length, int flags)
{
    ssize_t received = syscall(SYS_recvfrom, fd, bytes, length, flags, NULL, NULL);
    const char *mistake = getenv("MISTAKE");
    if (mistake && mistake[0] == 'd' && received == MESSAGE && is_from_server(bytes, received)) /* delay */
        usleep(300000);
    return received;
}

ssize_t send(int fd, const void *bytes, size_t length, int flags)
{
    const char *mistake = getenv("MISTAKE");
    ssize_t sent;
    if (!mistake || !is_from_server(bytes, length))
        return really_send(fd, bytes, length, flags);
    pthread_mutex_lock(&lock);
    if (++count == THE_ONE && mistake[0] != 'd') {
        sent = with_mistake(mistake, fd, bytes, flags);
    } else {
        sent = really_send(fd, bytes, length, flags);
        if (fd == held_for) {
            held_for = -1;
            really_send(fd, held, MESSAGE, flags);
        }
    }
    pthread_mutex_unlock(&lock);
    return sent;
}
