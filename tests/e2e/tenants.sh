#!/usr/bin/env bash
# Tests two operators that share a base station. The virtualization controller runs between the base station and the slicing
# controllers of the operators. Each operator sees only its own UEs and its own share, configures this share, and does not
# affect the other operator.
set -euo pipefail
for tool in curl python3; do command -v "$tool" >tool.txt || { echo "$tool is not installed"; exit 77; }; done

. "$(dirname "$0")/started.sh"
. "$(dirname "$0")/asked.sh"

start() {
    "$RANLAB" "${@:2}" --duration 60s --format ndjson >"$1" &
    started+=($!)
}

for operator in a b; do
    start $operator.txt controller slicing --e2 tcp://127.0.0.1:0 --http 127.0.0.1:0
done
a=$(address a.txt http)/v1/nodes b=$(address b.txt http)/v1/nodes
start virt.txt controller virt --e2 tcp://127.0.0.1:0 --http 127.0.0.1:0 \
    --tenant "A:0.5:001.01@$(address a.txt e2)" --tenant "B:0.5:001.02@$(address b.txt e2)"
virt=$(address virt.txt http)/v1
start station.txt emulate --connect "$(address virt.txt e2)" --radio lte:50 --ues 4 --plmn 001.01,001.02 --flows udp:80

node=gnb%20505.01%201
until_true "$a" '[ue["rnti"] for ue in it["nodes"][0]["ues"]] == [1, 3] and it["nodes"][0]["slicing"]["prbs"] == 25'
until_true "$b" '[ue["rnti"] for ue in it["nodes"][0]["ues"]] == [2, 4] and it["nodes"][0]["slicing"]["prbs"] == 25'
until_true "$virt/nodes" 'it["nodes"][0]["ready"] and it["nodes"][0]["tenants"]["B"]["ues"] == [2, 4]'

two='{"algorithm": "nvs", "slices": [{"id": 1, "capacity": 0.66}, {"id": 2, "capacity": 0.33}]}'
expect 200 "$a/$node/slices" "$two"
expect 200 "$b/$node/slices" "$two"
expect 200 "$a/$node/ues/3" '{"slice": 2}'
expect 200 "$b/$node/ues/4" '{"slice": 2}'
expect 404 "$a/$node/ues/2" '{"slice": 2}'
expect 409 "$a/$node/slices/3" '{"capacity": 0.02}'
expect 409 "$a/$node/slices" '{"algorithm": "edf", "slices": []}'
until_true "$a/$node" '[ue["slice"] for ue in it["ues"]] == [1, 2]'
lines=$(wc -l <station.txt)
until (($(wc -l <station.txt) > lines + 3)); do sleep 0.1; done
tail -n 1 station.txt | python3 -c '
import json, sys
rates = {flow["ue"]: flow["mbps"] for flow in json.load(sys.stdin)["radios"][0]["flows"]}
whole = sum(rates.values())
shares = [rates[ue] / whole for ue in (1, 2, 3, 4)]
wanted = [0.333, 0.333, 0.167, 0.167]
assert all(abs(share - want) < 0.02 for share, want in zip(shares, wanted)), shares'

# A CU with two DUs appears as two base stations. Operator A hands its UE over from one to the other, and B cannot do so.
start virt2.txt controller virt --e2 tcp://127.0.0.1:0 --http 127.0.0.1:0 \
    --tenant "A:0.5:001.01@$(address a.txt e2)" --tenant "B:0.5:001.02@$(address b.txt e2)"
start split.txt emulate --connect "$(address virt2.txt e2)" --kind split --dus 2 --nodes 4 --radio lte:50 --ues 4 \
    --plmn 001.01,001.02 --flows udp:80
until_true "$a/gnb%20505.01%2016" '[ue["cell_id"] for ue in it["ues"]] == [0, 0]'
until_true "$b/gnb%20505.01%2017" '[ue["cell_id"] for ue in it["ues"]] == [1, 1]'
until_true "$a/gnb%20505.01%2017" 'it["ues"] == []'
expect 404 "$b/gnb%20505.01%2016/ues/1/cell" '{"cell_id": 1}'
expect 200 "$a/gnb%20505.01%2016/ues/1/cell" '{"cell_id": 1}'
until_true "$a/gnb%20505.01%2016" 'len(it["ues"]) == 1'
until_true "$a/gnb%20505.01%2017" '[ue["plmn"] for ue in it["ues"]] == ["001.01"]'
until_true "$b/gnb%20505.01%2017" '[ue["plmn"] for ue in it["ues"]] == ["001.02"] * 2'

# The controller of one operator exits. The other operator is not affected, and the base station continues unchanged.
kill "${started[0]}"
until_true "$virt/nodes" 'it["nodes"][0]["ready"]'
expect 200 "$b/$node/slices/1" '{"capacity": 0.5}'
until_true "$b/$node" '[ue["rnti"] for ue in it["ues"]] == [2, 4]'
echo "two operators on one base station: each has half of it, its own UEs and its own slices"
