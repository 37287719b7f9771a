#!/usr/bin/env bash
# The schedulers of crates/sched in a kernel that has sched_ext: built by clang, loaded in a virtual machine, and run with hackbench.
#
#     ci/sched.sh          one virtual machine: tasks progress, counters add up, no CPU idles beside tasks that wait, bound tasks run
#     ci/sched.sh --all    all tests of guest.sh, volano and the locks among them; and schedulers with planted defects are noticed
source "$(dirname "$0")/lib.sh"

lacking=()
has_clang() { local version; for version in 21 20 19 18 17 16; do ! command -v "clang-$version" >/dev/null || return 0; done; return 1; }
[ -n "${CLANG:-}" ] || has_clang || lacking+=(clang-19)
command -v "${CC:-cc}" >/dev/null || lacking+=(gcc)
command -v pkg-config >/dev/null || lacking+=(pkg-config)
[ -e /usr/include/libelf.h ] || lacking+=(libelf-dev)
[ -e /usr/include/zlib.h ] || lacking+=(zlib1g-dev)
command -v qemu-system-x86_64 >/dev/null || lacking+=(qemu-system-x86)
[ ${#lacking[@]} -eq 0 ] || skip "there is no ${lacking[*]}: apt-get install ${lacking[*]}"

cargo build --locked --quiet --package unspin-cli --package unspin-lab --bins
build=(cargo build --locked --quiet --package unspin-sched --features bpf)
# With other features than the rest of the workspace.
export CARGO_TARGET_DIR=$target/sched
"${build[@]}"
run_tests cargo test --locked --package unspin-sched --features bpf

vm=("$target/debug/unspin-lab" vm --kernel cloud --cpus 2 --time-limit 300)
output=$("${vm[@]}" -- true 2>&1) || skip "no virtual machine with a kernel that has sched_ext: $(tail -n 1 <<<"$output")"

guest=$CARGO_TARGET_DIR/guest
"${CC:-cc}" -static -O1 -Wall -Wextra -Werror -o "$guest" crates/sched/tests/guest.c

# in_guest SCHED TEST...: the tests of guest.sh with this program. Again only where the emulator failed: loading a scheduler switches static
# keys of the kernel, and where qemu 7.2 translates the instructions of several CPUs, the kernel sometimes stops at a breakpoint that it has
# already removed, in code that has nothing to do with schedulers. A BPF program cannot do that. All else is a defect, the first time.
in_guest() {
    local files=(--file "$1:/usr/bin/unspin-sched" --file "$target/debug/unspin:/usr/bin/unspin" --file crates/sched/tests/guest.sh:/guest.sh)
    local tool code begun=$SECONDS said=$CARGO_TARGET_DIR/guest.said
    files+=(--file "$target/debug/unspin-lab:/usr/bin/unspin-lab" --file "$guest:/usr/bin/guest")
    for tool in cat dmesg grep nohup seq setpriv setsid sh sleep taskset true; do
        files+=(--file "$(type -P "$tool"):/usr/bin/$tool")
    done
    for _ in 1 2 3 4; do
        code=0
        "${vm[@]}" "${files[@]}" -- /bin/sh /guest.sh "${@:2}" 2>&1 | tee "$said" || code=${PIPESTATUS[0]}
        if [ "$code" -eq 0 ] || ! emulator_failed "$(cat "$said")"; then break; fi
        echo "sched: the emulator failed, not a scheduler: once more"
    done
    echo "sched: ${*:2}: $((SECONDS - begun)) s"
    return "$code"
}

holds() { # TESTS
    local words
    read -ra words <<<"$1"
    in_guest "$CARGO_TARGET_DIR/debug/unspin-sched" "${words[@]}" || fail "a scheduler does not do what it should: see above"
}

# planted EXPRESSION FILE TEST TEXT: this change (of sed) of a scheduler makes the test say the text.
planted() {
    sed -i.sound "$1" "$scratch/crates/sched/bpf/$2"
    ! cmp -s "$scratch/crates/sched/bpf/$2"{,.sound} || fail "nothing to plant in $2: $1"
    (cd "$scratch" && "${build[@]}")
    must_find "$4" in_guest "$CARGO_TARGET_DIR/debug/unspin-sched" "$3"
    mv "$scratch/crates/sched/bpf/$2.sound" "$scratch/crates/sched/bpf/$2"
}

holds "progress steals bound policy empties burst beside"

# unspin itself loads the scheduler for the command, and says what the kernel had.
scheduled() { # CODE TEXT SCHEDULER COMMAND...
    local code=0
    for _ in 1 2 3; do
        code=0
        said=$("${vm[@]}" --quiet --json "$CARGO_TARGET_DIR/vm.json" --scheduler "$3" -- "${@:4}" 2>&1) || code=$?
        if ! emulator_failed "$said"; then break; fi
    done
    if [ "$code" -ne "$1" ] || ! grep -qF -e "$2" <<<"$said"; then fail "exit code $code instead of $1, or not '$2': $said"; fi
}
mq=$CARGO_TARGET_DIR/debug/unspin-sched
scheduled 7 unspin_mq "$mq mq" sh -c 'cat /sys/kernel/sched_ext/root/ops; exit 7'
grep -qF '"ops": "unspin_mq' "$CARGO_TARGET_DIR/vm.json" || fail "--json has no scheduler: $(cat "$CARGO_TARGET_DIR/vm.json")"
scheduled 125 "ended with exit code 3 before it was enabled" "sh -c 'exit 3'" true
ends='for p in /proc/[0-9]*; do if grep -q ^unspin-sched "$p/comm"; then kill "${p#/proc/}"; fi; done'
scheduled 125 "the kernel went back to its own scheduler during the run" "$mq mq" sh -c "echo output; $ends; while grep -q enabled /sys/kernel/sched_ext/state; do sleep 0.1; done; exit 7"
for text in output "the command's exit code is 7"; do grep -qF "$text" <<<"$said" || fail "no '$text': $said"; done
echo "sched: unspin vm --scheduler loads a scheduler for its command"

if [ "${1:-}" != --all ]; then
    pass "both schedulers run tasks, steal, use idle CPUs beside other classes, and their counters add up"
    exit
fi
for tests in "chat locks" "crowd disabled" "codes user second signals" "killed ejected"; do holds "$tests"; done

scratch=$(mktemp -d)
trap 'rm -rf "$scratch"' EXIT
git ls-files -z --cached --others --exclude-standard | xargs -0 cp --parents -t "$scratch"
only_own='s/^\tif (relieve(cpu) || take(cpu))$/\tif (take(cpu) || 1 || relieve(cpu))/'
planted "$only_own" mq.bpf.c steals "FAILED steals: no '\"stolen\""
planted "$only_own" mq.bpf.c empties "FAILED empties: exit code 1"
planted 's/^\tcpu = claim_longest_idle(p);$/\tcpu = 0 ? claim_longest_idle(p) : -1;/' tasks.h burst "FAILED burst: no '\"longest_idle\""
planted 's/^\t\tscx_bpf_reenqueue_local___v2___new();$/\t\t;/' tasks.h beside "FAILED beside: no '\"reenqueued\""
planted 's/if (relieve(cpu) || take(cpu))/if (take(cpu) || (0 \&\& relieve(cpu)))/' mq.bpf.c crowd "FAILED crowd: exit code 1"
pass "both schedulers run tasks, their counters add up, and planted defects are found"
