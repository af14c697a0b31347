#!/usr/bin/env bash
# VPP's GTP-U behind shared-memory rings, loaded by `ranlab load upf --io memif`: packets of 64 bytes and IMIX, and as
# fast as possible. $VPP names a build folder (bin/vpp, bin/vppctl, lib/*/vpp_plugins), $RANLAB the binary. VPP has no
# PFCP: `ranlab upf` answers N4 and names the tunnels 1 to SESSIONS, which VPP has. A session's packets return through
# its own tunnel, so each is decapsulated, routed and encapsulated once, as `ranlab upf --n6 reflect` does.
# As root: a network namespace, and a private /dev/shm for VPP.
# alone: testbeds
set -euo pipefail
skip() { echo "$1"; exit 77; }
[[ -n ${VPP:-} ]] || skip 'VPP does not name a build folder of it'
[[ -x $VPP/bin/vpp && -x $VPP/bin/vppctl ]] || skip "$VPP/bin/vpp or bin/vppctl is not there"
[[ $(id -u) == 0 ]] || skip "needs root for a network namespace"
plugins=$(find "$VPP/lib" -maxdepth 3 -type d -name vpp_plugins | head -n 1)
[[ -n $plugins ]] || skip "$VPP/lib has no vpp_plugins"
sessions=${SESSIONS:-10}
work=$(mktemp -d) space=ranlab-vpp-$$ pids=()
ip netns add "$space" 2>/dev/null || skip "network namespaces cannot be made here"
cleanup() {
    for pid in "${pids[@]+"${pids[@]}"}"; do kill "$pid" 2>/dev/null && wait "$pid" 2>/dev/null || true; done
    ip netns del "$space" || true
    rm -rf "$work"
}
trap cleanup EXIT
ip -n "$space" link set lo up
# The address of N3 is only needed for the socket of `ranlab upf`. Packets are in the rings.
ip -n "$space" address add 10.3.0.2/32 dev lo
ask() { "$VPP/bin/vppctl" -s "$work/cli.sock" "$@" | tr -d '\r'; }

cat >"$work/startup.conf" <<END
unix { nodaemon nosyslog nobanner nocolor cli-listen $work/cli.sock runtime-dir $work log $work/log }
api-segment { prefix ranlab-upf }
statseg { socket-name $work/stats.sock size 256M page-size 4K }
memory { main-heap-size 512M main-heap-page-size 4K }
buffers { buffers-per-numa 16384 page-size 4K }
plugins { path $plugins plugin default { disable } plugin memif_plugin.so { enable } plugin gtpu_plugin.so { enable } }
END
unshare --mount --propagation private -- sh -c 'mount -t tmpfs tmpfs /dev/shm && exec "$0" -c "$1"' \
    "$VPP/bin/vpp" "$work/startup.conf" >"$work/out" 2>&1 &
pids+=($!)
for _ in $(seq 300); do ask show version 2>/dev/null | grep -q 'vpp v' && break; sleep 0.1; done
{
    cat <<END
create memif socket id 1 filename $work/n3.sock
create interface memif id 0 socket-id 1 master
set interface mac address memif1/0 02:00:5e:6e:03:01
set interface ip address memif1/0 10.3.0.2/24
set interface state memif1/0 up
set ip neighbor memif1/0 10.3.0.11 02:00:5e:6e:03:02 static
END
    for n in $(seq "$sessions"); do
        cat <<END
ip table add $n
create gtpu tunnel src 10.3.0.2 dst 10.3.0.11 teid $n tteid $n encap-vrf-id 0 decap-next ip4 qfi 9
set interface ip table gtpu_tunnel$((n - 1)) $n
set interface unnumbered gtpu_tunnel$((n - 1)) use memif1/0
set interface state gtpu_tunnel$((n - 1)) up
ip route add 10.45.0.1/32 table $n via gtpu_tunnel$((n - 1))
END
    done
} >"$work/config"
while IFS= read -r line; do
    printed=$(ask "$line")
    [[ $line == create* || -z $printed ]] || { echo "\`$line\`: $printed"; exit 1; }
done <"$work/config"

# load ARGUMENTS...: runs the load with a new UPF, which numbers the tunnels from 1.
load() {
    local upf
    ip netns exec "$space" "$RANLAB" upf --n4 127.0.0.8:8805 --n3 10.3.0.2:2152 --n6 sink >"$work/upf.out" 2>&1 &
    upf=$!
    pids+=("$upf")
    for _ in $(seq 100); do ip netns exec "$space" ss -Hulno 'sport 8805' | grep -q . && break; sleep 0.1; done
    ip netns exec "$space" "$RANLAB" load upf --n4 127.0.0.8:8805 --n3 10.3.0.2:2152 --gnb 10.3.0.11:2152 --gnbs 1 --io "memif:$work/n3.sock" \
        --no-smoke-test --mode sessions --sessions "$sessions" --reflect-every 1 "$@" --format json >"$work/load.json"
    kill "$upf" && wait "$upf" || true
    python3 - "$work/load.json" "$*" <<'P'
import json, sys
r = json.load(open(sys.argv[1]))
up = r["steps"][0]["uplink"]
rtt = up["delay_us"] or {"p50": 0, "p99": 0}
print(f'{sys.argv[2]}: {up["sent"]} sent ({up["offered_pps"]:.0f}/s), {up["received"]} returned ({up["received_pps"]:.0f}/s), round trip p50 {rtt["p50"]:.0f} p99 {rtt["p99"]:.0f} us')
assert r["unexplained"] == 0, r
assert "max" in sys.argv[2] or up["received"] == up["sent"] > 0, up
assert up["received"] > 0 and up["duplicates"] == 0, up
P
}
load --uplink 5000 --bytes 64 --duration 2s
load --uplink 5000 --sizes imix --duration 2s
load --uplink max --bytes 64 --duration 2s
