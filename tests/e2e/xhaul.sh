#!/usr/bin/env bash
# Tests one Xhaul scenario in its three tiers. The simulation gives the same digest in two processes and with any number of
# threads, and its delays stay within the bound. The bound is computed without a simulation. The live network runs if this
# user may create namespaces, and leaves nothing behind, even after kill -9.
# alone: testbeds
set -euo pipefail
cleanup() { [[ -z ${pid:-} ]] || kill "$pid" 2>/dev/null || true; }
trap cleanup EXIT
scenarios=${SCENARIOS:-$(cd "$(dirname "$0")/../.." && pwd)/scenarios}

cat >point.toml <<'TOML'
title = "a point"
rig = "xhaul"
[background]
direction = "both"
[neighbour]
split = "2"
[sim]
phases = 4
[host]
when_noisy = "warn"
[measure]
duration = "100ms"
repeats = 1
TOML
# holds FILE EXPRESSION: evaluates the expression. r is the final JSON object of a verb, and m are the means of the
# first point.
holds() {
    python3 - "$1" "$2" <<'PYTHON'
import json, sys
r = json.loads(open(sys.argv[1]).read().splitlines()[-1])
m = {k: v["mean"] for k, v in r["points"][0]["metrics"].items()} if r.get("points") and "metrics" in r["points"][0] else {}
if not eval(sys.argv[2]):
    sys.exit(f"{sys.argv[2]} does not hold: {json.dumps(r)[:3000]}")
PYTHON
}
run() { "$RANLAB" bench run point.toml --fresh --format json "$@" 2>run.err; }

echo "== one digest in two processes, on one thread and on three"
run --out one --set sut.sharing=none --set sim.threads=1 >one.json
run --out two --set sut.sharing=none --set sim.threads=3 >two.json
python3 - <<'PYTHON'
import json
of = lambda f: json.loads(open(f).read().splitlines()[-1])["points"][0]["metrics"]["sim.digest"]["mean"]
assert of("one.json") == of("two.json") > 0, (of("one.json"), of("two.json"))
PYTHON
holds one.json '0.9 <= m["cell_ul.of_bound"] <= 1 and m["cell_ul.lost_ratio"] == 0'
holds one.json 'any("meets" in s for s in r["verdict"])'


echo "== the bound without simulation; an overloaded port is reported before the run"
run --out bound --set sut.tier=bound >bound.json
holds bound.json 'm["cell_ul.bound_us"] > 73 and "sim.events" not in m'
code=0
"$RANLAB" bench check point.toml --set cells.count=20 >check.out 2>check.err || code=$?
[[ $code == 2 ]] && grep -q "is offered" check.err
"$RANLAB" bench check point.toml | grep -q "are fragmented"

echo "== every scheduler has a bound, and the simulation stays within it"
for scheduler in strict drr cbs ats; do
    run --out "$scheduler" --set sut.scheduler=$scheduler >$scheduler.json || [[ $? == [13] ]]
    holds $scheduler.json '0.05 < m["cell_ul.of_bound"] <= 1 and 0.05 < m["neighbour_ul.of_bound"] <= 1'
done

echo "== published rankings hold"
for name in reference pacing shared-direction; do
    "$RANLAB" bench run "$scenarios/xhaul/$name.toml" --quick --out "$name" >"$name.out" 2>&1 || { cat "$name.out"; exit 1; }
done

if ! { ip netns add "ranlab-probe-$$" && ip netns del "ranlab-probe-$$"; } 2>/dev/null; then
    echo "== live: not possible here, which is reported"
    code=0
    run --out live --set sut.tier=live >live.json || code=$?
    [[ $code == [13] ]] && holds live.json '"namespaces" in r["points"][0]["reason"]'
    exit 0
fi
ours() { ip netns list | grep -c '^ranlab-' || true; }

echo "== live: frames of each split arrive with kernel timestamps; nothing remains"
run --out live --set sut.tier=live --set sut.sharing=macvlan --set background.direction=none --set live.taps=true \
    --set live.cost_batches=200 --set measure.duration=1s >live.json
