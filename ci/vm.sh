#!/usr/bin/env bash
# Commands on another kernel: `unspin vm` boots the newest kernel of Debian's cloud flavour in qemu, by KVM or TCG. What a command
# writes, how it ends and how many CPUs it has are what they should be, and a SIGKILL of unspin leaves no qemu. docs/vm.md says it.
source "$(dirname "$0")/lib.sh"

command -v qemu-system-x86_64 >/dev/null || ci/setup.sh >/dev/null || true
command -v qemu-system-x86_64 >/dev/null || skip "there is no qemu-system-x86_64 (Debian's package qemu-system-x86)"
cargo build --locked --quiet --package unspin-cli --package unspin-lab --bins
unspin=$target/debug/unspin
folder=$target/vm
rm -rf "$folder" && mkdir -p "$folder/data"
# Programs and working directories lie below /tmp, too.
here=$(mktemp -d)
trap 'rm -rf "$here"' EXIT
echo text >"$folder/data/file"

# Runs a command line in a machine. It must end with this code, and write these lines; otherwise `why` says what differs.
ends_so() { # CODE STDOUT STDERR OPTION-OR-WORD...
    local wanted=$1 out=$2 err=$3 code=0
    shift 3
    (cd "$here" && "$unspin" vm --quiet --time-limit 5m "$@") >"$folder/out" 2>"$folder/err" </dev/null || code=$?
    # The network may be away.
    if grep -qE "Debian's archive|cannot be listed" "$folder/err"; then skip "no kernel can be had: $(cat "$folder/err")"; fi
    grep -vxF Killed "$folder/err" >"$folder/said" || true
    why=
    [ "$code" -eq "$wanted" ] || why="exit code $code instead of $wanted: $* $(tail -n 20 "$folder/err")"
    [ "$(cat "$folder/out")" = "$out" ] || why+=" standard output: $(cat "$folder/out")"
    [ "$(cat "$folder/said")" = "$err" ] || why+=" standard error: $(cat "$folder/err")"
    [ -z "$why" ]
}

# One of three machines must end so. Where qemu translates the instructions of several CPUs (TCG), now and then a guest's kernel panics or
# a program computes something wrong: docs/vm.md. A defect of ours shows in all three.
expect() { # CODE STDOUT STDERR OPTION-OR-WORD...
    local attempt
    for attempt in 1 2 3; do
        if ends_so "$@"; then return; fi
        echo "$gate: attempt $attempt: $why"
    done
    fail "$why"
}

# One boot for most of it. A process that stays behind keeps neither the output nor the machine open.
# shellcheck disable=SC2016 # The guest's shell expands it.
text='nproc; cat /data/file; echo complaint >&2; sleep 1000 & sh -c "kill -9 \$\$"; echo $?; echo again >/dev/stdout
unspin hackbench -g 1 -l 2 | grep -c "^Time: "; exit 7'
echo "$gate: output, standard error, exit code, CPUs and files of a command, and a workload of unspin"
expect 7 $'3\ntext\n137\nagain\n1' complaint --cpus 3 --json "$folder/run.json" --file "$folder/data:/data" -- sh -c "$text"

for field in '"schema": "unspin.vm/1"' '"cpus": 3' '"code": 7'; do
    grep -qF "$field" "$folder/run.json" || fail "--json has no $field: $(cat "$folder/run.json")"
done

echo "$gate: a signal that ends a command"
# shellcheck disable=SC2016 # The same.
expect 143 "" "" -- sh -c 'kill -TERM $$'

echo "$gate: a SIGKILL of unspin leaves no qemu"
"$unspin" vm --quiet -- sleep 1000 >"$folder/out" 2>&1 &
killed=$!
for _ in $(seq 300); do
    child=$(pgrep -P $killed -f '^[^ ]*qemu-system-x86_64 ' || true)
    [ -z "$child" ] || break
    sleep 0.1
done
[ -n "$child" ] || fail "no qemu was started: $(cat "$folder/out")"
kill -9 $killed
wait $killed 2>/dev/null || true
for _ in $(seq 100); do
    [ -e "/proc/$child" ] || break
    sleep 0.1
done
[ ! -e "/proc/$child" ] || fail "qemu outlives unspin"

pass "a command on another kernel"
