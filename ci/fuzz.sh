#!/usr/bin/env bash
# Fuzzing, briefly: sequences of calls on the engine against the sequential models, and on arenas that are overwritten
# meanwhile. UNSPIN_FUZZ_SECONDS says how long each target runs (10). libFuzzer needs a C++ compiler; the instrumentation is
# the compiler's own, so stable Rust will do.
#
# First each planted flaw must be found, by an input that the fuzzer found once (fuzz/seeds/TARGET/FLAW). Otherwise it could not
# find a defect of the engine either.
#
#   ci/fuzz.sh                   replays the seeds, then searches for what is new
#   ci/fuzz.sh --update-seeds    searches for the planted flaws, and writes the inputs that find them
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

# Sets what is known of a target: its program, the file that lists its flaws, and what it prints when it finds one.
choose() { # TARGET
    fuzzer=$target/fuzz/$host/release/$1 seeds=fuzz/seeds/$1 corpus=$scratch/$1 found=$target/fuzz/found/$1
    case $1 in
    # Each program needs an arena of its own, so there are few, and they are long from the beginning. The arenas stay mapped,
    # and a process may have 65,530 mappings: then another goes on with what this one has found.
    arena) list=crates/sysv/tests/suite/hostile/flaw.rs found_by="hostile: " growth=0 most=15000 ;;
    *) list=crates/sysv/tests/suite/sequential/families/$1/mod.rs found_by="model: " growth=100 most=-1 ;;
    esac
    mapfile -t flaws < <(sed -n '/const FLAWS: /,/;/p' "$list" | grep -o 'Flaw::[A-Z][A-Za-z]*' | sed 's/.*:://')
    [ ${#flaws[@]} -gt 0 ] || fail "$list lists no flaws"
    rm -rf "$found"
    mkdir -p "$found" "$corpus"
}

run() { # SECONDS PREFIX
    local left end=$((SECONDS + $1))
    while left=$((end - SECONDS)) && [ "$left" -gt 0 ]; do
        "$fuzzer" -max_total_time="$left" -runs="$most" -max_len=600 "-len_control=$growth" -print_final_stats=1 \
            "$2" "$corpus" || return
    done
}

# The flaws are planted one by one; what finds each becomes its seed.
update_seeds() { # TARGET
    local flaw
    choose "$1"
    mkdir -p "$seeds"
    for flaw in "${flaws[@]}"; do
        UNSPIN_FLAW=$flaw must_find "$found_by" run 60 "-exact_artifact_path=$scratch/$1.$flaw"
        mv "$scratch/$1.$flaw" "$seeds/$flaw"
    done
}

search() { # TARGET
    local flaw
    choose "$1"
    for flaw in "${flaws[@]}"; do
        [ -f "$seeds/$flaw" ] || fail "$seeds has no input that finds $flaw: ci/fuzz.sh --update-seeds"
        UNSPIN_FLAW=$flaw must_find "$found_by" "$fuzzer" "$seeds/$flaw"
        "$fuzzer" "$seeds/$flaw" >"$scratch/$1.log" 2>&1 || fail "$seeds/$flaw finds a difference without the flaw"
    done
    run "${UNSPIN_FUZZ_SECONDS:-10}" "-artifact_prefix=$found/" >"$scratch/$1.log" 2>&1 || {
        tail -n 120 "$scratch/$1.log"
        fail "a difference was found: $(ls "$found"); run it again with $fuzzer FILE"
    }
    echo "$1:"
    grep -E '^stat::(number_of_executed_units|new_units_added)|DONE' "$scratch/$1.log"
}

case ${1:-} in
--update-seeds) task=update_seeds ;;
*) task=search ;;
esac
# Two at a time: each fuzzer has one thread.
for pair in "semaphores messages" "segments arena"; do
    jobs=()
    for name in $pair; do
        ("$task" "$name") >"$scratch/$name.out" 2>&1 &
        jobs+=($!)
    done
    failed=0
    for job in "${jobs[@]}"; do wait "$job" || failed=1; done
    for name in $pair; do cat "$scratch/$name.out"; done
    [ "$failed" -eq 0 ] || exit 1
done
pass "no difference"
