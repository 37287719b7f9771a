#!/usr/bin/env bash
# Instructions of the fast paths, counted by callgrind, against bench/budget.toml. They are those of the preload library, which
# `unspin` contains in the same form in every profile, so the one of `cargo test` will do.
source "$(dirname "$0")/lib.sh"

command -v valgrind >/dev/null || skip "there is no valgrind: apt-get install valgrind"
# A count above the budget must be noticed: the benchmark's own tests plant one.
run_tests cargo test --locked --release --package unspin-bench
# As `cargo test` builds it, with the features that its tests select.
cargo test --locked --quiet --no-run
bench=(cargo run --locked --quiet --release --package unspin-bench -- --instructions --unspin "$target/debug/unspin")
if [ "${1:-}" = --update ]; then
    exec "${bench[@]}" --update-budget bench/budget.toml
fi
"${bench[@]}" --budget bench/budget.toml
pass "no path is dearer than its budget"
