#!/usr/bin/env bash
# The workspace builds with the oldest Rust that Cargo.toml names.
source "$(dirname "$0")/lib.sh"

stated=$(sed -n 's/^rust-version = "\(.*\)"/\1/p' Cargo.toml)
[ -n "$stated" ] || fail "Cargo.toml names no rust-version"
if rustc --version | grep -qF "rustc $stated"; then
    pass "all gates use Rust $stated, which is the oldest"
    exit 0
fi
name=$(rustup toolchain list 2>/dev/null | sed 's/ .*//' | grep -E "^$stated(\.[0-9]+)?-" | head -n 1) ||
    skip "Rust $stated is not installed; rustup toolchain install $stated"
CARGO_TARGET_DIR="$target/msrv" cargo "+$name" check --locked --workspace --all-targets
pass "Rust $stated"
