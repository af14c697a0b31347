#!/usr/bin/env bash
# Tests third-party switches with one pipeline. The packets of an installed switch equal those of the oracle, and the switch
# is measured like ranlab's engine. For a missing switch, the point's reason contains the command that installs it, and the
# run continues. switches-killed.sh tests killed campaigns.
# alone: testbeds
set -euo pipefail
cat >points.toml <<'TOML'
title = "a mobile gateway in several switches"
rig = "pipeline"
[pipeline]
name = "mgw"
user = 30
bst = 5
server = 10
rate-limit = 1000000000000
rate-burst = 4000000000
[load]
pkt-num = 2048
verify = 1024
[host]
when_noisy = "warn"
[sweep]
mode = "joint"
[sweep.axes]
"sut.engine" = ["native", "ovs-dpdk", "ovs", "testpmd", "eswitch", "ovs-dpdk"]
"sut.tier" = ["mem", "mem", "veth", "mem", "mem", "mem"]
"load.dir" = ["downlink", "downlink", "downlink", "downlink", "downlink", "uplink"]
[measure]
duration = "300ms"
repeats = 1
TOML
# holds FILE EXPRESSION: evaluates the expression. r is the final JSON object of a verb, p its points by engine, and m their
# means.
holds() {
    python3 - "$1" "$2" <<'PYTHON'
import json, sys
r = json.loads(open(sys.argv[1]).read().splitlines()[-1])
p = dict(zip(["native", "ovs-dpdk", "ovs", "testpmd", "eswitch", "ovs-dpdk-uplink"], r["points"]))
m = {e: {k: v["mean"] for k, v in q.get("metrics", {}).items()} for e, q in p.items()}
if not eval(sys.argv[2]):
    sys.exit(f"{sys.argv[2]} does not hold: {json.dumps(r)[:4000]}")
PYTHON
}
# left: lists what switches started by ranlab have left: processes, namespaces, DPDK files.
left() {
    pgrep -a -f 'ovs-vswitchd.*ranlab-part-|ovsdb-server.*ranlab-part-|dpdk-testpmd.*ranlab-part-' || true
    find /run/dpdk -type s 2>/dev/null || true
    ip netns list 2>/dev/null | grep '^ranlab-' || true
}

echo "== every engine has a result, and none stops the others"
code=0
"$RANLAB" bench run points.toml --fresh --out all --format json >all.json 2>all.err || code=$?
[[ $code == [013] ]] || { cat all.err; exit 1; }
holds all.json 'm["native"]["mpps"] > 0 and m["native"]["verified_packets"] == 1024'
holds all.json '"published figures" in p["eswitch"]["reason"]'
if command -v dpdk-testpmd >/dev/null; then
    holds all.json '"testpmd cannot express this pipeline" in p["testpmd"]["reason"]'
fi
# Number of free huge pages, in units of 2 MiB.
pages=$(awk '/^HugePages_Free/ { free = $2 } /^Hugepagesize/ { print int(free * $2 / 2048) }' /proc/meminfo)
dpdk() { [[ -x /usr/lib/openvswitch-switch-dpdk/ovs-vswitchd-dpdk && $(id -u) == 0 && $pages -ge 128 ]]; }
if dpdk; then
    holds all.json 'm["ovs-dpdk"]["verified_packets"] == 1024 and m["ovs-dpdk"]["mpps"] > 0'
    holds all.json 'm["ovs-dpdk"]["drop_ratio"] < 0.01 and m["ovs-dpdk"]["io_ns"] > 0'
    # In uplink, packets enter at the port that is created first.
    holds all.json 'm["ovs-dpdk-uplink"]["verified_packets"] == 1024 and m["ovs-dpdk-uplink"]["drop_ratio"] < 0.01'
else
    holds all.json 'any(w in p["ovs-dpdk"]["reason"] for w in ("apt install openvswitch-switch-dpdk", "huge pages", "namespaces", "run as root"))'
    echo "skipped: Open vSwitch over DPDK is not installed, has no huge pages, or this is not root"
fi
if command -v ovs-vswitchd >/dev/null && [[ $(id -u) == 0 ]]; then
    holds all.json 'm["ovs"]["verified_packets"] == 1024 and m["ovs"]["mpps"] > 0'
fi
[[ -z $(left) ]] || { left; exit 1; }

echo "== without its program, each point names the install command, and the run continues"
mkdir bin
for program in /usr/bin/* /bin/*; do
    case ${program##*/} in ovs-* | dpdk-*) ;; *) ln -sf "$program" bin/ ;; esac
done
code=0
PATH=$PWD/bin "$RANLAB" bench run points.toml --fresh --out none --format json >none.json 2>none.err || code=$?
[[ $code == [013] ]] || { cat none.err; exit 1; }
holds none.json 'm["native"]["verified_packets"] == 1024'
holds none.json 'all(p[e]["outcome"] == "unmeasurable" for e in ("ovs-dpdk", "ovs", "testpmd"))'
holds none.json '"apt install openvswitch-switch-dpdk" in p["ovs-dpdk"]["reason"] and "apt install openvswitch-switch" in p["ovs"]["reason"]'
