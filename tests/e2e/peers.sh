#!/usr/bin/env bash
# long
# Tests a third-party controller as the system under test. Its profile was written from its documentation only. Its commands
# run only with permission, and it is stopped with the campaign, however the campaign ends.
set -euo pipefail
command -v python3 >/dev/null || { echo "python3 is not installed"; exit 77; }

campaign=
trap '[[ -z $campaign ]] || kill -9 "$campaign" 2>/dev/null || true' EXIT
fail() { echo "$1"; shift; for file; do echo "--- $file"; cat "$file"; done; exit 1; }
has() { grep -qE -- "$1" "$2" || fail "$2 lacks: $1" "$2"; }

cat >strange.py <<'PY'
"""A controller: `strange.py PORT REST [deaf|mute|stiff]`. Asks each base station for its UEs and for reports, and counts what comes."""
import json, os, socketserver, struct, subprocess, sys, threading
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer

port, rest, habit = int(sys.argv[1]), int(sys.argv[2]), (sys.argv + [""])[3]
stations, messages, lock = {}, 0, threading.Lock()


def field(number, body):
    return bytes([number << 3 | 2, len(body)]) + body


HEADER = field(1, b"\x08\x00\x10\x00\x20\x01")
ASK_UES = field(10, HEADER)
ASK_REPORTS = field(4, HEADER + b"\x10\x00" + field(3, b"\x08\x01\x10\x64\x20\x1f"))


class Station(socketserver.BaseRequestHandler):
    def handle(self):
        global messages
        with lock:
            stations[self.client_address] = "online"
        try:
            for ask in () if habit == "deaf" else (ASK_UES, ASK_REPORTS):
                self.request.sendall(struct.pack(">I", len(ask)) + ask)
            reader = self.request.makefile("rb")
            while head := reader.read(4):
                reader.read(struct.unpack(">I", head)[0])
                with lock:
                    messages += 1
        finally:
            with lock:
                stations[self.client_address] = "gone"


class Stats(BaseHTTPRequestHandler):
    def do_GET(self):
        with lock:
            body = {"messages": messages, **({"stations": [{"state": s} for s in stations.values()]} if stations else {})}
        self.send_response(200)
        self.end_headers()
        self.wfile.write(json.dumps(body).encode())

    def log_message(self, *_):
        pass


class Server(socketserver.ThreadingTCPServer):
    allow_reuse_address = daemon_threads = True


helper = subprocess.Popen(["sleep", "1000"], start_new_session=True)
with open("started", "a") as started:
    print(os.getpid(), helper.pid, file=started)
