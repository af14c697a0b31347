#!/usr/bin/env bash
# Tests controllers and base stations with the behaviour of FlexRAN and 5G-EmPOWER. The state of the emulated base stations
# is read back from the controller over REST.
set -euo pipefail

. "$(dirname "$0")/started.sh"
field() { sed -n "s/.*\"$1\":\([^,}]*\).*/\1/p" | head -n 1; }
fetch() { exec 3<>"/dev/tcp/127.0.0.1/$1"; printf 'GET %s HTTP/1.0\r\nHost: localhost\r\n\r\n' "$2" >&3; cat <&3; exec 3>&-; }

"$RANLAB" controller flexran --rib-share 0.8 --listen 127.0.0.1:0 --http 127.0.0.1:0 --duration 60s --format ndjson >flexran.txt &
started+=($!)
mapfile -t at < <(ports flexran.txt)
"$RANLAB" emulate --protocol flexran --connect "tcp://127.0.0.1:${at[0]}" --nodes 10 --ues 20 --activation constant:0s \
    --duration 5s --probe 10s --format json --read-back "http://127.0.0.1:${at[1]}/stats_manager/enb_config=/eNB_config" \
    --read-back-ues "http://127.0.0.1:${at[1]}/stats_manager/enb_config=/eNB_config/*/ues" >fleet.txt
[[ $(field known_nodes <fleet.txt) == 10.0 && $(field known_ues <fleet.txt) == 200.0 ]] || { cat fleet.txt; exit 1; }
[[ $(field alive <fleet.txt) == 10 && $(field ues <fleet.txt) == 200 ]] || { echo "output of the fleet:"; cat fleet.txt; exit 1; }
[[ $(field faults <fleet.txt) == 0 && $(field probe_us <fleet.txt) -gt 0 ]] || { cat fleet.txt; exit 1; }
fetch "${at[1]}" /stats_manager/all >all.txt
# As in the published controller, dead agents stay in the RIB. It contains ten agents of the fleet, which has ended, and the
# probe.
[[ $(grep -o '"eNBId"' all.txt | wc -l) == 11 ]] || { echo "the RIB does not contain eleven agents"; exit 1; }
[[ $(grep -o '"reported":true' all.txt | wc -l) == 200 ]] || { echo "not every UE has reported"; exit 1; }
fetch "${at[1]}" /v1/counters >counters.txt
grep -q '"overload":\[\]' counters.txt || { echo "overload reported with ten base stations"; exit 1; }
# No connection was made to test reachability, because published controllers would count it as a base station.
[[ $(field connections <counters.txt) == 11 ]] || { echo "expected eleven connections"; cat counters.txt; exit 1; }
# Reports of 3,000 UEs exceed the message size of the protocol. A run without load fails, and prints the reason.
if "$RANLAB" emulate --protocol flexran --connect "tcp://127.0.0.1:${at[0]}" --nodes 1 --ues 3000 --activation constant:0s \
    --duration 3s >none.txt 2>none.err; then
    echo "no report was sent, but the run succeeded"; cat none.txt; exit 1
fi
grep -q '1 connected, .* [1-9][0-9]* faults, .* 0 reports' none.txt && grep -q 'at most 240000' none.err ||
    { echo "the reason for the missing reports is not printed"; cat none.txt none.err; exit 1; }

# The controller is suspended for six seconds. This is reported with the controller's name and the duration, and reports are
# delayed by this duration.
"$RANLAB" emulate --protocol flexran --connect "tcp://127.0.0.1:${at[0]}" --nodes 2 --ues 2 --activation constant:0s \
    --duration 12s >stopped.txt &
fleet=$!
sleep 2
kill -STOP "${started[0]}"
sleep 6
kill -CONT "${started[0]}"
wait "$fleet"
grep -Eq 'the controller stopped reading at [0-9.]+ s, for [5-9]\.[0-9] s \(2 connections\)' stopped.txt &&
    grep -Eq 'send delay p99 [5-9][0-9]{6} us' <(tail -n 1 stopped.txt) || { cat stopped.txt; exit 1; }
