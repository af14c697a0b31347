#!/usr/bin/env bash
# Runs the five steps of FlexRIC's figure 4. The programs are a base station (CU-CP, CU-UP and DU), the controller of the
# infrastructure, and two controllers of an operator. The operator's controllers see and control only the UE that
# selected the operator's network.
set -euo pipefail
for tool in curl python3; do command -v "$tool" >tool.txt || { echo "$tool is not installed"; exit 77; }; done

. "$(dirname "$0")/started.sh"
. "$(dirname "$0")/asked.sh"

controller() {
    "$RANLAB" controller "$1" --e2 tcp://127.0.0.1:0 --http 127.0.0.1:0 --duration 60s --format ndjson "${@:3}" >"$2" &
    started+=($!)
}
controller association infra.txt --slicing 127.0.0.1:0
controller slicing slices.txt
controller traffic traffic.txt
infra=$(address infra.txt http)/v1 carrier=$(address infra.txt slicing)/v1
slices=$(address slices.txt http)/v1 traffic=$(address traffic.txt http)/v1
expect 200 "$infra/policy" "{\"rules\": [{\"plmn\": \"001.01\",
    \"controllers\": [\"$(address slices.txt e2)\", \"$(address traffic.txt e2)\"]}]}"
"$RANLAB" emulate --connect "$(address infra.txt e2)" --kind split --nodes 3 --radio nr:106 --ues 2 --plmn 505.01,001.01 \
    --flows udp:80 --stay 2@3s --rlc-buffer 1000000 --duration 60s --format ndjson >station.txt &
started+=($!)

du=nodes/gnb%20505.01%201%2Fdu%201
until_true "$carrier/$du" 'len(it["ues"]) == 1 and it["slicing"]'
expect 200 "$carrier/$du/slices" '{"algorithm": "nvs", "slices": [{"id": 0, "label": "pool", "capacity": 0.25}]}'
# Without the operator's UE, no base station is connected to the operator.
until_true "$slices/nodes" 'it["nodes"] == []'

# Step 1: the UE attaches. Steps 2 to 4: the CU reports it, and the infrastructure's controller sends controls
# to all E2 nodes. Step 5: the operator sees the UE.
until_true "$slices/$du" '[ue["rnti"] for ue in it["ues"]] == [2] and it["slicing"]'
until_true "$infra/nodes" 'len(it["nodes"]) == 3 and all([len(ue["controllers"]) for ue in node["ues"]] == [0, 2] for node in it["nodes"])'
until_true "$traffic/$du/bearers" '[bearer["rnti"] for bearer in it["bearers"]] == [2]'
timeout 2 curl -sSN "$traffic/events" >events.txt || true
grep -q '"rnti":2' events.txt || { echo "the operator received no messages"; exit 1; }
if grep -q '"rnti":1' events.txt; then echo "the operator received messages about another operator's UE"; exit 1; fi

# The operator can control only its own UE.
expect 200 "$slices/$du/slices/2" '{"capacity": 0.75}'
expect 200 "$slices/$du/ues/2" '{"slice": 2}'
expect 200 "$traffic/$du/bearers/2/1/pacer" '{"type": "5g-bdp"}'
expect 404 "$slices/$du/ues/1" '{"slice": 2}'
expect 404 "$traffic/$du/bearers/1/1/pacer" '{"type": "5g-bdp"}'
expect 403 "$slices/$du/slices/0" '{"capacity": 0.1}'
expect 403 "$slices/$du/slices" '{"algorithm": "nvs", "slices": [{"id": 2, "capacity": 1}]}'
until_true "$carrier/$du" '[ue["slice"] for ue in it["ues"]] == [0, 2]'
lines=$(wc -l <station.txt)
until (($(wc -l <station.txt) > lines + 2)); do sleep 0.1; done
tail -n 1 station.txt | python3 -c '
import json, sys
rates = [flow["mbps"] for flow in sorted(json.load(sys.stdin)["radios"][0]["flows"], key=lambda flow: flow["ue"])]
share = 100 * rates[1] / sum(rates)
print(f"its UE has {share:.1f} % of the carrier")
sys.exit(abs(share - 75) > 3)'
