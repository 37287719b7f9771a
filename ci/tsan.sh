#!/usr/bin/env bash
# ThreadSanitizer over the tests that run threads in one process. The standard library is not instrumented, and gives a
# few false reports; a report counts if one of its accesses was made by a line of this workspace.
source "$(dirname "$0")/lib.sh"

flags="-Zsanitizer=thread -Cunsafe-allow-abi-mismatch=sanitizer"
host=x86_64-unknown-linux-gnu
rustc +nightly --version >/dev/null 2>&1 || skip "there is no nightly Rust: rustup toolchain install nightly"
export CARGO_TARGET_DIR="$target/tsan"
mkdir -p "$CARGO_TARGET_DIR"
reports=$CARGO_TARGET_DIR/reports
export TSAN_OPTIONS="log_path=$reports/report exitcode=0 die_after_fork=0 history_size=4"

# Reports of which an access ("Write of size", "Previous atomic read", ...) has a line of `$1` on top of its stack, once
# the frames of core and alloc are taken off, which are inlined there.
ours() {
    awk -v ours="$1" '
        function verdict() { if (mine) { printf "%s", report; found = 1 } report = ""; mine = 0; top = 0 }
        /^WARNING: ThreadSanitizer/ { verdict() }
        { report = report $0 "\n" }
        /^  .*(read|write|Read|Write) of size/ { top = 1 }
        top && /^    #[0-9]+ / && !/\/library\/(core|alloc)\/src\// { top = 0; if (index($0, ours)) mine = 1 }
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
RUSTFLAGS="$flags" cargo +nightly test --locked --target "$host" --release \
    --package unspin-meter --package unspin-rcu --package unspin-sysv --lib --test recording --test processes --test smoke
if ours "$PWD/crates/"; then
    fail "data races in this workspace"
fi
echo "tsan: no data race in this workspace ($(cat "$reports"/report.* 2>/dev/null | grep -c '^WARNING' || true) reports about other code)"
