#!/usr/bin/env bash
# The inner loop, no gate: formatting; lints and unit tests of the packages that changed, and their integration tests that changed;
# and a few programs through the engines, one kind of mutex and polled waits. Under a minute once everything is built. It does
# not build the packages that depend on those; the gates do.
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
# The package of each file that changed (the nearest Cargo.toml above it), and the module of its test program that the file is.
packages=() libs=() bins=() tests=()
while read -r file; do
    folder=$(dirname "$file")
    while [ ! -f "$folder/Cargo.toml" ]; do folder=$(dirname "$folder"); done
    name=$(sed -n '/^\[package\]/,/^\[/s/^name = "\(.*\)"/\1/p' "$folder/Cargo.toml" | head -n 1)
    if [ -z "$name" ] || [ "$folder" = fuzz ]; then continue; fi
    module=${file#"$folder"/tests/suite/}
    module=${module%%/*} module=${module%.rs}
    if [ -f "$folder/tests/suite/$module.rs" ] || [ -f "$folder/tests/suite/$module/mod.rs" ]; then
        tests+=("$name $module")
    fi
    case " ${packages[*]} " in *" $name "*) continue ;; esac
    packages+=(--package "$name")
    [ ! -f "$folder/src/lib.rs" ] || libs+=(--package "$name")
    [ ! -f "$folder/src/main.rs" ] || bins+=(--package "$name")
done < <({ git diff --name-only "$base" && git ls-files --others --exclude-standard; } | sort -u)
cargo fmt --all --check
bash -n ci/*.sh
if [ ${#packages[@]} -eq 0 ]; then
    echo "quick: no package has changed since $base"
    exit 0
fi
cargo clippy --locked --quiet --all-targets "${packages[@]}" -- -D warnings
[ ${#libs[@]} -eq 0 ] || cargo test --locked --quiet --lib "${libs[@]}"
[ ${#bins[@]} -eq 0 ] || cargo test --locked --quiet --bins "${bins[@]}"
while read -r name module; do
    [ -z "$name" ] || cargo test --locked --quiet --package "$name" --test suite -- "$module::" </dev/null
done < <(printf '%s\n' "${tests[@]}" | sort -u)
cargo test --locked --quiet --package unspin-e2e --test suite -- --exact \
    conformance::semop conformance::messages swap::robust_mutex swap::other_locks \
    waits::mutex_of_every_type_is_given_to_one_and_outlives_its_owner waits::sleeping_waiters_are_woken_in_order
echo "quick: passed in $SECONDS s"
