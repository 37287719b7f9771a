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
CARGO_PROFILE_RELEASE_DEBUG=none cargo test --locked --release --lib "${crates[@]/#/--package=unspin-}"
for crate in "${crates[@]}"; do
    echo "loom: $crate has $(planted "$crate") planted bugs, all found"
done
