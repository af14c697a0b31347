#!/usr/bin/env bash
# Tests with unmodified third-party UPFs: $OPEN5GS names open5gs-upfd, $EUPF the program of eUPF, $GO_UPF a program
# that serves the PFCP layer of free5GC's go-upf at the address that is its argument. A UPF without variable is
# skipped. With one process of each of the first two: every check twice with the same verdicts, every mode of `load
# upf` twice with every request accounted for and no session left behind, and the first figure twice. go-upf's PFCP
# layer has no user plane, so its modes with downlink packets end with that reason. Needs root: network namespaces, a
# TUN device, veth.
set -euo pipefail
here=$(cd "$(dirname "$0")/../.." && pwd)
skip() { echo "$1"; exit 77; }
[[ -n ${OPEN5GS:-}${EUPF:-}${GO_UPF:-} ]] || skip "none of OPEN5GS, EUPF and GO_UPF names a program"
[[ $(id -u) == 0 ]] || skip "needs root for network namespaces"
space=ranlab-upf-$$ peer=ranlab-ran-$$ pid=
ip netns add "$space" 2>/dev/null || skip "network namespaces cannot be made here"
cleanup() {
    [[ -z $pid ]] || kill "$pid" 2>/dev/null || true
    ip netns del "$space" || true
    ip netns del "$peer" 2>/dev/null || true
}
trap cleanup EXIT
ip -n "$space" link set lo up

# holds FILE EXPRESSION: evaluates the expression. r is the JSON in a file.
holds() { python3 -c 'import json, sys; r = json.load(open(sys.argv[1])); assert eval(sys.argv[2]), (sys.argv[2], r)' "$@"; }
# listens SPACE ADDRESS: waits until a UPF has its N4 port.
listens() {
    local n
    for n in $(seq 300); do
        if ip netns exec "$1" ss -Hulno "src $2" | grep -q .; then return; fi
        lives
        sleep 0.1
    done
    echo "no program listens on $2 within 30 s"
    exit 1
}
lives() { kill -0 "$pid" 2>/dev/null || { echo "the UPF ended:"; tail -n 20 upf.out; exit 1; }; }

# Modes of `load upf` that need no packets from the data network, and modes that need them.
control=("control --arrivals constant --rate 200 --duration 5s" "control --window 4 --sessions 500 --duration 60s"
    "blind --sessions 100 --delay 5ms")
both_ways=("sessions --sessions 50 --uplink 1000 --downlink 1000 --duration 2s"
    "mixed --sessions 20 --dynamic 10 --lead 1s --duration 3s" "handover --sessions 20 --rate 20 --downlink 1000 --duration 2s"
    "paging --sessions 20 --rate 20 --downlink 500 --duration 2s" "qos --mbr 10M --offered 7M,12M --bytes 1000 --duration 2s")
# loads RUNS-IN MODE ARGUMENTS...: runs one mode. Every request is accounted for, and no session is left behind.
loads() {
    # shellcheck disable=SC2086 # words
    ip netns exec "$1" "$RANLAB" load upf "${@:3}" --upf-pid "$pid" --mode $2 --format json >load.json
    holds load.json 'r["unexplained"] == 0 and r["control"]["left_behind"] == 0 and r["silence"] is None and r["upf_died_s"] is None'
    python3 -c 'import json; r = json.load(open("load.json")); c = r["control"]; print(r["mode"], c["requests_offered"], "offered", c["requests_accepted"], "accepted", c["requests_acknowledged"], "acknowledged", *((k, s[k]["sent"], "sent", s[k]["received"], "received") for s in r["steps"] for k in ("uplink", "downlink") if s[k]))'
}

