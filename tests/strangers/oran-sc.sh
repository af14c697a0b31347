#!/usr/bin/env bash
# O-RAN SC's near-RT RIC without Kubernetes, unmodified: E2 termination, E2 manager, subscription manager and
# Redis as processes. Checks 20 of 20 base stations with default settings, descriptions of nodes that are equal
# to those of our RIC, a subscription, and a control.
#
# $OSC names a folder of builds: e2t/e2, e2mgr/main, submgr/submgr, libredismodule.so, and lib with librmr_si.so,
# libmdclog.so, libe2ap.so and libe2ap_wrapper.so. $PRELOAD names the library that carries SCTP. The routing
# manager is a program that answers 201, and the routes are a file.
# alone: oran-sc
set -euo pipefail

skip() { echo "$1"; exit 77; }
[[ -n ${OSC:-} ]] || skip 'OSC does not name a folder of builds of O-RAN SC'
for file in e2t/e2 e2mgr/main submgr/submgr libredismodule.so lib/librmr_si.so; do
    [[ -e $OSC/$file ]] || skip "$OSC/$file is not there"
done
command -v redis-server >/dev/null || skip 'no redis-server'
root=$(cd "$(dirname "$0")/../.." && pwd)
. "$root/tests/e2e/started.sh"
PRELOAD=${PRELOAD:-$(dirname "$RANLAB")/libranlab_preload.so}
[[ -f $PRELOAD ]] || { echo "$PRELOAD is not there: make preload" >&2; exit 3; }
"$root/scripts/need.sh" ricxappframe
python=$root/.venv/bin/python

