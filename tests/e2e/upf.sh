#!/usr/bin/env bash
# long
# Tests a user plane function and its load generator on loopback, without privileges: sessions and packets in both
# directions, a result for every request, policed rates, detected restarts, and conformance. If this user may create network
# namespaces, the tests also run in these.
# alone: testbeds
set -euo pipefail
pids=() spaces=()
cleanup() {
    for pid in "${pids[@]+"${pids[@]}"}"; do kill "$pid" 2>/dev/null || true; done
    for space in "${spaces[@]+"${spaces[@]}"}"; do ip netns del "$space" 2>/dev/null || true; done
}
trap cleanup EXIT

# Addresses that only this run uses, so that two runs do not collide.
net=127.$((100 + $$ % 100))
n4=$net.0.8:8805 n3=$net.0.8:2152 n6=$net.0.8:2153 dn=$net.0.10:2153
load() { "$RANLAB" load upf --format json --n4 "$n4" --n3 "$n3" --smf "$net.0.1:8805" --gnb "$net.1.1:2152" "$@"; }
upf() { # its output goes to upf.json; waits until it listens
    # Discards the output of the previous UPF.
    : >upf.json
    "$RANLAB" upf --format ndjson --n4 "$n4" --n3 "$n3" "$@" >upf.json 2>upf.err &
    upf=$!
    pids+=("$upf")
    for _ in $(seq 100); do [[ ! -s upf.json ]] || return 0; sleep 0.05; done
    echo "the UPF did not start" && cat upf.err && return 1
}
down() { kill "$upf" && wait "$upf" || true; }
# holds FILE EXPRESSION: r is the final JSON object of a verb.
holds() {
    python3 - "$1" "$2" <<'PYTHON'
import json, sys
r = json.loads(open(sys.argv[1]).read().splitlines()[-1])
if not eval(sys.argv[2]):
    sys.exit(f"{sys.argv[2]} does not hold: {json.dumps(r)[:3000]}")
PYTHON
}

for design in cp-offload "software --workers 2" dp-offload; do
    echo "== $design: 10,000 sessions are established and deleted"
    # shellcheck disable=SC2086 # a design and its options
    upf --n6 "udp://$n6,$dn" --design $design
    load --mode control --sessions 10000 --duration 120s --n6 "udp://$dn,$n6" >control.json
    holds control.json 'r["control"]["completed"] == 10000 and r["unexplained"] == 0 and r["control"]["balanced"]'
    holds control.json 'r["smoke"] == {"uplink": True, "downlink": True}'
    holds control.json 'all(k["sent"] == k["ok"] + k["retransmitted"] + k["rejected"] + k["late"] + k["lost"] for k in r["control"]["requests"].values())'

    echo "== $design: packets in both directions, counted and reflected"
    load --mode sessions --sessions 200 --uplink 2000 --downlink 2000 --reflect-every 10 --duration 1s \
        --n6 "udp://$dn,$n6" >sessions.json
    holds sessions.json 'r["steps"][0]["uplink"]["received"] > 1000 and r["steps"][0]["downlink"]["received"] > 1000'
    holds sessions.json 'all(s["duplicates"] == 0 for s in (r["steps"][0]["uplink"], r["steps"][0]["downlink"]))'
    holds sessions.json 'r["steps"][0]["round_trip_us"]["n"] > 100 and r["unexplained"] == 0'

    echo "== $design: handover of sessions to other base stations"
    load --mode handover --gnbs 4 --sessions 50 --rate 100 --downlink 2000 --duration 1s --n6 "udp://$dn,$n6" >handover.json
    holds handover.json 'r["steps"][0]["handovers"] > 50 and r["steps"][0]["end_markers"] == r["steps"][0]["handovers"]'
    holds handover.json 'r["steps"][0]["interruption_us"]["n"] > 20 and r["unexplained"] == 0'
    down
    holds upf.json 'r["sessions_left"] == 0'
done

echo "== paging with buffered packets; static and dynamic sessions; requests without waiting for responses"
upf --n6 "udp://$n6,$dn"
load --mode paging --sessions 20 --rate 20 --downlink 500 --duration 2s --n6 "udp://$dn,$n6" >paging.json
holds paging.json 'r["control"]["reports"][0] > 10 and r["unexplained"] == 0'
load --mode mixed --sessions 20 --dynamic 20 --round 500ms --lead 200ms --duration 2s --uplink 1000 \
    --n6 "udp://$dn,$n6" >mixed.json
