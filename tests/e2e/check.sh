#!/usr/bin/env bash
# Tests `check ric` and `check agent`. ranlab's RIC and agent pass every clause, over TCP and Unix sockets. If a proxy
# drops or corrupts one kind of message, exactly the cases that concern this kind fail.
set -euo pipefail
source "$(dirname "$0")/started.sh"

cat >model.py <<'P'
# A proxy with one fault: it forwards frames between the check and a correct peer, and corrupts frames of the peer.
import socket, sys, threading
fault, listen, connect = sys.argv[1], int(sys.argv[2]), int(sys.argv[3])

def exactly(s, n):
    data = b""
    while len(data) < n:
        more = s.recv(n - len(data))
        if not more: raise EOFError
        data += more
    return data

def spoiled(pdu, last):
    kind = pdu[:2]
    if fault == "deaf" and kind == b"\x00\x02": return []              # no error indication
    if fault == "mute" and kind == b"\x20\x0a": return []              # no answer to a configuration update
    if fault == "other-run" and kind == b"\x20\x03":                   # the response to a reset belongs to another run
        at = pdu.index(b"\x00\x31\x00\x02\x00") + 5
        return [pdu[:at] + bytes([pdu[at] ^ 1]) + pdu[at + 1:]]
    if fault == "endless" and kind == b"\x20\x09" and last: return [pdu, last]  # reports continue after the end of the subscription
    return [pdu]

def carry(a, b, sound):
    last = b""
    try:
        while True:
            size = exactly(a, 4)
            if int.from_bytes(size, "big") > 1 << 24:
                b.sendall(size); continue
            pdu = exactly(a, int.from_bytes(size, "big"))
            if pdu[:2] == b"\x00\x05": last = pdu
            for one in spoiled(pdu, last) if sound else [pdu]:
                b.sendall(len(one).to_bytes(4, "big") + one)
    except (EOFError, OSError):
        pass
    for s in (a, b):
        try: s.shutdown(socket.SHUT_RDWR)
        except OSError: pass

server = socket.create_server(("127.0.0.1", listen), backlog=200)
print('{"listening":"model","address":"%d"}' % server.getsockname()[1], flush=True)
# For a RIC, the connecting side is the check. For an agent, it is the correct agent.
agent = sys.argv[4:] == ["agent"]
while True:
    near, _ = server.accept()
    try:
        far = socket.create_connection(("127.0.0.1", connect))
    except OSError:
        near.close(); continue
    for s in (near, far): s.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
    threading.Thread(target=carry, args=(near, far, agent), daemon=True).start()
    threading.Thread(target=carry, args=(far, near, not agent), daemon=True).start()
P

# Prints the names of the failed cases.
failures() { python3 -c 'import json,sys; print("\n".join(c["name"] for c in json.load(open(sys.argv[1]))["checks"] if c["verdict"] == "failed"))' "$1"; }
free_port() { python3 -c 'import socket; s = socket.socket(); s.bind(("127.0.0.1", 0)); print(s.getsockname()[1])'; }

"$RANLAB" ric --e2 tcp://127.0.0.1:0 --e2 "unix://$PWD/e2" --e42 tcp://127.0.0.1:0 --duration 300s --format ndjson >ric.txt 2>ric.err &
started+=($!)
e2=$(address ric.txt e2)
e42=$(address ric.txt e42)
[[ -n $e2 && -n $e42 ]] || { cat ric.txt ric.err; exit 1; }
# Uses the first of two listeners.
e2=$(head -n 1 <<<"$e2")

