#!/usr/bin/env bash
# Installs the artifacts in target/dist on a bare Debian 12 (debootstrap's smallest system, without a compiler) in the
# same way as a user: the Debian packages, the archive, and the wheel. Measures the time from the installation to the
# first KPI on the screen. It then checks the C library's information for pkg-config, and the checksums. Programs of
# another architecture run where qemu-user is installed.
#
# DIST_ROOT: the folder of the system, which is made if it is absent (default /var/tmp/ranlab-dist). Exit code 77: cannot
# run here.
set -euo pipefail
cd "$(dirname "$0")/.."
dist=$PWD/target/dist root=${DIST_ROOT:-/var/tmp/ranlab-dist}
[[ $(id -u) == 0 ]] || { echo "only root can enter another system"; exit 77; }
for tool in debootstrap unshare; do
    command -v "$tool" >/dev/null || { echo "$tool is not installed"; exit 77; }
done
compgen -G "$dist/*_amd64.deb" >/dev/null || { echo "no packages in target/dist: make dist" >&2; exit 3; }
(cd "$dist" && sha256sum --quiet --check SHA256SUMS)

mapfile -t passed < <(env | grep -iE '^((https?|no)_proxy|PIP_CERT|PIP_INDEX_URL|SSL_CERT_FILE)=' || true)
# inside COMMAND...: runs a command in the system, in separate mount, process and network namespaces.
inside() {
    # shellcheck disable=SC2016
    unshare --mount --propagation private --pid --fork --kill-child ${OWN_NETWORK:+--net} bash -euc '
        root=$1
        shift
        mount --bind "$root" "$root"
        mount -t proc proc "$root/proc"
        mount --rbind /dev "$root/dev"
        mount -t tmpfs tmpfs "$root/run"
        [[ -z ${OWN_NETWORK:-} ]] || ip link set lo up
        exec chroot "$root" "$@"' bash "$root" \
        /usr/bin/env -i --chdir=/root "${passed[@]}" HOME=/root "PATH=/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin" "$@"
}
if [[ ! -e $root/usr/sbin/policy-rc.d ]]; then
    debootstrap --variant=minbase --include=ca-certificates,python3-pip,python3-venv bookworm "$root" >/dev/null
    # No package starts its service.
    printf '#!/bin/sh\nexit 101\n' >"$root/usr/sbin/policy-rc.d"
    chmod 0755 "$root/usr/sbin/policy-rc.d"
fi
cp -L /etc/resolv.conf "$root/etc/resolv.conf"
[[ ! -e /etc/ssl/certs/ca-certificates.crt ]] || cp /etc/ssl/certs/ca-certificates.crt "$root/etc/ssl/certs/"
inside sh -c 'dpkg --purge ranlab ranlab-ric >/dev/null 2>&1; rm -rf /root/*' || true
cp "$dist"/* "$root/root/"

# first_kpi NAME COMMAND...: runs an installation and a demonstration; prints the time to the first line with a KPI.
first_kpi() {
    local name=$1 begin line seconds
    shift
    begin=$(date +%s%N)
    line=$(inside sh -c "$*" 2>&1 | tee "$root/root/$name.log" | grep --max-count=1 -E '[0-9.]+ [kM]bit/s|indications/s' || true)
    seconds=$(($(date +%s%N) - begin))
    [[ -n $line ]] || { echo "$name: no KPI"; tail -n 20 "$root/root/$name.log"; exit 1; }
    printf '%-8s %6.1f s to: %s\n' "$name" "$((seconds / 1000000))e-3" "$line"
    ((seconds < 60000000000)) || { echo "$name: more than 60 s"; exit 1; }
}
first_kpi deb 'apt-get install -qq -y ./ranlab_*_amd64.deb ./ranlab-ric_*_amd64.deb >/dev/null && ranlab demo --duration 6s'
first_kpi archive 'tar xzf ranlab-[0-9]*-x86_64-linux.tar.gz && ./ranlab-[0-9]*-x86_64-linux/bin/ranlab demo --duration 6s'
first_kpi wheel 'python3 -m venv v && v/bin/pip install -q ./ranlab-*x86_64.whl && v/bin/ranlab demo --duration 6s'

inside sh -euc '
    ranlab --version
    ranlab-ric --version
    for file in /lib/systemd/system/ranlab-upf.service /lib/systemd/system/ranlab-ric.service /etc/default/ranlab-ric \
        /usr/share/man/man1/ranlab.1.gz /usr/share/bash-completion/completions/ranlab; do
        test -e "$file" || { echo "$file is not installed"; exit 1; }
    done
    tar xzf ranlab-c-*-x86_64-linux.tar.gz
    test -e ranlab-c-*-x86_64-linux/include/ranlab.h'
if command -v qemu-aarch64-static >/dev/null && compgen -G "$dist/ranlab-*-aarch64-linux.tar.gz" >/dev/null; then
    other=$(mktemp -d)
    tar xzf "$dist"/ranlab-[0-9]*-aarch64-linux.tar.gz -C "$other"
    qemu-aarch64-static "$other"/*/bin/ranlab demo --duration 5s | tail -n 3
    rm -r "$other"
else
    echo 'aarch64: not run (no package of it in target/dist, or qemu-user-static is not installed)'
fi
echo 'the artifacts install and run'
