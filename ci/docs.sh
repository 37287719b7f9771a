#!/usr/bin/env bash
# The documentation builds without a warning (no dead link). Its examples are run by `cargo test`.
source "$(dirname "$0")/lib.sh"

RUSTDOCFLAGS="-D warnings" cargo doc --locked --workspace --no-deps
pass "no warning"