holds live.json 'm["cell_dl.sent"] > 500 and m["cell_dl.malformed"] == 0 and m["cell_dl.lost_ratio"] < 0.5'
holds live.json 'm["cell_dl.at_midhaul_queue_us"] > 0 and m["cell_dl.tap_in_us_p99"] <= m["cell_dl.tap_out_us_p99"] <= m["cell_dl.delay_us_p99"] * 1.1'
holds live.json 'm["live.timestamp_source"] >= 1 and m["neighbour_dl.sent"] > 20 and m["cost_ns_dl"] > 100'
holds live.json 'm["cost_dl_of_port"] > 0 and m["cost_ul_of_port"] > 0'
holds live.json 'any("live: 99 % of frames take at most" in s for s in r["verdict"])'
[[ $(ours) == 0 ]]

# told FILE PROGRAM EXPRESSION: if PROGRAM is installed, evaluates the expression about its result. Otherwise, checks that the
# program is reported as missing.
told() {
    if command -v "$2" >/dev/null; then holds "$1" "$3"; else holds "$1" "'install' in r['points'][0]['reason']"; fi
}
echo "== live: ping and iperf3 next to the built-in probe, taps on datagrams; nothing remains"
run --out ping --set sut.tier=live --set background.direction=none --set live.cost_batches=0 --set user.kind=ping \
    --set user.interval=20ms --set live.ping=true --set measure.duration=1s >ping.json || [[ $? == [13] ]]
told ping.json ping 'm["ping.sent"] > 3 and m["ping.rtt_ms"] > 0 and m["rtt_ms"] > 0'
run --out iperf3 --set sut.tier=live --set background.direction=none --set live.cost_batches=0 --set user.kind=udp \
    --set live.iperf3=true --set cells.split=7.1-if4p5-udp --set live.taps=true --set measure.duration=1s >iperf3.json || [[ $? == [13] ]]
told iperf3.json iperf3 'm["iperf3.sent"] > 5 and m["iperf3.jitter_ms"] > 0 and m["iperf3.kernel_jitter_ms"] > 0'
told iperf3.json iperf3 'm["cell_dl.tap_in_us_p99"] > 0 and m["jitter_ms_median"] > 0'
[[ $(ours) == 0 ]]

echo "== live: a CPU quota limits the vBBU's threads, or the missing feature is named; the same for ipvlan"
run --out quota --set sut.tier=live --set background.direction=none --set live.cost_batches=0 --set cu.busy_share=0.6 \
    --set cu.cpu_quota=0.3 --set measure.duration=1s >quota.json || [[ $? == [13] ]]
holds quota.json '"cgroup" in r["points"][0]["reason"] or m["cu.throttled_share"] > 0'
run --out ipvlan --set sut.tier=live --set sut.sharing=ipvlan --set background.direction=none --set 'cells.split="2"' \
    --set live.cost_batches=0 --set measure.duration=300ms >ipvlan.json || [[ $? == [13] ]]
holds ipvlan.json '"ipvlan" in r["points"][0]["reason"] or m["cell_dl.sent"] > 0'
[[ $(ours) == 0 ]]

echo "== live: a cell before, alternating with, or behind its neighbour and background traffic, in every repeat"
for scheduler in fifo strict drr; do
    "$RANLAB" bench run "$scenarios/xhaul/live-strict.toml" --fresh --format json --out "live-$scheduler" --set sut.scheduler=$scheduler \
        --set sut.tier=live --set host.when_noisy=warn --set measure.duration=1s --set measure.repeats=3 >"live-$scheduler.json" 2>run.err || [[ $? == [13] ]]
    "$RANLAB" bench query "live-$scheduler" "SELECT value FROM results WHERE metric = 'cell_dl.delay_us_p99'" --format json >"values-$scheduler.json"
done
python3 - <<'PYTHON'
import json
rows = lambda name: [row[0] for row in json.load(open(f"values-{name}.json"))["rows"]]
fifo, strict, turns = (rows(name) for name in ("fifo", "strict", "drr"))
assert len(fifo) == len(strict) == len(turns) == 3 and max(strict) < min(fifo), (strict, turns, fifo)
PYTHON
[[ $(ours) == 0 ]]

