# Functions shared by all gates, which source this file. Exit status 77 means "skipped", as in automake.
set -euo pipefail
# Tests interrupt programs; what a shell starts in the background begins with SIGINT ignored, and so would they.
if [ -z "${UNSPIN_CI_SIGNALS:-}" ] && env --default-signal=INT,QUIT true 2>/dev/null; then
    UNSPIN_CI_SIGNALS=default exec env --default-signal=INT,QUIT bash "$0" "$@"
fi
# Where the compiler says that the sources are: without symbolic links.
cd -P "$(dirname "${BASH_SOURCE[0]}")/.."
gate=$(basename "$0" .sh)
# One target folder for each way of compiling, so that no gate throws away what another has built.
target=$(realpath -m "${CARGO_TARGET_DIR:-$PWD/target}")

skip() {
    echo "$gate: skipped, because $1"
    exit 77
}

# The last word of every gate. `.ci/run` takes no other end for a success.
pass() {
    echo "$gate: passed: $1"
}

fail() {
    echo "$gate: $1" >&2
    exit 1
}

# Succeeds if the command given fails and its output holds the text: a planted bug that was found.
must_find() {
    local text=$1 output
    shift
    if output=$("$@" 2>&1); then
        printf '%s\n' "$output" | tail -n 20 >&2
        fail "the planted bug was not found by: $*"
    fi
    if ! grep -qF -e "$text" <<<"$output"; then
        printf '%s\n' "$output" | tail -n 20 >&2
        fail "failed, but not by finding '$text': $*"
    fi
    echo "$gate: planted bug found ($text)"
}

# Fails unless each test program in this output of `cargo test` ran to its end: a test that calls exit(0) ends a program
# like a success, whatever its other tests would say.
all_programs_ended() { # LOG
    local begun ended programs
    begun=$(grep -cE '^running [0-9]+ tests?$' "$1" || true)
    ended=$(grep -c "^test result: " "$1" || true)
    # Those that end before they say that they begin are seen by the line of cargo alone.
    programs=$(grep -cE '^ +(Running |Doc-tests )' "$1" || true)
    [ "$ended" -gt 0 ] || fail "no test ran"
    [ "$begun" -eq "$ended" ] && [ "$programs" -le "$ended" ] ||
        fail "of $((begun > programs ? begun : programs)) test programs $ended told their result: a test ended its program"
}

# Runs `cargo test`, or one test program, with the output shown; see all_programs_ended.
run_tests() { # COMMAND...
    local log=$target/$gate.tests
    mkdir -p "$target"
    "$@" 2>&1 | tee "$log"
    all_programs_ended "$log"
}

# Compares the tests that had to panic, and did, with the list of them: none goes missing with its model.
planted_bugs_found() { # [--update-planted]
    local list=ci/planted/$gate.txt found
    found=$(sed -n 's/^test \(.*\) - should panic \.\.\. ok$/\1/p' "$target/$gate.tests" | LC_ALL=C sort)
    [ "${1:-}" != --update-planted ] || printf '%s\n' "$found" >"$list"
    diff "$list" - <<<"$found" >&2 ||
        fail "these planted bugs differ from those of $list; if that is right: ci/$gate.sh --update-planted"
}

# Prints the path of a test program that `cargo test` builds: the target of this name of the package in this folder. Built
# with all others, because a package that is built alone gets other features, and so other builds of all that it is built on.
test_program() { # FOLDER TARGET
    local found
    found=$(cargo test --locked --no-run --message-format json 2>/dev/null |
        sed -n "s|.*/$1#.*\"name\":\"$2\".*\"executable\":\"\([^\"]*\)\".*|\1|p")
    [ -x "$found" ] || fail "cargo test builds no program $2 of $1"
    echo "$found"
}

# Whether this output of a virtual machine shows a fault of the translator of qemu (TCG), or a machine that did not boot, and so says
# nothing about what ran in it; docs/vm.md. The panic is all that is seen of the kernel's "Oops: int3" where the console has errors only.
emulator_failed() { # OUTPUT
    local signs=('Oops: int3' 'Kernel panic - not syncing: Fatal exception in interrupt' 'attempt to multiply with overflow'
        'the virtual machine did not boot within' 'ended before it had started the command' 'qemu cannot boot the virtual machine')
    grep -qF "$(printf '%s\n' "${signs[@]}")" <<<"$1"
}
