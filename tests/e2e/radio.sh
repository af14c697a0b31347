#!/usr/bin/env bash
# Tests base stations with a radio model under the slicing and the traffic controller, in real time: figures 11, 13a and 13b
# of FlexRIC (CoNEXT 2021), over REST and with the sample xApp. Shares and times are measured in the radio's own time, so a
# slow machine does not distort them.
set -euo pipefail
for tool in curl python3; do command -v "$tool" >tool.txt || { echo "$tool is not installed"; exit 77; }; done

. "$(dirname "$0")/started.sh"
put() {
    curl -sS -o answer.json -w '%{http_code}' -X PUT -H 'content-type: application/json' "$1" -d "$2" >status.txt
    [[ $(<status.txt) == 200 ]] || { echo "PUT $1 $2:"; cat answer.json; exit 1; }
}
# Prints the mean throughput of each UE of a base station, over a number of seconds that begins after the next second. Each
# line is UE=MBIT_PER_S, for all flows of the UE.
seconds() {
    local lines
    lines=$(wc -l <"$1")
    until (($(wc -l <"$1") > lines + 1 + $2)); do sleep 0.2; done
    tail -n +$((lines + 2)) "$1" | head -n "$2"
}
shares() {
    seconds "$1" 2 | python3 -c '
import collections, json, sys
ues = collections.Counter()
for line in sys.stdin:
    for flow in json.loads(line)["radios"][0]["flows"]:
        ues[flow["ue"]] += flow["mbps"] / 2
print(" ".join(f"{ues[ue]:.2f}" for ue in sorted(ues)))'
}
# near NAME VALUE EXPECTED DELTA: checks that a number is close to another.
near() { python3 -c 'import sys; a, b, d = map(float, sys.argv[2:]); sys.exit(f"{sys.argv[1]}: {a:.2f}, not {b} within {d}" if abs(a - b) > d else 0)' "$@"; }
share() { python3 -c 'import sys; ues = [float(x) for x in sys.argv[1:]]; print(100 * ues[0] / sum(ues))' $1; }

"$RANLAB" controller slicing --e2 tcp://127.0.0.1:0 --http 127.0.0.1:0 --duration 200s --format ndjson >slicing.txt &
started+=($!)
"$RANLAB" controller traffic --e2 tcp://127.0.0.1:0 --http 127.0.0.1:0 --duration 200s --format ndjson >traffic.txt &
started+=($!)
slicing=$(address slicing.txt http)/v1/nodes traffic=$(address traffic.txt http)
station() {
    "$RANLAB" emulate --radio nr:106 --duration 200s --format ndjson "${@:2}" >"$1" &
    started+=($!)
}
station 13a.txt --connect "$(address slicing.txt e2)" --ues 3 --flows udp:80 --stay 3@9s --rlc-buffer 1000000
station 13b.txt --connect "$(address slicing.txt e2)" --first 1 --ues 2 --flows 1=udp:80,2=udp:80:15s:60s --rlc-buffer 1000000
station 11.txt --connect "$(address traffic.txt e2)" --ues 1 --flows voip,tcp

# Figure 13b: gray has 66 % of the slots and black 34 %. Slots that black leaves idle are used by gray.
gray=$slicing/gnb%20505.01%202
until curl -sS "$gray" | grep -q '"rnti":2'; do sleep 0.1; done
put "$gray/slices" '{"algorithm": "nvs", "sharing": true, "slices": [{"id": 1, "capacity": 0.66}, {"id": 2, "capacity": 0.34}]}'
put "$gray/ues/1" '{"slice": 1}'
put "$gray/ues/2" '{"slice": 2}'
busy=$(shares 13b.txt)
near "13b: gray's share" "$(share "$busy")" 66 2

# Figure 13a: two UEs, then three.
until (($(wc -l <13a.txt) >= 4)); do sleep 0.2; done
near "13a, two UEs: white's share" "$(share "$(head -n 4 13a.txt | tail -n 1 | python3 -c '
import json, sys
print(*(flow["mbps"] for flow in json.load(sys.stdin)["radios"][0]["flows"]))')")" 50 2
white=$slicing/gnb%20505.01%201
until curl -sS "$white" | grep -q '"rnti":3'; do sleep 0.1; done
near "13a, three UEs: white's share" "$(share "$(shares 13a.txt)")" 33.3 2
put "$white/slices" '{"algorithm": "nvs", "sharing": true, "slices": [{"id": 1, "capacity": 0.5}, {"id": 2, "capacity": 0.5}]}'
put "$white/ues/1" '{"slice": 1}'
put "$white/ues/2" '{"slice": 2}'
put "$white/ues/3" '{"slice": 2}'
near "13a, halves: white's share" "$(share "$(shares 13a.txt)")" 50 2
put "$white/slices/2" '{"capacity": 0.34}'
put "$white/slices/1" '{"capacity": 0.66}'
near "13a, two thirds: white's share" "$(share "$(shares 13a.txt)")" 66 2
for _ in $(seq 10); do
    idle=$(shares 13b.txt)
    [[ ${idle#* } != 0.00 ]] || break
done
near "13b: gain of gray, %" "$(python3 -c 'import sys; a, b = sys.argv[1].split()[0], sys.argv[2].split()[0]; print(100 * (float(b) / float(a) - 1))' "$busy" "$idle")" 50 5
# The control is refused with the reason of the base station.
code=$(curl -sS -o answer.json -w '%{http_code}' -X PUT -H 'content-type: application/json' "$white/slices/1" -d '{"capacity": 0.7}')
[[ $code == 409 ]] && grep -q overcommitted answer.json || { cat answer.json; exit 1; }

# Figure 11: voice waits behind TCP in RLC, until the xApp configures a separate queue for voice and paces TCP.
voice() {
    seconds 11.txt "$1" | python3 -c '
import json, sys
radios = [json.loads(line)["radios"][0] for line in sys.stdin]
voice = [flow for radio in radios for flow in radio["flows"] if flow["what"] == "voip"]
rtts = sorted(flow["rtt_us_p50"] for flow in voice)
print(rtts[len(rtts) // 2], sum(radio["prb_use"] for radio in radios) / len(radios), sum(flow["dropped"] for flow in voice))'
}
for _ in $(seq 20); do
    read -r before _ _ < <(voice 1)
    ((before < 150000)) || break
done
((before >= 150000)) || { echo "voice behind TCP has a round-trip time of only $before us"; exit 1; }
"$RANLAB" xapp traffic --rest "$traffic" --limit 10ms --destination-port 2112 --duration 3s --format json >xapp.txt
grep -q '"helped":1' xapp.txt || { cat xapp.txt; exit 1; }
read -r after prbs dropped < <(voice 3)
echo "round-trip time of voice: $before us before, $after us after; share of PRBs used: $prbs"
((before >= 4 * after)) || exit 1
near "PRBs in use" "$prbs" 1 0.05
((dropped == 0)) || { echo "$dropped voice packets were dropped"; exit 1; }

# The report shows whether the base station kept up.
kill "${started[2]}"
wait "${started[2]}"
tail -n 1 13a.txt | python3 -c '
import json, sys
pace = json.load(sys.stdin)["pace"]
sys.exit(0 if pace["real_time_factor"] > 0 else f"no pace: {pace}")'
