#!/usr/bin/env bash
# Tests the tier `ring`: packets over memif between the tester and a switch. Each loss is attributed to its cause, and no
# cause is unknown. Installed third-party switches forward all packets. A search finds two goals in one run.
# alone: testbeds
set -euo pipefail
. "$(dirname "$0")/judged.sh"

cat >ring.toml <<'TOML'
title = "rings"
rig = "pipeline"
[pipeline]
name = "portfwd"
[sut]
engine = "bare"
tier = "ring"
[load]
rate = 10000
pkt-num = 1024
late_after = "200ms"
drain = "3s"
[host]
when_noisy = "warn"
[measure]
duration = "1s"
warm_up = "0s"
repeats = 1
TOML
scenario=ring.toml

echo "== a device that drops every thousandth packet"
run drops --set sut.drop_every=1000
holds drops 'm["packets_due"] == 10000 and m["lost_injected"] == m["packets_sent"] // 1000 and m["lost_unknown"] == 0'
holds drops '"dropped on purpose" in p["reason"] and "of the CPU time was stolen" in p["reason"]'
holds drops 'm["tester_mpps"] > 0 and "host.steal_share" in m and m["latency_ns_p999"] > 0'

echo "== a ring that is not read"
run full --set sut.hang_after=100 --set sut.ring=4 --set load.drain=100ms
holds full 'm["packets_sent"] == 116 and m["packets_received"] == 100 and m["lost_in_ring"] == 16 and m["lost_unknown"] == 0'
holds full 'm["lost_ring_full"] + m["lost_late"] == 10000 - 116'

echo "== a generator that is late within the limit"
run late --set load.stall=50ms --set load.late_after=45ms
holds late '(p["outcome"] == "invalid" and "was not sent" in p["reason"]) or (m["lost_late"] >= 40 and m["lost_unknown"] == 0)'
holds late 'not m or m["loss_ratio"] * (m["packets_due"] - m["lost_late"]) == m["lost"] - m["lost_late"]'

echo "== native engine with two cores: flows divided, both verified, counters add up, no speedup with shared CPUs"
cat >cores.toml <<'TOML'
title = "two cores of ours beside one"
extends = "ring.toml"
[sut]
engine = "native"
[load]
dir = "bidir"
flows = 64
[sweep.axes]
"sut.cores" = [1, 2]
[measure]
duration = "500ms"
TOML
scenario=cores.toml run cores
holds cores 'len(means) == 2 and all(m["lost_unknown"] == 0 and m["verified_packets"] == 1024 and m["packets_due"] == 5000 for m in means)'
holds cores '"core_imbalance" not in means[0] and 1 <= means[1]["core_imbalance"] < 2 and means[1]["packets_received"] > 0'
grep -q "no speed-up was measured" cores/report.html
run few --set sut.engine=native --set sut.cores=17
holds few 'p["outcome"] == "unmeasurable" and "1 to 16 rings per direction" in p["reason"]'

echo "== native engine: two loss goals in one search"
cat >search.toml <<'TOML'
title = "NDR and PDR of a gateway in rings"
extends = "ring.toml"
[pipeline]
name = "mgw"
user = 30
bst = 5
server = 10
rate-limit = 1000000000000
rate-burst = 4000000000
[sut]
engine = "native"
[load]
dir = "downlink"
pkt-size = 128
[search]
type = "mlr"
axis = "load.rate"
min = 1000
max = 20000
precision = 0.3
loss_ratios = [0.0, 0.05]
sum = 1
exceed_ratio = 0.0
budget = "20s"
latency_at = [0.1, 0.5, 0.9, 1.0]
[measure]
duration = "300ms"
repeats = 1
TOML
"$RANLAB" bench run search.toml --fresh --out search --format json >search.json 2>search.err || { [[ $? == 1 ]] || cat search.err; }
holds search '"search.load" in m and "search.goal_2.load" in m and 1000 <= m["search.load"] <= m["search.goal_2.load"] <= 20000'
holds search 'm["lost_unknown"] == 0 and m["verified_packets"] > 0'
# Latency is measured after the search, at shares of the rate that was found. Every percentile exists, unless the machine
# disturbed all trials.
holds search 'all(f"latency_ns at {at} %" in p["reason"] or 0 < m[f"search.at_{at}.latency_ns_p50"] <= m[f"search.at_{at}.latency_ns_p75"] <= m[f"search.at_{at}.latency_ns_p99"] <= m[f"search.at_{at}.latency_ns_p999"] for at in (10, 50, 90, 100))'

echo "== soak: a device without loss has its critical load above the maximum"
"$RANLAB" bench run search.toml --fresh --out soak --set sut.engine=bare --set search.type=plr --set search.target=0.001 --set search.budget=3s --format json >soak.json 2>soak.err || true
holds soak 'p["outcome"] in ("invalid", "overloaded") or (m["search.critical_low"] <= m["search.load"] <= m["search.critical_high"] and "lost on average" in p["reason"])'

"$RANLAB" bench run search.toml --fresh --out lossy --set sut.engine=bare --set sut.drop_every=50 --format json >lossy.json 2>lossy.err || true
holds lossy '"search.load" not in m and m["search.goal_2.load"] >= 1000 and "at no load is loss_ratio ≤ 0" in p["reason"]'
holds lossy 'm["search.trials"] >= 2 and m["search.goal_2.throughput"] < m["search.goal_2.load"]'

echo "== third-party switches over the same rings"
pages=$(awk '/^HugePages_Free/ { free = $2 } /^Hugepagesize/ { print int(free * $2 / 2048) }' /proc/meminfo)
if command -v dpdk-testpmd >/dev/null && (($(nproc) > 1)); then
    run testpmd --set sut.engine=testpmd
    holds testpmd 'm["verified_packets"] == 1024 and m["packets_received"] > 0 and m["lost_unknown"] == 0'
else
    echo "skipped: dpdk-testpmd is not installed, or there is only one core"
fi
if [[ -x /usr/lib/openvswitch-switch-dpdk/ovs-vswitchd-dpdk && $(id -u) == 0 && $pages -ge 128 ]] && (($(nproc) > 1)); then
    run ovs --set sut.engine=ovs-dpdk
    holds ovs 'm["verified_packets"] == 1024 and m["packets_received"] > 0 and m["lost_unknown"] == 0'
else
    run ovs --set sut.engine=ovs-dpdk
    echo "skipped: Open vSwitch over DPDK is not installed, has no huge pages, or this is not root"
fi
echo "rings: all checks passed"
