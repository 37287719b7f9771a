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

# Reports whose accesses all have a line below `$1` on top of their stacks, once the frames of core, of alloc and of copies
# of memory are taken off, which work for that line. Where a stack could not be restored, the other one decides. Left out, since
# the sanitizer does not see how the standard library orders it: what the last owner of an Arc drops, which a fence orders after all
# uses by other owners; and a copy of memory beside an atomic access, which is how a value is made before a thread or a OnceLock
# passes it on.
ours() {
    awk -v ours="$1" '
        function verdict() {
            if (mine && !others && !last_owner && !(copied && atomic)) { printf "%s", report; found = 1 }
            report = ""; mine = others = top = last_owner = copied = atomic = 0
        }
        /^WARNING: ThreadSanitizer/ { verdict() }
        { report = report $0 "\n" }
        /^    #[0-9]+ .*alloc::sync::Arc<.*>::drop_slow/ { last_owner = 1 }
        /^  .*([Rr]ead|[Ww]rite) of size/ { top = 1; if (/[Aa]tomic/) atomic = 1 }
        !top || !/^    #[0-9]+ / { next }
        / (__tsan_)?mem(cpy|move|set) / { copied = 1; next }
        !/\/library\/(core|alloc)\/src\// { top = 0; if (index($0, ours)) mine++; else others++ }
        END { verdict(); exit !found }
    ' "$reports"/report.* 2>/dev/null
}

fresh() {
    rm -rf "$reports"
    mkdir -p "$reports"
}

# A lock whose release is Relaxed: without reports of what it should protect the sanitizer is not on, or `ours` does not see.
selftest() {
    fresh
    # shellcheck disable=SC2086
    rustc +nightly --edition 2024 -g -O $flags -o "$CARGO_TARGET_DIR/race" ci/tsan/race.rs ||
        skip "this nightly Rust has no ThreadSanitizer"
    "$CARGO_TARGET_DIR/race"
    local found race
    found=$(ours ci/tsan/race.rs) || fail "no planted race was reported"
    for race in add push copy; do
        grep -q " race::$race" <<<"$found" || fail "the planted race of $race was not reported"
        echo "tsan: planted bug found (data race in $race of ci/tsan/race.rs)"
    done
}

selftest
fresh
# One selection of packages for both commands: other packages would mean other features of what they are built on.
# What takes longer to optimise than its tests run is not optimised.
tests=(cargo +nightly test --locked --release --target "$host" --config profile.release.opt-level=1)
for crate in '"*"' unspin-wire unspin-runqueue unspin-workloads unspin-volano; do
    tests+=(--config "profile.release.package.$crate.opt-level=0")
done
for crate in wire rcu sysv locks workloads volano runqueue; do tests+=(--package "unspin-$crate"); done
export RUSTFLAGS=$flags
suites=(--test suite --test processes --test attached)
"${tests[@]}" --no-run --lib "${suites[@]}"
# Left out: a test that joins its threads by the standard library alone, and locks that the kernel hands over, which the sanitizer
# does not see.
run_tests "${tests[@]}" --lib -- --test-threads=1 --skip api::tests --skip condition::tests --skip real_time_threads_acquire
# Of the other tests those that run threads in one process; the rest is about processes that are killed, or runs none. Left out:
# closures that may block, whose threads sleep on a Condvar of the standard library.
threaded=(conformance:: stress:: recording:: oracle:: smoke:: executor:: reads:: shm:: typed::)
run_tests "${tests[@]}" "${suites[@]}" -- --test-threads=1 "${threaded[@]}" --skip blocking --skip shutdown_waits
for module in "${threaded[@]}"; do
    grep -q "^test $module" "$target/tsan.tests" || fail "no test is in $module"
done
if ours "$PWD/crates/"; then
    fail "data races in this workspace"
fi
others=$(cat "$reports"/report.* 2>/dev/null | grep -c '^WARNING' || true)
pass "no data race in this workspace; $others reports about what the standard library orders"
