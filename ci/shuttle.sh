#!/usr/bin/env bash
# Random schedules of more threads than the models have: no thread sleeps for ever. There is a planted bug among the tests,
# one that must panic; that is checked here.
source "$(dirname "$0")/lib.sh"

export RUSTFLAGS="--cfg shuttle" CARGO_TARGET_DIR="$target/shuttle"

grep -q 'should_panic' crates/locks/src/schedules.rs || fail "there is no planted bug"
CARGO_PROFILE_RELEASE_DEBUG=none cargo test --locked --release --lib --package unspin-locks -- schedules
echo "shuttle: the planted bug was found"