holds mixed.json 'r["control"]["completed"] >= 40 and r["unexplained"] == 0'
load --mode blind --sessions 1000 --delay 200us --n6 "udp://$dn,$n6" >blind.json
holds blind.json 'r["control"]["completed"] == 1000 and r["unexplained"] == 0 and r["control"]["balanced"]'

echo "== a maximum bit rate of 10 Mbit/s is enforced"
# Exact policing is tested in virtual time, and on a quiet machine by scenarios/upf/qos.toml. On a busy
# machine, packets may be lost before the policer.
load --mode qos --mbr 10M --offered 7M,30M --bytes 1000 --duration 1500ms --n6 "udp://$dn,$n6" >qos.json
holds qos.json '[s["qos"] for s in r["steps"]] == [[way, bps, 1e7] for way in ("uplink", "downlink") for bps in (7e6, 3e7)]'
holds qos.json 'all(0 < (s["uplink"] or s["downlink"])["received_bps"] < 1.1 * min(s["qos"][1:]) for s in r["steps"])'

down
holds upf.json 'r["dropped"]["rate"] > 100'

for design in cp-offload "software --workers 2" dp-offload; do
    echo "== $design: N3 over shared-memory rings"
    # shellcheck disable=SC2086 # a design and its options
    upf --n6 reflect --n3-io memif:n3.sock --design $design
    load --io memif:n3.sock --mode sessions --sessions 20 --uplink 5000 --reflect-every 1 --sizes imix --duration 1s >ring.json
    holds ring.json 'r["steps"][0]["uplink"]["received"] > 1000 and r["unexplained"] == 0'
    holds ring.json '330 < r["steps"][0]["uplink"]["received_bps"] / r["steps"][0]["uplink"]["received_pps"] / 8 < 370'
    down
done

echo "== two concurrent campaigns without addresses use different ones"
"$RANLAB" bench new upf >twin.toml
twins=()
for n in 1 2; do
    "$RANLAB" bench run twin.toml --quick --out "twin$n" --set host.other_at_most=1 --format json >"twin$n.json" 2>"twin$n.err" &
    twins+=("$!")
done
pids+=("${twins[@]}")
for n in 1 2; do
    wait "${twins[n - 1]}" || { cat "twin$n.err" && exit 1; }
    holds "twin$n.json" 'all(p["metrics"]["requests_unaccounted"]["mean"] == 0 for p in r["points"])'
done

