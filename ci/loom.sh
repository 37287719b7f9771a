#!/usr/bin/env bash
# The models: each protocol of few threads, in every interleaving and every reordering that the memory model permits.
# Each property has a planted bug beside it, a test that must panic; that there are such tests is checked here.
source "$(dirname "$0")/lib.sh"

export RUSTFLAGS="--cfg loom -D warnings" CARGO_TARGET_DIR="$target/loom"

planted() { # CRATE: tests of its models that must panic
    grep -rn --include='*.rs' 'should_panic' "crates/$1/src" | wc -l
}

# The crate that hides loom from the others names it too, and has no model.
crates=()
for crate in $(grep -rl --include='*.rs' 'cfg(.*loom' crates/*/src | cut -d/ -f2 | sort -u); do
    [ "$(planted "$crate")" -eq 0 ] || crates+=("$crate")
done
[ ${#crates[@]} -ge 2 ] || fail "no models were found"
# All at once, so that one crate compiles while another one links.
log=$(mktemp)
trap 'rm -f "$log"' EXIT
tests=(cargo test --locked --release --lib --config 'profile.release.debug="none"')
# What takes longer to optimise than it runs.
for crate in proptest regex-automata regex-syntax tracing-subscriber; do
    tests+=(--config "profile.release.package.$crate.opt-level=0")
done
"${tests[@]}" "${crates[@]/#/--package=unspin-}" 2>&1 | tee "$log"
# Some are out of these models' sight: those of random schedules.
found=$(grep -c ' - should panic \.\.\. ok$' "$log") all=0
for crate in "${crates[@]}"; do
    all=$((all + $(planted "$crate")))
done
elsewhere=$(grep -l 'should_panic' crates/*/src/schedules.rs crates/*/src/*/schedules.rs | wc -l)
[ "$found" -ge $((all - elsewhere)) ] || fail "$found of $all planted bugs were found"
echo "loom: $found planted bugs found"
