#!/usr/bin/env bash
# Tests the FlexRAN controller and base stations with a radio model, in real time and over REST: scheduling, slicing, a
# refusal with its reason, and a handover. Shares are measured in the radio's own time, so a slow machine does not distort
# them.
set -euo pipefail
for tool in curl python3; do command -v "$tool" >tool.txt || { echo "$tool is not installed"; exit 77; }; done

. "$(dirname "$0")/started.sh"
# Sends a request and checks the status.
post() {
    local got
    got=$(curl -sS -o answer.json -w '%{http_code}' -X POST "${@:3}" "$api/$2")
    [[ $got == "$1" ]] || { echo "POST $2 returned $got instead of $1:"; cat answer.json; exit 1; }
}
# Prints the throughput of each UE of both base stations in the next whole second, in Mbit/s.
look() {
    local lines
    lines=$(wc -l <fleet.txt)
    until (($(wc -l <fleet.txt) > lines + 2)); do sleep 0.1; done
    tail -n 1 fleet.txt | python3 -c '
import json, sys
line = json.loads(sys.stdin.read())
for radio in line["radios"]:
    print(" ".join("%s=%.2f" % (flow["ue"], flow["mbps"]) for flow in radio["flows"] if flow["mbps"] > 0))'
}
of() { sed -n "s/.*\b$2=\([0-9.]*\).*/\1/p" <<<"$1"; }
near() { python3 -c 'import sys; a, b, d = map(float, sys.argv[2:]); sys.exit(f"{sys.argv[1]}: {a:.2f}, not {b} within {d}" if abs(a - b) > d else 0)' "$@"; }
share() { python3 -c 'import sys; a, b = map(float, sys.argv[1:]); print(a / (a + b))' "$(of "$1" 1)" "$(of "$1" 2)"; }

"$RANLAB" controller flexran --threads inline --rib-share 0.8 --ahead 12 --listen 127.0.0.1:0 --http 127.0.0.1:0 \
    --duration 60s --format ndjson >flexran.txt &
started+=($!)
mapfile -t at < <(ports flexran.txt)
api=http://127.0.0.1:${at[1]}
"$RANLAB" emulate --protocol flexran --period honour --connect "tcp://127.0.0.1:${at[0]}" --nodes 2 --ues 2 \
    --radio lte:25 --flows full --duration 60s --format ndjson >fleet.txt &
started+=($!)
until curl -sS "$api/stats_manager/enb_config" | grep -q '"eNBId":2'; do sleep 0.1; done

# The controller is the scheduler here, and its decisions serve every UE.
post 200 dl_sched/1
scheduled=$(look)
near "UE 1 under the controller" "$(share "$scheduled")" 0.5 0.05
curl -sS "$api/dl_sched" >scheduling.json
python3 -c 'import json; it = json.load(open("scheduling.json")); assert it["base_stations"] == 2 and it["decisions"] > 500, it'
post 409 rrm_config --data-binary $'mac:\n - dl_scheduler:\n    behavior : round_robin_dl\n'
post 200 dl_sched/0

# Policies create slices, and invalid policies are refused.
two() { printf 'mac:\n - dl_scheduler:\n    parameters:\n      slice_percentage : [%s, %s]\n' "$1" "$2"; }
post 200 rrm_config/enb/1 --data-binary "$(two 0.72 0.28)"
near "UE 1 with 72 %" "$(share "$(look | head -n 1)")" 0.72 0.03
post 409 rrm_config/enb/1 --data-binary "$(two 0.72 0.38)"
grep -q '110.0 %' answer.json
post 422 rrm_config --data-binary 'rrc:'
post 400 slice/enb/1 -d '{'
post 409 slice/enb/1 -d '{"dl": {"algorithm": "Static", "slices": [{"id": 1, "static": {"posLow": 0, "posHigh": 13}}]}}'
post 404 dl_sched/1/enb/9
post 403 dl_sched/1 -H 'Origin: http://evil.example'
near "UE 1 after refusals" "$(share "$(look | head -n 1)")" 0.72 0.03
post 200 slice/enb/1 -d '{"dl": {"algorithm": "None"}}'

# UE 2 of the first base station moves to the second one, which already has two UEs.
post 200 rrc/ho/senb/1/ue/2/tenb/2
moved=$(look)
[[ -z $(of "$(head -n 1 <<<"$moved")" 2) && -n $(of "$(tail -n 1 <<<"$moved")" 2) ]] || { echo "UE 2 was not handed over: $moved"; exit 1; }
post 409 rrc/ho/senb/1/ue/2/tenb/2
curl -sS "$api/stats_manager/enb_config" >known.json
python3 -c 'import json; ues = [it["ues"] for it in json.load(open("known.json"))["eNB_config"]]; assert ues == [1, 3], ues'
grep -q '"handovers":1' <(tail -n 1 fleet.txt)