echo "== conformance"
upf --n6 reflect
"$RANLAB" check upf "$n4" --n3 "$n3" --gnb "$net.1.9:2152" --patience 2s --hostile --format json >check.json
holds check.json 'r["failed"] == 0 and all(c["verdict"] == "passed" for c in r["checks"]) and len(r["checks"]) == 61'
# An establishment is refused, and a UPF crashes. A capture shows the crash, and the remaining cases are skipped.
down
upf --n6 reflect --crash-after 60
! "$RANLAB" check upf "$n4" --n3 "$n3" --gnb "$net.1.9:2152" --captures ended --format json >check.json
holds check.json 'r["failed"] == 1 and any("stopped answering" in (c.get("why") or "") for c in r["checks"])'
holds check.json 'sum("has not answered since" in (c.get("why") or "") for c in r["checks"]) > 20'
[[ $(stat -c %s ended/*.pcap) -gt 24 ]]
down
"$RANLAB" check upf --list | grep -q "N9: packets are forwarded between tunnels"
upf --n6 reflect --fault n9
! "$RANLAB" check upf "$n4" --n3 "$n3" --gnb "$net.1.9:2152" --captures n9 --format json >check.json
holds check.json '[c["name"][:3] for c in r["checks"] if c["verdict"] == "failed"] == ["N9:"]'
down
# `check_faults` checks the other designs.
upf --n6 reflect
# Two addresses that were used before are sufficient, except for cases that need an unknown peer.
"$RANLAB" check upf "$n4" --smf "$net.0.3:8805" --patience 2s --format json >check.json
holds check.json 'r["failed"] == 0'
down
upf --n6 reflect --dialect open5gs
! "$RANLAB" check upf "$n4" --dialect open5gs --captures captures --format json >check.json
holds check.json 'any("no response" in (c.get("why") or "") for c in r["checks"]) and any(c.get("capture") for c in r["checks"])'
holds check.json '[c["verdict"] for c in r["checks"] if "another SMF" in c["name"] or "no association" in c["name"]] == ["passed"] * 2'
[[ $(ls captures/*.pcap | wc -l) -ge 3 ]]
down

echo "== two consecutive runs with a UPF that does not answer releases, responds only to port 8805 and purges sessions at a newer timestamp"
upf --n6 "udp://$n6,$dn" --dialect open5gs
for _ in 1 2; do
    load --dialect open5gs --mode control --sessions 2000 --live 500 --volume-threshold 100000 --n6 "udp://$dn,$n6" >twice.json
    holds twice.json 'r["control"]["completed"] == 2000 and r["unexplained"] == 0 and r["control"]["left_behind"] == 0'
    holds twice.json 'r["control"]["releases_unanswered"] == 1 and r["control"]["requests"]["heartbeat"]["sent"] >= 1'
done
load --dialect open5gs --mode sessions --sessions 100 --uplink 1000 --duration 2s --n6 "udp://$dn,$n6" >twice.json
holds twice.json 'r["steps"][0]["uplink"]["lost"] == 0 and r["unexplained"] == 0'
! "$RANLAB" load upf --n4 "$n4" --n3 "$n3" --smf "$n4" 2>taken.err || exit 1
grep -q "another address with --smf" taken.err
load --dialect open5gs --mode control --no-smoke-test --arrivals constant --rate 200 --duration 60s --upf-pid "$upf" >died.json 2>died.err &
loading=$!
pids+=("$loading")
sleep 2
kill -9 "$upf" && wait "$upf" 2>/dev/null || true
! wait "$loading" || exit 1
holds died.json '0 < r["upf_died_s"] < 60 and r["control"]["wall_s"] < 60'
grep -q "process ended" died.err

echo "== losses are counted exactly; a restart is detected"
upf --n6 sink --loss-permille 50
load --mode control --no-smoke-test --sessions 500 --t1 200ms --n1 5 --heartbeat 0s --duration 60s >lossy.json
down
holds lossy.json 'r["unexplained"] == 0 and sum(k["retransmitted"] for k in r["control"]["requests"].values()) > 20'
lost=$(python3 -c 'import json; print(json.loads(open("upf.json").read().splitlines()[-1])["mock_lost"])')
holds lossy.json "sum(k['retransmissions'] + k['lost'] for k in r['control']['requests'].values()) == $lost"
upf --n6 sink --crash-after 600 --restart-after 1s
load --mode control --no-smoke-test --arrivals constant --rate 200 --t1 300ms --heartbeat 200ms --duration 4s --live 50 >crash.json
holds crash.json 'r["control"]["restarts"] >= 1 and r["control"]["completed"] > 200 and r["unexplained"] == 0'
down

echo "== the UPF is killed and replaced"
upf --n6 sink
load --mode control --no-smoke-test --arrivals constant --rate 200 --t1 300ms --heartbeat 200ms --duration 5s --live 50 >killed.json &
loading=$!
pids+=("$loading")
sleep 2
kill -9 "$upf" && wait "$upf" 2>/dev/null || true
upf --n6 sink
wait "$loading"
down
holds killed.json 'r["control"]["restarts"] == 1 and r["control"]["restarted"] >= 50 and r["unexplained"] == 0'
holds killed.json 'r["control"]["completed"] > 200 and r["control"]["balanced"]'
holds upf.json 'r["sessions_left"] == 0 and r["requests"] > 100'

echo "== AF_XDP over loopback is refused, and the alternatives are named"
if load --mode sessions --io af-xdp 2>frames.err; then exit 1; fi
grep -q "loopback.*--io sockets" frames.err

if [[ $(id -u) == 0 ]] && ip netns add "ranlab-ran-$$" 2>/dev/null; then
    echo "== in namespaces: base stations, UPF with a TUN device, data network through kernel routing"
    ran=ranlab-ran-$$ core=ranlab-upf-$$ dnn=ranlab-dn-$$
    spaces=("$ran")
    ip netns add "$core" && spaces+=("$core")
    ip netns add "$dnn" && spaces+=("$dnn")
    ip -n "$ran" link add n3 type veth peer name n3 netns "$core"
    ip -n "$core" link add n6 type veth peer name n6 netns "$dnn"
    for place in "$ran 10.3.0.1/24 n3" "$core 10.3.0.2/24 n3" "$core 10.6.0.2/24 n6" "$dnn 10.6.0.1/24 n6"; do
        read -r space address device <<<"$place"
        ip -n "$space" link set lo up
        ip -n "$space" address add "$address" dev "$device"
        ip -n "$space" link set "$device" up
    done
    for n in 11 12 13 14; do ip -n "$ran" address add 10.3.0.$n/24 dev n3; done
    ip netns exec "$core" sysctl -qw net.ipv4.ip_forward=1
    ip -n "$core" tuntap add upf0 mode tun
    ip -n "$core" link set upf0 up
    ip -n "$core" route add 10.60.0.0/16 dev upf0
    ip -n "$dnn" route add 10.60.0.0/16 via 10.6.0.2
    through() { # DESIGN...: packets of UEs go to the data network and back through the kernel's routing
        ip netns exec "$core" "$RANLAB" upf --format ndjson --n4 10.3.0.2:8805 --n3 10.3.0.2:2152 --n6 tun://upf0 \
            "$@" >upf.json 2>upf.err &
        upf=$!
        pids+=("$upf")
        ip netns exec "$dnn" "$RANLAB" load upf --role data-network --n6 routed://10.6.0.1:9 --duration 60s --sessions 100 \
            --format json >dn.json 2>dn.err &
        network=$!
        pids+=("$network")
        sleep 0.5
        ip netns exec "$ran" "$RANLAB" load upf --format json --mode sessions --sessions 100 --uplink 1000 --reflect-every 1 \
            --duration 2s --n4 10.3.0.2:8805 --n3 10.3.0.2:2152 --smf 10.3.0.1:8805 --gnb 10.3.0.11:2152 --gnbs 4 \
            --server 10.6.0.1:9 >netns.json
        holds netns.json 'r["steps"][0]["round_trip_us"]["n"] > 1000 and r["unexplained"] == 0'
        kill "$network" && wait "$network" || true
        holds dn.json 'r["received"] > 1000 and r["reflected"] > 1000'
        down
    }
    through --design cp-offload
    echo "== the same with the data plane in the kernel"
    through --design dp-offload --xdp n3,n6
    holds upf.json 'r["xdp"]["uplink"] > 1000 and r["xdp"]["downlink"] > 1000 and r["xdp"]["refused"] == 0'
    echo "== base station packets bypass the kernel's stack"
    ip netns exec "$core" "$RANLAB" upf --format ndjson --n4 10.3.0.2:8805 --n3 10.3.0.2:2152 --n6 reflect >upf.json 2>upf.err &
    upf=$!
    pids+=("$upf")
    sleep 0.5
    frames=0
    for io in af-xdp af-xdp:n3,native; do
        ip netns exec "$ran" "$RANLAB" load upf --format json --mode sessions --sessions 50 --uplink 2000 --io "$io" --duration 1s \
            --n4 10.3.0.2:8805 --n3 10.3.0.2:2152 --smf 10.3.0.1:8805 --gnb 10.3.0.11:2152 --gnbs 4 >frames.json
        holds frames.json 'r["unexplained"] == 0 and r["smoke"] == {"uplink": True, "downlink": True}'
        # Every packet was sent. Each one was reflected, or lost with a counted cause. No packet took another path.
        holds frames.json 'r["af_xdp"]["sent"] >= r["steps"][0]["uplink"]["sent"] > 1000 and r["af_xdp"]["around"] == 0'
        holds frames.json 'r["steps"][0]["uplink"]["lost"] <= r["af_xdp"]["rx_dropped"] + r["af_xdp"]["rx_ring_full"]'
        holds frames.json 'r["af_xdp"]["interface"] == "n3" and r["af_xdp"]["unreadable"] == r["af_xdp"]["tx_invalid"] == 0'
        frames=$((frames + $(python3 -c 'import json; f = json.load(open("frames.json"))["af_xdp"]; print(f["sent"] - f["tx_dropped"])')))
        # The program has been detached from the device.
        if ip -n "$ran" link show n3 | grep xdp; then exit 1; fi
    done
    down
    holds upf.json "r['n3_received'] == $frames"
    echo "== a campaign loads a UPF from another machine, whose worker listens outside the UPF's network"
    cat >far.toml <<'TOML'
title = "A UPF and its load on two machines"
rig = "upf"
[sut]
n4 = "10.3.0.2:8805"
n3 = "10.3.0.2:2152"
[load]
smf = "10.3.0.1:8805"
gnb = "10.3.0.11:2152"
gnbs = 4
network = "10.3.0.1:2153"
sessions = 100
t1 = "20s"
uplink = 1000
downlink = 1000
[sweep.axes]
"load.mode" = ["control", "sessions"]
TOML
    ip netns exec "$ran" "$RANLAB" worker --listen 10.3.0.1:7100 --allow 10.3.0.2 >worker.out 2>worker.err &
    worker=$!
    pids+=("$worker")
    for _ in $(seq 100); do [[ ! -s worker.out ]] || break; sleep 0.05; done
    far() { ip netns exec "$core" "$RANLAB" bench run far.toml --quick --set load.at=tcp://10.3.0.1:7100 "$@"; }
    far --out far --format json >far.json 2>far.err || { cat far.err && exit 1; }
    all='[p["metrics"] for p in r["points"]]'
    holds far.json "len($all) == 2 and all(m['requests_unaccounted']['mean'] == 0 for m in $all)"
    holds far.json "$all[0]['sessions_per_s']['mean'] > 0 and $all[0]['sessions_failed_ratio']['mean'] == 0"
    holds far.json "all($all[1][way + '_pps']['mean'] > 500 and $all[1][way + '_lost_ratio']['mean'] == 0 for way in ('uplink', 'downlink'))"
    # The UPF was metered on its own machine.
    holds far.json "all(m['sut.rss_mb']['mean'] > 1 for m in $all)"
    echo "== settings for the local machine are refused with a remote worker"
    if far --set load.io=af-xdp --out io 2>far.err >/dev/null; then exit 1; fi
    grep -q '`io` names a resource of the worker.s machine' far.err
    if far --set load.netns="$ran" --out netns 2>far.err >/dev/null; then exit 1; fi
    grep -q 'cannot be started in the network namespace' far.err
    echo "== two locations share the load of one; each has its own SMFs, base stations, UEs and data network"
    for n in 21 22; do ip -n "$ran" address add 10.3.0.$n/24 dev n3; done
    ip netns exec "$ran" "$RANLAB" worker --listen 10.3.0.1:7101 --allow 10.3.0.2 >second.out 2>second.err &
    second=$!
    pids+=("$second")
    for _ in $(seq 100); do [[ ! -s second.out ]] || break; sleep 0.05; done
    shared() {
        far --set load.at=tcp://10.3.0.1:7100,tcp://10.3.0.1:7101 --set load.smf=10.3.0.21:8805 --set load.network=10.3.0.21:2153 "$@"
    }
    if shared --out few 2>few.err >/dev/null; then exit 1; fi
    grep -q '1 SMFs (`load.smfs`) cannot be divided among 2 places; at least 2 are needed' few.err
    shared --set load.smfs=2 --out shared --format json >shared.json 2>shared.err || { cat shared.err && exit 1; }
    holds shared.json "len($all) == 2 and all(m['requests_unaccounted']['mean'] == m['sessions_not_deleted']['mean'] == 0 for m in $all)"
    holds shared.json "$all[1]['sessions_established']['mean'] == 100 and $all[0]['sessions_failed_ratio']['mean'] == 0"
    holds shared.json "all(900 < $all[1][way + '_pps']['mean'] < 1100 and $all[1][way + '_lost_ratio']['mean'] == 0 for way in ('uplink', 'downlink'))"
    echo "== a lost location makes the repeat invalid, and is named"
    sed 's/^duration.*//; s/^\[sweep.axes\]/[measure]\nduration = "60s"\nrepeats = 1\n&/' far.toml >long.toml
    ip netns exec "$core" "$RANLAB" bench run long.toml --out dead --set load.at=tcp://10.3.0.1:7100,tcp://10.3.0.1:7101 \
        --set load.smf=10.3.0.21:8805 --set load.network=10.3.0.21:2153 --set load.smfs=2 --set 'sweep.axes.load.mode=["control"]' \
        --set load.arrivals=constant --set load.rate=100 --set load.sessions=100000 --set host.other_at_most=1 \
        --format json >dead.json 2>dead.err &
    campaign=$!
    pids+=("$campaign")
    sleep 4
    # Each connection has its own process.
    kill -9 $(pgrep -P "$second")
    wait "$campaign" || true
    holds dead.json '[p["outcome"] for p in r["points"]] == ["invalid"] and "the load at tcp://10.3.0.1:7101" in r["points"][0]["reason"]'
    kill "$worker" && wait "$worker" || true
    echo "== the same with both programs started in their namespaces"
    "$RANLAB" bench run far.toml --quick --set sut.netns="$core" --set load.netns="$ran" --out near --format json >near.json
    holds near.json "len($all) == 2 and all(m['requests_unaccounted']['mean'] == 0 for m in $all) and $all[1]['downlink_pps']['mean'] > 500"
else
    echo "skipped: in namespaces (kernel routing, XDP, AF_XDP, a load on another machine): this user cannot create any"
fi
