#!/bin/busybox sh
# First process of the guest that scripts/test-sriov.sh boots: runs the programs in /usr/bin and reports
# failures.
/bin/busybox --install -s /bin
export PATH=/usr/bin:/bin LD_LIBRARY_PATH=/usr/lib TMPDIR=/tmp
mount -t proc none /proc
mount -t sysfs none /sys
mount -t devtmpfs none /dev
mount -t tmpfs none /tmp
mount -t tmpfs none /run
depmod
for module in igb igbvf veth macvlan bridge sch_tbf sch_htb sch_prio sch_taprio sch_mqprio sch_cbs sch_etf sch_ingress \
    cls_u32 cls_matchall act_skbedit; do modprobe $module; done
ip link set lo up
uname -a
cd /tmp

failed=
step() {
    echo "== $1 ($(cut -d' ' -f1 /proc/uptime) s)"
    shift
    "$@" || failed="$failed [$*: $?]"
}

# Lists ports whose cards have a clock for timestamps, and whether timestamping is enabled.
clocks() { ranlab doctor 2>&1 | grep '/dev/ptp'; }

# Checks that a campaign has left no namespaces, no virtual functions, no moved ports, and no queueing disciplines other than
# those of the driver.
clean() {
    [ -z "$(ls /run/netns 2>/dev/null)" ] || { ls /run/netns; return 1; }
    for port in eth0 eth1 eth2 eth3; do
        [ "$(cat /sys/class/net/$port/device/sriov_numvfs)" = 0 ] || { echo "$port has functions"; return 1; }
        ! /usr/bin/tc qdisc show dev $port | grep -E ' (tbf|htb|taprio|mqprio|clsact) ' || return 1
    done
    # Timestamping of the cards must be disabled.
    ! clocks | grep 'stamps now' || return 1
    [ "$(ls /sys/class/net | wc -l)" = 5 ] || { ls /sys/class/net; return 1; }
}

# campaign NAME POINTS FUNCTIONS [SETTING]: runs a campaign with POINTS points, FUNCTIONS of them with virtual
# functions. The campaign must carry every packet, report that it is emulated, judge no delay, and leave nothing behind.
# One repeat has no variance, so the check uses its numbers.
campaign() {
    { ranlab bench run /scenarios/$1.toml --fresh --out /tmp/$1 --set measure.repeats=1 ${4:+--set $4}; echo $? >/tmp/told; } 2>&1 |
        tee /tmp/$1.out | while read -r line; do
            case $line in EMULATED* | [0-9]*/[0-9]* | differs* | fails*) echo "$(cut -d' ' -f1 /proc/uptime) s: $line" | cut -c1-160 ;; esac
        done
    told=$(cat /tmp/told)
    ranlab bench query /tmp/$1 "SELECT label, metric, value FROM results WHERE metric LIKE 'live.f%' OR metric LIKE '%lost_ratio'" \
        --format json >/tmp/$1.json
    # The cell of each point, in both directions.
    [ "$(grep -o '"cell_[du]l.lost_ratio",0[.0]*\]' /tmp/$1.json | wc -l)" = $((2 * $2)) ] || { cat /tmp/$1.json; return 1; }
    [ "$(grep -o '"live.functions",[1-9]' /tmp/$1.json | wc -l)" = $3 ] || { echo "the number of points with functions differs"; cat /tmp/$1.json; return 1; }
    ! grep -qE 'lost_ratio",(0\.0*[1-9]|[1-9])' /tmp/$1.json || { cat /tmp/$1.json; return 1; }
    grep -q EMULATED /tmp/$1.out || { echo "the output does not contain EMULATED"; return 1; }
    ! grep -qE 'live: 99 % of frames take at most' /tmp/$1.out || { echo "the output contains a verdict about a delay"; return 1; }
    clean && return $told
}

# The card that QEMU emulates keeps the timestamp of a received frame until RXSATRH is read, and stamps no other frame in the
# meantime. A real card keeps it until RXSTMPH is read, which is the register that Linux reads. Without help, QEMU therefore
# stamps only the first frame. This loop reads RXSATRH repeatedly. It may discard a timestamp before the driver reads it; the
# checks allow frames without one. Few arrivals of frames from a virtual function are stamped (2 of 13). The reason is
# probably that the card's embedded switch occupies the register (according to its source, not proven). One direction of six
# may therefore have no timestamps.
bars() { for port in 0 1 2 3; do cut -d' ' -f1 /sys/class/net/eth$port/device/resource | head -n 1; done; }
unlatch() { while :; do for bar in "$@"; do devmem $((bar + 0xB630)) 32 >/dev/null; done; sleep 0.2; done; }

