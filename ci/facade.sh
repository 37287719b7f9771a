#!/usr/bin/env bash
# The rules of the design that no compiler checks: which files may name atomics, system calls and unsafe code, which crate may
# depend on which, and which files of one crate may use each other in a circle.
#
#   ci/facade.sh                     checks the workspace, then the check itself
#   ci/facade.sh --check             checks the workspace
#   ci/facade.sh --update-circles    writes ci/circles/list.txt, and keeps its reasons
source "$(dirname "$0")/lib.sh"

violations=0

# Production source below the folders given, as "file:line:text": without comments, without test modules (which stand
# at the end of a file, or in a file named after what they are). What a `use` names is one line.
source_of() {
    find "$@" -name '*.rs' ! -name tests.rs ! -name models.rs ! -name script.rs ! -path '*/models/*' | sort |
        while read -r file; do
            awk -v file="$file" '
                /^#\[cfg\((test|all\(test|any\(test, loom\)\))/ { held = $0; next }
                held != "" && /^(pub(\([a-z]+\))? )?mod [a-z_]+ \{/ { exit }
                { held = "" }
                { line = $0; sub(/^[ \t]*\/\/.*/, "", line); sub(/[ \t]\/\/ .*/, "", line) }
                line == "" { next }
                used != "" { used = used line; if (line ~ /;/) { print used; used = "" } next }
                line ~ /^[ \t]*(pub(\([a-z ]+\))? +)?use / && line !~ /;/ { used = file ":" NR ":" line; next }
                { print file ":" NR ":" line }
            ' "$file"
        done
}

# Numbers of several digits, and powers of two, whose documentation mentions ticks, as "file:line:text".
constants_in_ticks() {
    find "$@" -name '*.rs' ! -name tests.rs | sort | xargs awk '
        FNR == 1 { doc = "" }
        /^[ \t]*\/\/\// { doc = doc $0; next }
        doc ~ /[^A-Za-z_][Tt]icks?([^A-Za-z_]|$)/ && /const [A-Z_0-9]+: *(u64|u32|i64) *= *([0-9][0-9_][0-9_][0-9_]|[0-9]+ *<<)/ && !/_NS:/ { print FILENAME ":" FNR ":" $0 }
        !/^[ \t]*#\[/ { doc = "" }'
}

# forbid RULE PATTERN: lines of the standard input that match are violations.
forbid() {
    local rule=$1 pattern=$2 found
    if found=$(grep -E -e "$pattern"); then
        printf '%s\n%s\n' "facade: $rule:" "$found" >&2
        violations=$((violations + 1))
    fi
}

# What each crate of the workspace is built on, as "CRATE -> CRATE".
dependencies() {
    cargo tree --quiet --locked --workspace --edges "normal,build" --depth 1 --prefix depth --no-dedupe |
        awk '/^0/ { crate = substr($1, 2) } /^1unspin-/ { print crate " -> " substr($1, 2) }'
}

# may_depend CRATE ALLOWED...: the workspace's crates that it is built on. It may always use sync and sys.
may_depend() {
    local crate=$1
    shift
    ruled+=("$crate")
    forbid "dependencies point down (docs/ARCHITECTURE.md)" . < <(
        grep "^unspin-$crate -> " <<<"$dependencies" |
            grep -v -x -F -f <(printf "unspin-$crate -> unspin-%s\n" sync sys "$@")
    )
}

# The tool that finds circles. Built here, also when it checks a copy.
circles=(cargo run --quiet --locked --manifest-path "$PWD/Cargo.toml" --package unspin-circles --)
[ -z "${UNSPIN_CIRCLES:-}" ] || circles=("$UNSPIN_CIRCLES")

# Files of sysv that lie in shared memory, hand out references into it, or take the addresses of a C program.
sysv_raw='^crates/sysv/src/(store/memory|arena_file|shm|msg|typed)/|^crates/sysv/src/registry/(keys|table)\.rs:'
sysv_raw+='|^crates/sysv/src/engine/inner\.rs:|^crates/sysv/src/thread/(mod|join|sections|cache)\.rs:'
sysv_raw+='|^crates/sysv/src/recovery/(process_table|participant_life)\.rs:|^crates/sysv/src/inspect/objects\.rs:'
sysv_raw+='|^crates/sysv/src/sem/calls/(one_op|semop|semctl)\.rs:'

# Files of runqueue that reach tasks by pointer, or protect a value by a lock.
runqueue_raw='^crates/runqueue/src/task/(header|join|listed|raw|runnable|waker)\.rs:|^crates/runqueue/src/lock/queue_lock\.rs:'
runqueue_raw+='|^crates/runqueue/src/executor/(context|shared)\.rs:'

check() {
    forbid "atomics and threads are named through unspin-sync" '(core|std)::(sync::atomic|thread|(sync::)?\{.*\b(atomic|thread))\b' \
        < <(source_of crates/{locks,rcu,sysv,wire,report,preload,trace,waiting,runqueue}/src)
    forbid "libc is named in sys (and for C types in preload and c) only" '\blibc::|use libc\b' \
        < <(source_of crates/*/src | grep -v -E '^crates/(sys|preload|c)/src/|^crates/workloads/src/libc_[a-z]+\.rs:')
    forbid "functions of C are declared in sys, preload and c only" '\bextern ("C" )?\{' \
        < <(source_of crates/*/src | grep -v -E '^crates/(sys|preload|c)/src/|^crates/workloads/src/libc_[a-z]+\.rs:')
    forbid "system calls are made in sys only" '\b(asm|global_asm|naked_asm)!|libc::syscall\(' \
        < <(source_of crates/*/src | grep -v '^crates/sys/src/')
    forbid "unsafe stays in sync, sys, locks, rcu, preload, c, sysv's shared-memory layer and runqueue's tasks" '\bunsafe\b[^_-]' \
        < <(source_of crates/*/src | grep -v -E "^crates/(sync|sys|locks|rcu|preload|c)/src/|^crates/workloads/src/libc_[a-z]+\.rs:|$sysv_raw|$runqueue_raw")
    forbid "crates that need no unsafe forbid it" . \
        < <(grep -L '^#!\[forbid(unsafe_code)\]' crates/{figures,stats,scaling,wire,report,results,page,comparison,combine,launch,observe,trial,sync,symbols,trace,waiting,dbt1,volano,vm,lab-options}/src/lib.rs crates/{cli,lab,sched}/src/main.rs)
    forbid "each crate takes the workspace's lints" . \
        < <(grep -L -x -F 'workspace = true' {crates,tests,ci}/*/Cargo.toml bench/Cargo.toml)
    forbid "no #[allow]: #[expect(lint, reason = \"…\")]" '(\[|, *|^[^:]*:[0-9]+:\s*)allow\(' \
        < <(grep -rn --include='*.rs' '' crates tests bench fuzz ci)
    forbid "nothing is left to do in committed code" '\b(todo|unimplemented)!|\b(TODO|FIXME|XXX)\b' \
        < <(grep -rn --include='*.rs' '' crates tests bench fuzz ci)
    forbid "examples are compiled" '```(rust,)?(ignore|no_run)' \
        < <(grep -rn --include='*.rs' --include='*.md' '' crates tests docs -- *.md)
    local in_ticks="a time is a constant in nanoseconds, which clock::ticks_in converts: processors count at different rates"
    forbid "$in_ticks" 'const [A-Z_0-9]*TICKS[A-Z_0-9]*: *(u64|u32|i64)|PollParameters \{ *[a-z_]+: *[0-9]|(wrapping|saturating)_sub\([^;]*\)+ *[<>]=? *([A-Z][A-Z_0-9]+\b|[2-9]|[0-9]{2})' \
        < <(source_of crates/{sys,waiting,locks,rcu,sysv,preload,runqueue,wire,volano,c}/src)
    forbid "$in_ticks" . \
        < <(constants_in_ticks crates/{sys,waiting,locks,rcu,sysv,preload,runqueue,wire,volano,c}/src)
    forbid "what to do next is laid out in report/src/next and in pages only" '"(Next|Prove it): ' \
        < <(source_of crates/*/src | grep -v -E '^crates/(report/src/next|page/src)/')
    forbid "what to do next is said in report/src/next, trial/src/next and lab/src/reproduce only" '\bNext(::(new|with_step)\(| \{)' \
        < <(source_of crates/*/src | grep -v -E '^crates/(report|trial)/src/next/|^crates/lab/src/reproduce/|^crates/preload/src/')
    local dependencies ruled=()
    dependencies=$(dependencies)
    may_depend sync
    may_depend sys
    may_depend waiting
    may_depend locks waiting
    may_depend rcu
    may_depend runqueue locks wire waiting
    may_depend wire
    may_depend figures
    may_depend report figures wire
    may_depend stats figures
    may_depend scaling figures stats
    may_depend results report scaling stats wire
    may_depend page figures report results scaling stats
    may_depend comparison report results stats
    may_depend combine report results stats
    may_depend symbols
    may_depend trace
    may_depend workloads wire
    may_depend dbt1 stats workloads
    may_depend volano runqueue workloads
    may_depend sysv rcu wire waiting
    may_depend preload locks wire sysv waiting
    may_depend c sysv
    may_depend launch locks wire report runqueue symbols sysv trace waiting
    may_depend observe launch wire page report runqueue symbols sysv trace
    may_depend trial launch observe locks wire page report results runqueue scaling stats sysv
    may_depend vm launch
    may_depend lab-options launch
    may_depend lab dbt1 volano vm lab-options launch observe trial locks report results runqueue scaling stats
    may_depend sched figures
    may_depend cli combine comparison lab-options launch observe page trial locks results stats wire report trace workloads sysv
    local product
    product=$(cargo tree --quiet --locked --package unspin-cli --edges normal --prefix none --no-dedupe)
    forbid "the product has no database and no asynchronous runtime: those are for unspin-lab" . \
        < <(grep -E '^(tokio|rusqlite|libsqlite3-sys|postgres[a-z-]*|tokio-[a-z-]+) ' <<<"$product" | sort -u)
    forbid "each crate has a rule on what it is built on (may_depend)" . \
        < <(ls crates | grep -v -x -F -f <(printf '%s\n' "${ruled[@]}"))
    forbid "files of one crate use each other in no circle but those of ci/circles/list.txt" . < <("${circles[@]}" . 2>&1)
    [ "$violations" -eq 0 ] || fail "$violations rules are broken"
    echo "facade: all rules hold here"
}

# plant RULE FILE LINE: puts the line into the copy's file, and expects that the rule names the file.
plant() {
    local file=$scratch/root/$2
    printf '%s\n%s\n' "$3" "$(cat "$file")" >"$file"
    expect "$1" "$2"
}

# expect RULE TEXT: the rule has to be found broken, by lines with this text.
expect() { expected+=("$1"$'\t'"$2"); }

# All violations are planted into one copy. The workspace has none, so each that is found was planted.
selftest() {
    local expected=() output rule text
    scratch=$(mktemp -d)
    trap 'rm -rf "$scratch"' EXIT
    mkdir "$scratch/root"
    # What is committed or would be.
    git ls-files -z --cached --others --exclude-standard | xargs -0 cp --parents -t "$scratch/root"
    cd "$scratch/root"
    plant "named through unspin-sync" crates/sysv/src/waiting/wake.rs 'use core::sync::atomic::AtomicU32 as Sneaked;'
    plant "named through unspin-sync" crates/rcu/src/slot.rs 'use std::{sync::Arc as Sneaked, thread as Sneaking};'
    plant "named through unspin-sync" crates/locks/src/mcs.rs $'use std::{\n    sync::Arc as Sneaked,\n    thread as Sneaking,\n};'
    plant "functions of C are declared" crates/locks/src/steal.rs 'unsafe extern "C" { fn getpid() -> i32; }'
    plant "libc is named in sys" crates/report/src/row.rs 'fn pid() -> i32 { libc::getpid() }'
    plant "system calls are made in sys" crates/rcu/src/slot.rs 'fn f() { core::arch::asm!("syscall") }'
    plant "unsafe stays in" crates/sysv/src/waiting/wake.rs 'unsafe fn f() {}'
    plant "unsafe stays in" crates/runqueue/src/queue/summary.rs 'unsafe fn f() {}'
    plant "no #[allow]" crates/stats/src/plan.rs '#[allow(dead_code)]'
    plant "no #[allow]" crates/stats/src/spread.rs $'#[cfg_attr(\n    test,\n    allow(dead_code)\n)]'
    plant "nothing is left to do" crates/cli/src/run.rs 'fn f() { todo!() }'
    plant "is laid out in" crates/observe/src/lens/rows.rs 'fn f(text: &str) -> String { format!("Next: {text}") }'
    plant "is said in" crates/trial/src/text/search.rs 'fn f() -> Next { Next::new("measure again") }'
    plant "a time is a constant in nanoseconds" crates/waiting/src/poll.rs 'const SNEAKED_TICKS: u64 = 2_000;'
    plant "a time is a constant in nanoseconds" crates/locks/src/rt.rs 'fn f(now: u64, last: u64) -> bool { now.wrapping_sub(last) > SNEAKED }'
    plant "a time is a constant in nanoseconds" crates/sysv/src/waiting/wait.rs 'const SNEAKED: PollParameters = PollParameters { wake_up: 100_000, ready: 4_000 };'
    plant "a time is a constant in nanoseconds" crates/preload/src/pthread/spin.rs $'/// Ticks, 1 to 3 us.\n#[cfg(test)]\nconst SNEAKED: u64 = 4_000;'
    plant "examples are compiled" crates/cli/src/run.rs '//! ```ignore'
    sed -i '/forbid(unsafe_code)/d' crates/wire/src/lib.rs
    expect "need no unsafe forbid it" crates/wire/src/lib.rs
    sed -i '/^\[lints\]/,+1d' crates/wire/Cargo.toml
    expect "takes the workspace's lints" crates/wire/Cargo.toml
    sed -i 's/^\[dependencies\]$/&\nunspin-stats = { workspace = true }/' crates/wire/Cargo.toml
    expect "dependencies point down" "unspin-wire -> unspin-stats"
    sed -i 's/^\[dependencies\]$/&\ntokio = { version = "1", default-features = false }/' crates/trace/Cargo.toml
    expect "no database and no asynchronous runtime" "tokio v1"
    sed -i '/^    may_depend stats figures$/d' ci/facade.sh
    expect "each crate has a rule" stats
    # Writes the changed Cargo.lock; downloads nothing that other platforms need.
    cargo tree --quiet --package unspin-wire >/dev/null
    # A circle through a re-export, and one that was listed and is gone.
    printf '%s\n' 'mod one;' 'mod other;' 'pub use one::One;' >>crates/stats/src/lib.rs
    printf '%s\n' 'use super::other::f;' 'pub struct One;' >crates/stats/src/one.rs
    printf '%s\n' 'use crate::One;' >crates/stats/src/other.rs
    expect "in no circle" "new circle: crates/stats/src: one.rs -> other.rs -> one.rs"
    printf '%s\n' 'crates/stats/src: a.rs -> b.rs' '    None.' '    : b.rs -> a.rs' >>ci/circles/list.txt
    expect "in no circle" "a circle that is gone: crates/stats/src: a.rs -> b.rs -> a.rs"
    if output=$(ci/facade.sh --check 2>&1); then fail "none of the planted violations was found"; fi
    for pair in "${expected[@]}"; do
        IFS=$'\t' read -r rule text <<<"$pair"
        # The lines below the rule's name, up to the next rule's.
        awk -v rule="$rule" '/^facade: / { inside = index($0, rule) } inside' <<<"$output" | sed 1d | grep -qF -e "$text" ||
            fail "a planted violation was not found: $rule: $text"
        echo "facade: planted violation found ($rule)"
    done
}

case ${1:-} in
--update-circles) "${circles[@]}" . --update ;;
--check) check ;;
*)
    cargo test --quiet --locked --package unspin-circles >/dev/null || fail "the tests of unspin-circles fail"
    cargo build --quiet --locked --package unspin-circles
    export UNSPIN_CIRCLES=$target/debug/unspin-circles
    circles=("$UNSPIN_CIRCLES")
    check
    selftest
    pass "all rules hold, and each planted violation is found"
    ;;
esac
