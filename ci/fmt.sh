#!/usr/bin/env bash
# The source is formatted, the fuzz workspace's too.
source "$(dirname "$0")/lib.sh"

cargo fmt --all --check
cargo fmt --manifest-path fuzz/Cargo.toml --check
pass "formatted"
