#!/usr/bin/env bash
# Tests the live Xhaul with the two ends of its cable on two machines. The machines are network namespaces with a worker in
# each, which a substitute for ssh reaches. A missing port and a lost machine are reported as errors.
# alone: testbeds
set -euo pipefail
near=rlA$$ far=rlB$$
cleanup() {
    [[ -z ${pid:-} ]] || kill "$pid" 2>/dev/null || true
    # The killed worker leaves namespaces, which would be removed by the next testbed on its machine.
    for left in /run/netns/ranlab-"${victim:-none}"-*; do ip netns del "$(basename "$left")" 2>/dev/null || true; done
    rm -f /run/ranlab/"${victim:-none}"-*
    ip netns del "$near" 2>/dev/null || true
    ip netns del "$far" 2>/dev/null || true
}
trap cleanup EXIT
{ ip netns add "$near" && ip netns add "$far"; } 2>/dev/null || { echo "this user cannot create network namespaces"; exit 77; }
ip link add pa netns "$near" type veth peer name pb netns "$far"

mkdir -p bin
cat >bin/ssh <<'S'
#!/bin/sh
# ssh -o X -o Y -- HOST PROGRAM worker: a machine is a network namespace.
while [ "$1" != -- ]; do shift; done
machine=$2
shift 3
exec ip netns exec "$machine" "$RANLAB" "$@"
S
chmod +x bin/ssh
export PATH=$PWD/bin:$PATH RANLAB

cat >point.toml <<TOML
title = "two machines"
rig = "xhaul"
[sut]
tier = "live"
at = "ssh://$near"
[du]
at = "ssh://$far"
[live]
midhaul_ports = "pa pb"
cost_batches = 0
[host]
when_noisy = "warn"
[measure]
duration = "3s"
warm_up = "0s"
repeats = 1
TOML
holds() {
    python3 - "$1" "$2" <<'PYTHON'
import json, sys
r = json.loads(open(sys.argv[1]).read().splitlines()[-1])
m = {k: v["mean"] for k, v in r["points"][0]["metrics"].items()} if r.get("points") and "metrics" in r["points"][0] else {}
if not eval(sys.argv[2]):
    sys.exit(f"{sys.argv[2]} does not hold: {json.dumps(r)[:3000]}")
PYTHON
}
run() { "$RANLAB" bench run point.toml --fresh --format json --out "$@" 2>run.err; }
there() { ip -n "$near" link show pa >/dev/null && ip -n "$far" link show pb >/dev/null; }

echo "== both vBBUs behind one port, their DUs behind a switch on another machine: both directions, two clocks"
run both --set sut.sharing=macvlan --set neighbour.split='"2"' >both.json || [[ $? == [13] ]]
holds both.json 'm["live.clock"] == 2 and m["live.clock_error_us"] > 0 and m["live.ports"] == 2'
holds both.json 'all(m[f"cell_{w}.sent"] > 200 and m[f"cell_{w}.lost_ratio"] < 0.5 and m[f"cell_{w}.malformed"] == 0 for w in ("dl", "ul"))'
holds both.json 'm["neighbour_dl.sent"] > 20 and m["neighbour_ul.delay_us_max"] >= 0 and "cell_dl.early" in m'
holds both.json 'any("on two machines at one point" in s for s in r["verdict"])'
there

echo "== a missing port, and a window that is too short"
run absent --set live.midhaul_ports='"pa nope"' >absent.json || [[ $? == [13] ]]
holds absent.json '"port nope: there is no such port; there are: pb" in r["points"][0]["reason"]'
run short --set measure.duration=1s >short.json || [[ $? == [13] ]]
holds short.json '"`measure.duration` of at least 3s" in r["points"][0]["reason"]'
there

echo "== a lost machine makes the repeat invalid"
"$RANLAB" bench run point.toml --fresh --format json --out lost --set net.midhaul_switches=0 --set measure.duration=60s >lost.json 2>run.err &
pid=$!
# Both workers have begun, and the ports have been moved out of their machines.
for _ in $(seq 200); do { ! ip -n "$near" link show pa && ! ip -n "$far" link show pb; } >/dev/null 2>&1 && break; sleep 0.1; done
sleep 1
for worker in $(pgrep -P "$pid"); do
    [[ $(readlink "/proc/$worker/ns/net") == "$(ip netns exec "$far" readlink /proc/self/ns/net)" ]] || continue
    victim=$worker
    kill -9 "$worker"
done
wait "$pid" || [[ $? == [13] ]]
pid=
holds lost.json 'r["points"][0]["outcome"] in ("invalid", "unmeasurable") and "ssh://'"$far"'" in r["points"][0]["reason"]'
