#!/usr/bin/env bash
# Tests `xapp control`: RC controls, refusals with their reasons, and the effect of a control (KPM values before and after
# it, in total, by slice and by UE).
set -euo pipefail
. "$(dirname "$0")/started.sh"

"$RANLAB" ric --e2 tcp://127.0.0.1:0 --e42 tcp://127.0.0.1:0 --duration 60s --format ndjson >ric.txt &
started+=($!)
e2=$(address ric.txt e2) e42=$(address ric.txt e42)
"$RANLAB" emulate --connect "$e2" --radio lte:25 --nodes 2 --ues 2 --flows full --sm mac,kpm --duration 60s >stations.txt &
started+=($!)
for _ in {1..200}; do [[ $(grep -c '"+ gnb ' ric.txt) == 2 ]] && break || sleep 0.05; done
control() { "$RANLAB" xapp control --connect "$e42" --plmn 505.01 "$@"; }

control --rc-quota 1=0:20 --effect 5 --kpi RRU.PrbTotDl,DRB.UEThpDl --format ndjson >effect.ndjson
control --rc-quota 1=0:60 --node "505.01 2" --effect 3 --sm mac --kpi dl_aggr_bytes_sdus >column.txt
grep -Fxq '  dl_aggr_bytes_sdus [B]' column.txt
grep -Eq '^    all \(sum\) +[0-9.]+ before +[0-9.]+ after' column.txt
refused() {
    local words=$1
    shift
    if control "$@" >refused.txt 2>&1; then exit 1; fi
    grep -q "$words" refused.txt || { cat refused.txt; exit 1; }
}
refused 'refused' --rc-handover 1=0fffffff0
refused 'is not a KPI; allowed are dl_aggr_tbs' --rc-quota 1=0:60 --effect 3 --sm mac --kpi speed
refused '"DRB.UEThpDL" is not a KPI; allowed are DRB.UEThpDl' --rc-quota 1=0:60 --effect 3 --kpi DRB.UEThpDL
refused 'effect' --rc-quota 1=0:60 --kpi speed

python3 - <<'P'
import json
lines = [json.loads(line) for line in open("effect.ndjson")]
assert lines[-1] == {"accepted": 2, "refused": 0}, lines
for told in lines[:-1]:
    prbs, throughput = told["effect"]["RRU.PrbTotDl"], told["effect"]["DRB.UEThpDl"]
    # Two UEs shared the carrier. After the control, they share a fifth of it. The first period may have begun before
    # the control.
    assert abs(prbs["before"] - 100) < 5 and 18 < prbs["after"] < 40, told
    assert (prbs["unit"], prbs["total"], len(prbs["ues"])) == ("%", "sum", 2), told
    assert prbs["slices"]["1"] == {"before": prbs["before"], "after": prbs["after"]}, told
    assert abs(sum(ue["after"] for ue in prbs["ues"].values()) - prbs["after"]) < 0.1, told
    assert throughput["after"] < 0.5 * throughput["before"], told
print(len(lines) - 1, "base stations obeyed:", lines[0]["effect"])
P

# RC reports: UEs that connect and leave, and the outcome of a handover that a base station decided. RC inserts: a handover
# that waits for the xApp's decision, which sends the UE to another cell.
"$RANLAB" ric --e2 tcp://127.0.0.1:0 --e42 tcp://127.0.0.1:0 --http 127.0.0.1:0 --duration 60s --format ndjson >mobile.txt &
started+=($!)
e2=$(address mobile.txt e2) e42=$(address mobile.txt e42) api=$(address mobile.txt http)
"$RANLAB" emulate --connect "$e2" --radio lte:25 --nodes 3 --ues 2 --stay 2@3s-4s --moves 1=20@5s --sm rc \
    --duration 60s >mobile-stations.txt &
started+=($!)
for _ in {1..200}; do
    [[ $(curl -fsS "$api/v1/nodes" | grep -o '"connected":true' | wc -l) == 3 ]] && break || sleep 0.05
done
"$RANLAB" xapp monitor --connect "$e42" --sm rc --duration 5s --format ndjson >states.ndjson &
monitor=$!
"$RANLAB" xapp monitor --connect "$e42" --sm rc --rc messages,neighbours --duration 7s --format ndjson >copies.ndjson &
copies=$!
python3 - "$api" <<'P'
import json, sys, urllib.error, urllib.request
api = sys.argv[1]
def post(path, **body):
    request = urllib.request.Request(api + path, json.dumps(body).encode(), {"content-type": "application/json"})
    return json.load(urllib.request.urlopen(request, timeout=20))
