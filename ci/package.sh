#!/usr/bin/env bash
# Makes what users install, and tests it:
#
#   - the tarball unspin-x86_64-linux.tar.gz, whose programs run with glibc 2.28 and later;
#   - the Debian package with the same programs.
#
# Both are made twice, from two clones of the last commit in folders of different names, and must be the same, byte for byte. Then
# they are tried in fresh roots of Debian releases. Everything is in target/package: the results in `out`, the tools in `tools`, the
# roots, which are kept, in `roots`.
#
#   ci/package.sh            makes and tests
#   ci/package.sh --make     makes once, and tests nothing
source "$(dirname "$0")/lib.sh"

place=$target/package
out=$place/out
libc=2.28
triple=x86_64-unknown-linux-gnu
folder=unspin-x86_64-linux
# Releases in which the package is installed, and those in which the tarball is unpacked: the newest, and an old one, which needs the
# preload library for an old glibc.
package_releases=(bookworm trixie)
tarball_releases=(bullseye trixie)

# --- Tools ---

tools=(cargo-zigbuild@0.24.1 cargo-deb@3.8.0 cargo-cyclonedx@0.5.9)
zig=ziglang==0.17.1

install_tools() {
    local tool
    [ -x "$place/tools/python/bin/python3" ] || python3 -m venv "$place/tools/python" || skip "there is no python3-venv: install it"
    "$place/tools/python/bin/pip" install --quiet "$zig" || skip "$zig cannot be installed"
    for tool in "${tools[@]}"; do
        [ -e "$place/tools/made-$tool" ] && continue
        # Quick to build, not to run: each works for a moment.
        CARGO_TARGET_DIR=$place/tools-build CARGO_PROFILE_RELEASE_OPT_LEVEL=0 CARGO_PROFILE_RELEASE_LTO=off \
            CARGO_PROFILE_RELEASE_CODEGEN_UNITS=16 \
            cargo install --quiet --locked --root "$place/tools" "$tool" || skip "$tool cannot be installed"
        touch "$place/tools/made-$tool"
    done
    rm -rf "$place/tools-build"
}

# --- Make ---

# Clones the last commit into FOLDER/unspin, and builds both programs there.
build() { # FOLDER
    local source=$1/unspin cargo_home=${CARGO_HOME:-$HOME/.cargo}
    mkdir -p "$1"
    rm -rf "$source"
    git clone --quiet --local . "$source"
    # The compiler gets flags that name this folder, and these have no part in what it makes: paths, and their hashes.
    (
        cd "$source"
        export CARGO_TARGET_DIR=$1/target CARGO_INCREMENTAL=0
        export RUSTFLAGS="--remap-path-prefix=$source=/usr/src/unspin --remap-path-prefix=$1/target=/usr/src/target"
        RUSTFLAGS+=" --remap-path-prefix=$cargo_home=/usr/src/cargo"
        export CFLAGS="-ffile-prefix-map=$cargo_home=/usr/src/cargo -ffile-prefix-map=$1/target=/usr/src/target"
        cargo zigbuild --locked --release --target "$triple.$libc" --bins --package unspin-cli --package unspin-lab
    )
}

