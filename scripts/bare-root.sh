#!/usr/bin/env bash
# Runs `make test` in a bare Debian 12: debootstrap's smallest system, with make and the Rust toolchain of this user.
#   scripts/bare-root.sh [PACKAGE...]    with these Debian packages, too
# `make test` installs its requirements there, and tests that lack something are skipped. The system gets the files of the
# working tree that Git tracks, and shares target/ with this checkout, so that nothing is compiled twice. Mounts and
# processes end with the run.
#
# BARE: the folder of the system, which is made if it is absent (default /var/tmp/ranlab-bare). Exit code 77: cannot run
# here.
set -euo pipefail
cd "$(dirname "$0")/.."
here=$PWD root=${BARE:-/var/tmp/ranlab-bare}
export CARGO_HOME=${CARGO_HOME:-$HOME/.cargo} RUSTUP_HOME=${RUSTUP_HOME:-$HOME/.rustup}
[[ $(id -u) == 0 ]] || { echo "only root can enter another system"; exit 77; }
for tool in debootstrap unshare rustup; do
    command -v "$tool" >/dev/null || { echo "$tool is not installed"; exit 77; }
done

# Variables for access to package registries are passed to the system.
mapfile -t passed < <(env | grep -iE '^((https?|no)_proxy|PIP_CERT|PIP_INDEX_URL|SSL_CERT_FILE|RUSTUP_AUTO_INSTALL)=' || true)
# inside COMMAND...: runs a command in the system, in a separate mount and process namespace.
inside() {
    # shellcheck disable=SC2016
    unshare --mount --propagation private --pid --fork --kill-child bash -euc '
        root=$1 here=$2
        shift 2
        # The root directory is a mount point, as on a real machine.
        mount --bind "$root" "$root"
        mount -t proc proc "$root/proc"
        mount --rbind /dev "$root/dev"
        mount --rbind /sys "$root/sys"
        mount -t tmpfs tmpfs "$root/run"
        mount --bind "$RUSTUP_HOME" "$root$RUSTUP_HOME"
        mount -o remount,bind,ro "$root$RUSTUP_HOME"
        for folder in "$CARGO_HOME/bin" "$CARGO_HOME/registry" "$here/target"; do mount --bind "$folder" "$root$folder"; done
        exec chroot "$root" "$@"' bash "$root" "$here" \
        /usr/bin/env -i --chdir="$here" "${passed[@]}" "HOME=$HOME" "CARGO_HOME=$CARGO_HOME" "RUSTUP_HOME=$RUSTUP_HOME" \
        "PATH=$CARGO_HOME/bin:/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin" "$@"
}

if [[ ! -e $root/etc/apt/sources.list.d/security.list ]]; then
    debootstrap --variant=minbase bookworm "$root" >/dev/null
    echo 'deb http://deb.debian.org/debian-security bookworm-security main' >"$root/etc/apt/sources.list.d/security.list"
    # No package starts its service.
    printf '#!/bin/sh\nexit 101\n' >"$root/usr/sbin/policy-rc.d"
    chmod 0755 "$root/usr/sbin/policy-rc.d"
fi
cp -L /etc/resolv.conf "$root/etc/resolv.conf"
rm -rf "${root:?}$here"
mkdir -p target "$CARGO_HOME/registry" "$root$RUSTUP_HOME" "$root$CARGO_HOME/bin" "$root$CARGO_HOME/registry"
git clone --quiet --no-hardlinks "$here" "$root$here"
# Cargo decides by file times what to compile, so the times are preserved.
git ls-files -z | xargs -0 cp --preserve=mode,timestamps --parents --target-directory "$root$here"
mkdir "$root$here/target"

# These are the packages that a user installs manually before `make test`. Rust is provided by its toolchain.
inside apt-get update -qq
inside env DEBIAN_FRONTEND=noninteractive apt-get install -qq -y --no-install-recommends make ca-certificates "$@" >/dev/null
[[ ! -e /etc/ssl/certs/ca-certificates.crt ]] || cp /etc/ssl/certs/ca-certificates.crt "$root/etc/ssl/certs/"
echo "Debian $(cat "$root/etc/debian_version") with $(inside dpkg-query -f '.\n' -W | wc -l) packages" \
    "${*:+(among them $*)}; huge pages: $(awk '/HugePages_Total/ { print $2 }' /proc/meminfo)"
inside make test
