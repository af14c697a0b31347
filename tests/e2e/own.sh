#!/usr/bin/env bash
# Tests user-defined pipelines and traces. The shipped example runs through every installed switch that supports it, and
# its packets are written as a capture. The message for an invalid file names the line or packet. Configurations for other
# switches are written, and a missing switch does not stop the campaign.
# alone: testbeds
set -euo pipefail
here=$(cd "$(dirname "$0")/../.." && pwd)
own=$here/scenarios/tipsy/own.toml

# holds FILE EXPRESSION: evaluates the expression. r is the final JSON object of a verb, p its points, and m their means.
holds() {
    python3 - "$1" "$2" <<'PYTHON'
import json, sys
r = json.loads(open(sys.argv[1]).read().splitlines()[-1])
p = r.get("points", [])
m = [{k: v["mean"] for k, v in q.get("metrics", {}).items()} for q in p]
if not eval(sys.argv[2]):
    sys.exit(f"{sys.argv[2]} does not hold: {json.dumps(r)[:4000]}")
PYTHON
}
# refused WORDS COMMAND...: checks that the command fails as a usage error and prints WORDS.
refused() {
    local words=$1 code=0
    shift
    "$@" >refused.out 2>refused.err || code=$?
    [[ $code == 2 ]] || { echo "exit code $code instead of 2: $*"; cat refused.err; exit 1; }
    grep -qF -- "$words" refused.err refused.out || { echo "the output lacks \"$words\":"; cat refused.err; exit 1; }
}

cp "$here"/docs/own-pipelines/edge.{toml,rules} .
cat >points.toml <<'TOML'
title = "an edge of one's own in several switches"
rig = "pipeline"
[pipeline]
name = "own"
file = "edge.toml"
size = 64
[load]
dir = "bidir"
pkt-num = 2048
verify = 1024
[host]
when_noisy = "warn"
[sweep.axes]
"sut.engine" = ["native", "vpp", "ovs-dpdk", "xdp"]
[measure]
duration = "300ms"
repeats = 1
TOML

echo "== the shipped pipeline is verified and measured; the command for an unsupported switch is shown"
"$RANLAB" bench check "$own" >/dev/null
code=0
"$RANLAB" bench run points.toml --fresh --out all --format json >all.json 2>all.err || code=$?
[[ $code == [013] ]] || { cat all.err; exit 1; }
holds all.json 'm[0]["verified_packets"] == 1024 and m[0]["mpps"] > 0'
holds all.json '"vpp cannot express this pipeline" in p[1]["reason"]'
for point in 2 3; do
    holds all.json "p[$point].get('reason') or m[$point]['verified_packets'] == 1024"
done

echo "== its packets and expected results are written, and read back as a trace"
"$RANLAB" bench trace points.toml --out own.pcapng --format json >trace.json
holds trace.json 'r["sent"][0]["packets"] == 2048 and r["expected"][0]["packets"] + r["dropped"] == 2048 and r["dropped"] > 0'
"$RANLAB" bench trace points.toml --set load.trace=own.pcapng --out again.pcapng >/dev/null
cmp own.pcapng again.pcapng
cmp own-expected.pcapng again-expected.pcapng
"$RANLAB" bench trace points.toml --out own.pcap >/dev/null
"$RANLAB" bench run points.toml --set sut.engine=native --set 'load.trace=["own-access.pcap","own-core.pcap"]' --fresh \
    --out replayed --format json >replayed.json
holds replayed.json 'm[0]["verified_packets"] == 1024 and m[0]["trace_packets"] == 2048'