# Fills FOLDER/unspin/stage with what the tarball holds, and makes tarball and package in FOLDER/out.
pack() { # FOLDER
    local source=$1/unspin stage=$1/unspin/stage version
    local share=$stage/share doc=$stage/share/doc/unspin
    mkdir -p "$stage/bin" "$share/man/man1" "$share/bash-completion/completions" "$share/zsh/site-functions" \
        "$share/fish/vendor_completions.d" "$doc/docs/ci" "$doc/docs/schema" "$doc/sbom" "$1/out"
    cp "$1/target/$triple/release/"{unspin,unspin-lab} "$stage/bin"
    "$stage/bin/unspin" man-pages "$share/man/man1"
    "$stage/bin/unspin" completions bash >"$share/bash-completion/completions/unspin"
    "$stage/bin/unspin" completions zsh >"$share/zsh/site-functions/_unspin"
    "$stage/bin/unspin" completions fish >"$share/fish/vendor_completions.d/unspin.fish"
    cp "$source"/{README,CHANGELOG,CONTRIBUTING}.md "$source"/LICENSE-* "$doc"
    cp "$source"/docs/*.md "$doc/docs"
    cp "$source"/docs/ci/*.yml "$doc/docs/ci"
    cp "$source"/docs/schema/*.json "$doc/docs/schema"
    (cd "$source" && make_sbom "$doc/sbom" && python3 ci/package/licences.py >"$doc/THIRD-PARTY-LICENSES.md")
    version=$(sed -n 's/^version = "\(.*\)"/\1/p' "$source/Cargo.toml" | head -n 1)
    {
        printf 'unspin (%s-1) unstable; urgency=medium\n\n' "$version"
        printf '  * Commit %s. /usr/share/doc/unspin/CHANGELOG.md has the changes.\n\n' "$(git -C "$source" rev-parse --short=12 HEAD)"
        printf ' -- The unspin authors <unspin@unspin.invalid>  %s\n' "$(LC_ALL=C date --utc --date="@$SOURCE_DATE_EPOCH" -R)"
    } >"$stage/changelog.Debian"
    (
        cd "$stage"
        chmod -R u=rwX,go=rX .
        tar --create --sort=name --format=gnu --mtime="@$SOURCE_DATE_EPOCH" --owner=0 --group=0 --numeric-owner \
            --transform="s,^\./,$folder/," ./bin ./share | gzip --no-name --best >"$1/out/$folder.tar.gz"
    )
    (
        cd "$source"
        CARGO_TARGET_DIR=$1/target cargo deb --quiet --no-build --no-strip --locked --package unspin-cli \
            --target "$triple" --output "$1/out/"
    )
}

# The crates of each program, and of the preload library, in CycloneDX's form.
make_sbom() { # FOLDER
    local crate
    cargo cyclonedx --quiet --manifest-path crates/cli/Cargo.toml --format json --target "$triple"
    for crate in cli lab preload; do
        # Crates of the workspace are named by their paths.
        sed "s,$PWD,/usr/src/unspin,g" "crates/$crate/unspin-$crate.cdx.json" >"$1/unspin-$crate.cdx.json"
    done
    find bench ci crates tests -name '*.cdx.json' -delete
}

# --- Test ---

# No name of a version of libc that is newer than the oldest which the programs promise to run with.
check_versions() { # PROGRAM
    local newest
    newest=$(objdump -T "$1" | grep -o 'GLIBC_[0-9.]*' | sort -uV | tail -n 1)
    [ "$(printf '%s\n' "GLIBC_$libc" "$newest" | sort -V | tail -n 1)" = "GLIBC_$libc" ] ||
        fail "$1 needs $newest: $(objdump -T "$1" | grep -F "$newest" | head -n 3)"
}

# A root folder of a release, which is kept. Fails if the archive does not serve it.
root_of() { # RELEASE
    local mirror root=$place/roots/$1
    [ ! -d "$root" ] || return 0
    mkdir -p "$place/roots"
    mirror=$(apt-get indextargets --format '$(ORIGIN)|$(LABEL)|$(REPO_URI)' 'Created-By: Packages' |
        sed -n 's/^Debian|Debian|//p' | head -n 1)
    rm -rf "$root.new"
    debootstrap --variant=minbase "$1" "$root.new" "$mirror" >"$root.log" 2>&1 && mv "$root.new" "$root"
}

# Runs a script in a copy of a root, in namespaces of its own. The script finds the files of `out` and smoke.sh in /package.
in_root() { # RELEASE SCRIPT
    local copy code=0
    copy=$(mktemp -d "$place/root-XXXXXX")
    cp -a "$place/roots/$1/." "$copy"
    mkdir "$copy/package"
    cp "$out"/* ci/package/smoke.sh "$copy/package"
    unshare --mount --pid --fork --kill-child --propagation private sh -ec '
        mount -t proc proc "$1/proc"
        mount -t sysfs -o ro sysfs "$1/sys"
        mkdir -p "$1/dev/shm"
        mount -t tmpfs -o mode=1777 tmpfs "$1/dev/shm"
        exec chroot "$1" env -i PATH=/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin HOME=/root LC_ALL=C.UTF-8 \
            DEBIAN_FRONTEND=noninteractive sh -ec "$2"' sh "$copy" "$2" || code=$?
    rm -rf --one-file-system "$copy"
    return $code
}

# What a user does with the package: installs it, uses it, removes it, purges it. Nothing stays but what dpkg itself writes.
# shellcheck disable=SC2016
with_package='
files() { find / -xdev \( -path /package -o -path /proc -o -path /sys -o -path /dev -o -path /var/lib/dpkg -o -path /var/cache/debconf \
    -o -path /var/log -o -path /tmp -o -path /root \) -prune -o -print | sort; }
files >/tmp/before
dpkg --install /package/unspin_*.deb
sh /package/smoke.sh
for file in man/man1/unspin.1.gz man/man1/unspin-run.1.gz bash-completion/completions/unspin zsh/vendor-completions/_unspin \
    fish/vendor_completions.d/unspin.fish doc/unspin/copyright doc/unspin/THIRD-PARTY-LICENSES.md.gz doc/unspin/sbom/unspin-cli.cdx.json.gz; do
    [ -e /usr/share/$file ] || [ -e /usr/share/${file%.gz} ] || { echo "/usr/share/$file is missing"; exit 1; }
done
[ -d /var/cache/unspin ] || { echo "the cache of root is not in /var/cache/unspin"; exit 1; }
dpkg --remove unspin
[ -d /var/cache/unspin ] || { echo "a removal that is no purge took the cache"; exit 1; }
dpkg --purge unspin
files >/tmp/after
diff /tmp/before /tmp/after || { echo "the purge left these"; exit 1; }
'
# shellcheck disable=SC2016
with_tarball='
tar -xzf /package/unspin-x86_64-linux.tar.gz -C /opt
PATH=/opt/unspin-x86_64-linux/bin:$PATH
export PATH
sh /package/smoke.sh
'

try_in() { # RELEASE WHAT SCRIPT
    if ! root_of "$1"; then
        echo "SKIPPED package: the $2 in $1: because the archive does not serve it: $(tail -n 1 "$place/roots/$1.log")"
        return
    fi
    in_root "$1" "$3" || fail "the $2 does not work in $1"
    tried+=("$2 in $1")
}

# ---

[ "$(uname -m)" = x86_64 ] || skip "unspin runs on x86-64"
for program in git python3 objdump nm; do
    command -v "$program" >/dev/null || skip "there is no $program: install it"
done
mkdir -p "$place"
install_tools
export PATH=$place/tools/bin:$place/tools/python/bin:$PATH
SOURCE_DATE_EPOCH=$(git log -1 --format=%ct)
export SOURCE_DATE_EPOCH
[ -z "$(git status --porcelain)" ] || echo "package: files that are not committed are left out"

# The names differ in length, too.
first=$place/one
second=$place/another-folder
build "$first"
pack "$first"
rm -rf "$out"
cp -r "$first/out" "$out"
(cd "$out" && sha256sum -- *)
[ "${1:-}" != --make ] || { pass "made $(ls "$out" | xargs)"; exit 0; }

for program in unspin unspin-lab; do
    check_versions "$first/unspin/stage/bin/$program"
done
command -v lintian >/dev/null || skip "there is no lintian: ci/setup.sh --all installs it"
lintian --fail-on error,warning --tag-display-limit 0 "$out"/*.deb || fail "lintian complains about the package"

build "$second"
pack "$second"
for file in "$out"/*; do
    cmp "$file" "$second/out/$(basename "$file")" || fail "a second build in another folder is not the same: $(basename "$file")"
done
echo "package: the second build is the same"

[ "$(id -u)" -eq 0 ] || skip "only root can try the packages in roots of other releases; they are in $out"
command -v debootstrap >/dev/null || skip "there is no debootstrap: ci/setup.sh --all installs it"
tried=()
for release in "${package_releases[@]}"; do try_in "$release" package "$with_package"; done
for release in "${tarball_releases[@]}"; do try_in "$release" tarball "$with_tarball"; done
[ ${#tried[@]} -gt 0 ] || skip "no root of a release can be made"
pass "the same twice; tried: $(printf '%s, ' "${tried[@]}" | sed 's/, $//')"
