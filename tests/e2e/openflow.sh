#!/usr/bin/env bash
# Tests a third-party switch that already runs and accepts OpenFlow (here Open vSwitch). It receives a pipeline, its packets
# equal those of the oracle, and it is measured. Afterwards it has exactly the flows of its owner, also after kill -9 of the
# campaign. If a table is full, the switch exits, or the owner uses the tables, this is the outcome of the point.
# alone: testbeds
set -euo pipefail
. "$(dirname "$0")/judged.sh"
if [[ -z ${INSIDE:-} ]]; then
    [[ $(id -u) == 0 ]] && unshare --net true 2>/dev/null || { echo "network namespaces need root"; exit 77; }
    command -v ovs-vswitchd >/dev/null || { echo "ovs-vswitchd is not installed: apt install openvswitch-switch"; exit 77; }
    INSIDE=1 exec unshare --net "$0"
fi

export OVS_RUNDIR=$PWD OVS_LOGDIR=$PWD OVS_DBDIR=$PWD OVS_SYSCONFDIR=$PWD
at=tcp:127.0.0.1:6653
children=()
cleanup() { kill "${children[@]}" 2>/dev/null || true; wait 2>/dev/null || true; }
trap cleanup EXIT
vsctl() { ovs-vsctl --db=unix:"$PWD/db.sock" --timeout=30 "$@"; }
# of VERSION COMMAND...: sends a command of the owner to the switch.
of() { ovs-ofctl "-OOpenFlow$1" --timeout=30 "$2" "$at" "${@:3}"; }
# until COMMAND...: waits until the command succeeds.
until_() {
    for _ in $(seq 400); do
        if "$@" >/dev/null 2>&1; then return; fi
        sleep 0.05
    done
    echo "timed out: $*"
    exit 1
}
wires
ovsdb-tool create conf.db /usr/share/openvswitch/vswitch.ovsschema
ovsdb-server conf.db --remote=punix:"$PWD/db.sock" --no-chdir -vconsole:off --unixctl="$PWD/db.ctl" &
children+=($!)
until_ test -S db.sock
vsctl --no-wait init
ovs-vswitchd unix:"$PWD/db.sock" --no-chdir -vconsole:off --unixctl="$PWD/switch.ctl" &
children+=($!) switch=$!
vsctl add-br br0 -- set bridge br0 datapath_type=netdev fail_mode=secure protocols=OpenFlow13,OpenFlow14,OpenFlow15 \
    -- set-controller br0 ptcp:6653:127.0.0.1
vsctl add-port br0 its-access -- set interface its-access ofport_request=7
vsctl add-port br0 its-core -- set interface its-core ofport_request=8
until_ of 15 show
# The state of the owner consists of flows (in addition to those of ranlab), a group and a meter.
of 15 add-group group_id=1,type=indirect,bucket=actions=output:8
of 13 add-meter meter=500,kbps,band=type=drop,rate=10
of 15 add-flow 'cookie=0x77,table=0,priority=9,in_port=LOCAL,actions=group:1'
of 15 add-flow 'cookie=0x77,table=200,priority=9,actions=meter:500,goto_table:201'
# has: prints the configuration of the switch, without counters.
has() {
    of 15 dump-flows | grep -o 'cookie=.*' | sed -E 's/, (duration|n_packets|n_bytes|idle_age|hard_age)=[^,]*//g' | sort
    of 15 dump-groups | grep group_id || true
    of 13 dump-meters | grep meter= || true
}
has >owner.txt
[[ $(wc -l <owner.txt) == 4 ]] || { cat owner.txt; exit 1; }
owners() { has >now.txt; diff owner.txt now.txt; }

cat >far.toml <<TOML
title = "a switch of somebody else"
rig = "pipeline"
[pipeline]
name = "l3fwd"
upstream-l3-table-size = 20
[sut]
engine = "openflow"
tier = "veth"
address = "$at"
access_port = 7
core_port = 8
access_interface = "our-access"
core_interface = "our-core"
[load]
dir = "bidir"
pkt-num = 64
verify = 64
[host]
when_noisy = "warn"
[measure]
duration = "200ms"
warm_up = "0s"
repeats = 1
TOML
# as NAME [KEY=NUMBER...]: writes the same scenario with another pipeline to NAME.toml.
as() {
    local parameters
    parameters=$(printf '%s\n' "${@:2}")
    sed -e "s/^name = .*/name = \"$1\"/" -e "s/^upstream-l3-table-size = .*/${parameters//$'\n'/\\n}/" far.toml >"$1.toml"
}
as rlimit user=20 rate-limit=1000000000 rate-burst=1000000000
as mgw user=3
scenario=far.toml

