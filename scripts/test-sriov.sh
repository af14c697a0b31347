#!/usr/bin/env bash
# Tests a shared network card and the kernel's schedulers on machines without virtual functions. Boots an unmodified kernel in
# QEMU 10 (software emulation, some minutes; both from Debian backports), with an Intel 82576 (igb) at both ends of two cables.
# Runs the rows of figures 4 and 5 over virtual functions and macvlan, every supported `tc` scheduler, and a campaign that is
# killed. Emulated time is not real time, so the checks cover only delivery, order and cleanup. In a run whose clock counts
# instructions, they also cover the instructions per packet for each way to share the card. Packages are unpacked under
# target/, never installed. RANLAB names the program; default: the debug build.
set -euo pipefail
cd "$(dirname "$0")/.."
. scripts/guest.sh

guest sriov-vm bookworm-backports
kernel linux-image-amd64
for package in qemu-system-x86 qemu-system-common qemu-system-data seabios; do unpacked "$package" "$vm/$package"; done

# Tests whether schedulers work as configured.
cargo test -p ranlab-xhaul-lab --lib --no-run
orders=$(cargo test -p ranlab-xhaul-lab --lib --no-run --message-format=json 2>/dev/null | sed -n 's/.*"executable":"\([^"]*\)".*/\1/p')
if [[ -z ${RANLAB:-} ]]; then
    cargo build -p ranlab
    RANLAB=$PWD/target/debug/ranlab
fi

rootfs
modules igb igbvf veth macvlan bridge sch_tbf sch_htb sch_prio sch_taprio sch_mqprio sch_cbs sch_etf sch_ingress \
    cls_u32 cls_matchall act_skbedit
put "$RANLAB" ranlab
put "$(command -v ip)" ip
put "$(command -v tc)" tc
put "$orders" test-parts
mkdir "$root/scenarios"
cp scenarios/xhaul/{sriov-*,cost}.toml "$root/scenarios/"

# Two cables with an igb at each end: eth0 to eth1, eth2 to eth3.
cards=()
slot=0
for cable in 1 2; do
    for end in near far; do
        slot=$((slot + 1))
        cards+=(-netdev "hubport,hubid=$cable,id=$end$cable" -device "pcie-root-port,id=slot$slot,chassis=$slot,slot=$slot"
            -device "igb,bus=slot$slot,netdev=$end$cable,mac=52:54:00:00:00:0$slot,romfile=")
    done
done
# Prevents the use of modules of an installed QEMU.
export QEMU_MODULE_DIR=$vm/none
qemu=("$vm/qemu-system-x86/usr/bin/qemu-system-x86_64" -L "$vm/qemu-system-data/usr/share/qemu" -L "$vm/seabios/usr/share/seabios"
    -L "$vm/qemu-system-common/usr/share/qemu" -M q35 -m 1536 -nic none)
# AVX is disabled, because its emulation slows everything down by a third. There are two processors, because a card has
# one queue for each.
cpu=Nehalem,+rdrand
processors=(-accel tcg,thread=multi -smp 2)
# The guest reads a register of the cards without the driver.
words=iomem=relaxed
boot scripts/test-sriov-guest.sh "${SCRIPT_SECONDS:-1500}" "${qemu[@]}" "${cards[@]}"

# The guest runs again with one processor whose clock counts instructions. The cost of a packet in instructions is then
# the same in every run.
processors=(-accel tcg,thread=single -icount "shift=0,sleep=off" -smp 1)
words=RANLAB_GUEST=instructions
boot scripts/test-sriov-guest.sh "${SCRIPT_SECONDS:-1500}" "${qemu[@]}"