echo "== live on given ports: used, divided by macvlan, returned; software ports have no virtual functions, this kernel not every scheduler"
near=rln$$ far=rlf$$
port_cleanup() { ip link del "$near" 2>/dev/null || true; }
trap 'port_cleanup; cleanup' EXIT
ip link add "$near" type veth peer name "$far"
there() { [[ -e /sys/class/net/$near && -e /sys/class/net/$far ]]; }
ported() {
    local out=$1
    shift
    run --out "$out" --set sut.tier=live --set live.cost_batches=0 --set "live.midhaul_ports=\"$near $far\"" --set neighbour.split='"2"' \
        --set background.direction=none --set measure.duration=300ms "$@" >"$out.json" || [[ $? == [13] ]]
}
ported ports --set sut.sharing=macvlan
holds ports.json 'm["live.ports"] == 2 and m["live.functions"] == 0 and m["cell_dl.sent"] > 100 and m["cell_dl.lost_ratio"] < 0.5'
# ranlab sends frames between the two ports. The kernel stamps them at departure and arrival, because there is no
# network card.
holds ports.json 'm["live.clock"] == 0 and m["live.clock_error_us"] == 0 and m["cable_dl.sent"] > 0'
holds ports.json 'all(m[w + ".stamped_ratio"] == 1 and m[w + ".early"] == m[w + ".unordered"] == m[w + ".lost_ratio"] == 0 < m[w + ".delay_us_max"] for w in ("cable_dl", "cable_ul"))'
holds ports.json 'any("stamped by the kernel at one point" in s for s in r["verdict"])'
there && [[ $(ours) == 0 ]]
ported card --set sut.sharing=macvlan --set live.stamps=card
holds card.json '"its card has no time stamps" in r["points"][0]["reason"]'
there && [[ $(ours) == 0 ]]
ported slow --set sut.sharing=bridge --set live.slowdown=20
holds slow.json 'm["live.emulated"] == 1 and m["cell_dl.sent"] > 10 and "cell_dl.delay_us_p99" not in m and "EMULATED" in r["verdict"][0]'
ported functions --set sut.sharing=sr-iov
holds functions.json '"virtual functions" in r["points"][0]["reason"]'
there
for scheduler in cbs gates mqprio etf; do
    ported $scheduler --set sut.sharing=macvlan --set sut.scheduler=$scheduler
    holds $scheduler.json 'm.get("cell_dl.sent", 0) > 0 or "no scheduler" in r["points"][0]["reason"]'
    there && [[ $(ours) == 0 ]]
done
ip addr add 192.0.2.1/32 dev "$near"
ported used --set sut.sharing=macvlan
holds used.json '"has an address" in r["points"][0]["reason"]'
port_cleanup

echo "== cost of sharing a card on this machine, as a profile for the simulation"
"$RANLAB" bench sharing --rounds 200 --out sharing.toml
grep -q 'kind = "macvlan"' sharing.toml && grep -q 'not measured here' sharing.toml
run --out profile --set sut.sharing=bridge --set "sut.sharing_profile=$PWD/sharing.toml" >profile.json
holds profile.json 'm["cell_dl.at_host_us"] > 0.5'
[[ $(ours) == 0 ]]

echo "== live: the next run removes what kill -9 has left, and returns ports"
ip link add "$near" type veth peer name "$far"
"$RANLAB" bench run point.toml --fresh --out killed --set sut.tier=live --set background.direction=none \
    --set live.cost_batches=0 --set sut.sharing=macvlan --set "live.midhaul_ports=\"$near $far\"" --set measure.duration=60s >killed.out 2>&1 &
pid=$!
for _ in $(seq 100); do { [[ $(ours) -ge 5 ]] && ! there; } && break; sleep 0.1; done
# The worker creates the network, so it is the child process.
worker=$(pgrep -P "$pid" | head -n 1)
kill -9 "$worker" "$pid"
wait "$pid" 2>/dev/null || true
pid=
while [[ -e /proc/$worker ]] && ! grep -q '^State:.Z' "/proc/$worker/status" 2>/dev/null; do sleep 0.05; done
[[ $(ours) -ge 5 ]] && ! there
run --out again --set sut.tier=live --set background.direction=none --set live.cost_batches=0 --set measure.duration=300ms >again.json
[[ $(ours) == 0 ]]
there
