#!/usr/bin/env bash
# Tests the protocols of an xApp of O-RAN SC: a subscription over HTTP, indications over RMR, a control and its response
# over RMR, and data that is not RMR.
set -euo pipefail

. "$(dirname "$0")/started.sh"
command -v curl >curl.txt || { echo "curl is not installed"; exit 77; }

if "$RANLAB" ric --e2 tcp://127.0.0.1:0 --e42 tcp://127.0.0.1:0 --http 127.0.0.1:0 --rmr 0.0.0.0:0 2>open.txt; then
    echo "the RIC accepts all senders, although no sender is trusted"; exit 1
fi
grep -q -- '--trust' open.txt
"$RANLAB" ric --e2 tcp://127.0.0.1:0 --e42 tcp://127.0.0.1:0 --http 127.0.0.1:0 --rmr 127.0.0.1:0 --duration 120s \
    --format ndjson >ric.txt 2>ric.err &
started+=($!)
api=$(address ric.txt http)
"$RANLAB" emulate --connect "$(address ric.txt e2)" --radio nr:106 --ues 2 --flows udp:5 --snssai 1,2 --sm mac,kpm --duration 120s \
    --format json >station.txt 2>station.err &
started+=($!)
for _ in {1..200}; do curl -fsS "$api/v1/nodeb/states" | grep -q '"CONNECTED"' && break || sleep 0.05; done
curl -fsS "$api/v1/nodeb/gnb_505_001_00000001" >node.json
grep -q '"ranFunctionOid":"1.3.6.1.4.1.53148.1.2.2.2"' node.json

python3 - "$api" "$(address ric.txt rmr)" <<'P'
import http.server, json, socket, struct, sys, threading, urllib.request
api, (host, port) = sys.argv[1], sys.argv[2].rsplit(":", 1)
told, heard = [], threading.Event()
class Xapp(http.server.BaseHTTPRequestHandler):
    def do_POST(self):
        told.append(json.loads(self.rfile.read(int(self.headers["content-length"]))))
        self.send_response(200); self.end_headers(); heard.set()
    def log_message(self, *_): pass
server = http.server.HTTPServer(("127.0.0.1", 0), Xapp)
threading.Thread(target=server.serve_forever, daemon=True).start()
rmr = socket.create_server(("127.0.0.1", 0)); rmr.settimeout(10)
mine = rmr.getsockname()[1]

def message(stream):
    def take(n):
        data = b""
        while len(data) < n:
            more = stream.recv(n - len(data)); assert more, "the connection ended"
            data += more
        return data
    head = take(50); data = head + take(struct.unpack(">I", head[4:8])[0] - 50)
    kind, size = struct.unpack(">ii", data[50:58]); lengths = struct.unpack(">iiii", data[246:262])
    name = lambda at, size: data[at:at + size].split(b"\0")[0].decode()
    return {"type": kind, "sub": struct.unpack(">i", data[262:266])[0], "meid": name(190, 32), "source": name(126, 64),
        "transaction": name(62, 32), "payload": data[50 + sum(lengths):][:size]}

def send(stream, kind, payload, meid):
    header = bytearray(280); total = 334 + len(payload)
    struct.pack_into(">iii", header, 0, kind, len(payload), 3); header[12:16] = b"mark"
    source = f"xapp.example:{mine}".encode(); header[76:76 + len(source)] = source
    header[140:140 + len(meid)] = meid.encode()
    struct.pack_into(">iiii", header, 196, 280, 0, 4, 0); struct.pack_into(">i", header, 212, -1)
    stream.sendall(struct.pack("<I", total) + struct.pack(">I", total) + b"$" + bytes(41) + bytes(header) + bytes(4) + payload)

def post(path, body):
    request = urllib.request.Request(api + path, json.dumps(body).encode(), {"content-type": "application/json"})
    with urllib.request.urlopen(request) as answer: return json.load(answer)

node = "gnb_505_001_00000001"
post("/ric/v1", {"client_endpoint": {"host": "xapp.example", "http_port": server.server_port, "rmr_port": mine}, "meid": node,
    "ran_function_id": 142, "subscription_details": [{"xapp_event_instance_id": 1, "event_triggers": [100, 0, 0, 0],
    "action_to_be_setup_list": [{"action_id": 0, "action_type": "report", "action_definition": []}]}]})
assert heard.wait(10), "no notification reported how the subscription ended"
ours = told[0]["SubscriptionInstances"][0]["E2EventInstanceId"]
stream, _ = rmr.accept(); stream.settimeout(10)
for _ in range(3):
    it = message(stream)
    assert (it["type"], it["sub"], it["meid"]) == (12050, ours, node), it
    assert it["payload"][:2] == b"\0\5" and struct.pack(">HH", 123, ours) in it["payload"], it["payload"][:40].hex()

# Sends a control for a function that the node does not have. The failure arrives at the port named in the message.
ies = [(29, b"\0\0\7\0\0"), (5, b"\0\x63"), (22, b"\1\0"), (23, b"\1\0"), (21, b"\x40")]
body = b"\0" + struct.pack(">H", len(ies)) + b"".join(struct.pack(">HBB", id, 0, len(v)) + v for id, v in ies)
control = b"\0\4\0" + bytes([len(body)]) + body
to = socket.create_connection((host, int(port)))
send(to, 12040, control, node)
answer = None
while answer is None or answer["type"] == 12050:
    answer = message(stream)
assert (answer["type"], answer["transaction"]) == (12042, "mark"), answer
assert answer["payload"][:2] == b"\x40\4" and b"\0\0\7\0\0" in answer["payload"], answer["payload"].hex()
send(to, 110, b"an alarm", node); send(to, 12040, b"\xff" * 9, node); send(to, 12040, control, "gnb_of_nobody")

# Data that is not RMR closes only its own connection.
for octets in (b"GET / HTTP/1.1\r\n\r\n", bytes(4) + b"\xff\xff\xff\xff$" + bytes(400)):
    other = socket.create_connection((host, int(port))); other.settimeout(10); other.sendall(octets)
    try:
        assert other.recv(10) == b""
    except ConnectionResetError:
        pass
assert message(stream)["type"] == 12050
P
curl -fsS "$api/metrics" >metrics.txt
for metric in sent_total\ [1-9] received_total\ 4 ignored_total\ 3 refused_total\ 2; do
    grep -q "^ranlab_rmr_$metric" metrics.txt || { echo "the metrics lack $metric:"; grep rmr metrics.txt; exit 1; }
done
"$RANLAB" ric --hint oran-sc | grep -q 'rte|12040|127.0.0.1:4560'
