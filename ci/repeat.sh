#!/usr/bin/env bash
# Whether tests fail by chance: runs `cargo test` several times while `stress-ng` keeps all CPUs busy, and names each test that
# failed. None is wanted: a test that fails here is wrong, or has found a defect.
#
#     ci/repeat.sh [TIMES [STRESSORS]]      5 times, beside `stress-ng --cpu 4`
source "$(dirname "$0")/lib.sh"

times=${1:-5} stressors=${2:-4}
command -v stress-ng >/dev/null || skip "there is no stress-ng: apt-get install stress-ng"
cargo test --locked --no-run
log=$target/repeat.tests
stress-ng --quiet --cpu "$stressors" &
stress=$!
trap 'kill $stress 2>/dev/null || true' EXIT
for n in $(seq "$times"); do
    start=$SECONDS
    broken=
    cargo test --locked --no-fail-fast </dev/null >"$log" 2>&1 || broken=1
    grep -q '^test result' "$log" || { tail -n 40 "$log"; fail "no test ran"; }
    kill -0 $stress || fail "stress-ng has ended: this run was not beside it"
    echo "run $n: $(grep -c '^test .* \.\.\. ok$' "$log") passed, $(grep -c '^test .* FAILED$' "$log") failed in $((SECONDS - start)) s"
    grep -A 6 '^---- .* stdout ----$' "$log" || true
    count=$(grep -c '^test .* FAILED$' "$log" || true)
    if [ -n "$broken" ] && [ "$count" -eq 0 ]; then
        grep '^error' "$log" || true
        fail "a test program ended without telling which test failed"
    fi
    [ -n "$broken" ] || all_programs_ended "$log"
    failed=$((${failed:-0} + count))
done
echo "repeat: $failed of all tests failed in $times runs beside stress-ng --cpu $stressors"
[ "$failed" -eq 0 ]
