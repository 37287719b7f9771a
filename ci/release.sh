#!/usr/bin/env bash
# The tests once more, optimised, and with the preload library that the CLI carries: this is what users run. Crates of pure
# logic, without threads or unsafe, are tested once, by `cargo test` (and unspin-circles by ci/facade.sh).
source "$(dirname "$0")/lib.sh"

pure=(--exclude unspin-stats --exclude unspin-symbols --exclude unspin-circles)
cargo test --locked --workspace --release "${pure[@]}"