# The server closes REST connections itself, so the kernel keeps the port reserved for a minute.
ThreadingHTTPServer.allow_reuse_address = habit != "stiff"
threading.Thread(target=ThreadingHTTPServer(("127.0.0.1", rest), Stats).serve_forever, daemon=True).start()
print("loading" if habit == "mute" else "serving", flush=True)
Server(("127.0.0.1", port), Station).serve_forever()
PY
read -r port rest stiff < <(python3 -c '
import socket
print(*(one.getsockname()[1] for one in [socket.create_server(("127.0.0.1", 0)) for _ in range(3)]))')

profile() { # more lines of [run], time limit for the start
    cat <<TOML
name = "strange"
title = "A controller that nobody has seen"
version = "1"
[fill.port]
about = "its port for base stations"
[fill.rest]
about = "its port for REST"
[fill.habit]
about = "what is odd about it"
default = ""
[run]
start = ["python3", "strange.py", "{port}", "{rest}", "{habit}"]
folder = "$PWD"
grace = "5s"
$1
[ready]
line = "^serving"
ports = ["tcp:{port}"]
url = "http://127.0.0.1:{rest}/stats"
within = "${2:-30s}"
[addresses]
southbound = "127.0.0.1:{port}"
[dialect]
southbound = "flexran"
[[read_back]]
what = "nodes"
url = "http://127.0.0.1:{rest}/stats"
count = "\$.stations[?@.state == 'online']"
omitted = true
[[read_back]]
what = "messages"
url = "http://127.0.0.1:{rest}/stats"
pattern = '"messages": (\d+)'
total = true
[[distrust]]
metric = "sut.rss_mb"
why = "it keeps what it has freed"
TOML
}
profile 'each = "repeat"' >strange.toml
profile $'each = "campaign"\nreset = ["sh", "-c", "echo reset >>resets"]' >stays.toml
profile 'each = "repeat"' 2s >hasty.toml
profile 'each = "repeat"' 600s >patient.toml
cat >scenario.toml <<TOML
title = "a stranger"
rig = "sd-ran"
[sut]
type = "external"
peer = "./strange.toml"
fill = ["port=$port", "rest=$rest"]
[load]
nodes = 3
ues = 2
period = "50ms"
activation = "constant:0s"
extra_node_timeout = "0s"
[host]
when_noisy = "warn"
[measure]
duration = "2s"
warm_up = "0s"
repeats = 2
TOML
run() { "$RANLAB" bench run scenario.toml --fresh "$@"; }

# The commands are shown to the user before they run.
"$RANLAB" bench check scenario.toml >check.txt
has "strange at local: .start. before each repeat: \[\"python3\", \"strange.py\", \"$port\", \"$rest\", \"\"\] in $PWD" check.txt
code=0; run --out refused 2>refused.txt || code=$?
[[ $code == 2 && ! -e started ]] || fail "exit code $code, or the program was started" refused.txt
has '"strange.py"' refused.txt
has 'allow-commands' refused.txt
code=0; run --allow-commands --set 'sut.at="tcp://127.0.0.1:1"' --out refused 2>refused.txt || code=$?
[[ $code == 2 ]] || fail "exit code $code over TCP" refused.txt
has 'does not run' refused.txt
code=0; "$RANLAB" bench check scenario.toml --set 'sut.fill=["port=1"]' 2>refused.txt >/dev/null || code=$?
[[ $code == 2 ]] || fail "exit code $code" refused.txt
has 'needs .rest. \(its port for REST\)' refused.txt

# Checks the numbers of reports offered, accepted and read, CPU and memory, values read back from the controller, and
# metrics marked as unreliable.
mean() { python3 -c 'import json, sys; print(json.load(open(sys.argv[1]))["points"][0]["metrics"][sys.argv[2]]["mean"])' "$1" "$2"; }
for attempt in 1 2 3 4 5; do
    rm -f started
    ! run --allow-commands --out measured --format json >measured.json 2>measured.err || break
    # On a busy machine, two of 120 reports may be omitted, which is already too many for a valid result.
    ((attempt < 5)) && grep -q 'of the load was not sent' measured.err || fail "the campaign failed" measured.json measured.err
done
for metric in offered_messages_per_s rx_messages_per_s rest_messages rest_messages_per_s sut.cpu_cores sut.rss_mb; do
    python3 -c 'import sys; sys.exit(not float(sys.argv[1]) > 0)' "$(mean measured.json $metric)" ||
        fail "$metric is $(mean measured.json $metric)" measured.json
done
[[ $(mean measured.json rest_nodes) == 3.0 && $(mean measured.json rest_answered) == 1.0 ]] || fail "the numbers of the REST interface are wrong" measured.json
# The system under test consists of its interpreter, and of a helper that left the interpreter's session.
[[ $(wc -l <started) == 2 ]] || fail "the program was not started for each repeat" started
has '.sut.rss_mb. is unreliable for A controller that nobody has seen 1' measured.json
has '^serving' measured/strange.log
gone() { # within a minute
    local pid
    for pid in $(cat started); do
        for _ in $(seq 600); do
            [[ -d /proc/$pid && $(sed 's/.*) \(.\).*/\1/' "/proc/$pid/stat" 2>/dev/null) != Z ]] || continue 2
            sleep 0.1
        done
        fail "process $pid is left behind" started
    done
}
gone

# A system that keeps running between repeats is started once, and reset before the second repeat.
rm started
run --allow-commands --set 'sut.peer="./stays.toml"' --out stays >stays.txt 2>&1 || fail "the campaign failed" stays.txt
[[ $(wc -l <started) == 1 && $(wc -l <resets) == 1 ]] || fail "the program was not started exactly once, or not reset exactly once" started stays.txt
gone

# The port is still reserved by the kernel, so the system cannot bind it. It is started again when the port is free.
rm started
sed "s|ports = .*|ports = [\"tcp:{port}\", \"tcp:{rest}\"]|" strange.toml >stiff.toml
run --allow-commands --set 'sut.peer="./stiff.toml"' --set "sut.fill=[\"port=$port\", \"rest=$stiff\", \"habit=stiff\"]" --out stiff >stiff.txt 2>&1 ||
    fail "the program was not started again" stiff.txt stiff/strange.log
has 'Address already in use' stiff/strange.log
gone

# Another program that listens on the port would be mistaken for the system under test.
python3 -c 'import socket, sys, time; s = socket.create_server(("127.0.0.1", int(sys.argv[1]))); time.sleep(60)' "$port" &
other=$!
for _ in $(seq 100); do ! (exec 3<>"/dev/tcp/127.0.0.1/$port") 2>/dev/null || break; sleep 0.1; done
run --allow-commands --out taken >taken.txt 2>&1 && fail "another program was measured" taken.txt
kill "$other"
has "tcp:$port is open before strange is started: another program listens there" taken.txt

# If a system does not start, its output is quoted. A run without load is not a success.
if run --allow-commands --set 'sut.peer="./hasty.toml"' --set "sut.fill=[\"port=$port\", \"rest=$rest\", \"habit=mute\"]" --out mute >mute.txt 2>&1; then
    fail "the program never became ready, but the run succeeded" mute.txt
fi
has 'strange was not ready within 2 s: no line of its output matches .\^serving.*last output.*loading' mute.txt
run --allow-commands --set "sut.fill=[\"port=$port\", \"rest=$rest\", \"habit=deaf\"]" --set 'load.init_timeout="1s"' --out deaf >deaf.txt 2>&1 || true
has 'repeat 2  (overloaded|invalid|sut_failed)' deaf.txt
! grep -qE '  ok( |$)' deaf.txt || fail "a run without load succeeded" deaf.txt

# Starts a long window, in which an event follows after reports have started.
begin() {
    rm -f started
    # The campaign runs directly and not through the function, because the signal must reach it instead of a shell
    # around it.
    "$RANLAB" bench run scenario.toml --fresh --allow-commands --set "measure.duration=\"$1\"" --set measure.repeats=1 \
        --out "$2" >"$2.txt" 2>&1 &
    campaign=$!
    for _ in $(seq 600); do
        sleep 0.1
        [[ $(python3 -c "import json, urllib.request as r; print(json.load(r.urlopen('http://127.0.0.1:$rest/stats'))['messages'] > 150)" 2>/dev/null) != True ]] ||
            { read -r pid _ <started; return; }
    done
    fail "no reports within a minute" "$2.txt"
}
begin 60s died
kill -ABRT "$pid"
wait "$campaign" && fail "the program crashed, but the run succeeded" died.txt
has 'strange ended with signal 6, [0-9.]+ s into the window; last output .*"serving"' died.txt
gone

begin 12s stopped
kill -STOP "$pid"; sleep 2; kill -CONT "$pid"
wait "$campaign" || fail "the campaign failed" stopped.txt
has 'strange \(python3, process [0-9]+\) was stopped by a signal for [0-9.]+ s, from [0-9.]+ s into the window' stopped.txt
gone

# The campaign is stopped with SIGTERM.
begin 600s asked
kill -TERM "$campaign"
wait "$campaign" && fail "the campaign was stopped early, but the run succeeded" asked.txt
has 'stopped before the end' asked.txt
gone

# The campaign is killed without a chance to clean up, while it measures, and while it waits for a program that does not
# start.
begin 600s killed
kill -9 "$campaign"
wait "$campaign" 2>/dev/null || true
gone
rm started
"$RANLAB" bench run scenario.toml --fresh --allow-commands --set 'sut.peer="./patient.toml"' \
    --set "sut.fill=[\"port=$port\", \"rest=$rest\", \"habit=mute\"]" --out patient >patient.txt 2>&1 &
campaign=$!
for _ in $(seq 600); do [[ ! -s started ]] || break; sleep 0.1; done
kill -9 "$campaign"
wait "$campaign" 2>/dev/null || true
campaign=
gone
echo "third-party system: started, measured, read back, reported with name and time, never left behind"
