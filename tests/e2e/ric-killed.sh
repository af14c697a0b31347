#!/usr/bin/env bash
# Tests kill -9 of the RIC under load. Within 3 s, base stations reconnect and subscriptions are restored, without
# duplicates. A ping continues.
set -euo pipefail
e2=unix://$PWD/e2 e42=unix://$PWD/e42

start_ric() {
    "$RANLAB" ric --e2 "$e2" --e42 "$e42" --duration 60s >/dev/null &
    ric=$!
    for _ in $(seq 200); do [[ -S e42 && -S e2 ]] && return; sleep 0.02; done
    echo "the RIC does not listen"; exit 1
}

start_ric
trap 'kill $ric 2>/dev/null || true' EXIT
"$RANLAB" emulate --connect "$e2" --nodes 20 --ues 16 --duration 16s --format json >fleet.json &
fleet=$!
sleep 1
"$RANLAB" xapp monitor --totals --connect "$e42" --period 50ms --duration 13s --format ndjson >monitor.ndjson &
monitor=$!
"$RANLAB" xapp ping --connect "$e42" --interval 10ms --duration 60s --format json >ping.json &
ping=$!
sleep 4
kill -9 "$ric"
wait "$ric" 2>/dev/null || true
rm -f e2 e42
start_ric
restarted=$(date +%s.%N)
wait "$monitor"
# The ping also prints its summary after a signal.
kill -TERM "$ping"
wait "$ping"
wait "$fleet"
python3 - "$restarted" <<'P'
import json
lines = [json.loads(l) for l in open("monitor.ndjson")]
before, end = lines[2], lines[-1]
assert before["subscriptions"] == 80, before
assert end["subscriptions"] == 80, end
assert end["nodes"] == 20, end
assert end["restored"] >= 1, end
# There is one line per second. The specified limit is 3 s, but the check allows more time, because a machine may be busy.
rates = [b["indications"] - a["indications"] for a, b in zip(lines, lines[1:-1])]
full = 20 * 4 * 20
print("indications per second:", rates)
low = [i for i, r in enumerate(rates) if r < 0.5 * full and i > 1]
assert len(low) <= 6, f"the indications were interrupted for {len(low)} s; at most 6 s are allowed"
assert end["repeated"] == 0, "no indication may arrive twice"
fleet = json.load(open("fleet.json"))
assert fleet["alive"] == 20, fleet
ping = json.load(open("ping.json"))
# Some pings were sent before the kill, and some after. One or two were lost with the RIC.
assert ping["received"] > 100 and ping["sent"] - ping["received"] <= 3, ping
print("back with all", end["subscriptions"], "subscriptions;", fleet["reconnects"], "reconnects")
P
