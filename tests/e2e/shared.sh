#!/usr/bin/env bash
# Two RICs with one nats-server. A value that is set at one RIC is read at the other. Messages and policies that are
# sent to one RIC arrive at both. Each RIC lists the base stations of both, and hands its own over on request.
set -euo pipefail
. "$(dirname "$0")/started.sh"
command -v curl >/dev/null || { echo "curl is not installed"; exit 77; }
nats=$(command -v nats-server || echo /usr/sbin/nats-server)
[[ -x $nats ]] || { echo "nats-server is not installed; scripts/need.sh nats installs it"; exit 77; }
chmod 0755 .
mkdir types
echo '{"policySchema": {"type": "object", "properties": {"prbs": {"type": "integer"}}, "required": ["prbs"]}}' >types/quota_1.0.0.json
port=$(python3 -c 'import socket; s = socket.socket(); s.bind(("127.0.0.1", 0)); print(s.getsockname()[1])')
printf 'listen: 127.0.0.1:%s\njetstream { store_dir: "%s/js" }\n' "$port" "$PWD" >nats.conf
"$nats" -c nats.conf >nats.log 2>&1 &
server=$!
started+=("$server")
for _ in {1..200}; do grep -q "Server is ready" nats.log && break || sleep 0.05; done
echo 0123456789abcdef0123 >token && chmod 0600 token
# ric NAME: starts a RIC, and stores its HTTP address in $api.
ric() {
    "$RANLAB" ric --bus "nats://127.0.0.1:$port" --bus-name "$1" --bus-replicas 1 --e2 tcp://127.0.0.1:0 --e42 tcp://127.0.0.1:0 \
        --http 127.0.0.1:0 --http-token-file token --a1-types types --format ndjson >"$1.txt" 2>"$1.err" &
    started+=($!)
    api=$(address "$1.txt" http)
    [[ -n $api ]] || { cat "$1.err"; exit 1; }
}
ric north; north=$api
ric south; south=$api
# asks METHOD URL STATUS [BODY]: sends a request and checks the status; the response is in answer.txt.
asks() {
    local code
    code=$(curl -sS -m 20 -X "$1" -o answer.txt -w '%{http_code}' -H "Authorization: Bearer $(cat token)" -H 'content-type: application/json' \
        ${4:+-d "$4"} "$2")
    [[ $code == "$3" ]] || { echo "$1 $2 returned $code instead of $3"; cat answer.txt north.err south.err; exit 1; }
}
says() { grep -qF "$1" answer.txt || { echo "the response lacks $1:"; cat answer.txt; exit 1; }; }

# A value has one revision, regardless of the RIC at which it was set.
asks GET "$south/v1/kv/slicer/limits.a:1" 404
asks PUT "$north/v1/kv/slicer/limits.a:1" 200 '{"value": {"prbs": 30}, "revision": 0}'
asks GET "$south/v1/kv/slicer/limits.a:1" 200; says '"value":{"prbs":30}'
revision=$(sed 's/.*"revision":\([0-9]*\).*/\1/' answer.txt)
asks PUT "$south/v1/kv/slicer/limits.a:1" 409 '{"value": 1, "revision": 0}'; says "has revision $revision"
asks PUT "$south/v1/kv/slicer/limits.a:1" 200 "{\"value\": 1, \"revision\": $revision}"
asks DELETE "$north/v1/kv/slicer/limits.a:1?revision=$revision" 409
asks GET "$north/v1/kv/slicer" 200; says '"key":"limits.a:1"'
asks DELETE "$north/v1/kv/slicer/limits.a:1" 204
asks DELETE "$south/v1/kv/slicer/limits.a:1" 404
asks PUT "$south/v1/kv/slicer/limits.a:1" 200 '{"value": 2, "revision": 0}'
# A write that exceeds the size limit of a namespace returns 409. Other namespaces are not affected.
python3 -c 'print("{\"value\": \"" + "x" * 16000 + "\"}")' >long.json
for key in {1..120}; do
    code=$(curl -sS -X PUT -o answer.txt -w '%{http_code}' -H "Authorization: Bearer $(cat token)" -H 'content-type: application/json' \
        -d @long.json "$north/v1/kv/slicer/k$key")
    [[ $code == 200 ]] || break
