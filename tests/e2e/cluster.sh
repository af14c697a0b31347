#!/usr/bin/env bash
# Tests `ric --bus`, first with one RIC and one nats-server that starts later, then with three RICs and three servers. If
# a RIC is killed or drained, its base stations and xApps move to another RIC. At any RIC, xApps see all base stations.
# No acknowledged control is lost.
set -euo pipefail
here=$(dirname "$0")
. "$here/started.sh"
nats=$(command -v nats-server || echo /usr/sbin/nats-server)
[[ -x $nats ]] || { echo "nats-server is not installed; scripts/need.sh nats installs it"; exit 77; }

# Errors name the wrong option, and secrets do not appear in them.
ric_refuses "--bus-name" --bus nats://127.0.0.1:4222
ric_refuses "is not a name of a RIC" --bus nats://127.0.0.1:4222 --bus-name "a b"
ric_refuses "takes no password" --bus nats://me:hush@127.0.0.1:4222 --bus-name a
! grep -q hush refused.txt
ric_refuses "nats://HOST:PORT" --bus redis://127.0.0.1:4222 --bus-name a
ric_refuses "require --bus" --bus-name a

# A RIC starts before its server, which requires a password from a file. The RIC reports the missing server once and
# keeps trying.
port=$(python3 -c 'import socket; s = socket.socket(); s.bind(("127.0.0.1", 0)); print(s.getsockname()[1])')
printf 'listen: 127.0.0.1:%s\njetstream { store_dir: "%s/js" }\nauthorization { user: ric, password: hush }\n' "$port" "$PWD" >nats.conf
echo ric:hush >secret
"$RANLAB" ric --bus "nats://127.0.0.1:$port" --bus-name one --bus-replicas 1 --bus-password-file secret --http 127.0.0.1:0 \
    --e2 "unix://$PWD/e2" --e42 "unix://$PWD/e42" --duration 60s --format ndjson -vv >ric.txt 2>ric.log &
ric=$!
started+=($ric)
for _ in {1..400}; do grep -q "no bus, retrying: no NATS server at nats://127.0.0.1:$port" ric.txt && break || sleep 0.05; done
for _ in {1..400}; do grep -q '"listening":"http"' ric.txt && break || sleep 0.05; done
metrics=$(sed -n 's/.*"address":"\(http:[^"]*\)".*/\1/p' ric.txt)/metrics
curl -sf "$metrics" >away.txt
grep -qx "ranlab_bus_connected 0" away.txt
grep -q "^ranlab_bus_unreached_total [1-9]" away.txt
"$nats" -c nats.conf >nats.log 2>&1 &
started+=($!)
for _ in {1..400}; do grep -q "part of the quorum" ric.txt && break || sleep 0.05; done
curl -sf "$metrics" >there.txt
grep -qx "ranlab_bus_connected 1" there.txt
[[ $(grep -c "retrying: no NATS server" ric.txt) == 1 ]] && grep -q "connected to the bus" ric.txt || { cat ric.txt; exit 1; }
echo ric:wrong >wrong
code=0
timeout 20 "$RANLAB" ric --bus "nats://127.0.0.1:$port" --bus-name two --bus-password-file wrong --e2 "unix://$PWD/x2" \
    --e42 "unix://$PWD/x42" >refused.txt 2>&1 || code=$?
[[ $code != 0 && $code != 124 ]] && grep -q "reject the credentials" refused.txt || { echo "exit code $code, or the error does not mention the credentials:"; cat refused.txt; exit 1; }
for _ in {1..200}; do [[ -S e2 ]] && break || sleep 0.05; done
"$RANLAB" emulate --connect "unix://$PWD/e2" --nodes 3 --ues 1 --sm mac --duration 4s --format json >fleet.json
grep -q '"alive":3' fleet.json || { cat fleet.json ric.txt; exit 1; }
[[ $(grep -c "is served by this RIC, as owner number 1" ric.txt) == 3 ]] || { cat ric.txt; exit 1; }
kill -TERM "$ric"
wait "$ric"
! grep -q hush ric.txt ric.log

python3 "$here/../../scripts/cluster.py" "$RANLAB" --nodes 9 --faults kill-ric,drain-ric --xapps 2 --orders 30
