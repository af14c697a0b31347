#!/usr/bin/env bash
# Tests kernel SCTP on machines whose kernel lacks it. Boots Debian's kernel in QEMU (software emulation, some minutes) with
# only busybox, the modules, the programs and an unmodified iperf3. Runs the transport suite, tests of kernel features (PPIDs,
# multi-homing, abort, restart), and a RIC with two base stations and an xApp. Packages are unpacked under target/, never
# installed. RANLAB names the program; default: the debug build.
set -euo pipefail
cd "$(dirname "$0")/.."
. scripts/guest.sh

guest sctp-vm
# The small cloud image contains everything that the tests need.
kernel linux-image-cloud-amd64
for package in iperf3 libiperf0 libsctp1; do unpacked "$package" "$vm/$package"; done

cargo test -p ranlab-transport --test transport --test sctp --no-run
# Paths of the test binaries that were just built.
tests=$(cargo test -p ranlab-transport --test transport --test sctp --no-run --message-format=json 2>/dev/null |
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
