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

# A machine must end so. One in which the emulator failed is booted again, up to three times; all else is a defect of ours at once.
expect() { # CODE STDOUT STDERR OPTION-OR-WORD...
    local attempt
    for attempt in 1 2 3; do
        if ends_so "$@"; then return; fi
        emulator_failed "$(cat "$folder/err")" || fail "$why"
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

echo "$gate: a reader that goes ends a command, as outside of a machine, and one that is slow loses nothing"
readers=$(
    cat <<'END'
"$0" vm --quiet --time-limit 5m -- yes | head -n 1
echo "${PIPESTATUS[0]}"
"$0" vm --quiet --time-limit 5m -- seq 1000000 | (sleep 30; cksum)
echo "${PIPESTATUS[0]}"
END
)
# In place of a machine: these pipes have its output.
read_so() {
    (cd "$here" && bash -c "$readers" "$unspin") >"$folder/out" 2>"$folder/err" </dev/null
    diff "$folder/out" - <<<$'y\n141\n'"$(seq 1000000 | cksum)"$'\n0' >"$folder/differs"
}
for attempt in 1 2 3; do
    if read_so; then break; fi
    why="readers: $(cat "$folder/differs" "$folder/err")"
    { [ "$attempt" -lt 3 ] && emulator_failed "$(cat "$folder/err")"; } || fail "$why"
    echo "$gate: attempt $attempt: $why"
done

echo "$gate: CPU time of processes that the command has not waited for: one that has ended, and one that is killed"
cat >"$folder/data/burn" <<'END'
# Until it has used two seconds, by the kernel's account in 1/100 s.
while read -r stat </proc/$$/stat; set -- "$1" ${stat##*) }; [ $((${13} + ${14})) -lt 200 ]; do :; done
echo done >"/tmp/$1"
[ "$1" != goes-on ] || while :; do :; done
END
text='mkfifo /tmp/ends /tmp/goes-on; (sh /data/burn ends &); (sh /data/burn goes-on &); read x </tmp/ends; read x </tmp/goes-on'
expect 0 "" "" --json "$folder/run.json" --file "$folder/data:/data" -- sh -c "$text"
used=$(sed -n 's/^ *"\(user\|system\)_s": \([0-9.e-]*\).*/\2/p' "$folder/run.json" | awk '{ used += $1 } END { print used }')
awk -v used="$used" 'BEGIN { exit !(used >= 4) }' || fail "of 4 s of CPU time that its processes have used, the command has $used s"

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
