#!/usr/bin/env bash
# Tests `ric --bus --iapp slicing`. The orders that operators have sent to a RIC stay valid after the RIC is killed: at the
# RIC that serves the base station next, and after a restart of the first RIC. If the stored snapshot is invalid, this is
# reported, and the controller starts without state.
set -euo pipefail
. "$(dirname "$0")/started.sh"
command -v curl >/dev/null || { echo "curl is not installed"; exit 77; }
nats=$(command -v nats-server || echo /usr/sbin/nats-server)
[[ -x $nats ]] || { echo "nats-server is not installed; scripts/need.sh nats installs it"; exit 77; }
port=$(python3 -c 'import socket; s = socket.socket(); s.bind(("127.0.0.1", 0)); print(s.getsockname()[1])')
"$nats" -a 127.0.0.1 -p "$port" -js -sd "$PWD/js" >nats.log 2>&1 &
started+=($!)
# ric NAME FILE
ric() {
    "$RANLAB" ric --bus "nats://127.0.0.1:$port" --bus-name "$1" --bus-replicas 1 --iapp slicing --period 20ms --http 127.0.0.1:0 \
        --e2 tcp://127.0.0.1:0 --e42 tcp://127.0.0.1:0 --duration 120s --format ndjson >"$2" 2>"$2.err" &
    started+=($!)
}
# until_says TEXT URL: waits up to 20 s until the response contains TEXT.
until_says() {
    for _ in {1..400}; do curl -sS "$2" >said.json && grep -q -- "$1" said.json && return || sleep 0.05; done
    echo "$2 does not contain $1:"; cat said.json; exit 1
}
ric north north.txt
north=$!
ric south south.txt
for name in north south; do
    for _ in {1..400}; do grep -q "part of the quorum" $name.txt && break || sleep 0.05; done
done
there=$(address north.txt e2) other=$(address south.txt e2)
"$RANLAB" emulate --one-of --connect "$there" --connect "$other" --radio nr:106 --ues 2 --flows full --duration 120s --format ndjson >stations.txt &
started+=($!)
of() { echo "$(address "$1" http)/v1/iapps/slicing"; }
at_north=$(of north.txt) at_south=$(of south.txt) node=nodes/gnb%2520505.01%25201
order() { curl -sS --fail-with-body -X PUT -H 'content-type: application/json' -d "$2" "$1" >ordered.json || { echo "$1:"; cat ordered.json; exit 1; }; }
until_says '"connected":true' "$at_north/nodes"
until_says '"connected":true' "$at_south/nodes"
order "$at_north/policy" '{"rules": [{"plmn": "505.01", "slice": {"id": 1, "capacity": 0.4}}]}'
until_says '"slice":1.*"slice":1' "$at_north/$node"
rnti=$(sed 's/.*"rnti":\([0-9]*\).*/\1/' said.json)
order "$at_north/$node/slices/2" '{"capacity": 0.4}'
order "$at_north/$node/ues/$rnti" '{"slice": 2}'
# The controller at the other RIC, which sees the base station through the first RIC, must have the same state.
until_says '"capacity":0.4' "$at_south/policy"
until_says '^ranlab_snapshots_restored_total [2-9]' "$(address south.txt http)/metrics"

kill -9 "$north"
for _ in {1..400}; do grep -q "is served by this RIC" south.txt && break || sleep 0.05; done
until_says '"connected":true' "$at_south/nodes"
# The policy is applied at the other RIC. The UE that was associated manually stays in its slice; otherwise it would be
# in slice 1 after the next report.
sleep 0.3
until_says '"connected":true.*"by_hand":true' "$at_south/$node"
python3 - "$rnti" <<'P'
import json, sys
ues = {ue["rnti"]: (ue["slice"], ue["by_hand"]) for ue in json.load(open("said.json"))["ues"]}
assert ues.pop(int(sys.argv[1])) == (2, True) and set(ues.values()) == {(1, False)}, ues
P
ric north again.txt
for _ in {1..400}; do [[ -n $(address again.txt http) ]] && break || sleep 0.05; done
until_says '"capacity":0.4' "$(of again.txt)/policy"

# Another client writes an invalid snapshot.
python3 - "$port" <<'P'
import socket, sys
bus = socket.create_connection(("127.0.0.1", int(sys.argv[1])))
text = b"ranlab1 state ric=west life=1 version=1\n{\"rules\": 7}"
bus.sendall(b'CONNECT {"verbose":false}\r\nPUB $KV.ranlab.state.slicing %d\r\n%s\r\nPING\r\n' % (len(text), text))
while b"PONG" not in bus.recv(65536):
    pass
P
until_says '"rules":\[\]' "$at_south/policy"
grep -q "the state of slicing was not transferred: invalid type" south.txt || { cat south.txt; exit 1; }
curl -sS "$(address south.txt http)/metrics" >metrics.txt
grep -qx 'ranlab_snapshots_malformed_total 1' metrics.txt
grep -q '^ranlab_snapshots_restored_total [1-9]' metrics.txt
echo "handed over: a policy, and UEs associated by hand"