# After the controller is killed, no base station is connected, so the run fails.
"$RANLAB" controller flexran --listen 127.0.0.1:0 --http 127.0.0.1:0 --duration 60s --format ndjson >dying.txt &
dying=$!
mapfile -t dead < <(ports dying.txt)
"$RANLAB" emulate --protocol flexran --connect "tcp://127.0.0.1:${dead[0]}" --nodes 2 --duration 4s >dead.txt 2>dead.err &
fleet=$!
sleep 2
kill -KILL "$dying"
! wait "$fleet" && grep -q 'the controller was lost at' dead.txt && grep -q 'no base station is alive any more' dead.err ||
    { cat dead.txt dead.err; exit 1; }

"$RANLAB" emulate --protocol empower --nodes 8 --identities >vbses.txt
[[ $(wc -l <vbses.txt) == 8 ]]
"$RANLAB" controller empower --registered vbses.txt --listen 127.0.0.1:0 --http 127.0.0.1:0 --duration 60s --format ndjson >empower.txt &
started+=($!)
mapfile -t at < <(ports empower.txt)
# Ten base stations, two of which are not registered.
"$RANLAB" emulate --protocol empower --connect "tcp://127.0.0.1:${at[0]}" --nodes 10 --ues 5 --activation constant:0s \
    --duration 6s --format json >fleet.txt &
fleet=$!
for _ in $(seq 100); do
    sleep 0.1
    fetch "${at[1]}" /api/v1/vbses >vbses.json
    # Every UE has an RSRP after it has been measured.
    [[ $(grep -o '"online"' vbses.json | wc -l) == 8 && $(grep -o '"rsrp":-' vbses.json | wc -l) == 40 ]] && break
done
[[ $(grep -o '"online"' vbses.json | wc -l) == 8 ]] || { echo "expected eight base stations online"; cat vbses.json; exit 1; }
[[ $(grep -o '"rsrp":-' vbses.json | wc -l) == 40 ]] || { echo "expected forty measured UEs"; exit 1; }
wait "$fleet"
[[ $(field alive <fleet.txt) == 8 && $(field reconnects <fleet.txt) -ge 2 ]] || { cat fleet.txt; exit 1; }

# With a RIB share that is too small, the controller drops messages, leaks their memory, and reports both.
"$RANLAB" controller flexran --rib-share 0.001 --queue-messages 50 --listen 127.0.0.1:0 --http 127.0.0.1:0 \
    --duration 60s --format ndjson >short.txt &
started+=($!)
mapfile -t at < <(ports short.txt)
"$RANLAB" emulate --protocol flexran --connect "tcp://127.0.0.1:${at[0]}" --nodes 20 --ues 100 --activation constant:0s \
    --duration 60s --format json >fleet.txt &
started+=($!)
signs=(drops 'memory grows' 'starves its applications')
for _ in $(seq 150); do
    sleep 0.2
    fetch "${at[1]}" /v1/counters >counters.txt
    [[ $(printf '"%s"\n' "${signs[@]}" | grep -cFf - <(tr , '\n' <counters.txt)) -lt 3 ]] || break
done
for sign in "${signs[@]}"; do
    grep -q "\"$sign\"" counters.txt || { echo "missing: $sign"; cat counters.txt; exit 1; }
done
kill "${started[-1]}"
# A controller that the campaign did not start is queried over REST.
"$RANLAB" controller flexran --rib-share 0.8 --listen 127.0.0.1:0 --http 127.0.0.1:0 --duration 60s --format ndjson >strange.txt &
started+=($!)
mapfile -t at < <(ports strange.txt)
cat >strange.toml <<TOML
title = "a controller that runs already"
rig = "southbound"
[sut]
type = "external"
address = "127.0.0.1:${at[0]}"
pid = ${started[-1]}
rest = "http://127.0.0.1:${at[1]}/stats_manager/enb_config"
rest_nodes = "/eNB_config"
rest_ues = "/eNB_config/*/ues"
[load]
nodes = 3
ues = 7
activation = "constant:0s"
extra_node_timeout = "0s"
[host]
when_noisy = "warn"
[measure]
duration = "1s"
warm_up = "1s"
repeats = 1
TOML
"$RANLAB" bench run strange.toml --fresh --out strange --format json >strange.json
for known in '"rest_nodes":{[^}]*"mean":3.0' '"rest_ues":{[^}]*"mean":21.0' '"rx_data_packets_per_s":{[^}]*"mean":[1-9]'; do
    grep -q "$known" strange.json || { echo "not read back: $known"; cat strange.json; exit 1; }
done

echo "FlexRAN and 5G-EmPOWER: base stations and UEs arrive, unregistered ones do not, overload is named"
