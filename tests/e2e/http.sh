#!/usr/bin/env bash
# Tests the HTTP interface of the RIC: nodes, subscriptions, decoded indications as lines and as events, controls, metrics,
# the paths of O-RAN SC, and the token. Also tests the interface of a RIC with a controller, and the sample xApp.
set -euo pipefail

root=$(cd "$(dirname "$0")/../.." && pwd)
. "$(dirname "$0")/started.sh"
command -v curl >curl.txt || { echo "curl is not installed"; exit 77; }
expect() {
    local want=$1 got
    shift
    got=$(curl -sS -o answer.json -w '%{http_code}' "$@")
    [[ $got == "$want" ]] || { echo "$* returned $got instead of $want"; cat answer.json; exit 1; }
}
has() { grep -q -- "$1" "${2:-answer.json}" || { echo "$1 is missing in"; head -c 2000 "${2:-answer.json}"; exit 1; }; }
json=(-H 'content-type: application/json')

"$RANLAB" ric --e2 tcp://127.0.0.1:0 --e42 tcp://127.0.0.1:0 --http 127.0.0.1:0 --duration 120s --format ndjson >ric.txt &
started+=($!)
api=$(address ric.txt http)
"$RANLAB" emulate --connect "$(address ric.txt e2)" --radio nr:106 --ues 2 --flows udp:5 --duration 120s --format json \
    --sm mac,rlc,kpm >station.txt 2>station.err &
started+=($!)
for _ in {1..200}; do curl -fsS "$api/v1/nodes" | grep -q '"connected":true' && break || sleep 0.05; done

expect 200 "$api/v1/nodes"
has '"sm":"mac"' && has '"name":"MAC_STATS_V0"' && has '"inventory_name":"gnb_505_001_00000001"'
expect 201 "${json[@]}" -d '{"node": "gnb 505.01 1", "sm": "mac", "period_ms": 100}' "$api/v1/subscriptions"
has '"state":"active"'
id=$(sed 's/.*"id":\([0-9]*\).*/\1/' answer.json)
timeout 3 curl -sSN "$api/v1/indications?subscription=$id&node=gnb%20505.01%201" >lines.txt || true
[[ $(grep -c '"dl_aggr_tbs"' lines.txt) -ge 5 ]] || { echo "no indications"; head -c 500 lines.txt; exit 1; }
timeout 2 curl -sSN -H 'Accept: text/event-stream' "$api/v1/indications?sm=mac" >events.txt || true
has '^event: indication$' events.txt
expect 200 "$api/v1/subscriptions"
has '"indications":[1-9]'

slices='{"configure": {"algorithm": "nvs", "sharing": true, "slices": [
    {"id": 1, "label": "", "scheduler": "pf", "parameters": {"capacity": 500000}}]}}'
expect 200 "${json[@]}" -d "{\"node\": \"gnb 505.01 1\", \"sm\": \"slice\", \"message\": $slices}" "$api/v1/control"
has acknowledged
expect 409 "${json[@]}" -d '{"node": "gnb 505.01 1", "sm": "slice", "message": {"delete": 9}}' "$api/v1/control"
has '"reason":"unknownSlice"'
expect 422 "${json[@]}" -d '{"node": "gnb 505.01 1", "sm": "slice", "message": 1}' "$api/v1/control"
expect 415 -X POST -d '{}' "$api/v1/control"
expect 405 -X PUT -d '{}' "$api/v1/control"
expect 421 -H 'Host: evil.example' "$api/v1/nodes"
expect 403 -H 'Origin: http://evil.example' "${json[@]}" -d '{}' "$api/v1/subscriptions"

expect 200 "$api/metrics"
has '^ranlab_ric_indications_total [1-9]'
if command -v promtool >/dev/null; then promtool check metrics <answer.json; fi

# The page and its scripts are served. Its event stream begins with the complete state; then changes follow, about once per
# second.
expect 200 "$api/"
has '<script type="module" src="/web/app.js">'
curl -sSI "$api/web/app.js" >head.txt && has "default-src 'none'" head.txt && has 'text/javascript' head.txt
expect 404 "$api/web/none.js"
expect 200 "$api/v1/ric/nodes/gnb%20505.01%201"
has '"id":"gnb 505.01 1"' && has '"sm":"mac"'
expect 404 "$api/v1/ric/nodes/gnb%20505.01%209"

# The list shows connected xApps of E42 and their subscriptions.
"$RANLAB" xapp monitor --connect "$(address ric.txt e42)" --sm mac --totals --duration 120s --format ndjson >monitor.txt 2>monitor.err &
started+=($!)
for _ in {1..200}; do curl -fsS "$api/v1/xapps" | grep -q '"instance":' && break || sleep 0.05; done
expect 200 "$api/v1/xapps"
has '"xapps":\[{"id":[0-9]*,"peer":"[^"]*127.0.0.1:' && has '"node":"gnb 505.01 1"' && has '"pending_controls":0'
expect 405 -X DELETE "$api/v1/xapps"
timeout 3 curl -sSN "$api/v1/overview" >overview.txt || true
has '^event: overview$' overview.txt && has '"begin":true' overview.txt && has '"gnb 505.01 1"' overview.txt
[[ $(grep -c '"begin":false' overview.txt) -ge 1 ]] || { echo "no further events"; cat overview.txt; exit 1; }
# A subscription with a lease ends unless the lease is renewed.
expect 201 "${json[@]}" -d '{"node": "gnb 505.01 1", "sm": "mac", "period_ms": 500, "lease_s": 1}' "$api/v1/subscriptions"
leased=$(sed 's/.*"id":\([0-9]*\).*/\1/' answer.json)
expect 200 "${json[@]}" -d "{\"subscriptions\": [$leased, 60000], \"lease_s\": 1}" "$api/v1/leases"
has "\"renewed\":\[$leased\]" && has '"unknown":\[60000\]'
for _ in {1..100}; do [[ $(curl -sS -o answer.json -w '%{http_code}' "$api/v1/subscriptions/$leased") == 404 ]] && break || sleep 0.05; done
expect 404 "$api/v1/subscriptions/$leased"

