#!/usr/bin/env bash
# All tests once more, optimised, and with the preload library that the CLI carries: this is what users run.
source "$(dirname "$0")/lib.sh"

cargo test --locked --workspace --release
