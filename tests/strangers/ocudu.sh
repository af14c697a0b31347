#!/usr/bin/env bash
# OCUDU's unmodified gNB and its E2 library, with ranlab's RIC. $OCUDU names OCUDU's build folder (apps/gnb/gnb in it),
# $OCUDU_NODES the program of ocudu/nodes.cpp (default: $OCUDU/nodes), $RANLAB the binary, $PRELOAD the library that
# carries SCTP. About two minutes.
set -uo pipefail

skip() { echo "$1"; exit 77; }
fail() { echo "FAILED: $*" >&2; exit 1; }
[[ -n ${OCUDU:-} ]] || skip 'OCUDU does not name a build folder of it'
gnb=$OCUDU/apps/gnb/gnb nodes=${OCUDU_NODES:-$OCUDU/nodes}
[[ -x $gnb ]] || skip "$gnb is not there"
[[ -x $nodes ]] || skip "$nodes is not there: compile tests/strangers/ocudu/nodes.cpp, or name it in OCUDU_NODES"
RANLAB=${RANLAB:?names no binary}
PRELOAD=${PRELOAD:-$(dirname "$RANLAB")/libranlab_preload.so}
[[ -f $PRELOAD ]] || { echo "$PRELOAD is not there: make preload" >&2; exit 3; }
here=$(cd "$(dirname "$0")" && pwd)
checks=$here/ocudu
. "$here/../e2e/started.sh"

work=$(mktemp -d)
mkdir -m 700 "$work/net"
cd "$work"
# OCUDU accepts ports from 20000 to 40000.
port=37421
declare -A pid=()
# Each program is ended by its process id.
end() { kill -9 "${pid[$1]}" 2>/dev/null; wait "${pid[$1]}" 2>/dev/null; unset "pid[$1]"; }
trap 'for name in "${!pid[@]}"; do end "$name"; done; rm -rf "$work"' EXIT

ric() {
    "$RANLAB" ric --e2 "shim://$work/net/127.0.0.1:$port" --e42 "unix://$work/e42" --http 127.0.0.1:0 --format ndjson \
        >ric.out 2>&1 </dev/null &
    pid[ric]=$!
    api=$(address ric.out http)
}
# The standard input of the program stays open, because the gNB ends when its input ends.
carried() { local name=$1; shift; (ulimit -c 0; RANLAB_SCTP=$work/net LD_PRELOAD=$PRELOAD exec "$@" >>"$name.out" 2>&1 < <(exec sleep 600)) & pid[$name]=$!; }
running() { kill -0 "${pid[$1]}" 2>/dev/null && [[ $(sed 's/.*) //' "/proc/${pid[$1]}/stat") != Z* ]] || fail "$1 has ended: $(tail -n 3 "$1.out")"; }
http() { curl --fail-with-body -sS "$api$1" "${@:2}"; }
# connected COUNT: waits for this number of connected nodes.
connected() {
    for _ in {1..300}; do
        [[ $(http /v1/nodes 2>/dev/null | grep -o '"connected": *true' | wc -l) == "$1" ]] && return
        sleep 0.1
    done
    fail "the RIC does not have $1 nodes: $(http /v1/nodes)"
}
monitor() { "$RANLAB" xapp monitor --connect "unix://$work/e42" --sm kpm --period 1s --format ndjson "$@" 2>>monitor.err; }
control() { "$RANLAB" xapp control --connect "unix://$work/e42" "$@" >control.out 2>&1 || fail "the control $* failed: $(cat control.out)"; }

echo '== its E2 library: five styles, 3 UEs; 24 and 64 UEs'
ric
for ues in 3 24 64; do
    carried nodes "$nodes" "$ues" "$port"
    connected 3
    monitor --duration 4500ms >"ues$ues.ndjson" || fail "the monitor failed: $(tail -n 2 monitor.err)"
    "$checks/ocudu.py" values "$ues" "ues$ues.ndjson" || fail "the values of $ues UEs are wrong"
    ((ues == 3)) || { running nodes; end nodes; connected 0; continue; }
    for style in 1 2 3 4 5; do
        choice=()
        ((style == 2)) && choice=(--kpm-ue f1ap=101)
        ((style == 5)) && choice=(--kpm-ue f1ap=100 --kpm-ue f1ap=102)
        monitor --kpm-style "$style" "${choice[@]}" --duration 4500ms >"style$style.ndjson" || fail "the monitor failed with style $style: $(tail -n 2 monitor.err)"
        "$checks/ocudu.py" values "$ues" "style$style.ndjson" || fail "the values of style $style are wrong"
    done

    echo '== orders: quotas, policy, handovers'
    control --node '001.01 412/du 0' --rc-quota 1=10:50:5,2=20:100 --ue f1ap=101
    http /v1/control -H 'content-type: application/json' -d "$("$checks/ocudu.py" ccc 'gnb 001.01 412/du 0')" >ccc.out || fail "the CCC control failed: $(cat ccc.out)"
    grep -q acknowledged ccc.out || fail "the CCC control was not acknowledged: $(cat ccc.out)"
    control --node '001.01 412' --rc-handover 101=000067001
    control --node '001.01 412' --rc-handover 000067001 --ue amf=1099511627775,guami=001.01/1/2/3,f1ap=102
    running nodes
    "$checks/ocudu.py" orders nodes.out || fail orders
    end nodes
    connected 0
done

echo '== its gNB: three nodes, values, the end of the gNB and of the RIC'
cat >gnb.yml <<Y
gnb_id: 411
cu_cp: {amf: {no_core: true}}
cell_cfg: {dl_arfcn: 368500, band: 3, channel_bandwidth_MHz: 10, common_scs: 15, plmn: "00101", tac: 7}
ru_dummy: {}
test_mode: {test_ue: {rnti: 0x44, nof_ues: 3, ri: 1, cqi: 15, pusch_active: true, pdsch_active: true, auto_ack_indication_delay: 4}}
log: {filename: $work/gnb.log, all_level: warning}
$("$RANLAB" ric --e2 "shim://$work/net/127.0.0.1:$port" --hint ocudu | grep -v '^#')
Y
carried gnb "$gnb" -c gnb.yml
connected 3
monitor --node 'gnb 001.01 411/du 0' --kpm-style 1 --duration 30s >gnb.ndjson &
pid[monitor]=$!
sleep 5
end gnb
sleep 1
carried gnb "$gnb" -c gnb.yml
sleep 10
end ric
sleep 1
ric
wait "${pid[monitor]}" || fail "the monitor failed: $(tail -n 2 monitor.err)"
unset 'pid[monitor]'
running gnb
python3 - gnb.ndjson <<'P' || fail 'values of the gNB'
import json, sys
rows = [it for it in map(json.loads, open(sys.argv[1])) if "measurement" in it]
used = [it["value"] for it in rows if it["measurement"] == "RRU.PrbUsedDl"]
assert used and 0 < max(used) <= 52, used
times = sorted({it["received_us"] for it in rows})
pauses = [round((b - a) / 1e6, 1) for a, b in zip(times, times[1:]) if b - a > 1_800_000]
# Each end of the gNB or the RIC causes one pause.
assert len(pauses) == 2, pauses
print(f"gNB: {len(rows)} values, pauses of {pauses} s")
P
end gnb
end ric

echo '== check agent: the agents go on'
carried nodes "$nodes" 3 "$port"
"$RANLAB" check agent "shim://$work/net/127.0.0.1:$port" --node '001.01 412/du 0' --arrival 6s --captures "$work" >check.out 2>&1
running nodes
grep -E '[0-9]+ passed' check.out || fail "check agent failed: $(tail -n 5 check.out)"
