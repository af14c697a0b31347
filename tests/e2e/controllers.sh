#!/usr/bin/env bash
# Tests the slicing controller and the traffic controller as programs: their resources, refusals and bus messages. Without
# a base station, the sample xApps exit.
set -euo pipefail

. "$(dirname "$0")/started.sh"
status() { curl -sS -o answer.json -w '%{http_code}' "$@"; }
expect() {
    local want=$1 got
    shift
    got=$(status "$@")
    [[ $got == "$want" ]] || { echo "$* returned $got instead of $want"; cat answer.json; exit 1; }
}
command -v curl >curl.txt || { echo "curl is not installed"; exit 77; }

"$RANLAB" controller slicing --e2 tcp://127.0.0.1:0 --http 127.0.0.1:0 --duration 60s --format ndjson >slicing.txt &
started+=($!)
"$RANLAB" controller traffic --e2 tcp://127.0.0.1:0 --http 127.0.0.1:0 --duration 60s --format ndjson >traffic.txt &
started+=($!)
slicing=$(address slicing.txt http) traffic=$(address traffic.txt http)

for api in "$slicing" "$traffic"; do
    expect 200 "$api/healthz"
    expect 200 "$api/openapi.json"
    grep -q '"openapi": *"3.1.0"' answer.json
    expect 200 "$api/v1/nodes"
    expect 405 -X POST -d '{}' "$api/v1/nodes"
    expect 421 -H 'Host: evil.example' "$api/v1/nodes"
    expect 403 -H 'Origin: http://evil.example' "$api/v1/nodes"
done
json=(-H 'content-type: application/json')
expect 415 -X PUT -d '{}' "$slicing/v1/policy"
expect 400 -X PUT "${json[@]}" -d '{"rules": [NaN]}' "$slicing/v1/policy"
expect 422 -X PUT "${json[@]}" -d '{"rules": [{"slice": {"id": 1, "capacity": 1.5}}]}' "$slicing/v1/policy"
expect 200 -X PUT "${json[@]}" -d '{"rules": [{"plmn": "505.01", "slice": {"id": 1, "capacity": 0.5}}]}' "$slicing/v1/policy"
expect 404 -X PUT "${json[@]}" -d '{"slice": 1}' "$slicing/v1/nodes/gnb%20505.01%201/ues/1"
grep -q 'unknown node' answer.json

# The base stations have RLC statistics. Each report is published on the bus, on a separate line.
"$RANLAB" emulate --connect "$(address traffic.txt e2)" --nodes 2 --ues 3 --sm rlc --duration 20s --format json >fleet.txt &
started+=($!)
timeout 5 curl -sSN "$traffic/v1/events" >events.txt || true
[[ $(grep -c '^event: ranlab.rlc$' events.txt) -ge 10 ]] || { echo "no messages on the bus"; head -c 500 events.txt; exit 1; }
for node in 'gnb 505.01 1' 'gnb 505.01 2'; do
    grep -q "^data: .*\"node\":\"$node\"" events.txt || { echo "no messages of $node"; exit 1; }
done
# The base stations have no traffic control, so a control is refused with a reason.
expect 503 -X PUT "${json[@]}" -d '{"type": "5g-bdp"}' "$traffic/v1/nodes/gnb%20505.01%201/bearers/1/1/pacer"
grep -q 'does not offer TRAFFIC' answer.json

"$RANLAB" xapp traffic --rest "$traffic" --limit 10s --duration 2s --format json >xapp.txt
grep -q '"heard":[1-9]' xapp.txt || { cat xapp.txt; exit 1; }
if "$RANLAB" xapp slice --rest http://127.0.0.1:1 --slice 1=0.5 2>away.txt; then
    echo "a missing controller was not reported"; exit 1
fi
grep -q 'does not answer' away.txt
if "$RANLAB" xapp slice --rest "$slicing" --slice 1=half 2>wrong.txt; then
    echo "the share half was accepted"; exit 1
fi
grep -q 'is not ID=SHARE' wrong.txt
