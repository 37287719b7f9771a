# Functions shared by all gates, which source this file. Exit status 77 means "skipped", as in automake.
set -euo pipefail
# Tests interrupt programs; what a shell starts in the background begins with SIGINT ignored, and so would they.
if [ -z "${UNSPIN_CI_SIGNALS:-}" ] && env --default-signal=INT,QUIT true 2>/dev/null; then
    UNSPIN_CI_SIGNALS=default exec env --default-signal=INT,QUIT bash "$0" "$@"
fi
cd "$(dirname "${BASH_SOURCE[0]}")/.."
gate=$(basename "$0" .sh)
# One target folder for each way of compiling, so that no gate throws away what another has built.
target=$(realpath -m "${CARGO_TARGET_DIR:-$PWD/target}")

skip() {
    echo "$gate: skipped, because $1"
    exit 77
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

# Prints the path of a test program that `cargo test` builds: the target of this name of the package in this folder. Built
# with all others, because a package that is built alone gets other features, and so other builds of all that it is built on.
test_program() { # FOLDER TARGET
    local found
    found=$(cargo test --locked --no-run --message-format json 2>/dev/null |
        sed -n "s|.*/$1#.*\"name\":\"$2\".*\"executable\":\"\([^\"]*\)\".*|\1|p")
    [ -x "$found" ] || fail "cargo test builds no program $2 of $1"
    echo "$found"
}
