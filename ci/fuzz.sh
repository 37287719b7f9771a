#!/usr/bin/env bash
# Fuzzing, briefly: sequences of calls on the engine against the sequential models, and on arenas that are overwritten
# meanwhile. UNSPIN_FUZZ_SECONDS says how long (20). libFuzzer needs a C++ compiler; the instrumentation is the compiler's
# own, so stable Rust will do.
#
# First the fuzzer must find each planted flaw. Otherwise it could not find a defect of the engine either.
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

scratch=$(mktemp -d)
trap 'rm -rf "$scratch"' EXIT

run() { # SECONDS FOLDER
    local left end=$((SECONDS + $1))
    while left=$((end - SECONDS)) && [ "$left" -gt 0 ]; do
        "$fuzzer" -max_total_time="$left" -runs="$most" -max_len=600 "-len_control=$growth" -print_final_stats=1 \
            -artifact_prefix="$2/" "$corpus" || return
    done
}

# One target, with the file that lists its flaws.
family() {
    local family=$1 fuzzer corpus found flaws found_by growth most flaw
    fuzzer=$target/fuzz/$host/release/$family corpus=$scratch/$family found=$target/fuzz/found/$family
    case $family in
    # Each program needs an arena of its own, so there are few, and they are long from the beginning. The arenas stay mapped,
    # and a process may have 65,530 mappings: then another goes on with what this one has found.
    arena) flaws=crates/sysv/tests/hostile/flaw.rs found_by="hostile: " growth=0 most=15000 ;;
    *) flaws=crates/sysv/tests/sequential/families/$family/mod.rs found_by="model: " growth=100 most=-1 ;;
    esac
    rm -rf "$found"
    mkdir -p "$found" "$corpus"
    for flaw in $(sed -n '/const FLAWS: /,/;/p' "$flaws" | grep -o 'Flaw::[A-Z][A-Za-z]*' | sed 's/.*:://'); do
        UNSPIN_FLAW=$flaw must_find "$found_by" run 60 "$corpus"
    done
    rm -rf "${corpus:?}"/*
    run "${UNSPIN_FUZZ_SECONDS:-20}" "$found" >"$scratch/$family.log" 2>&1 || {
        tail -n 120 "$scratch/$family.log"
        fail "a difference was found: $(ls "$found"); run it again with $fuzzer FILE"
    }
    echo "$family:"
    grep -E '^stat::(number_of_executed_units|new_units_added)|DONE' "$scratch/$family.log"
}

# Two at a time: each fuzzer has one thread.
for pair in "semaphores messages" "segments arena"; do
    jobs=()
    for name in $pair; do
        (family "$name") >"$scratch/$name.out" 2>&1 &
        jobs+=($!)
    done
    failed=0
    for job in "${jobs[@]}"; do wait "$job" || failed=1; done
    for name in $pair; do cat "$scratch/$name.out"; done
    [ "$failed" -eq 0 ] || exit 1
done
