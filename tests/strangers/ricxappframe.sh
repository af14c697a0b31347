#!/usr/bin/env bash
# An xApp with the unmodified framework of O-RAN SC, ricxappframe from PyPI: subscribes to KPM, reads reports
# and sends controls over RMR, and ends its subscription. $RMR names the folder of librmr_si.so, which no
# package index has (O-RAN SC's ric-plt-lib-rmr, built).
set -euo pipefail

skip() { echo "$1"; exit 77; }
[[ -n ${RMR:-} ]] || skip 'RMR does not name the folder of librmr_si.so'
[[ -f $RMR/librmr_si.so ]] || skip "$RMR/librmr_si.so is not there"
root=$(cd "$(dirname "$0")/../.." && pwd)
. "$root/tests/e2e/started.sh"
"$root/scripts/need.sh" ricxappframe

"$RANLAB" ric --e2 tcp://127.0.0.1:0 --e42 tcp://127.0.0.1:0 --http 127.0.0.1:0 --rmr 127.0.0.1:0 --duration 120s \
    --format ndjson >ric.txt 2>ric.err &
started+=($!)
api=$(address ric.txt http) rmr=$(address ric.txt rmr)
"$RANLAB" emulate --connect "$(address ric.txt e2)" --radio nr:106 --ues 2 --flows udp:5 --sm mac,kpm --duration 120s \
    --format json >station.txt 2>station.err &
started+=($!)
for _ in {1..200}; do curl -fsS "$api/v1/nodeb/states" | grep -q '"CONNECTED"' && break || sleep 0.05; done
printf 'newrt|start\nrte|12040|%s\nnewrt|end\n' "$rmr" >routes.txt

cat >xapp.py <<'P'
import json, os, socket, struct, sys, threading
from ricxappframe import xapp_subscribe
from ricxappframe.rmr import rmr
from ricxappframe.xapp_frame import RMRXapp

api, node = sys.argv[1], "gnb_505_001_00000001"
reports, answers, ends = [], [], []
enough, answered, told = threading.Event(), threading.Event(), threading.Event()

def heard(xapp, summary, sbuf):
    kind = summary[rmr.RMR_MS_MSG_TYPE]
    if kind == 12050:
        reports.append((summary[rmr.RMR_MS_SUB_ID], summary[rmr.RMR_MS_PAYLOAD]))
        if len(reports) >= 5: enough.set()
    else:
        answers.append((kind, summary[rmr.RMR_MS_PAYLOAD])); answered.set()
    xapp.rmr_free(sbuf)

def ended(name, path, data, ctype):
    ends.append(json.loads(data)); told.set()
    return {"response": "OK", "status": 200, "payload": None, "ctype": "application/json", "attachment": None, "mode": "plain"}

def free_port():
    with socket.create_server(("127.0.0.1", 0)) as listener: return listener.getsockname()[1]

http, port = free_port(), free_port()
xapp = RMRXapp(heard, rmr_port=port, use_fake_sdl=True)
xapp.run(thread=True)
subscriber = xapp_subscribe.NewSubscriber(api + "/ric/v1", local_address="127.0.0.1", local_port=http, rmr_port=port)
assert subscriber.ResponseHandler(ended)
# The subscription requests DRB.UEThpDl and RRU.PrbTotDl of the node every 200 ms (report style 1).
trigger = bytes.fromhex("00c7")
definition = bytes.fromhex("00010100000100a04452422e5545546870446c0120000000b05252552e507262546f74446c0120000000c7")
action = subscriber.ActionToBeSetup(1, "report", list(definition), subscriber.SubsequentAction("continue", "w10ms"))
detail = subscriber.SubscriptionDetail(12110, list(trigger), [action])
wanted = subscriber.SubscriptionParams(None, subscriber.SubscriptionParamsClientEndpoint("xapp", http, port), node, 2, None, [detail])
data, reason, status = subscriber.Subscribe(wanted)
assert status == 201, (status, reason, data)
subscription = json.loads(data)["SubscriptionId"]
assert told.wait(10), "no notification reported how the subscription ended"
instance = ends[0]["SubscriptionInstances"][0]
assert "ErrorCause" not in instance and instance["XappEventInstanceId"] == 12110, ends
assert enough.wait(10), f"only {len(reports)} reports arrived"
for sub, payload in reports:
    assert sub == instance["E2EventInstanceId"] and b"DRB.UEThpDl" in payload and b"RRU.PrbTotDl" in payload, (sub, payload.hex())

# Sends a MAC control for testing, which the base station acknowledges.
header, message = (bytes.fromhex(it) for it in sys.argv[2:4])
octets = lambda it: bytes([len(it)]) + it
ies = [(29, b"\0\0\7\0\0"), (5, struct.pack(">H", 142)), (22, octets(header)), (23, octets(message)), (21, b"\x40")]
body = b"\0" + struct.pack(">H", len(ies)) + b"".join(struct.pack(">HBB", id, 0, len(v)) + v for id, v in ies)
sbuf = rmr.rmr_alloc_msg(xapp._mrc, 4096, payload=b"\0\4\0" + octets(body), mtype=12040, meid=node.encode(), gen_transaction_id=True)
sbuf = rmr.rmr_send_msg(xapp._mrc, sbuf)
assert sbuf.contents.state == rmr.RMR_OK, sbuf.contents.state
assert answered.wait(10), "the control request got no answer"
assert answers[0][0] == 12041 and answers[0][1][:2] == b"\x20\4", answers
assert subscriber.UnSubscribe(subscription)[2] == 204
print(f"ricxappframe: {len(reports)} KPM reports, a control acknowledged")
sys.stdout.flush(); os._exit(0)
P
export LD_LIBRARY_PATH=$RMR RMR_SEED_RT=$PWD/routes.txt RMR_RTG_SVC=-1 RMR_SRC_ID=127.0.0.1
timeout 100 "$root/.venv/bin/python" xapp.py "$api" 01000000 2a000000
curl -fsS "$api/ric/v1/subscriptions" | grep -qx '\[\]'