echo "== equal to the oracle, measured, changes visible to packets, and cleaned up"
run changes --set load.dir=uplink --set pipeline.fluct-group-table=20 --set measure.duration=500ms
# On a busy machine, the switch may apply fewer changes than are due, which degrades the point.
holds changes '(p["outcome"] == "ok" or p["outcome"] == "degraded" and m["host.disturbed"] == 1) and m["verified_packets"] == 64 and m["mpps"] > 0 and m["updates_sent"] > 0'
holds changes 'm["update_effective_ns_p50"] > 0 and m["slow_path_packets"] == 0'
owners

echo "== the owner's flows of a port stay; packets that leave the fast path are counted"
of 15 add-flow 'cookie=0x77,table=0,priority=5000,in_port=7,udp,actions=CONTROLLER:64,goto_table:1'
run taken
holds taken 'p["outcome"] == "unmeasurable" and "flows of its owner" in p["reason"] and "port 7 in table 0" in p["reason"]'
of 15 del-flows 'cookie=0x77/-1,table=0,in_port=7'
of 15 add-flow 'cookie=0x77,table=0,priority=5000,ip,dl_dst=dd:dd:dd:dd:dd:00,actions=CONTROLLER:64,goto_table:1'
# Open vSwitch may drop packets of table misses while tables change, so not every packet is verified here.
run slow --set load.dir=uplink --set load.verify=0
holds slow 'p["outcome"] == "ok" and 0 < m["slow_path_packets"] and 0 < m["slow_path_ratio"]'
of 15 del-flows 'cookie=0x77/-1,table=0,ip'
owners

echo "== OpenFlow 1.3 only, with meters, without bundles"
vsctl set bridge br0 protocols=OpenFlow13
until_ of 13 show
has() {
    of 13 dump-flows | grep -o 'cookie=.*' | sed -E 's/, (duration|n_packets|n_bytes|idle_age|hard_age)=[^,]*//g' | sort
    of 13 dump-groups | grep group_id || true
    of 13 dump-meters | grep meter= || true
}
has >owner.txt
scenario=rlimit.toml run meters
holds meters 'p["outcome"] == "ok" and m["verified_packets"] == 64'
owners
scenario=rlimit.toml run many --set pipeline.user=501
holds many 'p["outcome"] == "unmeasurable" and "a meter 500 of its owner" in p["reason"]'
run old
holds old 'p["outcome"] == "ok" and m["verified_packets"] == 64'
owners
vsctl set bridge br0 protocols=OpenFlow13,OpenFlow14,OpenFlow15
until_ of 15 show

echo "== a full table: the rejected rule is named"
vsctl -- --id=@few create flow_table flow_limit=10 overflow_policy=refuse -- set bridge br0 flow_tables:2=@few
run full
holds full 'p["outcome"] == "sut_failed" and "table 2 is full: the switch refuses the rule `priority=124,ip,nw_dst=" in p["reason"]'
holds full '"one of 21 for that table; it reports room for 10" in p["reason"]'
owners
vsctl clear bridge br0 flow_tables

echo "== a killed campaign leaves flows, which the next one removes"
"$RANLAB" bench run rlimit.toml --fresh --out killed --set measure.duration=60s --format json >killed.json 2>&1 &
pid=$!
until_ sh -c "ovs-ofctl -OOpenFlow15 dump-aggregate $at cookie=0x726c610000000000/0xffffff0000000000 | grep -v flow_count=0"
sleep 0.3
# The worker is also killed, because it would otherwise clean up the switch.
kill -9 "$pid" $(pgrep -P "$pid")
wait "$pid" 2>/dev/null || true
if owners >/dev/null; then echo "the killed campaign left no flows, so this test shows nothing"; exit 1; fi
run after
holds after 'p["outcome"] == "ok" and m["verified_packets"] == 64'
owners

echo "== unreachable switch, and unsupported versions"
run nobody --set sut.address=tcp:127.0.0.1:6654
holds nobody 'p["outcome"] == "unmeasurable" and "tcp:127.0.0.1:6654" in p["reason"]'
run tls --set sut.address=ssl:127.0.0.1:6653
holds tls 'p["outcome"] == "unmeasurable" and "TLS" in p["reason"]'
run port --set sut.core_port=9
holds port 'p["outcome"] == "unmeasurable" and "it has no port 9: it has 7 (its-access), 8 (its-core)" in p["reason"]'
scenario=mgw.toml run tunnels
holds tunnels 'p["outcome"] == "unmeasurable" and "by OpenFlow alone" in p["reason"]'

echo "== a switch that exits"
"$RANLAB" bench run far.toml --fresh --out gone --set measure.duration=30s --format json >gone.json 2>gone.err &
pid=$!
until_ sh -c "ovs-ofctl -OOpenFlow15 dump-aggregate $at cookie=0x726c610000000000/0xffffff0000000000 | grep -v flow_count=0"
kill -9 "$switch"
wait "$pid" || true
holds gone 'p["outcome"] in ("sut_failed", "unmeasurable") and p["reason"]'
echo "third-party switch: all checks passed"
