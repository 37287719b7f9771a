#!/usr/bin/env bash
# The models: each protocol of few threads, in every interleaving and every reordering that the memory model permits.
# Each property has a planted bug beside it, a test that must panic; that there are such tests is checked here.
source "$(dirname "$0")/lib.sh"

export RUSTFLAGS="--cfg loom -D warnings" CARGO_TARGET_DIR="$target/loom"
crates=(unspin-rcu unspin-meter)
cargo test --locked --release --lib "${crates[@]/#/--package=}"
for crate in "${crates[@]}"; do
    source=crates/${crate#unspin-}/src
    planted=$(grep -rc --include='*.rs' 'should_panic' "$source" | awk -F: '{n += $2} END {print n}')
    [ "$planted" -gt 0 ] || fail "$source has no planted bug"
    echo "loom: $crate has $planted planted bugs"
done
