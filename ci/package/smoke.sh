#!/bin/sh
# Tries the two programs in a root folder of some release, as root. They are in PATH.
set -eu

fail() {
    echo "smoke: $1" >&2
    exit 1
}

# Runs a command, which must end with the exit code 0 and print the text.
expect() { # TEXT COMMAND...
    text=$1
    shift
    output=$("$@" 2>&1) || fail "$*: exit code $?: $output"
    case $output in
        *"$text"*) ;;
        *) fail "$*: there is no '$text' in: $output" ;;
    esac
}

expect "unspin 0." unspin --version
expect "unspin-lab 0." unspin-lab --version
expect "complete -F" unspin completions bash
expect "seconds per repetition" unspin semopbench -g 2 -s 1 -n 100
libc=$(getconf GNU_LIBC_VERSION)
# The preload library is unpacked and loaded, an arena is made, and unspin-lab is of this build.
expect "preload library" unspin doctor run meter prove sysv lab
expect "replaced: " unspin run -v --waits poll --mutex adaptive hackbench 1 --transport queue -l 100
# Every name that the preload library and the programs take from libc is looked up at once.
expect "Time: " env LD_BIND_NOW=1 unspin run --waits poll hackbench 1 --transport queue -l 100
expect "TOTAL" unspin meter hackbench 1 --transport queue -l 100
expect "seconds per repetition" unspin run --sysv rcu semopbench -g 2 -s 1 -n 100
code=0
output=$(unspin prove --runs 6 --sysv rcu semopbench -g 2 -s 1 -n 200 2>&1) || code=$?
case $code in
    # Faster, slower, or not proven: that is for the machine to decide.
    0 | 1 | 3) ;;
    *) fail "unspin prove: exit code $code: $output" ;;
esac
expect "messages per second" unspin volano --rooms 1 --users 2 --messages 20 --runs 1
expect "bogotransactions per second" unspin dbt1 --runs 1 --duration 1s --warm-up 0 --items 1000 --scale 1 --browsers 2
echo "smoke: passed with $libc"