"$RANLAB" check ric "$e2" --e42 "$e42" --hostile --junit ric.xml --captures sound --format json >ric.json
python3 - <<'P'
import json, xml.etree.ElementTree as tree
told = json.load(open("ric.json"))
assert told["failed"] == 0 and told["passed"] >= 33 and told["skipped"] == 1, told
suite = tree.parse("ric.xml").getroot()
assert int(suite.get("tests")) == len(told["checks"]) == len(suite) and suite.get("failures") == "0"
P
[[ -z $(ls sound) ]]
# Without an xApp listener, the cases that need subscriptions are skipped with a reason.
"$RANLAB" check ric "unix://$PWD/e2" --first 800000 --e2ap 3.01 --format json >unix.json
python3 -c 'import json; told = json.load(open("unix.json")); assert told["failed"] == 0 and told["skipped"] == 8, told'

# With one fault of the RIC, exactly the named cases fail, and their captures can be decoded.
wrong_ric() {
    local fault=$1 expected=$2 at
    python3 model.py "$fault" 0 "${e2##*:}" >"$fault.txt" &
    started+=($!)
    at=$(address "$fault.txt" model)
    if "$RANLAB" check ric "tcp://127.0.0.1:$at" --first 700000 --patience 300ms --captures "$fault" --format json >"$fault.json" \
        2>/dev/null; then return 1; fi
    diff <(failures "$fault.json") <(printf '%s' "$expected")
    [[ $(find "$fault" -name '*.pcapng' | wc -l) == $(failures "$fault.json" | wc -l) ]]
    # The output contains the PDU that cannot be decoded, as it was sent.
    "$RANLAB" pcap decode "$(find "$fault" -name '*.pcapng' | sort | tail -n 1)" >decoded.txt 2>&1 || true
    grep -q E2setupRequest decoded.txt
}
wrong_ric deaf "a message before the setup
an unknown procedure, critical: abstract syntax error (reject)
an unknown element, critical: abstract syntax error (reject)
a missing mandatory element: abstract syntax error (reject)
a duplicate element: falsely constructed message
bytes that are not a message: transfer syntax error
"
wrong_ric mute "configuration update: an additional component
a transaction used twice is answered twice
"

agent() {
    "$RANLAB" emulate --connect "tcp://127.0.0.1:$1" --ues 3 --duration 200s >>emulate.txt 2>&1 &
    started+=($!)
}
port=$(free_port)
agent "$port"
"$RANLAB" check agent "tcp://127.0.0.1:$port" --hostile --junit agent.xml --format json >agent.json 2>agent.err
python3 -c 'import json; told = json.load(open("agent.json")); assert (told["failed"], told["skipped"]) == (0, 0), told
assert {c["node"] for c in told["checks"]} == {"gnb 505.01 1"}, told'
grep -q "tests=\"$(grep -c '<testcase' agent.xml)\"" agent.xml

wrong_agent() {
    local fault=$1 expected=$2 port at
    port=$(free_port)
    python3 model.py "$fault" 0 "$port" agent >"agent-$fault.txt" &
    started+=($!)
    at=$(address "agent-$fault.txt" model)
    agent "$at"
    if "$RANLAB" check agent "tcp://127.0.0.1:$port" --patience 300ms --captures "agent-$fault" --only "$3" --format json \
        >"agent-$fault.json" 2>/dev/null; then return 1; fi
    diff <(failures "agent-$fault.json") <(printf '%s' "$expected")
}
wrong_agent endless "subscription delete: no indication afterwards
" "setup:,subscription,indications,reset ends"
wrong_agent other-run "reset ends the subscriptions
" "setup: identity,reset ends"
wrong_agent deaf "an unknown procedure, critical: abstract syntax error (reject)
bytes that are not a message: transfer syntax error
" "setup: identity,unknown procedure,bytes that are,deletion of an"

# Without a listener, the check has no verdict.
if "$RANLAB" check ric "tcp://127.0.0.1:$(free_port)" >nobody.txt 2>&1; then exit 1; else [[ $? == 3 ]]; fi
grep -q 'no program listens' nobody.txt
if "$RANLAB" check agent tcp://127.0.0.1:0 --arrival 1s >nobody.txt 2>&1; then exit 1; else [[ $? == 3 ]]; fi
grep -q 'no agent connects' nobody.txt
