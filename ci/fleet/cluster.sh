# A Slurm cluster on this machine: munged, slurmctld and several slurmd, with all their files in $folder. For ci/fleet.sh.
pids=()

# start_cluster NODES
start_cluster() {
    local nodes=$1 n port
    chmod 755 "$folder"
    mkdir "$folder/munge" "$folder/state"
    chmod 700 "$folder/munge"
    head -c 128 /dev/urandom >"$folder/munge/key"
    chmod 600 "$folder/munge/key"
    munged --foreground --force --key-file="$folder/munge/key" --socket="$folder/munge.socket" --pid-file="$folder/munge/pid" \
        --log-file="$folder/munge/log" --seed-file="$folder/munge/seed" >"$folder/munged.log" 2>&1 &
    pids+=($!)
    wait_for 20 test -S "$folder/munge.socket" || fail "munged does not answer"

    export SLURM_CONF=$folder/slurm.conf
    local ports
    read -ra ports < <(free_ports $((nodes + 1)))
    configuration "${ports[0]}" >"$SLURM_CONF"
    for ((n = 1; n <= nodes; n++)); do
        port=${ports[n]}
        mkdir "$folder/n$n"
        echo "NodeName=n$n NodeHostname=$(hostname -s) NodeAddr=127.0.0.1 Port=$port CPUs=$(nproc) State=UNKNOWN"
    done >>"$SLURM_CONF"
    echo "PartitionName=all Nodes=ALL Default=YES State=UP" >>"$SLURM_CONF"
    slurmctld -D -f "$SLURM_CONF" >"$folder/slurmctld.out.log" 2>&1 &
    pids+=($!)
    for ((n = 1; n <= nodes; n++)); do
        slurmd -D -N "n$n" -f "$SLURM_CONF" >"$folder/n$n.out.log" 2>&1 &
        pids+=($!)
    done
    wait_for 60 all_idle "$nodes" || fail "the nodes are not idle: $(sinfo 2>&1 | tail -n 3)"
}

# Ends all jobs, then the last started first: nodes, the controller, munged.
stop_cluster() {
    local i jobs
    jobs=$(timeout 10 squeue --noheader --format %A 2>/dev/null) || jobs=
    if [ -n "$jobs" ]; then
        timeout 10 scancel $jobs || true
        wait_for 30 no_jobs || true
    fi
    for ((i = ${#pids[@]} - 1; i >= 0; i--)); do kill "${pids[i]}" 2>/dev/null || true; done
    for ((i = ${#pids[@]} - 1; i >= 0; i--)); do wait "${pids[i]}" 2>/dev/null || true; done
}

configuration() { # PORT
    cat <<CONF
ClusterName=unspin
SlurmctldHost=$(hostname -s)(127.0.0.1)
SlurmctldPort=$1
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
CONF
}

# Prints as many ports that nothing listens on now.
free_ports() { # COUNT
    python3 -c '
import socket, sys
sockets = [socket.socket() for _ in range(int(sys.argv[1]))]
for s in sockets: s.bind(("127.0.0.1", 0))
print(*(s.getsockname()[1] for s in sockets))' "$1"
}

all_idle() { # NODES
    [ "$(sinfo --noheader --Node --format %T | grep -c '^idle$')" -eq "$1" ]
}

no_jobs() {
    [ -z "$(squeue --noheader --format %A)" ]
}

# Succeeds as soon as the command does, and fails if it does not within the time.
wait_for() { # SECONDS COMMAND...
    local until=$((SECONDS + $1))
    shift
    until "$@" >/dev/null 2>&1; do
        [ $SECONDS -lt $until ] || return 1
        sleep 0.5
    done
}
