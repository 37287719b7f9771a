#!/usr/bin/env bash
# docs/guide.md as it stands: every block of commands, in order, by one shell in an empty folder. No figure is judged: it is checked
# that each command runs, that each `prove` ends with a verdict, and that the deployed plan polls.
#
# /opt/unspin is a folder in that one, which any user may write. The commands for systemd are no such block: they take a running systemd.
#
#   ci/guide.sh           with the debug build, in a folder that is removed
#   ci/guide.sh FOLDER    with the `unspin` of PATH; leaves outputs and pages in the folder, for the page
source "$(dirname "$0")/lib.sh"

for program in redis-server redis-cli redis-benchmark pgrep; do
    command -v $program >/dev/null || skip "there is no $program: ci/setup.sh --all installs it"
done
! redis-cli -p 7777 ping >/dev/null 2>&1 || skip "a redis answers at port 7777 already"
guide=$PWD/docs/guide.md
if [ $# -eq 0 ]; then
    cargo build --locked --quiet --package unspin-cli --bins
    export PATH=$target/debug:$PATH
    folder=$(mktemp -d /tmp/unspin-guide.XXXXXX)
    ended() {
        redis-cli -p 7777 shutdown nosave >/dev/null 2>&1 || true
        rm -rf "$folder"
    }
    trap ended EXIT
else
    mkdir -p "$1"
    folder=$(realpath "$1")
fi
cd "$folder"

# Each block writes to NUMBER.out, and the exit codes of the commands `unspin prove` to codes. A machine that proves nothing writes no
# plan; the rest of the page then goes on with the plan of the page.
awk '
    /^```sh$/ { inside = 1; printf "{\n"; next }
    /^```$/ && inside { inside = 0; printf "} >%d.out 2>&1\n", ++block; next }
    inside { print }' "$guide" | sed "s|/opt/unspin|$folder/unspin|g" >commands.sh
grep -q "$folder/unspin" commands.sh || fail "docs/guide.md does not name /opt/unspin"
[ -s commands.sh ] || fail "docs/guide.md has no commands"
cat >functions.sh <<'E2'
unspin() {
    local code=0
    command unspin "$@" || code=$?
    if [ "$1" = prove ]; then
        echo "$code" >>codes
        [ -e redis.toml ] || printf 'program = "%s"\n\n[[wait]]\nsite = "*"\npolicy = "poll"\n' \
            "$(realpath "$(command -v redis-server)")" >redis.toml
    fi
    return $code
}
E2
rm -f codes
cat functions.sh commands.sh >run.sh
timeout 1800 bash run.sh || fail "the commands of docs/guide.md do not run: $(tail -n 5 ./*.out)"

[ "$(wc -l <codes)" -eq 3 ] || fail "docs/guide.md has three proofs, and these have run: $(wc -l <codes)"
! grep -v -x -E '0|1|3|5' codes || fail "a proof ended without a verdict: $(tail -n 5 ./*.out)"
grep -q 'program = ' ./*.out || fail "the plan is not shown"
grep -q 'the plan fits' ./*.out || fail "the plan does not fit"
grep -q 'poll: [1-9][0-9]* call site' ./*.out || fail "the status names no entry: $(tail -n 8 ./*.out)"
grep -q 'ended a wait' ./*.out || fail "the deployed plan does not poll: $(tail -n 8 ./*.out)"
[ -s redis.html ] || fail "prove wrote no page"
pass "the commands of docs/guide.md"
