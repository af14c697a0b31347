#!/usr/bin/env bash
# Tests attacks over the network without credentials. On all ports: connection floods, and slow, truncated and oversized
# messages. On HTTP ports also: guessed tokens, DNS rebinding, forged and smuggled requests, path traversal, and log
# injection. After the attacks on a port of the RIC or the UPF, the owner's base stations, xApps and sessions still work.
set -euo pipefail
here=$(cd "$(dirname "$0")" && pwd)
source "$here/started.sh"
(umask 077 && echo 0123456789abcdef >token)

"$RANLAB" ric --e2 tcp://127.0.0.1:0 --e42 tcp://127.0.0.1:0 --http 127.0.0.1:0 --http-token-file token --rmr 127.0.0.1:0 --sm mac \
    --duration 300s --format ndjson -v >ric.txt 2>ric.err &
ric=$!
started+=("$ric")
e2=$(address ric.txt e2) e42=$(address ric.txt e42) api=$(address ric.txt http) rmr=$(address ric.txt rmr)
"$RANLAB" controller flexran --listen 127.0.0.1:0 --http 127.0.0.1:0 --http-token-file token --duration 300s --format ndjson >flexran.txt 2>flexran.err &
flexran=$!
started+=("$flexran")
mapfile -t at < <(ports flexran.txt)
"$RANLAB" upf --n4 127.0.0.31:8805 --n3 127.0.0.31:2152 --duration 300s >upf.txt 2>upf.err &
upf=$!
started+=("$upf")
"$RANLAB" worker --listen 127.0.0.1:0 --format ndjson >worker.txt 2>worker.err &
worker=$!
started+=("$worker")
for _ in $(seq 100); do
    port=$(grep -ohE '127.0.0.1:[0-9]+' worker.txt worker.err | head -n 1 | cut -d : -f 2) || true
    [[ -z $port ]] || break
    sleep 0.1
done

# served ric|upf: checks that the owner's programs still work.
served() {
    local what=$1
    case $what in
    ric)
        "$RANLAB" emulate --connect "$e2" --nodes 2 --ues 2 --sm mac --duration 2s >served.txt 2>&1 || { echo "$what: base stations are no longer served"; tail -n 3 served.txt; return 1; }
        "$RANLAB" xapp ping --connect "$e42" --count 20 >served.txt 2>&1 || { echo "$what: an xApp is no longer served"; tail -n 3 served.txt; return 1; }
        ;;
    upf) "$RANLAB" load upf --n4 127.0.0.31:8805 --n3 127.0.0.31:2152 --sessions 20 --duration 1s >served.txt 2>&1 || { echo "$what: UPF sessions are no longer served"; tail -n 3 served.txt; return 1; } ;;
    esac
}
attack() { python3 "$here/attacker_network.py" "$@"; }
"$RANLAB" emulate --connect "$e2" --first 7 --nodes 1 --ues 2 --sm mac --duration 300s >held.txt 2>&1 &
started+=($!)
served ric
served upf
attack E2 frames 127.0.0.1 "${e2##*:}" "$ric"
served ric
attack E42 frames 127.0.0.1 "${e42##*:}" "$ric"
served ric
attack HTTP http 127.0.0.1 "${api##*:}" "$ric" 0123456789abcdef
served ric
attack RMR stream 127.0.0.1 "${rmr##*:}" "$ric"
served ric
attack FlexRAN frames 127.0.0.1 "${at[0]}" "$flexran"
attack FlexHTTP http 127.0.0.1 "${at[1]}" "$flexran" 0123456789abcdef
[[ -z $port ]] || attack worker stream 127.0.0.1 "$port" "$worker"
attack N4 datagrams 127.0.0.31 8805 "$upf"
served upf
attack N3 datagrams 127.0.0.31 2152 "$upf"
served upf
for pid in "$ric" "$flexran" "$upf" "$worker"; do kill -0 "$pid"; done
# Text from an attacker must not begin a new line of the log, or move the cursor of a terminal.
if grep -lP '^forged|\x1b' ric.txt ric.err flexran.txt flexran.err upf.err worker.err; then exit 1; fi
if grep -h 0123456789abcdef ./*.txt ./*.err; then echo "a token is in a log"; exit 1; fi
