#!/usr/bin/env bash
# The rules of the design that no compiler checks: who may name atomics, system calls and unsafe code, and which crate
# may depend on which.
#
#   ci/facade.sh                 checks the workspace, then itself
#   ci/facade.sh --check ROOT    checks the workspace at ROOT
source "$(dirname "$0")/lib.sh"

violations=0

# Production source below the folders given, as "file:line:text": without comments, without test modules (which stand
# at the end of a file, or in a file named after what they are).
source_of() {
    find "$@" -name '*.rs' ! -name tests.rs ! -name models.rs ! -name script.rs ! -path '*/models/*' | sort |
        while read -r file; do
            awk -v file="$file" '
                /^#\[cfg\((test|all\(test|any\(test, loom\)\))/ { held = $0; next }
                held != "" && /^(pub(\([a-z]+\))? )?mod [a-z_]+ \{/ { exit }
                { held = "" }
                { line = $0; sub(/^[ \t]*\/\/.*/, "", line); sub(/[ \t]\/\/ .*/, "", line) }
                line != "" { print file ":" NR ":" line }
            ' "$file"
        done
}

# forbid RULE PATTERN: lines of the standard input that match are violations.
forbid() {
    local rule=$1 pattern=$2 found
    if found=$(grep -E -e "$pattern"); then
        printf '%s\n%s\n' "facade: $rule:" "$found" >&2
        violations=$((violations + 1))
    fi
}

# may_depend CRATE ALLOWED...: the workspace's crates that it is built on.
may_depend() {
    local crate=$1
    shift
    local tree=(cargo tree --quiet --locked --package "unspin-$crate" --edges "normal,build" --depth 1 --prefix none)
    forbid "dependencies point down (docs/ARCHITECTURE.md)" . < <(
        "${tree[@]}" | sed 1d | awk '{print $1}' | grep '^unspin-' |
            grep -v -x -F -f <(printf 'unspin-%s\n' sync sys "$@") | sed "s/^/unspin-$crate -> /"
    )
}

# Files of sysv that lie in shared memory, hand out references into it, or take the addresses of a C program.
sysv_raw='^crates/sysv/src/(store/memory|arena_file|shm|msg|typed)/|^crates/sysv/src/registry/(keys|table)\.rs:'
sysv_raw+='|^crates/sysv/src/engine/inner\.rs:|^crates/sysv/src/thread/(mod|join|sections|cache)\.rs:'
sysv_raw+='|^crates/sysv/src/recovery/process_table\.rs:|^crates/sysv/src/inspect/objects\.rs:'
sysv_raw+='|^crates/sysv/src/sem/calls/(semop|semctl)\.rs:'

check() {
    forbid "atomics and threads are named through unspin-sync" '(core|std)::(sync::atomic|thread)\b' \
        < <(source_of crates/{locks,rcu,sysv,meter,preload,waiting}/src)
    forbid "libc is named in sys (and for C types in preload and c) only" '\blibc::|use libc\b' \
        < <(source_of crates/*/src | grep -v -E '^crates/(sys|preload|c)/src/|^crates/workloads/src/libc_[a-z]+\.rs:')
    forbid "system calls are made in sys only" '\b(asm|global_asm|naked_asm)!|libc::syscall\(' \
        < <(source_of crates/*/src | grep -v '^crates/sys/src/')
    forbid "unsafe stays in sync, sys, locks, rcu, preload, c and sysv's shared-memory layer" '\bunsafe\b[^_]' \
        < <(source_of crates/*/src | grep -v -E "^crates/(sync|sys|locks|rcu|preload|c)/src/|^crates/workloads/src/libc_[a-z]+\.rs:|$sysv_raw")
    forbid "crates that need no unsafe forbid it" . \
        < <(grep -L '^#!\[forbid(unsafe_code)\]' crates/{stats,meter,sync,symbols,waiting}/src/lib.rs crates/cli/src/main.rs)
    forbid "each crate takes the workspace's lints" . \
        < <(grep -L -x -F 'workspace = true' {crates,tests}/*/Cargo.toml bench/Cargo.toml)
    forbid "no #[allow]: #[expect(lint, reason = \"…\")]" '^[^:]*:[0-9]+:\s*#!?\[allow\(' \
        < <(grep -rn --include='*.rs' '' crates tests bench fuzz)
    forbid "nothing is left to do in committed code" '\b(todo|unimplemented)!|\b(TODO|FIXME|XXX)\b' \
        < <(grep -rn --include='*.rs' '' crates tests bench fuzz)
    forbid "examples are compiled" '```(rust,)?(ignore|no_run)' \
        < <(grep -rn --include='*.rs' --include='*.md' '' crates tests docs -- *.md)
    may_depend sync
    may_depend sys
    may_depend waiting
    may_depend locks waiting
    may_depend rcu
    may_depend meter
    may_depend stats
    may_depend symbols
    may_depend workloads
    may_depend sysv rcu meter waiting
    may_depend preload locks meter sysv waiting
    may_depend c sysv
    may_depend cli waiting locks stats meter symbols workloads sysv
    [ "$violations" -eq 0 ] || fail "$violations rules are broken"
    echo "facade: all rules hold"
}

# A copy of what is committed or would be.
copy() {
    rm -rf "$scratch/root"
    mkdir "$scratch/root"
    git ls-files -z --cached --others --exclude-standard | xargs -0 cp --parents -t "$scratch/root"
}

# plant RULE FILE LINE: puts the line into a copy, and demands that the rule is found broken.
plant() {
    copy
    printf '%s\n%s\n' "$3" "$(cat "$scratch/root/$2")" >"$scratch/root/$2"
    must_find "$1" "$scratch/root/ci/facade.sh" --check
}

selftest() {
    scratch=$(mktemp -d)
    trap 'rm -rf "$scratch"' EXIT
    plant "named through unspin-sync" crates/sysv/src/waiting/wake.rs 'use core::sync::atomic::AtomicU32 as Sneaked;'
    plant "libc is named in sys" crates/meter/src/row.rs 'fn pid() -> i32 { libc::getpid() }'
    plant "system calls are made in sys" crates/rcu/src/slot.rs 'fn f() { core::arch::asm!("syscall") }'
    plant "unsafe stays in" crates/sysv/src/waiting/wake.rs 'unsafe fn f() {}'
    plant "no #[allow]" crates/stats/src/plan.rs '#[allow(dead_code)]'
    plant "nothing is left to do" crates/cli/src/run.rs 'fn f() { todo!() }'
    plant "examples are compiled" crates/cli/src/run.rs '//! ```ignore'
    copy
    sed -i '/forbid(unsafe_code)/d' "$scratch/root/crates/meter/src/lib.rs"
    must_find "need no unsafe forbid it" "$scratch/root/ci/facade.sh" --check
    copy
    sed -i '/^\[lints\]/,+1d' "$scratch/root/crates/meter/Cargo.toml"
    must_find "takes the workspace's lints" "$scratch/root/ci/facade.sh" --check
    copy
    sed -i 's/^\[dependencies\]$/&\nunspin-stats = { workspace = true }/' "$scratch/root/crates/meter/Cargo.toml"
    # Writes the changed Cargo.lock; downloads nothing that other platforms need.
    (cd "$scratch/root" && cargo tree --quiet --package unspin-meter >/dev/null)
    must_find "dependencies point down" "$scratch/root/ci/facade.sh" --check
}

check
[ "${1:-}" = --check ] || selftest