# meets NAME RUNS-IN CHECK-ARGUMENTS... -- LOAD-ARGUMENTS...: runs all checks and loads with a running UPF.
meets() {
    local name=$1 in=$2 check=() mode n
    shift 2
    while [[ $1 != -- ]]; do check+=("$1"); shift; done
    shift
    for n in 1 2; do
        ip netns exec "$in" "$RANLAB" check upf "${check[@]}" --upf-pid "$pid" --captures "$name-$n" --format json >"check$n.json" || [[ $? == [13] ]]
        holds "check$n.json" 'len(r["checks"]) >= 22 and r["passed"] >= 12 and not any("process ended" in (c.get("why") or "") for c in r["checks"])'
    done
    python3 - <<'P'
import json, re
# A reason may quote a time of day, because Open5GS measures durations with it, and a session's identifier.
why = lambda check: re.sub(r"0x[0-9a-f]+|\d{9,}", "N", check.get("why") or "") or None
first, again = ([(c["name"], c["verdict"], why(c)) for c in json.load(open(f"check{n}.json"))["checks"]] for n in (1, 2))
assert first == again, [pair for pair in zip(first, again) if pair[0] != pair[1]]
print(*(f"{verdict:<8} {check}{': ' + why if why else ''}" for check, verdict, why in first), sep="\n")
P
    lives
    for n in 1 2; do
        for mode in "${control[@]}" "${both_ways[@]}"; do loads "$in" "$mode" "$@"; done
        ip netns exec "$in" "$RANLAB" bench run "$here/scenarios/peers/$name.toml" --set "sut.pid=$pid" --set host.when_noisy=warn --set measure.repeats=1 \
            --set measure.duration=20s --out "graph$n" --fresh --format json >"graph$n.json" || [[ $? == [13] ]]
        holds "graph$n.json" 'all(p["outcome"] in ("ok", "degraded", "overloaded") for p in r["points"])'
        grep -q "in each second" "graph$n/report.html"
        lives
    done
}

