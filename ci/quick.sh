#!/usr/bin/env bash
# The inner loop, no gate: formatting; lints and unit tests of the packages that changed; the integration tests that changed, or that
# use a changed program, document or table; and a few programs through the engines, one kind of mutex and polled waits. Under a
# minute once everything is built. It does not build the packages that depend on those; the gates do.
#
#     ci/quick.sh          what is not committed, or the last commit
#     ci/quick.sh BASE     what has changed since that commit
source "$(dirname "$0")/lib.sh"

if [ $# -gt 0 ]; then
    base=$1
elif [ -n "$(git status --porcelain)" ]; then
    base=HEAD
else
    base=HEAD~1
fi
say() { echo "quick: $1"; }

# The package of each file that changed (the nearest Cargo.toml above it), and the tests that the file is part of, or that use it,
# each as "PACKAGE TARGET FILTER".
packages=() libs=() bins=() tests=()

add_package() { # NAME FOLDER
    case " ${packages[*]} " in *" $1 "*) return ;; esac
    packages+=(--package "$1")
    [ ! -f "$2/src/lib.rs" ] || libs+=(--package "$1")
    [ ! -f "$2/src/main.rs" ] || bins+=(--package "$1")
}

# Adds the tests below `tests/` that the file is part of. Fails if it is part of none.
add_own_tests() { # PACKAGE FOLDER FILE
    local path=${3#"$2/tests/"} target module
    target=${path%%/*}
    [ "$path" != "$3" ] && [[ $path == *.rs ]] || return
    if [ "$target" = "$path" ]; then
        tests+=("$1 ${path%.rs} -")
        return
    fi
    [ -f "$2/tests/$target/main.rs" ] || return
    module=${path#*/}
    module=${module%%/*} module=${module%.rs}
    if grep -rqE '#\[test\]|^ *proptest!' "$2/tests/$target/$module.rs" "$2/tests/$target/$module/" 2>/dev/null; then
        tests+=("$1 $target $module::")
    elif [ "$target" != suite ]; then
        tests+=("$1 $target -")
    else
        say "$3 belongs to all tests of $1: the gates run them"
    fi
}

# Adds the tests of the package that name the file, which they compile, run or read. Fails if there are none.
add_users() { # PACKAGE FOLDER FILE
    local path=${3#"$2"/} source users target module
    path=${path#tests/} path=${path#c/}
    users=$(grep -rlF --include='*.rs' -e "\"${path%.*}\"" -e "/${3##*/}\"" -e "\"${3##*/}\"" "$2/tests" 2>/dev/null) || return
    for source in $users; do
        module=${source#"$2/tests/"} target=${module%%/*}
        module=${module#*/} module=${module%%/*} module=${module%.rs}
        if [ "$target" = "$module" ]; then
            tests+=("$1 ${target%.rs} -")
            continue
        fi
        # The functions that name it.
        while read -r name; do
            tests+=("$1 $target $module::$name")
        done < <(awk -v one="\"${path%.*}\"" -v other="${3##*/}\"" '
            match($0, /fn [a-z0-9_]+\(/) { name = substr($0, RSTART + 3, RLENGTH - 4) }
            index($0, one) || index($0, other) { print name }' "$source" | sort -u)
    done
}

while read -r file; do
    case $file in
    Cargo.toml | Cargo.lock | .cargo/*)
        say "$file concerns every package: .ci/run tells what it changes"
        continue
        ;;
    crates/cli/tests/cmd/*) tests+=("unspin-cli suite cmd::") ;;
    crates/lab/tests/cmd/*) tests+=("unspin-lab suite cmd::") ;;
    docs/dbt1.md | docs/volano.md) tests+=("unspin-lab suite cmd::" "unspin-cli suite readme::") ;;
    *.md) tests+=("unspin-cli suite readme::") ;;
    esac
    folder=$(dirname "$file")
    while [ ! -f "$folder/Cargo.toml" ]; do folder=$(dirname "$folder"); done
    name=$(sed -n '/^\[package\]/,/^\[/s/^name = "\(.*\)"/\1/p' "$folder/Cargo.toml" | head -n 1)
    if [ -z "$name" ] || [ "$folder" = fuzz ]; then continue; fi
    add_package "$name" "$folder"
    case $file in
    */src/* | */Cargo.toml | *.md) ;;
    *) add_own_tests "$name" "$folder" "$file" || add_users "$name" "$folder" "$file" || say "no test of $name names $file" ;;
    esac
done < <({ git diff --name-only "$base" && git ls-files --others --exclude-standard; } | sort -u)

say "formatting"
cargo fmt --all --check
bash -n ci/*.sh .ci/run
if [ ${#packages[@]} -eq 0 ] && [ ${#tests[@]} -eq 0 ]; then
    say "no package has changed since $base"
    exit 0
fi
if [ ${#packages[@]} -gt 0 ]; then
    say "lints (${packages[*]})"
    cargo clippy --locked --quiet --all-targets "${packages[@]}" -- -D warnings
    say "unit tests"
    [ ${#libs[@]} -eq 0 ] || cargo test --locked --quiet --lib "${libs[@]}"
    [ ${#bins[@]} -eq 0 ] || cargo test --locked --quiet --bins "${bins[@]}"
fi
# One run for each target; "-" stands for all of its tests.
declare -A filters=()
for entry in "${tests[@]}"; do
    read -r name target filter <<<"$entry"
    filters["$name $target"]+=" $filter"
done
case " ${!filters[*]} " in
*" unspin-cli "* | *" unspin-lab "*)
    # Tests of each of the two programs run the other one, which cargo does not build for them.
    cargo build --locked --quiet --package unspin-cli --package unspin-lab --bins
    ;;
esac
for key in "${!filters[@]}"; do
    read -r name target <<<"$key"
    mapfile -t chosen < <(tr -s ' ' '\n' <<<"${filters[$key]# }" | sort -u)
    [[ " ${chosen[*]} " != *" - "* ]] || chosen=()
    say "tests of $name: $target ${chosen[*]}"
    cargo test --locked --quiet --package "$name" --test "$target" -- "${chosen[@]}" </dev/null
done
say "a few programs under the preload library"
cargo test --locked --quiet --package unspin-e2e --test suite -- --exact \
    conformance::semop conformance::messages swap::robust_mutex swap::other_locks \
    waits::mutex_of_every_type_is_given_to_one_and_outlives_its_owner waits::sleeping_waiters_are_woken_in_order
say "passed in $SECONDS s"
