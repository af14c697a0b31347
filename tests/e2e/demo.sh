#!/usr/bin/env bash
# The demo on a machine that others keep busy, and a ping whose RIC dies: slow and saying so, never failing.
set -euo pipefail

# Six programs that never rest, and a demo that comes after them (nice 5): a tenth of two CPUs is left for it.
busy=()
trap 'kill "${busy[@]}" 2>/dev/null || true' EXIT
for _ in 1 2 3 4 5 6; do
    timeout 120 sh -c 'while :; do :; done' &
    busy+=($!)
done
nice -n 5 "$RANLAB" demo --duration 5s --format json >demo.json
kill "${busy[@]}"
python3 - <<'P'
import json
demo = json.load(open("demo.json"))
print({name: demo[name] for name in ("nodes", "indications_per_s", "expected_per_s", "lost", "dropped", "pings")})
assert demo["nodes"] == 20 and demo["indications"] > 0, demo
# One that takes more than two seconds is lost.
assert demo["pings_answered"] > 0, demo
assert demo["expected_per_s"] == 8000, demo
P

# A ping outlives its RIC: what was sent is counted, and it goes on with the next one.
e2=unix://$PWD/e2 e42=unix://$PWD/e42
start_ric() {
    "$RANLAB" ric --e2 "$e2" --e42 "$e42" --duration 60s >/dev/null &
    busy=($!)
    for _ in $(seq 500); do [[ -S e42 && -S e2 ]] && return; sleep 0.02; done
    echo "the RIC does not listen"; exit 1
}
start_ric
"$RANLAB" emulate --connect "$e2" --nodes 1 --ues 1 --duration 40s >/dev/null &
fleet=$!
"$RANLAB" xapp ping --connect "$e42" --interval 10ms --duration 40s --format json >ping.json &
ping=$!
sleep 2
kill -9 "${busy[0]}"
wait "${busy[0]}" 2>/dev/null || true
rm -f e2 e42
start_ric
sleep 6
kill -TERM "$ping" "$fleet"
wait "$ping"
wait "$fleet"
python3 - <<'P'
import json
ping = json.load(open("ping.json"))
print(ping)
# Some of the first two seconds, one or two that the RIC took with it, and many after it came back.
assert ping["received"] > 200 and ping["sent"] - ping["received"] <= 3, ping
P
