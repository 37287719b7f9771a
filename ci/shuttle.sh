#!/usr/bin/env bash
# Random schedules of more threads than the models have: no thread sleeps for ever, and no task is lost. Each crate has a planted
# bug among its tests, one that must panic: those of ci/planted/shuttle.txt.
#
#   ci/shuttle.sh --update-planted     writes that list
source "$(dirname "$0")/lib.sh"

export RUSTFLAGS="--cfg shuttle" CARGO_TARGET_DIR="$target/shuttle"

export CARGO_PROFILE_RELEASE_DEBUG=none
run_tests cargo test --locked --release --lib --package unspin-locks --package unspin-runqueue -- schedules
planted_bugs_found "${1:-}"
pass "the planted bugs were found"
