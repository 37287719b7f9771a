#!/usr/bin/env bash
# The schedulers of crates/sched in a kernel that has sched_ext: built by clang, loaded in a virtual machine, and run with hackbench.
#
#     ci/sched.sh          one virtual machine: tasks progress, counters add up, a CPU without tasks steals, bound tasks run
#     ci/sched.sh --all    all tests of guest.sh, volano and the locks among them; and a scheduler that never steals is noticed
source "$(dirname "$0")/lib.sh"

lacking=()
has_clang() { local version; for version in 21 20 19 18 17 16; do ! command -v "clang-$version" >/dev/null || return 0; done; return 1; }
[ -n "${CLANG:-}" ] || has_clang || lacking+=(clang-19)
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

# in_guest SCHED TEST...: the tests of guest.sh with this program. 125: the virtual machine ended before its command. Loading a scheduler
# switches static keys of the kernel, and where qemu 7.2 translates the instructions (TCG) of several CPUs, the kernel sometimes stops at a
# breakpoint that was already removed ("Oops: int3"), in code that has nothing to do with schedulers. A BPF program cannot do that.
in_guest() {
    local files=(--file "$1:/usr/bin/unspin-sched" --file "$target/debug/unspin:/usr/bin/unspin" --file crates/sched/tests/guest.sh:/guest.sh)
    local tool attempt code
    files+=(--file "$target/debug/unspin-lab:/usr/bin/unspin-lab")
    for tool in sh cat dmesg grep seq setpriv sleep taskset true; do
        files+=(--file "$(type -P "$tool"):/usr/bin/$tool")
    done
    for attempt in 1 2 3 4 5; do
        code=0
        "${vm[@]}" "${files[@]}" -- /bin/sh /guest.sh "${@:2}" || code=$?
        [ $code -eq 125 ] || return $code
        echo "sched: the virtual machine failed in attempt $attempt"
    done
    return $code
}

# holds TESTS: they hold in one of three virtual machines. The same translator computes wrong results now and then, also of programs under
# the kernel's own scheduler (docs/vm.md). A defect of a scheduler shows each time.
holds() {
    local words
    read -ra words <<<"$1"
    for _ in 1 2 3; do
        if in_guest "$CARGO_TARGET_DIR/debug/unspin-sched" "${words[@]}"; then return; fi
    done
    fail "a scheduler does not do what it should, in three virtual machines: see above"
}

holds "progress steals bound policy"
if [ "${1:-}" != --all ]; then
    pass "both schedulers run tasks, steal, and their counters add up"
    exit
fi
for tests in "chat locks" "codes user second" "killed ejected"; do holds "$tests"; done

scratch=$(mktemp -d)
trap 'rm -rf "$scratch"' EXIT
git ls-files -z --cached --others --exclude-standard | xargs -0 cp --parents -t "$scratch"
sed -i 's/^\tif (take(cpu) || steal(cpu))$/\tif (take(cpu) || (0 \&\& steal(cpu)))/' "$scratch/crates/sched/bpf/mq.bpf.c"
(cd "$scratch" && "${build[@]}")
must_find "FAILED steals: no '\"stolen\"" in_guest "$CARGO_TARGET_DIR/debug/unspin-sched" steals
pass "both schedulers run tasks, their counters add up, and a scheduler that never steals is found"
