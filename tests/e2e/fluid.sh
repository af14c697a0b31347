#!/usr/bin/env bash
# Tests base stations whose statistics are from the radio model in coarse steps, without packets. An xApp receives the
# statistics, and settings that need packets are refused.
set -euo pipefail

. "$(dirname "$0")/started.sh"
"$RANLAB" ric --e2 tcp://127.0.0.1:0 --e42 tcp://127.0.0.1:0 --duration 30s --format ndjson >ric.txt &
started+=($!)
e2=$(address ric.txt e2)
fleet=(emulate --connect "$e2" --nodes 20 --ues 10 --radio nr:106 --fidelity fluid --channel sinr:15 --flows udp:2)
"$RANLAB" "${fleet[@]}" --duration 5s --format json >fleet.txt &
started+=($!)
"$RANLAB" xapp monitor --connect "$(address ric.txt e42)" --sm mac,rlc --period 100ms --duration 3s --format json >monitor.txt
grep -q '"nodes":20,' monitor.txt || { cat monitor.txt; exit 1; }
grep -q '"lost":0,' monitor.txt || { cat monitor.txt; exit 1; }
wait "${started[1]}"
# The model is computed on request, faster than real time.
grep -q '"real_time_factor":[1-9][0-9]' fleet.txt || { cat fleet.txt; exit 1; }

refused() {
    local code=0
    "$RANLAB" "${fleet[@]}" "${@:2}" 2>why.txt || code=$?
    { ((code == 2)) && grep -q "$1" why.txt; } || { echo "$*: exit $code"; cat why.txt; exit 1; }
}
refused 'the flow voip' --flows voip
refused 'the flow tcp' --flows tcp
refused 'a stay' --stay 1@1s
refused 'has no RRC' --plmn 001.01
refused 'complete base stations' --kind split
