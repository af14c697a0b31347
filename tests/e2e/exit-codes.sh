#!/usr/bin/env bash
# Tests invalid flags, ports in use and unreachable controllers. Each fault gives one sentence on stderr, and the exit
# code of this kind of fault.
set -euo pipefail

expect() {
    local code=$1 got=0
    shift
    "$RANLAB" "$@" >out.txt 2>err.txt || got=$?
    [[ $got == "$code" ]] || { echo "ranlab $* exited with $got instead of $code"; cat err.txt; exit 1; }
    [[ $(wc -l <err.txt) == 1 ]] || { echo "ranlab $*: the error is not one sentence:"; cat err.txt; exit 1; }
}

expect 2 ric --e2 tcp://nowhere
expect 2 ric --e3 tcp://127.0.0.1:1
expect 2 emulate --nodes 0
expect 2 emulate --sm kpn
expect 2 xapp monitor --period 0ms
expect 2 pcap decode /no/such/file
expect 3 emulate --connect tcp://127.0.0.1:1 --wait 0s
expect 2 emulate --protocol flexran --period 0s
expect 2 emulate --protocol empower --activation sometimes:1s
expect 2 emulate --protocol flexran --connect unix:///x
expect 3 emulate --protocol flexran --connect tcp://127.0.0.1:1
expect 2 controller flexran --rib-share 2
expect 2 controller empower --registered /no/such/file
expect 3 controller flexran --listen 192.0.2.1:1
expect 3 xapp ping --connect unix:///no/such/socket
expect 3 ric --e2 sctp://127.0.0.1:36421

# With JSON output, an error is one object on stdout.
object() {
    local code=$1 kind=$2
    expect "$code" "${@:3}"
    python3 -c 'import json, sys
error = json.loads(open("out.txt").read())["error"]
assert [str(error["code"]), error["kind"]] == sys.argv[1:], error' "$code" "$kind"
}
object 2 usage bench run /no/such/file --format json
object 2 usage --format=json bench run --no-such-flag
object 2 usage bench run gate.toml --fail-on never --format json
object 3 environment emulate --connect tcp://127.0.0.1:1 --wait 0s --format json

"$RANLAB" ric --e2 unix://"$PWD"/a --e42 unix://"$PWD"/b --duration 20s >/dev/null &
ric=$!
trap 'kill $ric 2>/dev/null || true' EXIT
for _ in $(seq 100); do [[ -S b ]] && break; sleep 0.05; done
expect 3 ric --e2 unix://"$PWD"/a --e42 unix://"$PWD"/c
echo "exit codes: all checks passed"
