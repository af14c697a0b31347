#!/usr/bin/env bash
# Tests two loads for 60 s each: 2,000 base stations with 10 UEs and reports every second, and 50 base stations with 100 UEs and
# reports every 50 ms. All base stations must stay connected, and no subscription may be lost.
set -euo pipefail

run() {
    local nodes=$1 ues=$2 period=$3 e2=unix://$PWD/e2 e42=unix://$PWD/e42
    rm -f e2 e42
    "$RANLAB" ric --e2 "$e2" --e42 "$e42" --duration 90s --format json >ric.json &
    for _ in $(seq 200); do [[ -S e42 ]] && break; sleep 0.05; done
    "$RANLAB" emulate --connect "$e2" --nodes "$nodes" --ues "$ues" --duration 75s --format json >fleet.json &
    local fleet=$!
    sleep 5
    "$RANLAB" xapp monitor --connect "$e42" --period "$period" --duration 60s --format json >monitor.json
    wait "$fleet"
    python3 - "$nodes" <<'P'
import json, sys
nodes = int(sys.argv[1])
fleet, monitor = json.load(open("fleet.json")), json.load(open("monitor.json"))
print(f"{nodes} nodes: {fleet['alive']} alive, {fleet['reconnects']} reconnects, {monitor['subscriptions']} subscriptions, "
      f"{monitor['indications']} indications, {monitor['lost']} lost, p99 {monitor['latency_us']['p99']} us")
assert fleet["alive"] == nodes and fleet["reconnects"] == 0, fleet
assert monitor["subscriptions"] == 4 * nodes, monitor
P
    wait
}

run 2000 10 1s
run 50 100 50ms
