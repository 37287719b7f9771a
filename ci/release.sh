#!/usr/bin/env bash
# The tests once more, optimised, and with the preload library that the CLI carries: this is what users run. Crates without
# unsafe code that compute from their arguments are tested once, by `cargo test`, and unspin-circles by ci/facade.sh. unspin-meter
# is one of them but for its recordings: ci/tsan.sh runs their tests optimised, and the tests of tests/e2e compare recordings of
# optimised programs with what the programs did.
source "$(dirname "$0")/lib.sh"

once=(stats symbols meter circles)
cargo test --locked --workspace --release "${once[@]/#/--exclude=unspin-}"
