#!/usr/bin/env bash
# Polling in containers: `unspin run --waits poll` in real containers (the OCI runtime crun) under the seccomp profiles of Docker and
# of Podman, as Debian has them, under the same profiles with one call forbidden, and around bubblewrap. What the filters permit is
# found out, and what they forbid kills no program. docs/containers.md says it.
source "$(dirname "$0")/lib.sh"

[ "$(id -u)" -eq 0 ] || skip "only root can start a container without a service"
command -v crun >/dev/null && command -v bwrap >/dev/null || ci/setup.sh >/dev/null || true
for program in crun bwrap python3 cc apt-get; do
    command -v $program >/dev/null || skip "there is no $program"
done
grep -q '^Seccomp_filters:' /proc/self/status || skip "this kernel does not tell the number of seccomp filters (Linux 5.9)"

folder=$target/containers
mkdir -p "$folder"
cargo build --locked --quiet --package unspin-cli --package unspin-lab --bins
unspin=$target/debug/unspin
cc -O2 -pthread -Wall -Werror -o "$folder/turns" ci/containers/turns.c

# The profile in a file of a package of Debian, which is not installed: it needs a hundred others.
profile() { # PACKAGE PATH
    if [ ! -f "$folder/$1/$2" ]; then
        (mkdir -p "$folder/$1" && cd "$folder/$1" && apt-get download -qq "$1" >/dev/null 2>&1 && dpkg-deb -x "$1"_*.deb .) ||
            skip "the package $1 cannot be had"
    fi
    echo "$folder/$1/$2"
}
docker=$(profile golang-github-docker-docker-dev usr/share/gocode/src/github.com/docker/docker/profiles/seccomp/default.json)
podman=$(profile golang-github-containers-common usr/share/containers/seccomp.json)

bundle=$folder/bundle
name=unspin-ci-$$
# The runtime, in a mount namespace of its own, where cgroups look as crun wants them: it refuses a machine with both versions.
runtime() {
    unshare --mount sh -c 'mount -t cgroup2 none /sys/fs/cgroup && exec crun "$@"' sh --root "$folder/state" --cgroup-manager=disabled "$@"
}
trap 'runtime delete --force "$name" >/dev/null 2>&1 || true' EXIT

# Runs a command in a container, and prints what it writes. The exit code is the command's.
contained() { # OPTION-OF-BUNDLE... -- COMMAND...
    local options=()
    while [ "$1" != -- ]; do options+=("$1") && shift; done
    shift
    rm -rf "$bundle" && mkdir -p "$bundle"
    python3 ci/containers/bundle.py --bind "$target/debug" --bind "$folder" "${options[@]}" "$bundle" "$@"
    runtime run --bundle "$bundle" "$name" </dev/null 2>&1
}
if ! output=$(contained --profile "$docker" -- true); then
    skip "no container can be started here: $(tail -n 1 <<<"$output")"
fi

# Runs a command in a container. It must end with this code, and say this.
expect() { # CODE PATTERN OPTION-OF-BUNDLE... -- COMMAND...
    local wanted=$1 pattern=$2 code=0 output
    shift 2
    output=$(contained "$@") || code=$?
    if [ "$code" -ne "$wanted" ] || ! grep -qE -e "$pattern" <<<"$output"; then
        printf '%s\n' "$output" | tail -n 20 >&2
        fail "exit code $code instead of $wanted, or not: $pattern: $*"
    fi
}
polls='replaced: poll: [1-9]'
# A shell is the first process of the container, because that one has no observer; and it waits for what the observer writes.
first=(sh -c 'said=$("$@" 2>&1); code=$?; printf "%s\n" "$said"; exit $code' sh)
run=("${first[@]}" "$unspin" run -v --waits poll --)
turns=$folder/turns

echo "$gate: polling is on under the profiles of Docker and Podman"
expect 0 '^Seccomp_filters:.1$' --profile "$docker" -- cat /proc/self/status
for profile in "$docker" "$podman"; do
    for way in poll epoll read; do
        expect 0 "$polls" --profile "$profile" -- "${run[@]}" "$turns" $way
    done
done
expect 0 "$polls" --profile "$docker" -- "${run[@]}" \
    python3 -c 'import queue, threading
there, back = queue.Queue(), queue.Queue()
threading.Thread(target=lambda: [back.put(there.get()) for _ in range(2000)]).start()
for n in range(2000): there.put(n), back.get()'
echo "$gate: the meter records new locks and threads in a container"
expect 0 'await_turn\+0x' --profile "$docker" -- "$unspin" meter "$turns" read

