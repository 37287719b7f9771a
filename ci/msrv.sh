#!/usr/bin/env bash
# The product, which is what `cargo install --path crates/cli` builds, needs no newer Rust than Cargo.toml names; unspin-lab needs no
# newer one than its own Cargo.toml names. Tests and other programs of the workspace may, and say so in their own Cargo.toml.
#
# With the toolchain of that version, the product is built by it. In any case:
#   - cargo itself, to which the compiler is shown as one of that version, accepts each package of the build, the embedded
#     library's included. A package that states no version passes.
#   - clippy finds no use of a newer standard library in the product's own crates: the workspace denies incompatible_msrv, and
#     `ci/clippy.sh` checks all crates. Here only a planted use is found.
# Neither finds newer syntax; a real build does.
source "$(dirname "$0")/lib.sh"

product=(--package unspin-cli --bins)
library=(--package unspin-preload --lib)
lab=(--package unspin-lab --bins)
stated_in() { sed -n 's/^rust-version = "\(.*\)"/\1/p' "$1"; }
stated=$(stated_in Cargo.toml)
declare -A needs=([product]=$stated [library]=$stated [lab]=$(stated_in crates/lab/Cargo.toml))
for build in "${!needs[@]}"; do
    [ -n "${needs[$build]}" ] || fail "no rust-version is stated for the $build"
done

# A compiler that answers as one of the version UNSPIN_ANSWERS would, and compiles nothing.
compiler=$(mktemp)
trap 'rm -rf "$compiler"' EXIT
cat >"$compiler" <<'END'
#!/bin/sh
case " $* " in
*" -vV "* | *" --version "* | *" --print="* | *" --print "*) rustc "$@" | sed -E "/^(rustc|release:)/s/1\\.[0-9]+\\.[0-9]+/$UNSPIN_ANSWERS.0/" ;;
*) echo "nothing is compiled" >&2; exit 1 ;;
esac
END
chmod +x "$compiler"

# Whether cargo would let a compiler of this version build this.
accepts() { # FOLDER VERSION PACKAGE...
    local output
    output=$(cd "$1" && UNSPIN_ANSWERS=$2 RUSTC=$compiler CARGO_TARGET_DIR=$target/msrv-accepts-$2 \
        cargo build --locked "${@:3}" 2>&1) &&
        fail "the compiler that compiles nothing has compiled $*"
    grep -qF "nothing is compiled" <<<"$output" || { printf '%s\n' "$output"; return 1; }
}

for build in "${!needs[@]}"; do
    declare -n words=$build
    accepts . "${needs[$build]}" "${words[@]}" || fail "a package of the $build needs a newer Rust than ${needs[$build]}"
done

# A planted package that needs more, and a planted function that the standard library of that version lacks.
scratch=$(mktemp -d)
trap 'rm -rf "$compiler" "$scratch"' EXIT
git ls-files -z --cached --others --exclude-standard | xargs -0 cp --parents -t "$scratch"
sed -i 's/^rust-version\.workspace = true/rust-version = "1.95"/' "$scratch/crates/trace/Cargo.toml"
must_find "unspin-trace" accepts "$scratch" "$stated" "${product[@]}"
must_find "unspin-trace" accepts "$scratch" "${needs[lab]}" "${lab[@]}"
printf '%s\n' '/// Planted.' 'pub fn planted(panic: &std::panic::PanicHookInfo<'"'"'_>) -> bool { panic.payload_as_str().is_some() }' \
    >>"$scratch/crates/sync/src/lib.rs"
lint() { (cd "$scratch" && CARGO_TARGET_DIR=$target/msrv cargo clippy --locked --package unspin-sync); }
must_find "stable since" lint

name=$(rustup toolchain list 2>/dev/null | sed 's/ .*//' | grep -E "^$stated(\.[0-9]+)?-" | head -n 1) || true
if [ -n "$name" ]; then
    CARGO_TARGET_DIR="$target/msrv" cargo "+$name" check --locked "${product[@]}"
    pass "Rust $stated builds the product"
else
    pass "no package of the product needs a newer Rust than $stated, which is not installed here, and none of unspin-lab than ${needs[lab]}; clippy.sh checks the functions"
fi