# Behaves like an xApp of O-RAN SC: receives status 201 first, and then the notification at its port.
python3 - "$api" <<'P'
import http.server, json, sys, threading, urllib.request
told, heard = [], threading.Event()
class Xapp(http.server.BaseHTTPRequestHandler):
    def do_POST(self):
        body = self.rfile.read(int(self.headers["content-length"]))
        told.append((self.path, json.loads(body)))
        self.send_response(200); self.end_headers(); heard.set()
    def log_message(self, *_): pass
server = http.server.HTTPServer(("127.0.0.1", 0), Xapp)
threading.Thread(target=server.serve_forever, daemon=True).start()
def ask(method, path, body=None):
    data = None if body is None else json.dumps(body).encode()
    request = urllib.request.Request(sys.argv[1] + path, data, {"content-type": "application/json"}, method=method)
    with urllib.request.urlopen(request) as answer:
        return answer.status, answer.read()
status, made = ask("POST", "/ric/v1", {"client_endpoint": {"host": "xapp", "http_port": server.server_port, "rmr_port": 4560},
    "meid": "gnb_505_001_00000001", "ran_function_id": 142, "subscription_details": [{"xapp_event_instance_id": 3,
    "event_triggers": [100, 0, 0, 0], "action_to_be_setup_list": [{"action_id": 0, "action_type": "report", "action_definition": []}]}]})
made = json.loads(made)
assert status == 201 and heard.wait(5), (status, made, told)
path, body = told[0]
assert path == "/ric/v1/subscriptions/response" and body["SubscriptionId"] == made["SubscriptionId"], told
assert body["SubscriptionInstances"][0]["XappEventInstanceId"] == 3 and body["SubscriptionInstances"][0]["E2EventInstanceId"], told
assert json.loads(ask("GET", "/ric/v1/subscriptions")[1])[0]["Meid"] == "gnb_505_001_00000001"
assert ask("DELETE", "/ric/v1/subscriptions/" + made["SubscriptionId"])[0] == 204
P
expect 204 -X DELETE "$api/v1/subscriptions/$id"

timeout 30 python3 "$root/examples/xapp.py" "$api" 4 >xapp.txt 2>xapp.err
has '"algorithm": "nvs"' xapp.txt && has acknowledged xapp.txt && has 'DRB.UEThpDl = [0-9.]* kbit/s' xapp.txt

# A refused setup of an unknown peer appears in the log and in the list of nodes.
port=$(address ric.txt e42) && port=${port##*:}
python3 - "$port" <<'P'
import socket, struct, sys
pdu = bytes.fromhex("0001005a000004003100020007000300090005f5105000000009000a0021000008401c00008e0a646566696e6974696f6e"
    "0003000008302e302e302e3134320032001b000000330015000040616d66000672616e6c61620672616e6c6162")
peer = socket.create_connection(("127.0.0.1", int(sys.argv[1])))
peer.sendall(struct.pack(">I", len(pdu)) + pdu)
peer.recv(4096)
P
expect 200 "$api/v1/nodes"
has 'sent its setup request to the listener for xApps'
has 'sent its setup request to the listener for xApps' ric.txt
"$RANLAB" ric --hint srsran --e2 tcp://10.1.2.3:36421 >hint.txt
has '  addr: 10.1.2.3' hint.txt

# A controller serves the same paths next to its own resources.
"$RANLAB" controller slicing --e2 tcp://127.0.0.1:0 --http 127.0.0.1:0 --duration 60s --format ndjson >slicing.txt &
started+=($!)
slicing=$(address slicing.txt http)
for path in v1/nodes v1/policy v1/ric/nodes v1/subscriptions metrics ric/v1/subscriptions healthz openapi.json; do
    expect 200 "$slicing/$path"
done
has '/v1/policy' && has '/v1/control'

# Beyond loopback, requests need the token.
if "$RANLAB" ric --e2 tcp://127.0.0.1:0 --e42 tcp://127.0.0.1:0 --http 0.0.0.0:0 2>open.txt; then
    echo "the server listens beyond loopback without a token"; exit 1
fi
has 'http-token-file' open.txt
printf '0123456789abcdef-secret\n' >token
"$RANLAB" ric --e2 tcp://127.0.0.1:0 --e42 tcp://127.0.0.1:0 --http 0.0.0.0:0 --http-token-file token --duration 60s -vv \
    --format ndjson >guarded.txt 2>guarded.err &
started+=($!)
guarded=$(address guarded.txt http) && guarded=http://127.0.0.1:${guarded##*:}
expect 200 "$guarded/healthz"
expect 401 "$guarded/v1/nodes"
expect 200 "$guarded/"
expect 401 "$guarded/v1/overview"
expect 401 -H 'Authorization: Bearer 0123456789abcdef-secreT' "$guarded/v1/nodes"
expect 200 -H 'Authorization: Bearer 0123456789abcdef-secret' "$guarded/v1/nodes"
if grep -q secret guarded.txt guarded.err; then echo "the token was printed"; exit 1; fi