met=0 skipped=()
open5gs() {
    ip netns exec "$space" ip tuntap add name ogstun mode tun
    ip -n "$space" address add 10.45.0.1/16 dev ogstun
    ip -n "$space" link set ogstun up
    # This is the default configuration, except that the log does not wait for a disk, and that there is space for more
    # sessions.
    cat >upf.yaml <<Y
logger: { level: error }
global: { max: { ue: 16384 } }
upf:
  pfcp: { server: [ { address: 127.0.0.7 } ] }
  gtpu: { server: [ { address: 127.0.0.7 } ] }
  session: [ { subnet: 10.45.0.0/16, gateway: 10.45.0.1 } ]
Y
    ip netns exec "$space" "$OPEN5GS" -c upf.yaml >upf.out 2>&1 &
    pid=$!
    listens "$space" 127.0.0.7:8805
    # An empty flow description ends Open5GS, because ogs_ipfw_compile_rule() compares a missing word.
    ! ip netns exec "$space" "$RANLAB" check upf 127.0.0.7:8805 --n3 127.0.0.7:2152 --dialect open5gs --ue 10.45.0.2 --n6 routed://10.45.0.1:9 --only "empty flow" \
        --upf-pid "$pid" --captures empty --format json >empty.json
    holds empty.json '"process has ended" in r["checks"][0]["why"]'
    wait "$pid" || true
    ip netns exec "$space" "$OPEN5GS" -c upf.yaml >upf.out 2>&1 &
    pid=$!
    listens "$space" 127.0.0.7:8805
    meets open5gs "$space" 127.0.0.7:8805 --except "empty flow" --n3 127.0.0.7:2152 --dialect open5gs --ue 10.45.0.2 --n6 routed://10.45.0.1:9 \
        -- --n4 127.0.0.7:8805 --n3 127.0.0.7:2152 --dialect open5gs --ue 10.45.0.2 --n6 routed://10.45.0.1:9
    # The rate falls while sessions exist. The decrease is considerable at the highest rate, but not at the lowest.
    python3 - <<'P'
import json
for n in (1, 2):
    points = json.load(open(f"graph{n}.json"))["points"]
    drift = [point["metrics"]["drift_rate"]["mean"] for point in points]
    print("ratio of the rate in the last third to the rate in the first third, by offered rate:", *(f"{d:.2f}" for d in drift))
    assert drift[-1] < 0.8 and drift[-1] < drift[0], drift
P
    kill "$pid" && wait "$pid" || true
    pid=
}
eupf() {
    local n gnb
    ip netns add "$peer"
    for n in 3 6; do
        ip link add "n$n" netns "$space" type veth peer name "r$n" netns "$peer"
        ip -n "$space" address add "10.$n.0.2/24" dev "n$n"
        ip -n "$peer" address add "10.$n.0.1/24" dev "r$n"
        ip -n "$space" link set "n$n" up
        ip -n "$peer" link set "r$n" up
    done
    ip -n "$peer" link set lo up
    ip -n "$peer" route add 10.60.0.0/16 via 10.6.0.2
    ip netns exec "$space" sysctl -qw net.ipv4.ip_forward=1
    # eUPF does not resolve neighbours itself.
    mac() { ip -n "$peer" -json link show "$1" | python3 -c 'import json, sys; print(json.load(sys.stdin)[0]["address"])'; }
    for gnb in 1 11 12; do
        [[ $gnb == 1 ]] || ip -n "$peer" address add "10.3.0.$gnb/24" dev r3
        ip -n "$space" neighbour replace "10.3.0.$gnb" lladdr "$(mac r3)" dev n3 nud permanent
    done
    ip -n "$space" neighbour replace 10.6.0.1 lladdr "$(mac r6)" dev n6 nud permanent
    cat >eupf.yml <<Y
interface_name: [n3, n6]
xdp_attach_mode: generic
api_address: 127.0.0.1:8080
pfcp_address: 10.3.0.2:8805
pfcp_node_id: 10.3.0.2
metrics_address: 127.0.0.1:9090
n3_address: 10.3.0.2
n9_address: 10.3.0.2
logging_level: warn
Y
    # eUPF needs a file system for its maps, which `ip netns exec` would hide.
    unshare -m sh -c 'mount -t bpf bpf /sys/fs/bpf && exec nsenter --net="/var/run/netns/$1" "$EUPF" --config eupf.yml' - "$space" >upf.out 2>&1 &
    pid=$!
    listens "$space" 10.3.0.2:8805
    sleep 1
    meets eupf "$peer" 10.3.0.2:8805 --n3 10.3.0.2:2152 --smf 10.3.0.1:8805 --gnb 10.3.0.11:2152 --dialect eupf --ue 10.60.0.1 --n6 routed://10.6.0.1:9 \
        -- --n4 10.3.0.2:8805 --n3 10.3.0.2:2152 --smf 10.3.0.1:8805 --gnb 10.3.0.11:2152 --dialect eupf --ue 10.60.0.1 --n6 routed://10.6.0.1:9
    kill "$pid" && wait "$pid" || true
    pid=
}
go_upf() {
    local mode n code ways=(--n4 127.0.0.8:8805 --n3 127.0.0.8:2152 --dialect open5gs)
    ip netns exec "$space" "$GO_UPF" 127.0.0.8 >upf.out 2>&1 &
    pid=$!
    listens "$space" 127.0.0.8:8805
    for n in 1 2; do
        for mode in "${control[@]}" "sessions --sessions 20 --uplink 100 --duration 1s" "mixed --sessions 20 --dynamic 10 --lead 1s --duration 3s"; do
            loads "$space" "$mode" "${ways[@]}"
        done
        for mode in "${both_ways[@]:2}"; do
            code=0
            # shellcheck disable=SC2086 # words
            ip netns exec "$space" "$RANLAB" load upf "${ways[@]}" --n6 routed://127.0.0.1:9 --ue 10.45.0.2 --mode $mode 2>refused.txt || code=$?
            [[ $code == 1 ]] && grep -q "accepted the rules but does not forward" refused.txt
            echo "${mode%% *} ends with code 1: the UPF does not forward"
        done
        lives
    done
    kill "$pid" && wait "$pid" || true
    pid=
}
for upf in open5gs eupf go_upf; do
    name=${upf^^}
    if [[ -z ${!name:-} ]]; then
        skipped+=("$upf: $name names no program")
    else
        echo "== $upf"
        "$upf"
        met=$((met + 1))
    fi
done
echo "$met UPFs passed, ${#skipped[@]} were skipped${skipped[*]:+ (${skipped[*]})}"
