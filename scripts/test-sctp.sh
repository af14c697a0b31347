#!/usr/bin/env bash
# SCTP of a kernel, on machines whose own has none: boots Debian's kernel in QEMU (software emulation; minutes) with nothing but
# busybox, the modules, our programs and a stock iperf3, and runs there the suite of transports, what only a kernel can do to an
# association (PPIDs, several paths, abort, restart), and a RIC with two base stations and an xApp.
# Packages are unpacked under target/, never installed. RANLAB names the program; without it the debug build is tried.
set -euo pipefail
cd "$(dirname "$0")/.."
. scripts/guest.sh

guest sctp-vm
# The small image, for clouds, has all that is needed.
kernel linux-image-cloud-amd64
for package in iperf3 libiperf0 libsctp1; do unpacked "$package" "$vm/$package"; done

cargo test -p ranlab-sdk --test transport --test sctp --no-run
# The paths of what was just built.
tests=$(cargo test -p ranlab-sdk --test transport --test sctp --no-run --message-format=json 2>/dev/null |
    sed -n 's/.*"executable":"\([^"]*\)".*/\1/p')
if [[ -z ${RANLAB:-} ]]; then
    cargo build -p ranlab
    RANLAB=$PWD/target/debug/ranlab
fi

rootfs
modules sctp sctp_diag veth
export LD_LIBRARY_PATH=$vm/libiperf0/usr/lib/x86_64-linux-gnu:$vm/libsctp1/usr/lib/x86_64-linux-gnu
put "$RANLAB" ranlab
put "$(command -v ip)" ip
put "$vm/iperf3/usr/bin/iperf3" iperf3
for test in $tests; do name=$(basename "$test"); put "$test" "test-${name%-*}"; done
unset LD_LIBRARY_PATH
boot scripts/test-sctp-guest.sh "${SCRIPT_SECONDS:-1200}" qemu-system-x86_64 -m 1024
