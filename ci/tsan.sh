#!/usr/bin/env bash
# ThreadSanitizer over the tests that run threads in one process. The standard library is not instrumented, and gives
# false reports about what it orders itself (OnceLock, thread packets, channels of the test harness): a report counts if
# both accesses were made by lines of this workspace.
source "$(dirname "$0")/lib.sh"

flags="-Zsanitizer=thread -Cunsafe-allow-abi-mismatch=sanitizer"
host=x86_64-unknown-linux-gnu
rustc +nightly --version >/dev/null 2>&1 || skip "there is no nightly Rust: rustup toolchain install nightly"
export CARGO_TARGET_DIR="$target/tsan"
mkdir -p "$CARGO_TARGET_DIR"
reports=$CARGO_TARGET_DIR/reports
export TSAN_OPTIONS="log_path=$reports/report exitcode=0 die_after_fork=0 history_size=4"

# Reports whose accesses all have a line below `$1` on top of their stacks, once the frames of core are taken off, which
# are inlined there. Where a stack could not be restored, the other one decides. What the last owner of an Arc drops is left
# out: a fence in the standard library orders it after all uses by other owners, and the sanitizer does not see fences.
ours() {
    awk -v ours="$1" '
        function verdict() {
            if (mine && !others && !last_owner) { printf "%s", report; found = 1 }
            report = ""; mine = others = top = last_owner = 0
        }
        /^WARNING: ThreadSanitizer/ { verdict() }
        { report = report $0 "\n" }
        /^    #[0-9]+ .*alloc::sync::Arc<.*>::drop_slow/ { last_owner = 1 }
        /^  .*([Rr]ead|[Ww]rite) of size/ { top = 1 }
        top && /^    #[0-9]+ / && !/\/library\/core\/src\// { top = 0; if (index($0, ours)) mine++; else others++ }
        END { verdict(); exit !found }
    ' "$reports"/report.* 2>/dev/null
}

fresh() {
    rm -rf "$reports"
    mkdir -p "$reports"
}

# A lock whose release is Relaxed: without a report of it the sanitizer is not on.
selftest() {
    fresh
    # shellcheck disable=SC2086
    rustc +nightly --edition 2024 -g -O $flags -o "$CARGO_TARGET_DIR/race" ci/tsan/race.rs ||
        skip "this nightly Rust has no ThreadSanitizer"
    "$CARGO_TARGET_DIR/race"
    ours ci/tsan/race.rs >/dev/null || fail "the planted race was not reported"
    echo "tsan: planted bug found (data race in ci/tsan/race.rs)"
}

selftest
fresh
# One build of all test programs: packages that are built one by one differ in the features of what they depend on.
packages=(meter rcu sysv locks workloads runqueue)
built=$(RUSTFLAGS="$flags" cargo +nightly test --locked --release --target "$host" --no-run \
    "${packages[@]/#/--package=unspin-}" --lib --test suite --test recording --test processes --test smoke --test stress 2>&1) ||
    { printf '%s\n' "$built"; fail "the tests do not build"; }

# tests CRATE SOURCE [FILTER...]: runs the test program that was built from this source of the crate.
tests() {
    local crate=$1 source=$2 program
    shift 2
    program=$(sed -n "s|^ *Executable \(unittests \)\?$source (\(.*/$crate-[0-9a-f]*\))\$|\2|p" <<<"$built")
    [ -n "$program" ] || fail "$crate, $source: no such test program was built"
    echo "tsan: $crate, $source"
    "$program" --test-threads=1 "$@"
}
tests unspin_meter src/lib.rs
tests unspin_rcu src/lib.rs
tests unspin_sysv src/lib.rs
tests suite tests/suite/main.rs conformance stress
tests recording tests/recording.rs
tests processes tests/processes/main.rs oracle
tests smoke tests/smoke.rs
tests unspin_workloads src/lib.rs
tests unspin_runqueue src/lib.rs
tests stress tests/stress.rs
if ours "$PWD/crates/"; then
    fail "data races in this workspace"
fi
others=$(cat "$reports"/report.* 2>/dev/null | grep -c '^WARNING' || true)
echo "tsan: no data race in this workspace; $others reports about what the standard library orders"