# Free ports. The subscription manager's HTTP port cannot be chosen.
free() { "$python" -c 'import socket
held = [socket.create_server(("127.0.0.1", 0)) for _ in range(9)]
print(*[it.getsockname()[1] for it in held])'; }
read -r redis routing e2mgr_http e2mgr e2t prometheus submgr submgr_own xapp < <(free)
"$python" -c 'import socket; socket.create_server(("127.0.0.1", 8088))' 2>/dev/null || skip 'port 8088 is taken'

net=$PWD/net e2=36422
mkdir -p -m 700 "$net" ours e2mgr/resources e2t/config e2t/log
{
    echo 'newrt|start'
    for kind in 1080 1100 1102 12001; do echo "rte|$kind|127.0.0.1:$e2mgr"; done
    for kind in 1090 1101 12002 12003 12010 12020 12040; do echo "rte|$kind|127.0.0.1:$e2t"; done
    for kind in 12011 12012 12021 12022; do echo "rte|$kind|127.0.0.1:$submgr"; done
    for kind in 12041 12042 12050; do echo "rte|$kind|127.0.0.1:$xapp"; done
    echo 'newrt|end'
} >routes.txt
echo 1 >verbosity
cat >e2t/config/config.conf <<C
nano=$e2t
loglevel=error
volume=log
local-ip=127.0.0.1
prometheusMode=pull
prometheusPort=$prometheus
trace=stop
external-fqdn=e2t.com
pod_name=POD_NAME
sctp-port=$e2
C
cat >e2mgr/resources/configuration.yaml <<C
logging: {logLevel: error}
http: {port: $e2mgr_http}
rmr: {port: $e2mgr, maxMsgSize: 65536}
routingManager: {baseUrl: "http://127.0.0.1:$routing/ric/v1/handles/"}
notificationResponseBuffer: 100
bigRedButtonTimeoutSec: 5
maxRnibConnectionAttempts: 3
rnibRetryIntervalMs: 10
keepAliveResponseTimeoutMs: 4500
keepAliveDelayMs: 1500
e2tInstanceDeletionTimeoutMs: 15000
e2ResetTimeOutSec: 10
globalRicId: {ricId: "AACCE", mcc: "001", mnc: "01"}
rnibWriter: {stateChangeMessageChannel: RAN_CONNECTION_STATUS_CHANGE, ranManipulationMessageChannel: RAN_MANIPULATION}
C
cat >submgr.yaml <<C
local: {host: "127.0.0.1:$submgr_own"}
logger: {level: 1}
rmr: {protPort: "tcp:$submgr", maxSize: 8192, numWorkers: 1}
rtmgr: {hostAddr: "127.0.0.1", port: "$routing", baseUrl: "/ric/v1"}
db: {sessionNamespace: XMSession, host: "127.0.0.1:$redis", prot: tcp, maxIdle: 80, maxActive: 12000}
controls: {e2tSubReqTimeout_ms: 2000, e2tSubDelReqTime_ms: 2000, e2tRecvMsgTimeout_ms: 2000, e2tMaxSubReqTryCount: 2,
  e2tMaxSubDelReqTryCount: 2, checkE2State: "true", readSubsFromDb: "true", dbTryCount: 200, dbRetryForever: "true",
  checkE2IEOrder: 1}
C
cat >routing.py <<'P'
import http.server, sys
class Routing(http.server.BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"
    def answer(self):
        self.rfile.read(int(self.headers.get("content-length") or 0))
        self.send_response(200 if self.command == "GET" else 201)
        self.send_header("content-type", "application/json"); self.send_header("content-length", "2"); self.end_headers()
        self.wfile.write(b"{}")
    do_GET = do_POST = do_PUT = do_DELETE = answer
    def log_message(self, *_): pass
http.server.ThreadingHTTPServer(("127.0.0.1", int(sys.argv[1])), Routing).serve_forever()
P

export LD_LIBRARY_PATH=$OSC/lib RMR_RTG_SVC=-1 RMR_SEED_RT=$PWD/routes.txt RMR_VCTL_FILE=$PWD/verbosity RMR_SRC_ID=127.0.0.1
export DBAAS_SERVICE_HOST=127.0.0.1 DBAAS_SERVICE_PORT=$redis
# These programs read the names of a pod. Without POD_NAME the E2 termination crashes.
export POD_NAME=pod HOST_NAME=host SYSTEM_NAME=system CONTAINER_NAME=container SERVICE_NAME=service
# Starts a program in a folder.
runs() {
    local folder=$1 name=$2
    shift 2
    (cd "$folder" && ulimit -c 0 && exec "$@") >"$name.out" 2>&1 </dev/null &
    started+=($!)
}
reached() { for _ in {1..200}; do curl -s -o none "$1" && return || sleep 0.1; done; echo "$1 cannot be reached" >&2; exit 1; }
runs . redis redis-server --port "$redis" --bind 127.0.0.1 --save '' --appendonly no --loadmodule "$OSC/libredismodule.so"
runs . routing "$python" routing.py "$routing"
reached "http://127.0.0.1:$routing/"
runs e2mgr e2mgr "$OSC/e2mgr/main" -port="$e2mgr_http" -f resources/configuration.yaml
runs . submgr env CFG_FILE="$PWD/submgr.yaml" "$OSC/submgr/submgr" -f "$PWD/submgr.yaml"
theirs=http://127.0.0.1:$e2mgr_http
reached "$theirs/v1/nodeb/states"
runs e2t e2t env RANLAB_SCTP="$net" LD_PRELOAD="$PRELOAD" "$OSC/e2t/e2" -p config -f config.conf
for _ in {1..200}; do curl -fsS "$theirs/v1/e2t/list" | grep -q e2tAddress && break || sleep 0.1; done
unset LD_LIBRARY_PATH

connected() { curl -fsS "$theirs/v1/nodeb/states" | grep -o '"CONNECTED"' | wc -l; }
# stations COUNT ARGUMENT...: starts base stations and waits until all are connected.
stations() {
    local count=$1
    shift
    "$RANLAB" emulate --connect "shim://$net/127.0.0.1:$e2" --nodes "$count" "$@" >stations.txt 2>stations.err &
    station=$!
    started+=($station)
    for _ in {1..150}; do [[ $(connected) == "$count" ]] && return || sleep 0.1; done
    echo "$(connected) of $count base stations are connected" >&2
    cat stations.err >&2
    exit 1
}

stations 20 --duration 5s
wait $station
grep -q '20 nodes, 20 alive, 0 reconnects' stations.txt || { tail -n 3 stations.txt; exit 1; }

# Connects the same nodes to ranlab's RIC. Their descriptions must be equal, except for addresses, times, and functions
# that are only offered to ranlab's RIC.
"$RANLAB" ric --e2 "shim://$PWD/ours/127.0.0.1:$e2" --e42 tcp://127.0.0.1:0 --http 127.0.0.1:0 --duration 60s --format ndjson >ric.txt 2>ric.err &
started+=($!)
api=$(address ric.txt http)
cat >compare.py <<'P'
import json, sys, time, urllib.request
theirs, ours, count = sys.argv[1], sys.argv[2], int(sys.argv[3])
def get(url): return json.load(urllib.request.urlopen(url))
def states(api): return {it["inventoryName"]: it for it in get(api + "/v1/nodeb/states") if it["connectionStatus"] == "CONNECTED"}
end = time.time() + 15
while len(states(ours)) < count or len(states(theirs)) < count:
    assert time.time() < end, (states(ours), states(theirs))
    time.sleep(0.1)
assert states(theirs) == states(ours), (states(theirs), states(ours))
for name in states(theirs):
    pair = [get(f"{api}/v1/nodeb/{name}") for api in (theirs, ours)]
    for it in pair:
        for key in ("associatedE2tInstanceAddress", "statusUpdateTimeStamp"): it.pop(key, None)
    offered = {it["ranFunctionId"] for it in pair[0].get("gnb", {}).get("ranFunctions", [])}
    if offered: pair[1]["gnb"]["ranFunctions"] = [it for it in pair[1]["gnb"]["ranFunctions"] if it["ranFunctionId"] in offered]
    assert pair[0] == pair[1], pair
print("equal:", *states(theirs))
P
first=100
for kind in gnb:2 split:3 enb:2 ng-enb:2; do
    both=(--kind "${kind%:*}" --first $first --ues 2 --radio nr:106 --sm kpm,rc --duration 10s)
    [[ $kind != *enb* ]] || both=(--kind "${kind%:*}" --first $first --ues 2 --sm mac --duration 10s)
    "$RANLAB" emulate --connect "shim://$PWD/ours/127.0.0.1:$e2" --nodes "${kind#*:}" "${both[@]}" >none 2>&1 &
    mirror=$!
    started+=($mirror)
    stations "${kind#*:}" "${both[@]}"
    "$python" compare.py "$theirs" "$api" "${kind#*:}"
    wait $station $mirror
    for _ in {1..100}; do [[ $(connected) == 0 ]] && break || sleep 0.1; done
    first=$((first + 10))
done

# Tests a subscription through the subscription manager, reports over RMR, a control, and the end of the subscription.
stations 1 --first 200 --ues 2 --radio nr:106 --flows udp:5 --sm mac,kpm --duration 60s
cat >xapp.py <<'P'
import http.server, json, os, struct, sys, threading, urllib.request
from ricxappframe.rmr import rmr
port, node = int(sys.argv[1]), sys.argv[2]
told, ended = [], threading.Event()
class Xapp(http.server.BaseHTTPRequestHandler):
    def do_POST(self):
        told.append(json.loads(self.rfile.read(int(self.headers["content-length"]))))
        self.send_response(200); self.end_headers(); ended.set()
    def log_message(self, *_): pass
server = http.server.HTTPServer(("127.0.0.1", 0), Xapp)
threading.Thread(target=server.serve_forever, daemon=True).start()
link = rmr.rmr_init(str(port).encode(), rmr.RMR_MAX_RCV_BYTES, 0)
while not rmr.rmr_ready(link): pass

# The subscription requests DRB.UEThpDl and RRU.PrbTotDl of the node every 200 ms (report style 1).
definition = bytes.fromhex("00010100000100a04452422e5545546870446c0120000000b05252552e507262546f74446c0120000000c7")
action = {"ActionID": 1, "ActionType": "report", "ActionDefinition": list(definition),
    "SubsequentAction": {"SubsequentActionType": "continue", "TimeToWait": "w10ms"}}
wanted = {"ClientEndpoint": {"Host": "127.0.0.1", "HTTPPort": server.server_port, "RMRPort": port}, "Meid": node,
    "RANFunctionID": 2, "SubscriptionDetails": [{"XappEventInstanceId": 7, "EventTriggers": [0, 199], "ActionToBeSetupList": [action]}]}
api = "http://127.0.0.1:8088/ric/v1/subscriptions"
request = urllib.request.Request(api, json.dumps(wanted).encode(), {"content-type": "application/json"})
subscription = json.load(urllib.request.urlopen(request))["SubscriptionId"]
assert ended.wait(10), "no notification reported how the subscription ended"
instance = told[0]["SubscriptionInstances"][0]
# If there was no error, the cause is a blank.
assert not instance.get("ErrorCause", "").strip(), told

def received(kind, count):
    found, sbuf = [], rmr.rmr_alloc_msg(link, 4096)
    for _ in range(1000):
        sbuf = rmr.rmr_torcv_msg(link, sbuf, 100)
        about = rmr.message_summary(sbuf)
        if about[rmr.RMR_MS_MSG_STATE] == 0 and about[rmr.RMR_MS_MSG_TYPE] == kind: found.append(about)
        if len(found) == count: return found
    raise SystemExit(f"{len(found)} of {count} messages {kind}")

for about in received(12050, 5):
    assert about[rmr.RMR_MS_MEID].decode() == node and about[rmr.RMR_MS_SUB_ID] == instance["E2EventInstanceId"], about
    assert b"DRB.UEThpDl" in about[rmr.RMR_MS_PAYLOAD], about
# Sends a MAC control for testing, which the base station acknowledges.
octets = lambda it: bytes([len(it)]) + it
ies = [(29, b"\0\0\7\0\0"), (5, struct.pack(">H", 142)), (22, octets(bytes.fromhex("01000000"))), (23, octets(bytes.fromhex("2a000000"))), (21, b"\x40")]
body = b"\0" + struct.pack(">H", len(ies)) + b"".join(struct.pack(">HBB", id, 0, len(v)) + v for id, v in ies)
sbuf = rmr.rmr_alloc_msg(link, 4096, payload=b"\0\4\0" + octets(body), mtype=12040, meid=node.encode(), gen_transaction_id=True)
sbuf = rmr.rmr_send_msg(link, sbuf)
assert sbuf.contents.state == rmr.RMR_OK, sbuf.contents.state
assert received(12041, 1)[0][rmr.RMR_MS_PAYLOAD][:2] == b"\x20\4"
request = urllib.request.Request(f"{api}/{subscription}", method="DELETE")
assert urllib.request.urlopen(request).status == 204
print("5 KPM reports and a control acknowledged through O-RAN SC's platform")
sys.stdout.flush(); os._exit(0)
P
LD_LIBRARY_PATH=$OSC/lib timeout 100 "$python" xapp.py "$xapp" gnb_505_001_000000c9
for pid in "${started[@]:0:5}"; do kill -0 "$pid" || { echo 'a program of the platform has ended' >&2; exit 1; }; done
