#!/usr/bin/env bash
# Sends valid and invalid requests while a base station is connected. schemathesis generates them from the OpenAPI descriptions
# of the RIC and of each controller. No response has a status 5xx, every response is documented, valid requests are not
# rejected as malformed, and the base station keeps running.
set -euo pipefail
root=$(cd "$(dirname "$0")/../.." && pwd)
"$root/scripts/need.sh" rest
EXAMPLES=${EXAMPLES:-200}
failed=()

# Prints the state of the RIC and the base station: functions, subscriptions in both forms with their expiry, slices and
# associated UEs.
state() {
    curl -fsS "$1/v1/nodes" | python3 -c 'import json, sys
for node in json.load(sys.stdin)["nodes"]: print(node["components"], node["connected"], sorted(it["id"] for it in node["functions"]))'
    curl -fsS "$1/v1/subscriptions" | python3 -c 'import json, sys, time
for it in json.load(sys.stdin)["subscriptions"]:
    print({k: it[k] for k in ("id", "node", "function", "event_trigger", "state")})
    if it["lease_s"]: print("until", time.time() + it["lease_s"])'
    curl -fsS "$1/ric/v1/subscriptions"; echo
    (curl -sN --max-time 2 "$1/v1/indications?sm=slice" || true) | head -n 1 | python3 -c 'import json, sys
print([(row["slice_id"], row["slice_ues"]) for row in json.loads(sys.stdin.readline())["rows"]])'
}

# Compares two states. An unrenewed lease must expire at the same time as before, with a tolerance for the duration of a
# request.
same() {
    python3 - "$1" "$2" <<'P'
import sys
before, after = ([line.split() for line in open(name)] for name in sys.argv[1:])
ends = [[float(line[1]) for line in state if line[0] == "until"] for state in (before, after)]
rest = [[line for line in state if line[0] != "until"] for state in (before, after)]
if rest[0] != rest[1] or len(ends[0]) != len(ends[1]) or any(abs(a - b) > 3 for a, b in zip(*ends)):
    sys.exit("before: %s\nafter: %s" % (before, after))
P
}

# In this pass, requests refer to existing resources. The other pass uses arbitrary names.
cat >there.toml <<'T'
[parameters]
"path.node" = "gnb 505.01 1"
"path.rnti" = 1
"path.rbid" = 1
"path.slice" = 1
"path.queue" = 1
"path.filter" = 1
"path.name" = "xapps"
"path.resource" = "none"
T
touch anything.toml
mkdir -p types && chmod 0755 . types
echo '{"policySchema": {"type": "object"}}' >types/a.json
for which in ${WHICH:-ric slicing traffic association virt}; do
    verb=(controller "$which")
    [[ $which != virt ]] || verb+=(--tenant "A:0.5:505.01@unix://$PWD/none.e2")
    [[ $which != ric ]] || verb=(ric --e42 unix://"$PWD/$which.e42" --a1-types types)
    "$RANLAB" "${verb[@]}" --e2 unix://"$PWD/$which.e2" --http 127.0.0.1:0 --format ndjson >"$which.log" & controller=$!
    for _ in {1..100}; do grep -q 'http://' "$which.log" && break || sleep 0.1; done
    http=$(grep -o 'http://[0-9.:]*' "$which.log" | head -n 1)
    "$RANLAB" emulate --connect unix://"$PWD/$which.e2" --radio nr:106 --ues 3 --flows udp:20 --sm mac,rlc --format ndjson \
        >station.log & station=$!
    for _ in {1..100}; do curl -fsS "$http/v1/ric/nodes" | grep -q '"connected":true' && break || sleep 0.1; done
    for names in there anything; do
        # Events and indications are endless streams, so they are excluded.
        "$root/.venv/bin/schemathesis" --config-file $names.toml run "$http/openapi.json" --max-examples "$EXAMPLES" \
            --seed 1 --exclude-path /v1/events --exclude-path /v1/indications --exclude-operation-id listen --phases examples,coverage,fuzzing,stateful || failed+=("$which, $names")
    done
    # Invalid requests change nothing.
    if [[ $which == ric ]]; then
        curl -fsS -H 'content-type: application/json' "$http/v1/subscriptions" \
            -d '{"node": "gnb 505.01 1", "sm": "slice", "period_ms": 100}' >made.json
        # These requests are sent by the page, and by O-RAN SC xApps.
        curl -fsS -H 'content-type: application/json' "$http/v1/subscriptions" \
            -d '{"node": "gnb 505.01 1", "sm": "mac", "period_ms": 100, "lease_s": 3600}' >leased.json
        curl -fsS -H 'content-type: application/json' "$http/ric/v1/subscriptions" -d '{"ClientEndpoint": {"Host": "xapp"},
            "Meid": "gnb_505_001_00000001", "RANFunctionID": 143, "SubscriptionDetails": [{"XappEventInstanceId": 1,
            "EventTriggers": [100, 0, 0, 0], "ActionToBeSetupList": [{"ActionID": 0, "ActionType": "report"}]}]}' >group.json
        state "$http" >before.txt
        "$root/.venv/bin/schemathesis" run "$http/openapi.json" --mode negative --max-examples "$EXAMPLES" --seed 1 \
            --exclude-path /v1/indications --exclude-operation-id listen --phases coverage,fuzzing || failed+=("$which, wrong requests")
        state "$http" >after.txt
        same before.txt after.txt || failed+=("$which: a refused request changed something")
    fi
    curl -fsS "$http/v1/ric/nodes" | grep -q '"connected":true' || failed+=("$which: the base station is gone")
    kill -0 $controller $station || failed+=("$which: a process is gone")
    kill $station $controller
    wait $station $controller || true
done
printf 'failed: %s\n' "${failed[@]+"${failed[@]}"}" | grep -v ': $' || true
[[ ${#failed[@]} == 0 ]]
