<?php
// PHP's three extensions for System V: each of their functions, alone and among processes that it starts. One line an observation.
error_reporting(E_ALL);

function line(string $what, mixed ...$values): void
{
    echo $what, ': ', implode(' ', array_map(fn($value) => json_encode($value), $values)), "\n";
}

const KEY = 0x51ee0021;

/** Other processes that run a function of this file. */
function start(string $function, int $count): array
{
    $command = [PHP_BINARY, __FILE__, $function];
    return array_map(fn() => proc_open($command, [], $pipes), range(1, $count));
}

function ended(array $processes): string
{
    $codes = array_map(function ($process) {
        while (($status = proc_get_status($process))['running']) {
            usleep(1000);
        }
        return $status['signaled'] ? 'signal ' . $status['termsig'] : $status['exitcode'];
    }, $processes);
    return implode(' ', $codes);
}

/** Variables in shared memory, changed by turns under a semaphore. */
function counter(): void
{
    $semaphore = sem_get(KEY, 1, 0600, true);
    $memory = shm_attach(KEY, 100000, 0600);
    for ($i = 0; $i < 200; $i++) {
        sem_acquire($semaphore);
        shm_put_var($memory, 1, shm_get_var($memory, 1) + 1);
        sem_release($semaphore);
    }
    shm_detach($memory);
}

/** Ends with the semaphore in hand, without a word. */
function holder(): void
{
    sem_acquire(sem_get(KEY, 1, 0600, false));
    posix_kill(getmypid(), SIGKILL);
}

/** Sends back what it gets, until it gets nothing. */
function echoes(): void
{
    $queue = msg_get_queue(KEY);
    while (msg_receive($queue, 1, $type, 10000, $message) && $message !== null) {
        msg_send($queue, 2, [$message, strlen(serialize($message))]);
    }
}

if (isset($argv[1])) {
    $argv[1]();
    exit(0);
}

$semaphore = sem_get(KEY, 1, 0600, true);
$memory = shm_attach(KEY, 100000, 0600);
line('nothing yet', shm_has_var($memory, 1));
line('put', shm_put_var($memory, 1, 0), shm_put_var($memory, 2, ['a' => [1, 2.5, null], 'b' => str_repeat('x', 1000)]));
line('got', shm_get_var($memory, 2)['a'], strlen(shm_get_var($memory, 2)['b']));
line('too large', @shm_put_var($memory, 3, str_repeat('y', 200000)));
line('counters', ended(start('counter', 4)));
line('sum', shm_get_var($memory, 1));
line('removed variable', shm_remove_var($memory, 2), shm_has_var($memory, 2));

line('acquire', sem_acquire($semaphore));
line('not twice', sem_acquire($semaphore, true));
line('release', sem_release($semaphore));
line('release twice', @sem_release($semaphore));
line('killed with it', ended(start('holder', 3)));
line('acquire after that', sem_acquire($semaphore), sem_release($semaphore));
line('remove', sem_remove($semaphore), @sem_remove($semaphore));
line('shared memory goes', shm_remove($memory), shm_detach($memory));

line('no queue', msg_queue_exists(KEY));
$queue = msg_get_queue(KEY, 0600);
line('queue', msg_queue_exists(KEY), msg_stat_queue($queue)['msg_qnum'], decoct(msg_stat_queue($queue)['msg_perm.mode']));
$echo = start('echoes', 1);
foreach ([1, 'text', [1, 2, ['deep' => true]], 2.5, str_repeat('long', 1000)] as $message) {
    msg_send($queue, 1, $message);
    line('echo', msg_receive($queue, 2, $type, 10000, $answer), $type, $answer[0] === $message, $answer[1]);
}
msg_send($queue, 1, null);
line('end of the echo', ended($echo));
line('raw', msg_send($queue, 7, 'as it is', false), msg_receive($queue, -9, $type, 100, $raw, false), $type, $raw);
line('empty', msg_receive($queue, 0, $type, 100, $raw, false, MSG_IPC_NOWAIT, $error), $error === MSG_ENOMSG);
msg_send($queue, 3, 'too long for that', false);
line('too small', @msg_receive($queue, 3, $type, 4, $raw, false, 0, $error), $error);
line('cut off', msg_receive($queue, 3, $type, 4, $raw, false, MSG_NOERROR), $raw);
line('full', msg_set_queue($queue, ['msg_qbytes' => 10]), @msg_send($queue, 1, 'more than ten', false, false, $error), $error === MSG_EAGAIN);
line('statistics', msg_stat_queue($queue)['msg_lspid'] === getmypid(), msg_stat_queue($queue)['msg_qbytes']);
line('remove', msg_remove_queue($queue), msg_queue_exists(KEY));
line('key of a file', ftok(__FILE__, 'x') === ftok(__FILE__, 'x'), @ftok('/no such file', 'x'));
