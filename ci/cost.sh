#!/usr/bin/env bash
# Instructions of the fast paths, counted by callgrind, against bench/budget.toml.
source "$(dirname "$0")/lib.sh"

command -v valgrind >/dev/null || skip "there is no valgrind: apt-get install valgrind"
bench=(cargo run --locked --quiet --release --package unspin-bench -- --instructions)
if [ "${1:-}" = --update ]; then
    exec "${bench[@]}" --update-budget bench/budget.toml
fi
"${bench[@]}" --budget bench/budget.toml
