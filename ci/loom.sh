#!/usr/bin/env bash
# The models: each protocol of few threads, in every interleaving and every reordering that the memory model permits.
# Each property has a planted bug beside it, a test that must panic: those of ci/planted/loom.txt.
#
#   ci/loom.sh --update-planted     writes that list
source "$(dirname "$0")/lib.sh"

export RUSTFLAGS="--cfg loom -D warnings" CARGO_TARGET_DIR="$target/loom"

# The crate that hides loom from the others names it too, and has no model.
crates=()
for crate in $(grep -rl --include='*.rs' 'cfg(.*loom' crates/*/src | cut -d/ -f2 | sort -u); do
    ! grep -rq --include='*.rs' should_panic "crates/$crate/src" || crates+=("$crate")
done
# All at once, so that one crate compiles while another one links.
tests=(cargo test --locked --release --lib --config 'profile.release.debug="none"')
# What takes longer to optimise than it runs.
for crate in proptest regex-automata regex-syntax tracing-subscriber; do
    tests+=(--config "profile.release.package.$crate.opt-level=0")
done
run_tests "${tests[@]}" "${crates[@]/#/--package=unspin-}"
planted_bugs_found "${1:-}"
pass "the planted bugs were found"
