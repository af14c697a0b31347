#!/usr/bin/env bash
# Tests `ric --publish`. Decoded reports of base stations arrive at a NATS server, even if it starts after the RIC. Invalid
# options are reported.
set -euo pipefail
. "$(dirname "$0")/started.sh"
command -v curl >/dev/null || { echo "curl is not installed"; exit 77; }
nats=$(command -v nats-server || echo /usr/sbin/nats-server)
[[ -x $nats ]] || { echo "nats-server is not installed; scripts/need.sh nats installs it"; exit 77; }
ric_refuses "expected nats://HOST:PORT" --publish kafka://127.0.0.1:1
ric_refuses "takes no password" --publish redis://me:hush@127.0.0.1:1
! grep -q hush refused.txt || { cat refused.txt; exit 1; }
ric_refuses "nats://HOST:PORT" --publish nats://127.0.0.1

port=$(python3 -c 'import socket; s = socket.socket(); s.bind(("127.0.0.1", 0)); print(s.getsockname()[1])')
"$RANLAB" ric --publish "nats://127.0.0.1:$port" --sm mac,rlc --period 100ms --http 127.0.0.1:0 --e2 "unix://$PWD/e2" \
    --e42 "unix://$PWD/e42" --format ndjson >ric.txt 2>ric.err &
started+=($!)
http=$(address ric.txt http)
[[ -n $http ]] || { cat ric.txt ric.err; exit 1; }
"$RANLAB" emulate --connect "unix://$PWD/e2" --nodes 2 --ues 3 --sm mac,rlc --format ndjson >stations.txt &
started+=($!)
# The server starts after the RIC.
"$nats" -a 127.0.0.1 -p "$port" >nats.log 2>&1 &
started+=($!)
# A NATS client subscribes until it has received three reports of each model from both base stations, without a gap.
python3 - "$port" <<'PY'
import json, socket, sys, time
end = time.monotonic() + 60
while True:
    try:
        listener = socket.create_connection(("127.0.0.1", int(sys.argv[1])))
        break
    except OSError:
        assert time.monotonic() < end, "the NATS server must start within 60 s"
        time.sleep(0.05)
listener.settimeout(60)
listener.sendall(b'CONNECT {"verbose":false}\r\nSUB ranlab.kpi.> 1\r\nPING\r\n')
lines = listener.makefile("rb")
heard = {}
while len(heard) < 4 or min(len(all) for all in heard.values()) < 3:
    assert time.monotonic() < end, heard
    words = lines.readline().split()
    if words[:1] == [b"PING"]:
        listener.sendall(b"PONG\r\n")
    if words[:1] != [b"MSG"]:
        continue
    report = json.loads(lines.read(int(words[-1])))
    lines.readline()
    heard.setdefault((report["node"], report["model"], words[1].decode()), []).append(report)
for (node, model, subject), reports in heard.items():
    assert subject.startswith(f"ranlab.kpi.{model}.") and subject.count(".") == 3, subject
    numbers = [report["sequence"] for report in reports]
    assert numbers == list(range(numbers[0], numbers[0] + len(numbers))), numbers
    assert {row["rnti"] for row in reports[-1]["rows"]} and len({row["rnti"] for row in reports[-1]["rows"]}) == 3, reports[-1]
    assert reports[-1]["tstamp_us"] > reports[0]["tstamp_us"]
print("heard", sorted(subject for _, _, subject in heard))
PY
curl -sSf "$http/metrics" >metrics.txt
grep -q '^ranlab_published_reports_total [1-9]' metrics.txt
grep -qx 'ranlab_published_dropped_total 0' metrics.txt
