#!/usr/bin/env bash
# Installs what the tests can use, where that is possible: Debian, root. Everything here is optional: a test that
# lacks something says that it is skipped.
#
#     ci/setup.sh          what the first tier uses
#     ci/setup.sh --all    what the nightly tier and the benchmark use, too
source "$(dirname "$0")/lib.sh"

command -v apt-get >/dev/null || skip "this is no Debian: install a C compiler, stress-ng and liburcu yourself"
packages=(build-essential libjemalloc2 libtcmalloc-minimal4 stress-ng liburcu-dev valgrind util-linux pkg-config)
packages+=(python3-dev python3-venv memcached kyotocabinet-utils rocksdb-tools sysbench rt-tests)
packages+=(postgresql apache2-bin fakeroot php-cli perl libipc-shareable-perl libipc-sharelite-perl)
packages+=(buffer bonnie++ dmsetup default-jdk-headless musl-tools crun bubblewrap)
packages+=(zsh fish mandoc)
# What ci/sched.sh builds the schedulers with. Debian's backports and later releases have clang-19.
packages+=(libelf-dev zlib1g-dev)
! apt-cache show clang-19 >/dev/null 2>&1 || packages+=(clang-19)
# What ci/vm.sh boots kernels with.
packages+=(qemu-system-x86)
# What ci/page.sh opens pages with. Some packages of nodejs contain npm, and exclude the package npm.
packages+=(chromium nodejs)
command -v npm >/dev/null || packages+=(npm)
if [ "${1:-}" = --all ]; then
    # What perf measures is compared in the nightly tier, and Prometheus scrapes a metered program; the others are run by the
    # benchmark of waits.
    packages+=(linux-perf prometheus redis-server redis-tools ruby pigz ffmpeg make)
    # What ci/fleet.sh runs a fleet with.
    packages+=(slurm-wlm munge parallel rsync jq)
    # What ci/package.sh makes and tests the packages with.
    packages+=(debootstrap lintian dpkg-dev)
fi
# Its name has Debian's version of Python in it.
version=$(/usr/bin/python3 -c 'import sys; print("%d.%d" % sys.version_info[:2])' 2>/dev/null) &&
    packages+=("libpython$version-testsuite")
missing=()
for package in "${packages[@]}"; do
    dpkg-query --show --showformat '${db:Status-Abbrev}' "$package" 2>/dev/null | grep -q '^ii' || missing+=("$package")
done
[ ${#missing[@]} -eq 0 ] && { pass "everything is there"; exit 0; }
[ "$(id -u)" -eq 0 ] || skip "only root can install ${missing[*]}"
export DEBIAN_FRONTEND=noninteractive
apt-get update -qq && apt-get install -qq --no-install-recommends "${missing[@]}" >/dev/null ||
    skip "${missing[*]} cannot be installed"
pass "installed ${missing[*]}"
