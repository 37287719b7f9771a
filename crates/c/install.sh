#!/usr/bin/env bash
# Builds libunspin_sysv and installs it with its header and its pkg-config file. Needs cargo only.
#
#   crates/c/install.sh PREFIX              for example /usr/local, or $HOME/.local
#   crates/c/install.sh --profile dev PREFIX    with debug assertions
#
# DESTDIR is put in front of PREFIX, as in make install, and is not written into anything.
set -euo pipefail

usage() {
    echo "usage: $0 [--profile PROFILE] PREFIX" >&2
    exit 2
}

# The profile in which the engine is inlined into the functions that C calls.
profile=preload
if [ "${1:-}" = --profile ]; then
    [ $# -ge 2 ] || usage
    profile=$2
    shift 2
fi
[ $# -eq 1 ] || usage
case $1 in
    /*) prefix=${1%/} ;;
    -*) usage ;;
    *) prefix=$PWD/${1%/} ;;
esac
into=${DESTDIR:-}$prefix

here=$(cd "$(dirname "${BASH_SOURCE[0]}")" && pwd)
root=$(cd "$here/../.." && pwd)
value() {
    sed -n "s/^$1 = \"\(.*\)\"/\1/p" "$root/Cargo.toml" | head -n 1
}
version=$(value version) url=$(value repository)
name=libunspin_sysv.so

target=${CARGO_TARGET_DIR:-$root/target}
"${CARGO:-cargo}" build --quiet --locked --manifest-path "$root/Cargo.toml" --package unspin-c \
    --profile "$profile" --target-dir "$target"
case $profile in
    dev) built=$target/debug ;;
    *) built=$target/$profile ;;
esac

install -d "$into/include/unspin" "$into/lib/pkgconfig"
install -m 644 "$here/include/unspin/sysv.h" "$into/include/unspin/"
install -m 755 "$built/$name" "$into/lib/$name.$version"
install -m 644 "$built/libunspin_sysv.a" "$into/lib/"
ln -sf "$name.$version" "$into/lib/$name.${version%%.*}"
ln -sf "$name.${version%%.*}" "$into/lib/$name"
sed -e "s|@PREFIX@|$prefix|" -e "s|@VERSION@|$version|" -e "s|@URL@|$url|" \
    "$here/unspin-sysv.pc.in" >"$into/lib/pkgconfig/unspin-sysv.pc"
echo "installed unspin-sysv $version below $into"