echo "== a routing table as routers print it, changed by recorded updates"
cat >fib.txt <<'END'
198.51.100.0/24 192.0.2.1
203.0.113.0/24 via 192.0.2.2
2001:db8::/32 2001:db8::1
END
cat >updates.txt <<'END'
7 w 198.51.100.0/24 0.0.0.0
7 a 198.51.100.0/24 192.0.2.74
8 a 203.0.113.0/25 192.0.2.9
END
cat >fib.toml <<'TOML'
[route.fib]
file = "fib.txt"
[uplink]
elements = [{ element = "admit", ipv6 = true }, { element = "route", table = "fib" }, { element = "forward" }]
[downlink]
elements = [{ element = "emit", port = "access" }]
TOML
cat >churn.toml <<'TOML'
title = "recorded updates"
rig = "pipeline"
[pipeline]
name = "own"
file = "fib.toml"
updates = "updates.txt"
updates-per-s = 20
[host]
when_noisy = "warn"
[measure]
duration = "500ms"
repeats = 1
TOML
"$RANLAB" bench trace churn.toml --out fib.pcapng >/dev/null
"$RANLAB" bench run churn.toml --fresh --out churn --format json >churn.json
# Between a withdrawal and the next announcement, packets to the prefix have no route.
holds churn.json 'm[0]["updates_sent"] > 0 and m[0]["updates_refused"] == 0 and m[0]["changes_refused"] == 0'
sed 's/^8 a/8 x/' updates.txt >wrong-updates.txt
refused 'wrong-updates.txt:3: invalid update of a route' "$RANLAB" bench check churn.toml --set pipeline.updates=wrong-updates.txt

echo "== configurations of TIPSY become scenarios"
cat >main.json <<'END'
{ "benchmark": [ { "id": "joint", "scale": "joint", "pipeline": { "name": "mgw", "core": [1, 2], "user": [3, 30] },
                   "sut": { "type": "ovs", "hostname": "sut.local" } } ] }
END
"$RANLAB" bench import main.json --out imported >imported.txt
grep -q 'left out: sut.hostname' imported.txt
"$RANLAB" bench check imported/joint.toml | grep -q '2 points'
sed 's/"mgw"/"vmgw"/' main.json >vmgw.json
refused 'pipeline.name "vmgw" has no counterpart' "$RANLAB" bench import vmgw.json --out imported

echo "== configurations of other switches are written, or the reason why not"
refused 'this version does not write TCP flags of rules' "$RANLAB" bench config points.toml --engine p4 --out p4
sed -E 's#0x[0-9a-fA-F]{4}/0x[0-9a-fA-F]{4}#0x0000/0x0000#' edge.rules >no-flags.rules
sed 's/edge.rules/no-flags.rules/' edge.toml >no-flags.toml
for engine in p4 ovs-dpdk; do
    "$RANLAB" bench config points.toml --set pipeline.file=no-flags.toml --engine "$engine" --out "$engine" --format json >config.json
    holds config.json 'len(r["files"]) > 0 and r["install"]'
done
grep -q 'table_add up_1 set_user' p4/entries.txt
refused 'bess cannot express this pipeline' "$RANLAB" bench config points.toml --engine bess --out bess
refused 'no configuration is written for "eswitch"; allowed are testpmd' "$RANLAB" bench config points.toml --engine eswitch --out x

echo "== file errors name the position and the allowed values"
sed 's/element = "meter"/element = "teleport"/' edge.toml >wrong.toml
refused 'wrong.toml:50: there is no element "teleport"; allowed are admit' "$RANLAB" bench check points.toml --set pipeline.file=wrong.toml
sed '3s/^@/x/' edge.rules >edge2.rules
sed 's/edge.rules/edge2.rules/' edge.toml >wrong.toml
refused 'edge2.rules:3: invalid rule of a filter set: it does not begin with @' "$RANLAB" bench check points.toml --set pipeline.file=wrong.toml
head -c 5000 own.pcapng >cut.pcapng
refused 'in the middle of a packet' "$RANLAB" bench trace points.toml --set load.trace=cut.pcapng --out x.pcapng
refused 'is of no interface named access or core' "$RANLAB" bench trace points.toml --set load.trace=own-core.pcap --out x.pcapng
