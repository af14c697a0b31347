#!/usr/bin/env bash
# Tests rules with models, priorities and [conflicts]. While an xApp holds the quota of a slice, requests of an xApp with
# the same priority are refused with a reason, and requests with a higher priority succeed. An xApp whose rule lacks the
# model RC is always refused. The RIC uses two threads.
set -euo pipefail
. "$(dirname "$0")/started.sh"

cat >rules.toml <<P
[conflicts]
hold_s = 60

[[rule]]                        # any xApp that connects to this socket
peer = "unix://$PWD/important*"
priority = 9

[[rule]]
peer = "unix://$PWD/other*"
tenant = "statistics"
models = ["mac"]

[[rule]]
peer = "tcp://*"
priority = 5
P
"$RANLAB" ric --threads 2 --e2 tcp://127.0.0.1:0 --e42 tcp://127.0.0.1:0 --e42 "unix://$PWD/important" --e42 "unix://$PWD/other" \
    --http 127.0.0.1:0 --xapps rules.toml --duration 60s --format ndjson >ric.txt &
started+=($!)
e2=$(address ric.txt e2) e42=$(address ric.txt e42 | head -n 1) api=$(address ric.txt http)
"$RANLAB" emulate --connect "$e2" --radio lte:25 --nodes 2 --ues 1 --flows full --sm mac,kpm --duration 60s >stations.txt &
started+=($!)
set_quota() {
    local at=$1
    shift
    "$RANLAB" xapp control --connect "$at" --plmn 505.01 --rc-quota "$@"
}

# until_seen PATH PATTERN COUNT: waits until the pattern occurs COUNT times.
until_seen() {
    for _ in {1..200}; do
        [[ $(curl -fsS "$api$1" | grep -oE "$2" | wc -l) -ge $3 ]] && return || sleep 0.1
    done
    echo "timed out: GET $1 did not contain $2 $3 times"; exit 1
}
until_seen /v1/nodes '"connected":true' 2

# The xApp measures the effect of its control, and holds the quota in the meantime.
set_quota "$e42" 1=0:20 --effect 20 --kpi RRU.PrbTotDl >holder.txt &
started+=($!)
until_seen /metrics '^ranlab_ric_controls_total 2$' 1
if set_quota "$e42" 1=0:50 >equal.txt 2>&1; then exit 1; fi
grep -q 'quota 505.01/1 is set by xApp 7 of priority 5, yours is 5' equal.txt || { cat equal.txt; exit 1; }
set_quota "$e42" 2=0:50 >another.txt || { cat another.txt; exit 1; }
if set_quota "unix://$PWD/other" 1=0:50 >without.txt 2>&1; then exit 1; fi
if grep -q 'is set by' without.txt; then exit 1; fi
set_quota "unix://$PWD/important" 1=0:60 >important.txt || { cat important.txt; exit 1; }
# Statistics are available to all xApps. xApps without RC may subscribe only to MAC.
"$RANLAB" xapp monitor --connect "unix://$PWD/other" --sm mac --duration 2s --totals --format json >mac.json
python3 -c 'import json; told = json.load(open("mac.json")); assert told["subscriptions"] == 2 and told["indications"] > 0, told'
curl -fsS "$api/metrics" >metrics.txt
grep -q '^ranlab_ric_controls_in_conflict_total 2$' metrics.txt || { grep conflict metrics.txt; exit 1; }
grep -q '^ranlab_ric_controls_overridden_total 2$' metrics.txt || { grep overridden metrics.txt; exit 1; }
[[ $(grep -c 'quota 505.01/1 is set by xapp' ric.txt) == 4 ]] || { cat ric.txt; exit 1; }
echo "same priority refused, higher priority took over, xApp without RC refused"
