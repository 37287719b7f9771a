#!/usr/bin/env bash
# The README's test command.
source "$(dirname "$0")/lib.sh"

run_tests cargo test
pass "$(grep -c '^test .* \.\.\. ok$' "$target/test.tests") tests"
