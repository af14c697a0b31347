#!/usr/bin/env bash
# Tests slice quotas. The orders in crates/e2/ran/tests/it/quota_orders.json are sent to base stations by `xapp control` and
# over HTTP. The shares of the UEs are checked in KPM reports.
set -euo pipefail
here=$(cd "$(dirname "$0")" && pwd)
. "$here/started.sh"
table=$here/../../crates/e2/ran/tests/it/quota_orders.json

"$RANLAB" ric --e2 tcp://127.0.0.1:0 --e42 tcp://127.0.0.1:0 --http 127.0.0.1:0 --duration 300s --format ndjson >ric.txt &
started+=($!)
e2=$(address ric.txt e2) e42=$(address ric.txt e42) api=$(address ric.txt http)
# There is one base station for each order. Each line has the arguments of one process.
"$here/quotas.py" stations "$table" >stations.txt
while read -ra arguments; do
    "$RANLAB" emulate --connect "$e2" --radio nr:273 --sm mac,kpm,rc,ccc --duration 300s "${arguments[@]}" >>emulate.txt 2>&1 &
    started+=($!)
done <stations.txt
"$here/quotas.py" orders "$table" "$e42" "$api"

# Orders that break a rule are not sent.
refused() {
    local code=0
    "$RANLAB" xapp control --connect "$e42" --rc-quota "$2" >refused.txt 2>&1 || code=$?
    [[ $code == 2 ]] && grep -q "$1" refused.txt || { echo "exit $code:"; cat refused.txt; exit 1; }
}
refused 'slice 1: the minimum of 60 % exceeds the maximum of 50 %' 1=60:50
refused 'slice 1: the dedicated ratio of 20 % exceeds the minimum of 10 %' 1=10:50:20
refused 'slice 1: 101 % is not a ratio' 1=0:101
refused 'the minimum ratios add up to 110 %' 1=60:100,3=50:100
refused 'has two quotas of one PLMN; one is allowed' 1=0:50,1=0:60
