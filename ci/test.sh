#!/usr/bin/env bash
# The README's test command.
source "$(dirname "$0")/lib.sh"

# One failure does not keep the other programs from running.
run_tests cargo test --no-fail-fast
pass "$(grep -c '^test .* \.\.\. ok$' "$target/test.tests") tests"
