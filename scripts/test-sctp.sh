#!/usr/bin/env bash
# SCTP of a kernel, on machines whose own has none: boots Debian's kernel in QEMU (software emulation; minutes) with nothing but
# busybox, the modules, our programs and a stock iperf3, and runs there the suite of transports, what only a kernel can do to an
# association (PPIDs, several paths, abort, restart), and a RIC with two base stations and an xApp.
# Packages are unpacked under target/, never installed. RANLAB names the program; without it the debug build is tried.
set -euo pipefail
cd "$(dirname "$0")/.."

# Wall time of the guest, all in all.
limit=${SCRIPT_SECONDS:-1200}
vm=$PWD/target/sctp-vm
mkdir -p "$vm"

# Unpacks a Debian package into a folder, once: unpacked PACKAGE FOLDER.
unpacked() {
    [[ ! -d $2 ]] || return 0
    (cd "$vm" && rm -f "$1"_*.deb && apt-get download -qq "$1" 2>/dev/null) || { echo "no package $1: apt-get update" >&2; exit 3; }
    dpkg-deb -x "$vm/$1"_*.deb "$2.part"
    mv "$2.part" "$2"
}

# The names of both images, plain and for clouds, are without their version; the small one has all that is needed.
image=$(apt-cache depends linux-image-cloud-amd64 | sed -n 's/ *Depends: //p' | head -n 1)
[[ -n $image ]] || { echo "this machine's package lists know no linux-image-cloud-amd64" >&2; exit 3; }
unpacked "$image" "$vm/$image"
for package in iperf3 libiperf0 libsctp1; do unpacked "$package" "$vm/$package"; done

cargo test -p ranlab-sdk --test transport --test sctp --no-run
# The paths of what was just built.
tests=$(cargo test -p ranlab-sdk --test transport --test sctp --no-run --message-format=json 2>/dev/null |
    sed -n 's/.*"executable":"\([^"]*\)".*/\1/p')
if [[ -z ${RANLAB:-} ]]; then
    cargo build -p ranlab
    RANLAB=$PWD/target/debug/ranlab
fi

root=$vm/root
rm -rf "$root"
mkdir -p "$root"/{bin,proc,sys,dev,run,tmp,lib/modules,lib64,usr/{bin,lib}}
cp "$(command -v busybox)" "$root/bin/busybox"
release=$(basename "$vm/$image"/lib/modules/*)
for module in net/sctp lib/libcrc32c.ko net/ipv4/udp_tunnel.ko net/ipv6/ip6_udp_tunnel.ko drivers/net/veth.ko; do
    from=$vm/$image/lib/modules/$release/kernel/$module
    [[ -e $from ]] || continue # built in
    mkdir -p "$root/lib/modules/$release/kernel/$(dirname "$module")"
    cp -r "$from" "$root/lib/modules/$release/kernel/$module"
done
cp "$vm/$image/lib/modules/$release"/modules.{builtin,builtin.modinfo,order} "$root/lib/modules/$release/"

# A program and the libraries that it names, under the same paths.
export LD_LIBRARY_PATH=$vm/libiperf0/usr/lib/x86_64-linux-gnu:$vm/libsctp1/usr/lib/x86_64-linux-gnu
put() {
    strip --strip-debug -o "$root/usr/bin/$2" "$1"
    chmod 755 "$root/usr/bin/$2"
    local library
    for library in $(ldd "$1" | grep -o '/[^ ]*'); do
        cp -Lu "$library" "$root/usr/lib/"
    done
}
put "$RANLAB" ranlab
put "$(command -v ip)" ip
put "$vm/iperf3/usr/bin/iperf3" iperf3
for test in $tests; do name=$(basename "$test"); put "$test" "test-${name%-*}"; done
unset LD_LIBRARY_PATH
cp -L /lib64/ld-linux-x86-64.so.2 "$root/lib64/"
cp scripts/test-sctp-guest.sh "$root/init"
(cd "$root" && find . | busybox cpio -o -H newc 2>/dev/null) | gzip -1 >"$vm/initramfs"

echo "== $image in QEMU, $(du -h "$vm/initramfs" | cut -f1) of initramfs; $(nproc) processors of software"
start=$SECONDS
code=0
timeout --kill-after=10 "$limit" qemu-system-x86_64 -accel tcg,thread=multi -cpu max -smp "$(nproc)" -m 1024 -nographic -no-reboot \
    -kernel "$vm/$image/boot/vmlinuz-$release" -initrd "$vm/initramfs" -append "console=ttyS0 quiet panic=-1" </dev/null |
    sed -u 's|\r||g' | tee "$vm/log.txt" || code=$?
echo "== $((SECONDS - start)) s in the guest"
((code == 0)) || { echo "the guest did not end by itself (exit code $code)" >&2; exit 1; }
# What it does not say did not happen.
grep -q '^== all of it passed$' "$vm/log.txt"
