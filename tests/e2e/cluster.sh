#!/usr/bin/env bash
# ranlab ric --bus: a RIC at one nats-server; then three RICs at three, whose base stations find another one when theirs is killed,
# drained, or the bus loses a server, and whose xApps see all base stations at any RIC.
set -euo pipefail
here=$(dirname "$0")
. "$here/started.sh"
nats=$(command -v nats-server || echo /usr/sbin/nats-server)
[[ -x $nats ]] || { echo "nats-server is not installed; scripts/need.sh nats installs it"; exit 77; }

# What is asked for wrongly is told by name, and secrets stay secret.
refused() {
    local code=0
    "$RANLAB" ric --duration 1s --e2 "unix://$PWD/x2" --e42 "unix://$PWD/x42" "${@:2}" >refused.txt 2>&1 || code=$?
    [[ $code == 2 ]] && grep -q -- "$1" refused.txt || { echo "exit $code:"; cat refused.txt; exit 1; }
}
refused "--bus-name" --bus nats://127.0.0.1:4222
refused "is no name of a RIC" --bus nats://127.0.0.1:4222 --bus-name "a b"
refused "takes no password" --bus nats://me:hush@127.0.0.1:4222 --bus-name a
! grep -q hush refused.txt
refused "nats://HOST:PORT" --bus redis://127.0.0.1:4222 --bus-name a
refused "they take --bus" --bus-name a

# One server with a password, from a file.
port=$(python3 -c 'import socket; s = socket.socket(); s.bind(("127.0.0.1", 0)); print(s.getsockname()[1])')
printf 'listen: 127.0.0.1:%s\njetstream { store_dir: "%s/js" }\nauthorization { user: ric, password: hush }\n' "$port" "$PWD" >nats.conf
"$nats" -c nats.conf >nats.log 2>&1 &
started+=($!)
for _ in {1..100}; do grep -q "Server is ready" nats.log && break || sleep 0.05; done
echo ric:hush >secret
"$RANLAB" ric --bus "nats://127.0.0.1:$port" --bus-name one --bus-replicas 1 --bus-password-file secret \
    --e2 "unix://$PWD/e2" --e42 "unix://$PWD/e42" --duration 30s --format ndjson -vv >ric.txt 2>ric.log &
ric=$!
started+=($ric)
for _ in {1..200}; do [[ -S e2 ]] && break || sleep 0.05; done
"$RANLAB" emulate --connect "unix://$PWD/e2" --nodes 3 --ues 1 --sm mac --duration 4s --format json >fleet.json
grep -q '"alive":3' fleet.json || { cat fleet.json ric.txt; exit 1; }
[[ $(grep -c "is served here, as owner number 1" ric.txt) == 3 ]] || { cat ric.txt; exit 1; }
kill -TERM "$ric"
wait "$ric"
! grep -q hush ric.txt ric.log

python3 "$here/../../scripts/cluster.py" "$RANLAB" --nodes 9 --faults kill-ric,drain-ric
