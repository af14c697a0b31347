#!/usr/bin/env bash
# Tests `gateway` and the preloaded library on a machine without kernel SCTP. Programs that use SCTP communicate with
# programs on TCP and Unix sockets, in both directions, and each side detects the exit of the other. ranlab's RIC and base
# stations on sctp:// represent unmodified programs, because they make the same system calls.
set -euo pipefail
folder=$(dirname "$RANLAB")
for preload in "$folder/libranlab_preload.so" "$folder/deps/libranlab_preload.so" missing; do [[ -f $preload ]] && break; done
[[ $preload != missing ]] || { echo "no libranlab_preload.so next to $RANLAB: run make preload" >&2; exit 1; }
mkdir -m 700 net
carried() { env LD_PRELOAD="$preload" RANLAB_SCTP="$PWD/net" "$RANLAB" "$@"; }
parts=()
trap 'kill "${parts[@]}" 2>/dev/null || true' EXIT
until_it() { for _ in $(seq 600); do eval "$1" && return; sleep 0.05; done; echo "timed out: $1" >&2; cat ./*.txt >&2; return 1; }
field() { python3 -c 'import json,sys; print(json.load(open(sys.argv[1]))[sys.argv[2]])' "$@"; }

stock_ric() {
    LD_PRELOAD="$preload" RANLAB_SCTP="$PWD/net" "$RANLAB" ric --e2 sctp://10.0.0.1:36421 --e42 sctp://10.0.0.1:36422 \
        --duration 90s >>ric.txt 2>&1 &
    ric=$! parts+=($!)
    until_it '[[ $(ls net) == *10.0.0.1:36422* ]]'
}
stock_ric
"$RANLAB" gateway --listen tcp://127.0.0.1:0 --connect "shim://$PWD/net/10.0.0.1:36421" \
    --listen "unix://$PWD/e42" --connect "shim://$PWD/net/10.0.0.1:36422" --format ndjson >gateway.txt 2>&1 &
gateway=$! parts+=($!)
until_it '[[ $(grep -c listening gateway.txt) == 2 ]]'
e2=$(sed -n 's/.*"listening":"\(tcp[^"]*\)".*/\1/p' gateway.txt)

# A TCP connection without data must not open an association. Unmodified RICs exit after an association that is closed
# immediately.
port=${e2##*:}
exec 3<>"/dev/tcp/127.0.0.1/$port"
exec 3>&-
"$RANLAB" emulate --connect "$e2" --nodes 2 --ues 3 --duration 90s --format ndjson >emulate.txt 2>&1 &
parts+=($!)
until_it 'grep -q "\"alive\":2" emulate.txt'
# The event list contains exactly the two base stations.
[[ $(grep -c '^[+!]' ric.txt) == 2 ]]
"$RANLAB" xapp monitor --connect "unix://$PWD/e42" --period 50ms --duration 3s --format json >monitor.json
[[ $(field monitor.json indications) -gt 50 && $(field monitor.json lost) == 0 ]]

# The RIC is killed. The base stations detect this and connect to its successor.
kill -9 "$ric"
until_it 'grep -q "\"alive\":0" emulate.txt'
rm emulate.txt ric.txt
stock_ric
until_it '[[ $(grep -c "^+" ric.txt) == 2 ]]'
kill -INT "$gateway"
wait "$gateway"
python3 - <<'P'
import json
lines = [json.loads(line) for line in open("gateway.txt")]
report = lines[-1]
assert report["connections"] > report["passed_on"] >= 5, report
assert report["troubles"] > 0 and any("no program listens" in line.get("trouble", "") for line in lines), lines
assert report["forth"] > 50 and report["back"] > 4 and report["forth_bytes"] > 1000, report
P

# In the other direction, base stations with the library connect to ranlab's RIC, with and without a gateway.
"$RANLAB" ric --e2 "unix://$PWD/own" --e2 "shim://$PWD/net/10.0.0.3:36421" --e42 "unix://$PWD/own42" --duration 60s >own.txt 2>&1 &
parts+=($!)
until_it '[[ -S own && -S net/10.0.0.3:36421 ]]'
"$RANLAB" gateway --listen "shim://$PWD/net/10.0.0.2:36421" --connect "unix://$PWD/own" >gateway2.txt 2>&1 &
second=$! parts+=($!)
until_it '[[ -S net/10.0.0.2:36421 ]]'
for at in 2 3; do
    LD_PRELOAD="$preload" RANLAB_SCTP="$PWD/net" "$RANLAB" emulate --connect "sctp://10.0.0.$at:36421" --first $at --ues 3 \
        --duration 60s >"emulate$at.txt" 2>&1 &
    stock[at]=$! parts+=($!)
done
until_it '[[ $(grep -c "^+" own.txt) == 2 ]]'
kill -9 "${stock[2]}"
until_it 'grep -q "^- " own.txt'
# The gateway is killed. The direct connection remains.
kill -9 "$second"
sleep 0.2
[[ $(grep -c '^- ' own.txt) == 1 ]]

# A folder that other users can access is not accepted as a network.
chmod 755 net
if "$RANLAB" ric --e2 "shim://$PWD/net/10.0.0.9:36421" >refused.txt 2>&1; then exit 1; else [[ $? == 3 ]]; fi
grep -q 'must be 0700' refused.txt
if carried ric --e2 sctp://10.0.0.9:36421 >refused.txt 2>&1; then exit 1; else [[ $? == 3 ]]; fi
grep -q 'RANLAB_SCTP=.*must be 0700' refused.txt
if "$RANLAB" gateway --listen tcp://127.0.0.1:0 >refused.txt 2>&1; then exit 1; else [[ $? == 2 ]]; fi
grep -q 'needs a --connect for each --listen' refused.txt