done
[[ $code == 409 ]] && ((60 < key && key < 110)) || { echo "the write of key $key returned $code"; cat answer.txt; exit 1; }
asks PUT "$south/v1/kv/other/k" 200 '{"value": 1}'

# A message arrives once at each RIC.
for it in north south; do
    curl -sSN -m 60 -H "Authorization: Bearer $(cat token)" "${!it}/v1/topics/a1/quota_1.0.0" >"heard-$it.txt" &
    started+=($!)
done
for it in north south; do
    for _ in {1..100}; do
        asks POST "${!it}/v1/topics/a1/quota_1.0.0" 200 "{\"ready\": \"$it\"}"
        ! grep -q '"listeners":1' answer.txt || break
        sleep 0.1
    done
done
for _ in {1..100}; do
    asks POST "$north/v1/topics/a1/quota_1.0.0" 200 '{"again": 1}'
    ! grep -q again heard-south.txt || break
    sleep 0.1
done
asks PUT "$north/A1-P/v2/policytypes/quota_1.0.0/policies/night" 201 '{"prbs": 30}'
asks GET "$south/A1-P/v2/policytypes/quota_1.0.0/policies" 200; says '["night"]'
asks PUT "$south/v1/kv/a1-status/quota_1.0.0:night" 200 '{"value": {"enforceStatus": "ENFORCED"}}'
asks GET "$north/A1-P/v2/policytypes/quota_1.0.0/policies/night/status" 200; says '{"enforceStatus":"ENFORCED"}'
for it in north south; do
    for _ in {1..100}; do ! grep -q '"event":"put"' "heard-$it.txt" || break; sleep 0.1; done
    [[ $(grep -c '"event":"put"' "heard-$it.txt") == 1 ]] || { cat "heard-$it.txt"; exit 1; }
done

# The cluster resource lists base stations by RIC. After one RIC is drained, the other has its base station.
place() { sed -n 's/.*"address":"\(tcp:[^"]*\)".*"listening":"e2".*/\1/p; s/.*"listening":"e2".*"address":"\(tcp:[^"]*\)".*/\1/p' "$1.txt"; }
"$RANLAB" emulate --one-of --connect "$(place north)" --connect "$(place south)" --nodes 1 --ues 1 --sm mac --format ndjson >stations.txt &
started+=($!)
# claimed NAME: waits until `north` reports that the RIC NAME has claimed the base station.
claimed() {
    for _ in {1..300}; do
        asks GET "$north/v1/ric/cluster" 200
        ! grep -q "\"ric\":\"$1\"" answer.txt || return 0
        sleep 0.1
    done
    echo "timed out: $1 has no claim:"; cat answer.txt north.err south.err; exit 1
}
curl -s -o /dev/null -w '%{http_code}' -X POST -d '{}' "$north/v1/ric/drain" | grep -q 401
for _ in {1..300}; do
    asks GET "$south/v1/ric/cluster" 200
    ! grep -q '"claims":\[{' answer.txt || break
    sleep 0.1
done
says '"lawful":true'
first=$(sed 's/.*"claims":\[{[^}]*"ric":"\([a-z]*\)".*/\1/' answer.txt)
[[ $first == north ]] && other=south || other=north
asks POST "${!first}/v1/ric/drain" 202 '{}'
claimed "$other"
asks GET "${!first}/v1/ric/cluster" 200; says '"draining":true'; says '"held":0'
asks POST "${!other}/v1/ric/drain" 409 '{}'; says 'no other RIC'

# Without the bus, reads fail instead of returning old values, and requests do not hang.
kill -9 "$server"
asks GET "$north/v1/kv/slicer/limits.a:1" 503
asks PUT "$north/v1/kv/slicer/limits.a:1" 503 '{"value": 3}'
echo "the shared store is common to all RICs, and a RIC hands its base stations over on request"
