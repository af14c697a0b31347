#!/usr/bin/env bash
# A software switch other than Open vSwitch, CPqD's BOFUSS, controlled over OpenFlow
# (docs/how-to/my-switch.md): each pipeline without tunnels equals the oracle in both directions, a full table
# names its rule, and after a campaign, also one killed with -9, the switch has exactly the configuration of
# its owner.
#   $OFDATAPATH   its program ofdatapath
set -euo pipefail
. "$(dirname "$0")/../e2e/judged.sh"
[[ -n ${OFDATAPATH:-} ]] || { echo "\$OFDATAPATH names no build"; exit 77; }
if [[ -z ${INSIDE:-} ]]; then
    [[ $(id -u) == 0 ]] && unshare --net true 2>/dev/null || { echo "network namespaces need root"; exit 77; }
    command -v ovs-ofctl >/dev/null || { echo "ovs-ofctl is not installed: apt install openvswitch-switch"; exit 77; }
    INSIDE=1 exec unshare --net "$0"
fi
at=tcp:127.0.0.1:6653
wires
"$OFDATAPATH" -i its-access,its-core -d 000000000001 --no-slicing ptcp:6653:127.0.0.1 >switch.log 2>&1 &
switch=$!
trap 'kill $switch 2>/dev/null || true' EXIT
of() { ovs-ofctl -OOpenFlow13 --timeout=30 "$1" "$at" "${@:2}"; }
for _ in $(seq 100); do of show >/dev/null 2>&1 && break; sleep 0.1; done
of add-flow 'cookie=0x77,table=40,priority=9,actions=drop'
of add-group group_id=1,type=indirect,bucket=actions=output:2
has() {
    of dump-flows | grep -o 'cookie=.*' | sed -E 's/, (duration|n_packets|n_bytes)=[^,]*//g' || true
    of dump-groups | grep group_id || true
    of dump-meters | grep meter= || true
}
has >owner.txt
[[ $(wc -l <owner.txt) == 2 ]] || { cat owner.txt; exit 1; }
owners() { has >now.txt; diff owner.txt now.txt; }

# scenario NAME LINE...: writes a scenario of a pipeline, with further lines.
scenario() {
    local name=$1
    shift
    printf '%s\n' 'title = "a switch of somebody else"' 'rig = "pipeline"' '[pipeline]' "name = \"$name\"" "$@" '[sut]' \
        'engine = "openflow"' 'tier = "veth"' "address = \"$at\"" 'access_port = 1' 'core_port = 2' \
        'access_interface = "our-access"' 'core_interface = "our-core"' '[load]' 'dir = "bidir"' '[measure]' 'duration = "500ms"' \
        'repeats = 1' '[host]' 'when_noisy = "warn"' >"$name.toml"
}
outcome() { # NAME WHAT WORDS
    "$RANLAB" bench run "$1.toml" --fresh --out "out-$1" --format json >"$1.json" 2>"$1.err" || true
    python3 - "$1.json" "$2" "${3:-}" <<'P' || { cat "$1.err"; exit 1; }
import json, sys
point = json.load(open(sys.argv[1]))["points"][0]
assert point["outcome"] == sys.argv[2] and sys.argv[3] in (point["reason"] or ""), (point["outcome"], point["reason"])
print(sys.argv[1], point["outcome"], point["metrics"].get("mpps", {}).get("mean"), point["reason"] or "")
P
    owners
}
for name in portfwd l2fwd l3fwd nat acl; do
    scenario "$name"
    outcome "$name" ok
done
scenario rlimit 'rate-limit = 1000000' 'rate-burst = 1000000'
outcome rlimit ok
scenario l3fwd 'upstream-l3-table-size = 10000'
outcome l3fwd sut_failed 'is full: the switch refuses the rule'
scenario acl 'rule-num = 1000' 'seed-file = "fw1"'
outcome acl unmeasurable 'it does not support port masks'
scenario l2fwd
"$RANLAB" bench run l2fwd.toml --fresh --out killed --set measure.duration=60s >killed.log 2>&1 &
campaign=$!
for _ in $(seq 200); do of dump-flows | grep -q 'cookie=0x726c61' && break; sleep 0.1; done
kill -9 "$campaign"
wait "$campaign" 2>/dev/null || true
sleep 1
outcome l2fwd ok
