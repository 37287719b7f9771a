#!/usr/bin/env bash
# The second tier: storms of kills, every kind under every program, real servers at length, long calibrations, comparisons with perf,
# hours of fuzzing. Each of its rules is held by a smaller test of the first tier, which `.ci/run` runs. It needs a quiet
# machine, since some of its tests compare times; a failure here is looked at, and lands no earlier for that.
#
# UNSPIN_NIGHTLY_MINUTES says how long each target is fuzzed (15).
source "$(dirname "$0")/lib.sh"

ci/setup.sh --all || [ $? -eq 77 ]
export UNSPIN_TIER=nightly UNSPIN_TEST_LIBRARY=embedded UNSPIN_STORM=${UNSPIN_STORM:-10000} UNSPIN_STEPS=${UNSPIN_STEPS:-24}
# Other random programs than those of every run; a failure is repeated with the same seed.
export PROPTEST_CASES=${PROPTEST_CASES:-1000} PROPTEST_RNG_SEED=${PROPTEST_RNG_SEED:-$(date +%s)}
echo "nightly: PROPTEST_RNG_SEED=$PROPTEST_RNG_SEED"
# The reference parser of OpenMetrics, the published messages of OTLP, and the published schemas of workflow files and of Kubernetes;
# without them a test is skipped.
python=$target/python
if python3 -m venv "$python" && "$python/bin/pip" install --quiet prometheus_client opentelemetry-proto check-jsonschema \
    kubernetes-validate; then
    export UNSPIN_TEST_PYTHON=$python/bin/python
fi
# The Firefox Profiler without a browser; without it a test is skipped.
if npm install --silent --prefix "$target/node" @firefox-devtools/profiler-cli@0.10; then
    export UNSPIN_TEST_PROFILER_CLI=$target/node/node_modules/.bin/profiler-cli
fi
# Tests that measure have the machine for themselves.
export RUST_TEST_THREADS=1
failed=()
step() { # NAME COMMAND...
    local name=$1
    shift
    echo "=== nightly: $name"
    # 77: skipped, and the step has said why.
    "$@" </dev/null || [ $? -eq 77 ] || failed+=("$name")
}
step "all tests, optimised" cargo test --locked --workspace --release --no-fail-fast -- --include-ignored
step packages ci/package.sh
step pages ci/page.sh --all
step fleet ci/fleet.sh
step schedulers ci/sched.sh --all
step guide ci/guide.sh
step fuzz env UNSPIN_FUZZ_SECONDS=$((${UNSPIN_NIGHTLY_MINUTES:-15} * 60)) ci/fuzz.sh
[ ${#failed[@]} -eq 0 ] || fail "failed: ${failed[*]}"
echo "nightly: passed in $SECONDS s"
