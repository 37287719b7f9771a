#!/bin/sh
# What the schedulers do in a kernel that has sched_ext: run as root in a virtual machine by ci/sched.sh, which puts the programs
# into PATH. Arguments: the tests to run; all if there are none. Prints a line for each; exit code 1 if one has failed.
set -u
cd /tmp || exit 1
state=/sys/kernel/sched_ext/state
failed=0

fails() { echo "FAILED $test: $*"; failed=1; }

# run CODE WORDS...: runs unspin-sched, which must end with this code; its output is in the file `out`.
run() {
    wanted=$1
    shift
    unspin-sched "$@" >out 2>&1
    code=$?
    [ $code -eq "$wanted" ] || { fails "exit code $code, not $wanted, of unspin-sched $*"; cat out; }
    grep -qx disabled $state || fails "the scheduler is still loaded after unspin-sched $*"
}

has() { grep -q -e "$2" "$1" || { fails "no '$2' in:"; cat "$1"; }; }

# sums FILE: the statistics add up, and tasks have run.
sums() {
    has "$1" '"adds_up": true'
    has "$1" '"ejected": null'
    has "$1" '"dispatched": [1-9]'
}

wait_for() { # STATE
    for _ in $(seq 300); do
        if grep -qx "$1" $state; then return; fi
        sleep 0.1
    done
    fails "the state is not $1"
}

wait_for_line() { # FILE TEXT
    for _ in $(seq 300); do
        if grep -q "$2" "$1"; then return; fi
        sleep 0.1
    done
    fails "no $2 in $1"
}

progress() {
    for scheduler in global mq; do
        run 0 $scheduler --stats $scheduler.json -- unspin hackbench -g 1 -l 20
        has out '^Time: '
        sums $scheduler.json
    done
}

steals() {
    run 0 mq --stats mq.json -- unspin hackbench -g 1 -l 20
    sums mq.json
    has mq.json '"stolen": [1-9]'
    run 0 global --stats global.json -- unspin hackbench -g 1 -l 5
    has global.json '"stolen": 0'
}

# Tasks that only one CPU may run, beside others that may run everywhere.
bound() {
    for scheduler in global mq; do
        run 0 $scheduler --stats bound.json -- sh -c '
            taskset -c 1 unspin hackbench -g 1 -l 3 >a & taskset -c 0 unspin hackbench -g 1 -l 3 >b &
            unspin hackbench -g 1 -l 3 >c; wait; grep -c Time: a b c'
        has out 'a:1'
        has out 'b:1'
        has out 'c:1'
        sums bound.json
    done
}

chat() {
    for scheduler in global mq; do
        run 0 $scheduler --stats chat.json -- unspin-lab volano --model threads --rooms 1 --users 4 --messages 5 --runs 1
        has out 'messages per second'
        sums chat.json
    done
}

# of_guest SCHEDULER TEST: a program of guest.c under the scheduler.
of_guest() {
    run 0 "$1" --stats "$2.json" -- guest "$2"
    sums "$2.json"
}

empties() { for scheduler in global mq; do of_guest $scheduler empties; done; }
disabled() { for scheduler in global mq; do of_guest $scheduler disabled; done; }

# Sleepers are woken while a CPU is idle, and on that CPU not all of them ran last.
burst() {
    for scheduler in global mq; do
        of_guest $scheduler burst
        has burst.json '"longest_idle": [1-9]'
    done
}

# Beside tasks of the kernel's own scheduler, which precede.
beside() {
    for scheduler in global mq; do
        of_guest $scheduler beside
        has beside.json '"reenqueued": [1-9]'
    done
}

crowd() { for scheduler in global mq; do of_guest $scheduler crowd; done; }

policy() {
    run 0 mq -- sh -c 'set -- $(cat /proc/self/stat); shift 40; echo "policy $1"'
    has out '^policy 7$'
}

locks() {
    for scheduler in global mq; do
        run 0 $scheduler --locks --stats locks.json -- unspin hackbench -g 1 -l 20
        has out 'dsq_locks\? spun for .* for a total of .* of the [0-9]* CPUs\.$'
        has out 'UTIL  CON    MEAN(  MAX )   MEAN(  MAX )(% CPU)     TOTAL NOWAIT SPIN RJECT  NAME$'
        has out '%     -  dsq_lock$'
        has locks.json '"acquired": [1-9]'
    done
}

codes() {
    run 3 global -- sh -c 'exit 3'
    run 143 mq -- sh -c 'kill $$'
    run 127 mq -- no-such-program
    has out 'no-such-program: not found'
    run 126 mq -- /tmp
    run 2 mq --timeout-ms 4999
    run 125 mq --stats /no/such/folder -- true
    run 0 mq --seconds 1
    run 0 mq --stats - -- true
    has out '"scheduler": "mq"'
    unspin-sched mq &
    wait_for enabled
    kill $!
    wait $! || fails "exit code $? of a scheduler without a command after SIGTERM"
}

# Users that are not root.
user() {
    setpriv --reuid 1000 --clear-groups unspin-sched mq -- true >out 2>&1
    code=$?
    [ $code -eq 125 ] || fails "exit code $code of a user's scheduler"
    has out 'only root may'
}

second() {
    unspin-sched global -- sleep 1000 &
    wait_for enabled
    unspin-sched mq -- true >out 2>&1
    code=$?
    [ $code -eq 125 ] || fails "exit code $code of a second scheduler"
    has out 'the kernel has the scheduler unspin_global.* already'
    kill $!
    wait $!
    [ $? -eq 143 ] || fails "SIGTERM was not passed on to the command"
    grep -qx disabled $state || fails "the scheduler is still loaded"
}

killed() {
    for scheduler in global mq; do
        unspin-sched $scheduler -- sleep 3 &
        wait_for enabled
        kill -9 $!
        wait $! 2>/dev/null
        wait_for disabled
    done
}

# The kernel ends a scheduler at SysRq-S.
ejected() {
    unspin-sched mq --stats ejected.json -- sleep 1000 >out 2>&1 &
    wait_for enabled
    echo S >/proc/sysrq-trigger
    wait $!
    code=$?
    [ $code -eq 124 ] || fails "exit code $code of a scheduler that the kernel ended"
    has out 'the kernel ended the scheduler mq: .*sysrq'
    has ejected.json '"ejected": "'
    grep -qx disabled $state || fails "the scheduler is still loaded"
}

# A signal reaches the command once, and one that is ignored stays ignored.
signals() {
    nohup unspin-sched mq -- sh -c 'grep SigIgn /proc/self/status; kill -HUP $$; echo goes on' >out 2>&1
    has out 'SigIgn:.*[13579bdf]$'
    has out 'goes on'
    unspin-sched mq -- guest signals >out 2>&1 &
    wait_for enabled
    wait_for_line out ready
    kill -HUP $!
    wait $!
    code=$?
    [ $code -eq 0 ] || { fails "exit code $code of a command that counts signals"; cat out; }
    has out '^1 signals$'
    # The keyboard's goes to the whole group.
    guest terminal unspin-sched mq -- guest signals >out 2>&1
    has out '^[^0-9]*1 signals'
}

[ $# -gt 0 ] || set -- progress steals bound empties burst beside crowd disabled chat policy locks codes user second signals killed ejected
for test in "$@"; do
    before=$failed failed=0
    $test
    if [ $failed -eq 0 ]; then echo "ok $test"; else echo "not ok $test"; fi
    [ $before -eq 0 ] || failed=1
done
if dmesg | grep -E 'stall|BUG:|soft lockup|WARNING:' ; then
    echo "the kernel complains"
    failed=1
fi
exit $failed
