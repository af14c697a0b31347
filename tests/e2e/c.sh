#!/usr/bin/env bash
# Tests the C examples together with the binary: a base station and an xApp in C at ranlab's RIC, and ranlab's base
# stations and xApps at the RIC in C.
set -euo pipefail

. "$(dirname "$0")/started.sh"
root=$(cd "$(dirname "$0")/../.." && pwd)
out=$(dirname "$RANLAB")
command -v cc >/dev/null || { echo "no C compiler is installed"; exit 77; }
library=$out/deps/libranlab_c.a
if [[ ! -f $library ]]; then
    library=$out/libranlab_c.a profile=$(basename "$out")
    (cd "$root" && cargo build --quiet -p ranlab-c --profile "${profile/debug/dev}" --target-dir "$(dirname "$out")")
fi
for name in hello_agent hello_ric hello_xapp; do
    cc -std=c11 -O1 -I "$root/bindings/c/include" "$root/bindings/c/examples/$name.c" "$library" -lpthread -ldl -lm -o "$name"
done
port() { address "$1" "$2" | sed 's/.*://'; }

# Runs C programs at ranlab's RIC.
"$RANLAB" ric --e2 tcp://127.0.0.1:0 --e42 tcp://127.0.0.1:0 --duration 120s --format ndjson >ric.txt 2>ric.err &
started+=($!)
e2=$(port ric.txt e2) e42=$(port ric.txt e42)
./hello_agent 127.0.0.1 "$e2" 60 2>agent.err &
started+=($!)
"$RANLAB" emulate --connect "tcp://127.0.0.1:$e2" --nodes 3 --ues 4 --duration 60s --format json >emulate.txt 2>emulate.err &
started+=($!)
./hello_xapp 127.0.0.1 "$e42" 4 50 >xapp.txt 2>xapp.err
cat xapp.err
grep -Eq '^hello_xapp: ok, [0-9]{2,} reports of [0-9]{3,} UEs, 3 controls acknowledged$' xapp.err
[[ $(grep -c '^gnb 505.01 [0-9]*: subscribed' xapp.txt) == 3 ]]
"$RANLAB" xapp monitor --connect "tcp://127.0.0.1:$e42" --sm kpm --period 500ms --duration 4s >kpm.txt
grep -q '^gnb 505.01 7  ue 1 ' kpm.txt

# Runs ranlab's programs at the RIC in C. If a free port is taken in the meantime, other ports are tried.
for _ in 1 2 3; do
    read -r e2 e42 < <(python3 -c 'import socket
s = [socket.create_server(("127.0.0.1", 0)) for _ in range(2)]
ports = [it.getsockname()[1] for it in s]
[it.close() for it in s]
print(*ports)')
    ./hello_ric "$e2" "$e42" 20 50 >c_ric.txt 2>c_ric.err &
    ric=$!
    # The RIC opens its xApp listener last. A connection that is closed immediately does not disturb it.
    until (exec 3<>"/dev/tcp/127.0.0.1/$e42") 2>/dev/null; do kill -0 "$ric" 2>/dev/null || continue 2; sleep 0.05; done
    break
done
"$RANLAB" emulate --connect "tcp://127.0.0.1:$e2" --nodes 3 --ues 4 --sm hw,mac,rlc,pdcp --duration 15s --format json >emulate.txt 2>emulate.err &
emulated=$!
"$RANLAB" xapp monitor --connect "tcp://127.0.0.1:$e42" --sm mac,rlc --period 100ms --duration 6s --format json >monitor.txt
"$RANLAB" xapp ping --connect "tcp://127.0.0.1:$e42" --count 50 --format json >ping.txt
./hello_xapp 127.0.0.1 "$e42" 3 50 >/dev/null 2>xapp.err
wait "$emulated" "$ric"
cat monitor.txt ping.txt xapp.err c_ric.err
grep -Eq '^hello_xapp: ok, [0-9]{2,} reports of [0-9]{3,} UEs, 3 controls acknowledged$' xapp.err
grep -Eq '^hello_ric: ok, [0-9]{3,} reports of [0-9]{3,} UEs$' c_ric.err
python3 - <<'P'
import json
monitor, ping, emulate = (json.load(open(name + ".txt")) for name in ("monitor", "ping", "emulate"))
assert monitor["nodes"] == 3 and monitor["lost"] == 0 and monitor["indications"] > 100, monitor
assert ping["sent"] == ping["received"] == 50, ping
assert emulate["alive"] == 3 and emulate["reconnects"] == 0, emulate
P
