#!/usr/bin/env bash
# docs/fleet.md as it stands: Slurm (munged, slurmctld and three slurmd on this machine) runs the array, the dependent job and
# `submit.sh` of the page with a short program, GNU parallel runs its sessions, and hosts by a stand-in for ssh, and the other scripts
# run on their results. One machine is no fleet, and tasks on it disturb each other: no figure is judged, only that everything runs, and what
# combine says about the hosts.
source "$(dirname "$0")/lib.sh"

[ "$(id -u)" -eq 0 ] || skip "only root can start slurmd"
for program in munged slurmctld slurmd sbatch parallel jq python3; do
    command -v $program >/dev/null || skip "there is no $program: ci/setup.sh --all installs it"
done
cargo build --locked --quiet --package unspin-cli --bins
export PATH=$target/debug:$PATH
page=$PWD/docs/fleet.md bench=$PWD/ci/fleet/bench.sh stand_ins=$PWD/ci/fleet/stand-ins

folder=$(mktemp -d /tmp/unspin-fleet.XXXXXX)
source ci/fleet/cluster.sh
ended() {
    local status=$?
    if [ $status -ne 0 ] && [ $status -ne 77 ]; then tail -n 12 "$folder"/*.out.log >&2 || true; fi
    stop_cluster
    rm -rf "$folder"
}
trap ended EXIT
start_cluster 3

# The file of this name on the page: the block below the line that names it.
file() { # NAME
    awk -v name="\`$1\`:" '$0 == name { wanted = 1; next } /^```/ && wanted { if (inside) exit; inside = 1; next } inside' "$page"
}
# The block of commands that has this text.
commands() { # TEXT
    awk -v text="$1" '
        /^ *```sh$/ { inside = 1; block = ""; found = 0; match($0, /^ */); indent = RLENGTH; next }
        /^ *```$/ { if (inside && found) { printf "%s", block; exit } inside = 0; next }
        inside { block = block substr($0, indent + 1) "\n"; if (index($0, text)) found = 1 }' "$page"
}
# Runs these commands of the page in the current folder. Prints what they print on one line, so that a sentence is found wherever it
# was broken; the exit code is theirs.
run_commands() { # TEXT
    commands "$1" >commands.sh
    [ -s commands.sh ] || fail "docs/fleet.md has no commands with '$1'"
    local status=0
    bash commands.sh >commands.out 2>&1 || status=$?
    tr -s '[:space:]' ' ' <commands.out
    return $status
}
# Fails unless the output has the text, and its command ended with one of the codes of a verdict.
says() { # CODE OUTPUT TEXT
    case $1 in 0 | 1 | 3 | 5) ;; *) fail "no verdict, but exit code $1: $2" ;; esac
    grep -qF -e "$3" <<<"$2" || fail "'$3' is not said: $2"
}
one_host='All results are of one host'

mkdir "$folder/work" && cd "$folder/work"
for name in plan.toml measure.sh fleet.sbatch combine.sbatch submit.sh fleet.yaml; do
    file $name >$name
    [ -s $name ] || fail "docs/fleet.md has no file $name"
done
cp "$bench" bench.sh
chmod +x ./*.sh

echo "fleet: Slurm, the array and the dependent job"
status=0
timeout 300 ./submit.sh >submit.out 2>&1 || status=$?
[ "$(ls results/*.json 2>/dev/null | wc -l)" -eq 3 ] ||
    fail "the array did not write 3 results: $(cat submit.out fleet.txt results/*.log 2>/dev/null | tail -n 8)"
says $status "$(tr -s '[:space:]' ' ' <fleet.txt)" "$one_host"
grep -qF '### `./bench.sh`' fleet.md || fail "fleet.md does not begin with the command: $(head -n 3 fleet.md)"
jq -e '.schema == "unspin.combine/1" and (.hosts | length) == 3 and .hosts_expected == 3' fleet.json >/dev/null ||
    fail "fleet.json is wrong: $(jq -c '[.schema, .hosts_expected, .hosts]' fleet.json)"

echo "fleet: Slurm, one task for each node"
rm results/*.json
grep -o '`for node in [^`]*`' "$page" | tr -d '`' >each-node.sh
bash each-node.sh >submit.out 2>&1 || fail "$(cat submit.out)"
wait_for 300 no_jobs || fail "jobs do not end: $(squeue)"
[ "$(cd results && echo n?-1.json)" = "n1-1.json n2-1.json n3-1.json" ] || fail "not each node measured: $(ls results)"

echo "fleet: hosts that are missing, copies"
status=0
combined=$(unspin combine --hosts 4 results/*.json | tr -s '[:space:]' ' ') || status=$?
# Three sessions of this machine are of one host, not of three.
says $status "$combined" '3 of 4 hosts failed: 3 hosts wrote no result.'
[ $status -ne 0 ] || fail "a plan is recommended that three hosts have not measured: $combined"
cp results/n1-1.json results/copy.json
must_find "is the same session as" unspin combine results/*.json
rm results/copy.json

echo "fleet: the verdict in a script, hosts without their names, groups"
run_commands 'unspin plan compile' >/dev/null || fail "the script of the verdict failed: $(cat commands.out)"
status=0
combined=$(run_commands "jq --arg name") || status=$?
says $status "$combined" 'each host is compared with itself only'
grep -qF "$one_host, host 1" <<<"$combined" || fail "the sessions of one host are hosts after renaming: $combined"
mkdir groups groups/results
for n in 1 2 3; do
    [ $n -eq 3 ] && processor='Another CPU' || processor='AMD EPYC 9999'
    jq --arg processor "$processor" '.machine.processor = $processor' shared/$n.json >groups/results/$n.json
done
cd groups
# xargs ends with 123 if its command fails, whatever that command's code is.
combined=$(run_commands 'input_filename' || true)
says 0 "$combined" 'AMD EPYC 9999 results/2.json Another CPU results/3.json'
says 0 "$combined" ': 2 results of 1 host with '
cd ..

echo "fleet: GNU parallel, sessions of one machine"
rm -rf results
status=0
combined=$(run_commands 'session1') || status=$?
[ "$(ls results/*.json | wc -l)" -eq 3 ] || fail "parallel did not write 3 results: $combined"
says $status "$combined" "$one_host"

if command -v rsync >/dev/null; then
    echo "fleet: GNU parallel, hosts"
    rm -rf results
    printf 'n1\nn2\nn3\n' >hosts
    status=0
    combined=$(UNSPIN_HOSTS=$folder/hosts PATH=$stand_ins:$PATH run_commands '--nonall --jobs 0') || status=$?
    [ "$(cd results && echo *.json)" = "n1.json n2.json n3.json" ] || fail "not each host measured: $combined"
    says $status "$combined" "3 results of 1 host with 36 rounds"
    # A host that cannot measure has no result, although there is one of the last time on both sides.
    echo n1 >hosts && rm "$folder/hosts/n1/fleet/measure.sh" && mv measure.sh kept.sh
    combined=$(UNSPIN_HOSTS=$folder/hosts PATH=$stand_ins:$PATH run_commands '--nonall --jobs 0') && fail "nothing was measured: $combined"
    [ -z "$(ls results)" ] || fail "an earlier result is taken for this one: $(ls results)"
    mv kept.sh measure.sh
else
    echo "SKIPPED, because there is no rsync: GNU parallel over ssh; ci/setup.sh --all installs it"
fi

python=${UNSPIN_TEST_PYTHON:-python3}
if "$python" -c 'import kubernetes_validate' 2>/dev/null; then
    echo "fleet: fleet.yaml and the published schemas"
    valid() { "$python" -m kubernetes_validate --strict "$1"; }
    valid fleet.yaml || fail "fleet.yaml does not keep to the schemas"
    sed 's/backoffLimitPerIndex/backoffLimitOfIndex/' fleet.yaml >flawed.yaml
    must_find backoffLimitOfIndex valid flawed.yaml
else
    echo "SKIPPED, because Python lacks kubernetes-validate: fleet.yaml; UNSPIN_TEST_PYTHON names one that has it"
fi
pass "the files and commands of docs/fleet.md"
