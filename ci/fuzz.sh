#!/usr/bin/env bash
# Fuzzing, briefly: sequences of semaphore calls on the engine against the sequential model. UNSPIN_FUZZ_SECONDS says how
# long (20). libFuzzer needs a C++ compiler; the instrumentation is the compiler's own, so stable Rust will do.
#
# The fuzzer finds each of the model's planted flaws first, or its silence about the engine would mean nothing.
source "$(dirname "$0")/lib.sh"

command -v "${CXX:-c++}" >/dev/null || skip "there is no C++ compiler to build libFuzzer with; install g++ or set CXX"
host=x86_64-unknown-linux-gnu

flags="--cfg fuzzing -Cpasses=sancov-module"
for option in level=4 inline-8bit-counters pc-table trace-compares; do
    flags+=" -Cllvm-args=-sanitizer-coverage-$option"
done
# With --target the flags reach the target alone, not build scripts.
CARGO_TARGET_DIR="$target/fuzz" RUSTFLAGS="$flags" \
    cargo build --locked --release --manifest-path fuzz/Cargo.toml --target "$host"

fuzzer=$target/fuzz/$host/release/semaphores
found=$target/fuzz/found
rm -rf "$found"
mkdir -p "$found"
scratch=$(mktemp -d)
trap 'rm -rf "$scratch"' EXIT

run() { # SECONDS FOLDER
    "$fuzzer" -max_total_time="$1" -max_len=600 -print_final_stats=1 -artifact_prefix="$2/" "$scratch"
}

for flaw in $(sed -n '/const ALL/,/;/p' crates/sysv/tests/sequential/model.rs | grep -o 'Flaw::[A-Z][A-Za-z]*' | sed 's/.*:://'); do
    UNSPIN_FLAW=$flaw must_find "model: " run 60 "$scratch"
done
rm -rf "${scratch:?}"/*
run "${UNSPIN_FUZZ_SECONDS:-20}" "$found" >"$scratch/log" 2>&1 || {
    tail -n 120 "$scratch/log"
    fail "a difference was found: $(ls "$found"); run it again with $fuzzer FILE"
}
grep -E '^stat::(number_of_executed_units|new_units_added)|DONE' "$scratch/log"
