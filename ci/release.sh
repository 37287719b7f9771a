#!/usr/bin/env bash
# What differs without debug assertions, a second time: the engines, RCU and the locks under SIGKILL and under load, optimised;
# and the programs in C, random programs and third-party programs under the preload library that the CLI carries, which is
# what users run. `cargo test` has run everything once, in one profile.
source "$(dirname "$0")/lib.sh"

run_tests cargo test --no-fail-fast --locked --release --package unspin-sysv --package unspin-rcu --package unspin-locks

program=$(test_program tests/e2e suite)
cd tests/e2e
# Left out: what measures times, which the nightly tier does.
export UNSPIN_TEST_LIBRARY=embedded RUST_TEST_THREADS=6
run_tests "$program" --include-ignored --skip waits_policy::
pass "as with assertions"