# Sends frames between the two ports of a cable, for every way to share the card. The cards must stamp every departure in order,
# and some arrivals (see above), none before its departure. The offset of the two clocks is reported with its error. Then
# does the same with timestamps of the kernel.
stamps() {
    # shellcheck disable=SC2046
    unlatch $(bars | head -n 2) &
    unlatching=$!
    stamped
    told=$?
    kill $unlatching
    return $told
}
stamped() {
    clocks | tee /tmp/clocks
    [ "$(grep -o 'eth[0-3]: /dev/ptp[0-9]' /tmp/clocks | wc -l)" = 4 ] || return 1
    for who in card kernel; do
        ranlab bench run /scenarios/sriov-stamps.toml --fresh --out /tmp/$who --set live.stamps=$who --set measure.repeats=1 >/tmp/$who.out 2>&1 ||
            { cat /tmp/$who.out; return 1; }
        ranlab bench query /tmp/$who "SELECT label, metric, value FROM results WHERE metric LIKE 'cable_%' OR metric LIKE 'live.clock%'" \
            --format json >/tmp/$who.json
        tr ']' '\n' </tmp/$who.json | grep -vE '(lost_ratio|unordered|early)",0' | cut -c1-100
        [ "$(grep -o '"cable_[du]l.left_ratio",1[.0]*\]' /tmp/$who.json | wc -l)" = 6 ] || return 1
        [ "$(grep -oE '"cable_[du]l.stamped_ratio",(1[.0]*\]|0\.[0-9]*[1-9])' /tmp/$who.json | wc -l)" -ge 5 ] || return 1
        # The kernel stamps every frame at both ends.
        [ $who = card ] || [ "$(grep -o '"cable_[du]l.stamped_ratio",1[.0]*\]' /tmp/$who.json | wc -l)" = 6 ] || return 1
        [ "$(grep -oE '"cable_[du]l.(lost_ratio|unordered|early)",0[.0]*\]' /tmp/$who.json | wc -l)" = 18 ] || return 1
        grep -E 'stamped by' /tmp/$who.out
        clean || return 1
    done
    [ "$(grep -o '"live.clock",1[.0]*\]' /tmp/card.json | wc -l)" = 3 ] && [ "$(grep -o '"live.clock",0[.0]*\]' /tmp/kernel.json | wc -l)" = 3 ] &&
        [ "$(grep -oE '"live.clock_error_us",([1-9]|0\.0*[1-9])' /tmp/card.json | wc -l)" = 3 ]
}

schedulers() { RANLAB_SCHEDULERS=all test-parts live::orders --test-threads 1 --nocapture; }

# Kills a campaign and its worker while virtual functions carry its packets, so that neither can clean up.
killed() {
    ranlab bench run /scenarios/sriov-fig4.toml --fresh --out /tmp/killed --set net.testbed=sriov-a --set user.mbps=9 \
        --set measure.duration=300s --set measure.repeats=1 >/tmp/killed.out 2>&1 &
    campaign=$!
    functions() { cat /sys/devices/pci*/*/*/sriov_numvfs | grep -c '^[1-9]'; }
    # Waits until both cards have created their functions and everything has been moved out of this namespace.
    for _ in $(seq 1500); do
        { [ "$(functions)" = 2 ] && [ "$(ls /sys/class/net)" = lo ]; } && break
        kill -0 $campaign || break
        sleep 0.2
    done
    worker=$(cat /proc/$campaign/task/*/children)
    kill -9 $worker $campaign
    wait $campaign 2>/dev/null
    # The memory of the process is still being released when `kill` returns.
    for process in $worker; do
        for _ in $(seq 300); do
            [ -e /proc/$process/stat ] && ! grep -q ') Z' /proc/$process/stat || break
            sleep 0.2
        done
    done
    # Timestamping is still enabled too: `clean`, after the next campaign, finds it disabled.
    [ -n "$(ls /run/netns)" ] && [ "$(functions)" = 2 ] || { echo "the killed process left nothing to clean up"; cat /tmp/killed.out; return 1; }
}

# Instructions per packet for each way to share: dedicated < macvlan < bridge.
instructions() {
    ranlab bench run /scenarios/cost.toml --fresh --out /tmp/cost --set live.instructions=true --set live.cost_batches=60 \
        --set measure.duration=100ms --set measure.warm_up=0s --set measure.repeats=3 >/tmp/cost.out 2>&1
    told=$?
    cat /tmp/cost.out
    ranlab bench query /tmp/cost "SELECT label, metric, value FROM results WHERE metric = 'cost_instructions_dl' OR metric = 'cost_instructions_ul'"
    grep -q 'holds.*cost_dl_of_port' /tmp/cost.out && return $told
}

if [ "${RANLAB_GUEST:-}" = instructions ]; then
    step "instructions of a packet" instructions
elif [ "${RANLAB_GUEST:-}" = stamps ]; then
    step "cards stamp by their own clocks, and stop" stamps
else
    step "ports and functions, as the program sees them" sh -c "ranlab doctor 2>&1 | grep -E 'eth0: [0-9]'"
    step "cards stamp by their own clocks, and stop" stamps
    step "schedulers act" schedulers
    step "a campaign is killed and leaves functions, namespaces, ports in them" killed
    step "figure 4's rows, by the next campaign, which gives all of that back" campaign sriov-fig4 5 2 user.mbps=13
    step "figure 5's rows" campaign sriov-fig5 5 2 user.bytes=1500
    step "schedulers on a shared card's links" campaign sriov-schedulers 7 0
fi
if [ -z "$failed" ]; then echo "== all tests passed"; else echo "== failed:$failed"; fi
poweroff -f