echo "$gate: a profile that kills for a call of every poll: no wait polls, and the program lives"
for call in getrusage sched_yield; do
    expect 0 "$call\(2\) kills a process that makes it here" --profile "$docker" --answer $call=KILL_PROCESS -- "${run[@]}" "$turns"
    expect 0 "poll replaced nothing: $call\(2\) fails here" --profile "$docker" --answer $call=ERRNO -- "${run[@]}" "$turns"
done
# That the program lives means something only if it would poll, and die of it. So it is told what is not true.
plan=$folder/plan
printf 'unspin plan 2\nwakeup\t40000\nwaits\tpoll\n' >"$plan"
rm -rf "$folder/cache"
XDG_CACHE_HOME=$folder/cache "$unspin" run --waits poll -- true
library=$(ls "$folder"/cache/unspin/libunspin_preload-*.so)
expect 159 '' --profile "$docker" --answer getrusage=KILL_PROCESS --env LD_PRELOAD="$library" --env UNSPIN_PLAN="$plan" \
    --env UNSPIN_LOOKS=1:pause,poll,readable -- "$turns"
echo "$gate: planted bug found (a program that is told that getrusage is permitted is killed)"
expect 0 'turns' --profile "$docker" --answer getrusage=KILL_PROCESS --env LD_PRELOAD="$library" --env UNSPIN_PLAN="$plan" \
    --env UNSPIN_LOOKS=0:pause,poll,readable -- "$turns"
expect 0 'turns' --profile "$docker" --answer getrusage=KILL_PROCESS --env LD_PRELOAD="$library" --env UNSPIN_PLAN="$plan" -- "$turns"

echo "$gate: what a deployed plan is told by unspin plan looks"
expect 0 '^UNSPIN_LOOKS=1:pause,' --profile "$docker" -- "$unspin" plan looks
expect 0 '^UNSPIN_LOOKS=1:poll,' --profile "$docker" --answer getrusage=KILL_PROCESS -- "$unspin" plan looks

echo "$gate: a service that may not bind its threads: waits poll, and unspin lives"
for answer in ERRNO KILL_PROCESS; do
    expect 0 "$polls" --profile "$docker" --no-new-privileges --answer sched_setaffinity=$answer -- "${run[@]}" "$turns"
done
echo "$gate: a service that may not observe programs: it is metered, and unspin lives"
for answer in ERRNO KILL_PROCESS; do
    expect 0 'await_turn\+0x' --profile "$docker" --answer perf_event_open=$answer -- "$unspin" meter "$turns" read
done
expect 125 'a seccomp filter ends a process that calls perf_event_open' --profile "$docker" --answer perf_event_open=KILL_PROCESS -- \
    "$unspin" profile --user "$turns" read

echo "$gate: a filter that forbids epoll_wait leaves out that look alone"
for answer in ERRNO KILL_PROCESS; do
    forbidden=(--profile "$docker" --answer epoll_wait=$answer --)
    expect 0 'no thread polls in epoll_wait, .*: a seccomp filter forbids epoll_wait\(2\)' "${forbidden[@]}" "${run[@]}" "$turns" epoll
    expect 0 'poll replaced nothing: a seccomp filter was in force' "${forbidden[@]}" "${run[@]}" "$turns" epoll
    expect 0 "$polls" "${forbidden[@]}" "${run[@]}" "$turns" poll
done

echo "$gate: a further filter inside, of which nothing is known: no wait polls, so the program lives"
sandbox='filter=$1; shift; exec 9<"$filter"; exec bwrap --dev-bind / / --seccomp 9 "$@" poll'
for call in 98 24; do
    filter=$folder/kills-$call # getrusage, sched_yield
    python3 ci/containers/filter.py $call >"$filter"
    more=(--profile "$docker" --cap SYS_ADMIN --answer pivot_root=ALLOW --)
    expect 0 '^20000 turns$' "${more[@]}" "${run[@]}" sh -c "$sandbox" sh "$filter" "$turns"
    expect 159 '' "${more[@]}" "${run[@]}" sh -c "$sandbox" sh "$filter" --setenv UNSPIN_LOOKS 2:pause,poll,readable "$turns"
    echo "$gate: planted bug found (a program that is told that it has no more filters is killed)"
done

pass "containers under the profiles of Docker and Podman"
