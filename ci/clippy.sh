#!/usr/bin/env bash
# No warning from the compiler or from clippy, in any target.
source "$(dirname "$0")/lib.sh"

cargo clippy --locked --workspace --all-targets -- -D warnings
pass "no warning"
