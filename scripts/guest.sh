# Sourced by scripts that boot another kernel in QEMU (test-sctp.sh, test-sriov.sh): unpacks packages without
# installing them, builds an initramfs from busybox, modules and programs, and boots a guest that must report
# success.
# shellcheck shell=bash

# guest FOLDER [SUITE]: sets the folder for all files, below target/. With a Debian suite, packages come from
# that suite, with separate package lists; those of the machine are not changed.
guest() {
    vm=$PWD/target/$1
    root=$vm/root
    sources=()
    mkdir -p "$vm"
    [[ -n ${2:-} ]] || return 0
    mkdir -p "$vm/lists/partial" "$vm/cache/archives/partial"
    echo "deb [signed-by=/usr/share/keyrings/debian-archive-keyring.gpg] http://deb.debian.org/debian $2 main" >"$vm/sources.list"
    sources=(-o "Dir::Etc::sourcelist=$vm/sources.list" -o Dir::Etc::sourceparts=/dev/null -o "Dir::State::lists=$vm/lists"
        -o "Dir::Cache=$vm/cache" -o APT::Sandbox::User=root)
    apt-get "${sources[@]}" update -qq || { echo "no package lists of $2" >&2; exit 3; }
}

# unpacked PACKAGE FOLDER: unpacks a Debian package into a folder, unless it was unpacked before.
unpacked() {
    [[ ! -d $2 ]] || return 0
    (cd "$vm" && rm -f "$1"_*.deb && apt-get "${sources[@]}" download -qq "$1" 2>/dev/null) ||
        { echo "no package $1: apt-get update" >&2; exit 3; }
    dpkg-deb -x "$vm/$1"_*.deb "$2.part"
    rm "$vm/$1"_*.deb
    mv "$2.part" "$2"
}

# kernel PACKAGE: finds the kernel image on which this package depends; the package's name has no version. Sets image
# and release.
kernel() {
    image=$(apt-cache "${sources[@]}" depends "$1" | sed -n 's/ *Depends: \(linux-image\)/\1/p' | head -n 1)
    [[ -n $image ]] || { echo "no $1 in the package lists of this machine" >&2; exit 3; }
    unpacked "$image" "$vm/$image"
    release=$(basename "$vm/$image"/lib/modules/*)
}

# Creates an empty initramfs.
rootfs() {
    rm -rf "$root"
    mkdir -p "$root"/{bin,proc,sys,dev,run,tmp,lib/modules,lib64,usr/{bin,lib}}
    cp "$(command -v busybox)" "$root/bin/busybox"
    cp -L /lib64/ld-linux-x86-64.so.2 "$root/lib64/"
}

# modules NAME...: adds modules with their dependencies. A module without a file may be built into the kernel; otherwise,
# loading it fails later.
modules() {
    local from=$vm/$image/lib/modules/$release to=$root/lib/modules/$release needs=$vm/$image/needs name file
    [[ -e $needs ]] || { busybox depmod -n -b "$vm/$image" "$release" >"$needs.part" && mv "$needs.part" "$needs"; }
    mkdir -p "$to"
    cp "$from"/modules.{builtin,builtin.modinfo,order} "$to/"
    for name in "$@"; do
        for file in $(grep -E "^[^:]*/$name\.ko(\.xz)?:" "$needs" | head -n 1 | tr -d :); do
            mkdir -p "$to/$(dirname "$file")"
            case $file in
            *.xz) xz -dc "$from/$file" >"$to/${file%.xz}" ;;
            *) cp "$from/$file" "$to/$file" ;;
            esac
        done
    done
}

# put FILE NAME: adds a program with its shared libraries, which keep their paths.
put() {
    strip -o "$root/usr/bin/$2" "$1"
    chmod 755 "$root/usr/bin/$2"
    local library
    for library in $(ldd "$1" | grep -o '/[^ ]*\.so[^ ]*'); do
        cp -Lu "$library" "$root/usr/lib/"
    done
}

# Processors of the machine, and kernel parameters. Parameters with `=` are environment variables of the first process.
processors=(-accel tcg,thread=multi -smp "$(nproc)")
cpu=max
words=

# boot INIT SECONDS QEMU [ARGUMENT...]: boots the initramfs with the first process INIT and a time limit. Succeeds only if
# the guest reports that all tests have passed.
boot() {
    local init=$1 limit=$2 start=$SECONDS code=0
    shift 2
    install -m 755 "$init" "$root/init"
    # The archive is not compressed, because the emulated processor would have to decompress it.
    (cd "$root" && find . | busybox cpio -o -H newc 2>/dev/null) >"$vm/initramfs"
    echo "== $image in QEMU, $(du -h "$vm/initramfs" | cut -f1) of initramfs: ${processors[*]}"
    # On a busy machine, one of two emulated processors may lose its timer before a program runs. The boot is then repeated,
    # at most twice.
    local try pid
    for try in 1 2 3; do
        : >"$vm/log.txt"
        timeout --kill-after=10 "$limit" "$@" "${processors[@]}" -cpu "$cpu" -nographic -no-reboot -kernel "$vm/$image/boot/vmlinuz-$release" \
            -initrd "$vm/initramfs" -append "console=ttyS0 quiet panic=-1 no_timer_check mitigations=off tsc=reliable $words" </dev/null > >(sed -u 's|\r||g' | tee "$vm/log.txt") &
        pid=$!
        for _ in $(seq "$((try == 3 ? limit : 180))"); do
            grep -q 'GNU/Linux' "$vm/log.txt" && break
            kill -0 $pid 2>/dev/null || break
            sleep 1
        done
        grep -q 'GNU/Linux' "$vm/log.txt" && break
        echo "== the guest's kernel hangs (attempt $try)"
        kill $pid 2>/dev/null || true
        wait $pid || true
    done
    wait $pid || code=$?
    # Waits for the last lines of output.
    sleep 1
    echo "== $((SECONDS - start)) s in the guest"
    ((code == 0)) || { echo "the guest did not end by itself (exit code $code)" >&2; exit 1; }
    grep -q '^== all tests passed$' "$vm/log.txt"
}
