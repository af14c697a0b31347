#!/usr/bin/env bash
# Tests a user-provided vBBU on the live network. Substitutes for CU and DU run in the namespaces of the nodes. Their frames
# are counted in both directions, and their exit is reported. Nothing remains, even after kill -9.
# alone: testbeds
set -euo pipefail
here=$(cd "$(dirname "$0")/../.." && pwd)
for tool in python3 unshare ip tc pgrep; do command -v "$tool" >tool.txt || { echo "$tool is not installed"; exit 77; }; done
if ! { ip netns add "ranlab-probe-$$" && ip netns del "ranlab-probe-$$"; } 2>/dev/null; then
    echo "no network namespaces can be created"
    exit 77
fi
cleanup() { [[ -z ${pid:-} ]] || kill "$pid" 2>/dev/null || true; }
trap cleanup EXIT

# No other process has this name.
program=$PWD/vbbu-$$.py
cp "$here/peers/vbbu/stand_in.py" "$program"
cp "$here/peers/vbbu/profile.toml" profile.toml
cat >point.toml <<TOML
title = "a vBBU"
rig = "xhaul"
[sut]
tier = "live"
sharing = "macvlan"
peer = "./profile.toml"
fill = ["program=$program"]
[cells]
split = "7.1-if4p5-udp"
[neighbour]
split = "2"
[live]
cost_batches = 0
[host]
when_noisy = "warn"
[measure]
duration = "1s"
repeats = 1
TOML
holds() {
    python3 - "$1" "$2" <<'PYTHON'
import json, sys
r = json.loads(open(sys.argv[1]).read().splitlines()[-1])
point = r["points"][0]
m = {k: v["mean"] for k, v in point["metrics"].items()}
if not eval(sys.argv[2]):
    sys.exit(f"{sys.argv[2]} does not hold: {json.dumps(r)[:3000]}")
PYTHON
}
run() { "$RANLAB" bench run point.toml --fresh --allow-commands --format json "$@" 2>run.err; }
ours() { pgrep -f "vbbu-$$.py" | wc -l; }

echo "== commands are shown, and need permission to run"
"$RANLAB" bench check point.toml >check.out
grep -q '`cu` before each repeat, in its node' check.out && grep -q -- '"--own", "10.77.0.1"' check.out
code=0
"$RANLAB" bench run point.toml --fresh --out refused >refused.out 2>refused.err || code=$?
[[ $code == 2 ]] && grep -q -- "--allow-commands" refused.err

echo "== its frames are counted and timed in both directions, next to a built-in neighbour; its output is stored"
run --out own >own.json || { cat run.err; exit 1; }
holds own.json 'm["cell_dl.sent"] > 500 and m["cell_ul.sent"] > 500 and m["cell_dl.lost_ratio"] < 0.01 and m["cell_ul.lost_ratio"] < 0.01'
holds own.json '0 < m["cell_dl.delay_us_min"] <= m["cell_dl.delay_us_p50"] <= m["cell_dl.delay_us_max"] and m["cell_dl.malformed"] < 50'
# 14 datagrams of 642 bytes per 5 ms are 14.4 Mbit/s. A busy machine sends less.
holds own.json '2 < m["cell_dl.mbps"] < 16 and m["neighbour_dl.sent"] > 20'
grep -q "^sent [0-9]*, received [1-9]" own/vbbu-stand-in-CU.log
[[ $(ours) == 0 ]]

echo "== a process that exits is a failure of the system, with its code and last output; so is one that sends nothing"
sed 's/"{period}"\]/"{period}", "--bursts", "20"]/' "$here/peers/vbbu/profile.toml" >profile.toml
run --out ended >ended.json || [[ $? == [13] ]]
holds ended.json 'point["outcome"] == "sut_failed" and "it exited with code 3" in point["reason"] and "sent 280" in point["reason"]'
cat >profile.toml <<'TOML'
name = "mute"
title = "mute"
version = "1"
[fill.program]
about = "not used"
[vbbu.cu]
start = ["sh", "-c", "echo nothing to say; exec sleep 60"]
[vbbu.du]
start = ["sleep", "60"]
TOML
run --out mute >mute.json || [[ $? == [13] ]]
holds mute.json 'point["outcome"] == "sut_failed" and "exchanged no frames" in point["reason"] and "nothing to say" in point["reason"]'
cp "$here/peers/vbbu/profile.toml" profile.toml

echo "== kill -9 of the campaign ends its processes; the next live point removes its namespaces"
"$RANLAB" bench run point.toml --fresh --allow-commands --out killed --set measure.duration=60s >killed.out 2>&1 &
pid=$!
for _ in $(seq 200); do [[ $(ours) -ge 2 ]] && break; sleep 0.1; done
[[ $(ours) -ge 2 ]] || { cat killed.out; exit 1; }
# The worker creates the network, so it is the child process.
worker=$(pgrep -P "$pid" | head -n 1)
kill -9 "$worker" "$pid"
wait "$pid" 2>/dev/null || true
pid=
for _ in $(seq 50); do [[ $(ours) == 0 ]] && break; sleep 0.1; done
[[ $(ours) == 0 ]] || { pgrep -af "vbbu-$$.py"; exit 1; }
ip netns list | grep -q "^ranlab-$worker-"
run --out again >again.json
holds again.json 'm["cell_dl.sent"] > 500'
if ip netns list | grep -q "^ranlab-$worker-"; then echo "namespaces of the killed worker remain"; exit 1; fi
[[ $(ours) == 0 ]]
