#!/usr/bin/env bash
# docs/fleet.md on Slurm: munged, slurmctld and three slurmd on this machine run the sbatch array of the page with a short
# program, and `unspin combine` makes one verdict of its results. One machine is no fleet, and its tasks disturb each other:
# only that everything runs, and that combine says so, is tested here.
source "$(dirname "$0")/lib.sh"

[ "$(id -u)" -eq 0 ] || skip "only root can start slurmd"
for program in munged slurmctld slurmd sbatch squeue parallel python3; do
    command -v $program >/dev/null || skip "there is no $program: ci/setup.sh --all installs it"
done
cargo build --locked --quiet --package unspin-cli --package unspin-lab --bins
export PATH=$target/debug:$PATH

folder=$(mktemp -d /tmp/unspin-fleet.XXXXXX)
pids=()
stop() {
    local status=$?
    # The last started first: nodes, then the controller, then munge.
    for ((i = ${#pids[@]} - 1; i >= 0; i--)); do kill "${pids[i]}" 2>/dev/null || true; done
    for pid in "${pids[@]}"; do wait "$pid" 2>/dev/null || true; done
    if [ $status -ne 0 ] && [ $status -ne 77 ]; then tail -n 15 "$folder"/*.log >&2 || true; fi
    rm -rf "$folder"
}
trap stop EXIT
chmod 755 "$folder"
mkdir "$folder/munge" "$folder/state" "$folder/n1" "$folder/n2" "$folder/n3"
chmod 700 "$folder/munge"
dd if=/dev/urandom of="$folder/munge/key" bs=128 count=1 status=none
chmod 600 "$folder/munge/key"
munged --foreground --force --key-file="$folder/munge/key" --socket="$folder/munge.socket" --pid-file="$folder/munge/pid" \
    --log-file="$folder/munge/log" --seed-file="$folder/munge/seed" >"$folder/munged.log" 2>&1 &
pids+=($!)

host=$(hostname -s)
cpus=$(nproc)
# Ports that nothing listens on now.
read -r controller n1 n2 n3 < <(python3 -c '
import socket
sockets = [socket.socket() for _ in range(4)]
for s in sockets: s.bind(("127.0.0.1", 0))
print(*(s.getsockname()[1] for s in sockets))')
export SLURM_CONF=$folder/slurm.conf
cat >"$SLURM_CONF" <<CONF
ClusterName=unspin
SlurmctldHost=$host(127.0.0.1)
SlurmctldPort=$controller
AuthType=auth/munge
AuthInfo=socket=$folder/munge.socket
CredType=cred/munge
SlurmUser=root
SlurmdUser=root
StateSaveLocation=$folder/state
SlurmdSpoolDir=$folder/%n
SlurmctldPidFile=$folder/slurmctld.pid
SlurmdPidFile=$folder/%n.pid
SlurmctldLogFile=$folder/slurmctld.log
SlurmdLogFile=$folder/%n.log
ProctrackType=proctrack/linuxproc
TaskPlugin=task/none
MpiDefault=none
ReturnToService=2
SelectType=select/cons_tres
NodeName=n1 NodeHostname=$host NodeAddr=127.0.0.1 Port=$n1 CPUs=$cpus State=UNKNOWN
NodeName=n2 NodeHostname=$host NodeAddr=127.0.0.1 Port=$n2 CPUs=$cpus State=UNKNOWN
NodeName=n3 NodeHostname=$host NodeAddr=127.0.0.1 Port=$n3 CPUs=$cpus State=UNKNOWN
PartitionName=all Nodes=n[1-3] Default=YES State=UP
CONF
# wait_for SECONDS COMMAND...
wait_for() {
    local until=$((SECONDS + $1))
    shift
    until "$@" >/dev/null 2>&1; do
        [ $SECONDS -lt $until ] || return 1
        sleep 0.5
    done
}
wait_for 20 test -S "$folder/munge.socket" || fail "munged does not answer"
slurmctld -D -f "$SLURM_CONF" >"$folder/slurmctld.out.log" 2>&1 &
pids+=($!)
for node in n1 n2 n3; do
    slurmd -D -N $node -f "$SLURM_CONF" >"$folder/$node.out.log" 2>&1 &
    pids+=($!)
done
all_idle() { [ "$(sinfo --noheader --Node --format %T | grep -c '^idle$')" -eq 3 ]; }
wait_for 60 all_idle || fail "the nodes are not idle: $(sinfo 2>&1 | tail -n 3)"

# The files of the page, as it has them. The first line of a block names its file.
block() { # FILE
    awk -v want="# $1" '/^```/ { inside = 0; next } $0 == want { inside = 1; next } inside' docs/fleet.md
}
mkdir "$folder/work" && cd "$folder/work"
(cd "$OLDPWD" && block measure.sh) >measure.sh
(cd "$OLDPWD" && block fleet.sbatch) >fleet.sbatch
[ -s measure.sh ] && [ -s fleet.sbatch ] || fail "docs/fleet.md has no measure.sh or no fleet.sbatch"
cp "$OLDPWD/ci/fleet/bench.sh" bench.sh && chmod +x bench.sh measure.sh
sbatch --wait --export=ALL fleet.sbatch >sbatch.out 2>&1 || true
wait_for 30 test "$(ls results/*.json 2>/dev/null | wc -l)" -eq 3 ||
    fail "the array wrote $(ls results/*.json 2>/dev/null | wc -l) of 3 results: $(cat sbatch.out slurm-* 2>/dev/null | tail -n 5)"
# combined NAME COMMAND...: a verdict (0, 1 or 3) that says that one machine is no fleet.
combined() {
    local name=$1 status=0
    shift
    "$@" >"$name.txt" 2>&1 || status=$?
    cat "$name.txt"
    case $status in 0 | 1 | 3) ;; *) fail "$name: combine ended with $status" ;; esac
    tr -s '\n ' '  ' <"$name.txt" | grep -q 'All results are of one host' || fail "$name: combine does not say that one machine is no fleet"
}
combined slurm unspin combine --hosts 3 --json verdict.json --markdown verdict.md results/*.json
python3 - <<'PY' || fail "verdict.json is wrong"
import json
verdict = json.load(open("verdict.json"))
assert verdict["schema"] == "unspin.combine/1" and len(verdict["hosts"]) == 3, verdict["hosts"]
PY
# A host that wrote nothing is counted; a copy is refused.
unspin combine --hosts 4 results/*.json | tr -s '\n ' '  ' | grep -q '1 of 4 hosts failed: 1 host wrote no result' ||
    fail "the missing host is not counted"
cp results/"$(ls results | head -n 1)" results/copy.json
must_find "is the same session as" unspin combine results/*.json
rm results/copy.json

# GNU parallel, on this machine, one job at a time.
rm -rf results
parallel --jobs 1 ./measure.sh local{} ::: 1 2 >parallel.out 2>&1 || true
[ "$(ls results/*.json | wc -l)" -eq 2 ] || fail "parallel: $(tail -n 5 parallel.out)"
combined parallel unspin combine --hosts 2 results/*.json
pass "an array of 3 tasks and 2 jobs of parallel were combined"
