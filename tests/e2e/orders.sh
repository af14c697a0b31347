#!/usr/bin/env bash
# xapp control: orders of RC, what is refused and why, and what an order did: means of KPM before and after.
set -euo pipefail
. "$(dirname "$0")/started.sh"

"$RANLAB" ric --e2 tcp://127.0.0.1:0 --e42 tcp://127.0.0.1:0 --duration 60s --format ndjson >ric.txt &
started+=($!)
e2=$(address ric.txt e2) e42=$(address ric.txt e42)
"$RANLAB" emulate --connect "$e2" --radio lte:25 --nodes 2 --ues 2 --flows full --sm mac,kpm --duration 60s >stations.txt &
started+=($!)
control() { "$RANLAB" xapp control --connect "$e42" --plmn 505.01 "$@"; }

control --rc-quota 1=0:20 --effect 5 --kpi RRU.PrbTotDl,DRB.UEThpDl --format ndjson >effect.ndjson
control --rc-quota 1=0:60 --node "505.01 2" --effect 3 --sm mac --kpi dl_aggr_bytes_sdus >column.txt
grep -Eq '^  dl_aggr_bytes_sdus: [0-9.]+ before, [0-9.]+ after$' column.txt
refused() {
    local words=$1
    shift
    if control "$@" >refused.txt 2>&1; then exit 1; fi
    grep -q "$words" refused.txt || { cat refused.txt; exit 1; }
}
refused 'refused' --rc-handover 1=0fffffff0
refused 'no column with numbers; there are dl_aggr_tbs' --rc-quota 1=0:60 --effect 3 --sm mac --kpi speed
refused 'effect' --rc-quota 1=0:60 --kpi speed

python3 - <<'P'
import json
lines = [json.loads(line) for line in open("effect.ndjson")]
assert lines[-1] == {"accepted": 2, "refused": 0}, lines
for told in lines[:-1]:
    prbs, throughput = told["effect"]["RRU.PrbTotDl"], told["effect"]["DRB.UEThpDl"]
    # Two UEs shared the carrier; now they share a fifth of it. The first period may have begun before the order.
    assert abs(prbs["before"] - 50) < 3 and 9 < prbs["after"] < 20, told
    assert throughput["after"] < 0.5 * throughput["before"], told
print(len(lines) - 1, "base stations obeyed:", lines[0]["effect"])
P
