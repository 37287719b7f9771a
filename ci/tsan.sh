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
# are inlined there. Where a stack could not be restored, the other one decides.
ours() {
    awk -v ours="$1" '
        function verdict() {
            if (mine && !others) { printf "%s", report; found = 1 }
            report = ""; mine = others = top = 0
        }
        /^WARNING: ThreadSanitizer/ { verdict() }
        { report = report $0 "\n" }
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
tests() {
    RUSTFLAGS="$flags" cargo +nightly test --locked --release --target "$host" "$@" -- --test-threads=1
}
tests --package unspin-meter --package unspin-rcu --package unspin-sysv --lib
tests --package unspin-meter --test recording
tests --package unspin-rcu --test processes oracle
tests --package unspin-sysv --test smoke
tests --package unspin-workloads --lib
if ours "$PWD/crates/"; then
    fail "data races in this workspace"
fi
others=$(cat "$reports"/report.* 2>/dev/null | grep -c '^WARNING' || true)
echo "tsan: no data race in this workspace; $others reports about what the standard library orders"