def subscribe(node, **action):
    trigger = "08000002000000"  # format 2: process 3, breakpoint 1
    post("/v1/subscriptions", node=node, sm="rc", event_trigger=trigger, actions=[{"id": 1, **action}])
question = "00010340000000000000"  # style 3: indication 1, parameter 1
subscribe("gnb 505.01 1", kind="insert", definition=question, subsequent={"then": "wait", "wait_ms": 20000})
outcome = "00010200000400000001000200030005"  # style 2: parameters 1, 2, 3, 4 and 6
subscribe("gnb 505.01 1", definition=outcome)
subscribe("gnb 505.01 3", definition=outcome)
# A policy of style 3 under the same trigger forbids handovers from the second base station. Style 2 needs another
# trigger.
policy = "000103200000200000010140"
subscribe("gnb 505.01 2", kind="policy", definition=policy)
try:
    subscribe("gnb 505.01 2", kind="policy", definition=policy.replace("000103", "000102"))
    raise SystemExit("a policy without its trigger was admitted")
except urllib.error.HTTPError as refused:
    assert "refused" in refused.read().decode(), refused

def answer(told, cell):
    value = {"ranP-Choice-ElementFalse": {"ranParameter-value": {"valueOctS": cell}}}
    for identifier in (4, 3, 2, 1):
        tree = [{"ranParameter-ID": identifier, "ranParameter-valueType": value}]
        value = {"ranP-Choice-Structure": {"ranParameter-Structure": {"sequence-of-ranParameters": tree}}}
    ue = {"gNB-DU-UEID": {"gNB-CU-UE-F1AP-ID": told["rows"][0]["rnti"]}}
    header = {"ueID": ue, "ric-Style-Type": 3, "ric-ControlAction-ID": 1, "ric-ControlDecision": "accept"}
    return post("/v1/control", node=told["node"], sm="rc", call_process_id=told["call_process_id"],
                header={"ric-controlHeader-formats": {"controlHeader-Format1": header}},
                message={"ric-controlMessage-formats": {"controlMessage-Format1": {"ranP-List": tree}}})

ended = {}
for line in urllib.request.urlopen(api + "/v1/indications?sm=rc", timeout=30):
    told = json.loads(line)
    values = {row["name"]: row["value"] for row in told["rows"]}
    if "call_process_id" in told:
        assert told["node"] == "gnb 505.01 1" and values == {"Target Primary Cell ID": "0005f5100000000200"}, told
        assert answer(told, "0005f5100000000300")["result"] == "acknowledged"
    elif "Cell Global ID" in values:
        ended[told["node"]] = values["Cell Global ID"][-10:]
    if len(ended) == 2:
        break
# The UE of the first base station was sent to cell 3 instead of 2. The UE of the third base station moved to cell 2, as
# its base station decided.
assert ended == {"gnb 505.01 1": "0000000300", "gnb 505.01 3": "0000000200"}, ended
print("handovers ended in", ended)
P
wait "$monitor" "$copies"
python3 - <<'P'
import json
rows = [row for row in map(json.loads, open("states.ndjson")) if row.get("sm") == "rc"]
states = sorted((row["node"], row["value"]) for row in rows if row["name"] == "RRC State Changed To")
expected = sorted((f"gnb 505.01 {node}", state) for node in (1, 2, 3) for state in ("0", "2"))
assert states == expected, rows

rows = [row for row in map(json.loads, open("copies.ndjson")) if row.get("sm") == "rc"]
copies = sorted((row["node"], row["value"]) for row in rows if row["name"] == "RRC Message")
# UE 2 connects and is released; UE 1 arrives at cells 2 and 3 by handover.
connected, came, released = "10000000", "0800", "1000"
expected = [(f"gnb 505.01 {node}", copy) for node in (1, 2, 3) for copy in (connected, released)]
expected += [("gnb 505.01 2", came), ("gnb 505.01 3", came)]
assert copies == sorted(expected), rows
works = {row["node"] for row in rows if row["name"] == "Neighbour" and "handovers work" in row["value"]}
assert works == {"gnb 505.01 1", "gnb 505.01 3"}, rows
P
