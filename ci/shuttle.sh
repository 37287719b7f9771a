#!/usr/bin/env bash
# Random schedules of more threads than the models have: no thread sleeps for ever, and no task is lost. Each crate has a planted
# bug among its tests, one that must panic; that is checked here.
source "$(dirname "$0")/lib.sh"

export RUSTFLAGS="--cfg shuttle" CARGO_TARGET_DIR="$target/shuttle"

for file in crates/locks/src/schedules.rs crates/runqueue/src/pool/schedules.rs; do
    grep -q 'should_panic' "$file" || fail "$file has no planted bug"
done
log=$(mktemp)
trap 'rm -f "$log"' EXIT
CARGO_PROFILE_RELEASE_DEBUG=none cargo test --locked --release --lib --package unspin-locks --package unspin-runqueue -- schedules 2>&1 |
    tee "$log"
[ "$(grep -c ' - should panic \.\.\. ok$' "$log")" -ge 2 ] || fail "a planted bug was not found"
echo "shuttle: the planted bugs were found"
