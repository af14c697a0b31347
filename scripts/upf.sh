#!/usr/bin/env bash
# Runs a UPF and its load, in separate network namespaces if this user may create them, otherwise on loopback. 10,000
# sessions are established, modified, loaded at rising rates and released. The report shows the curve. Further arguments
# are passed to `bench run`.
set -euo pipefail
cd "$(dirname "$0")/.."
scenario=scenarios/upf/ten-thousand.toml
load=ranlab-load-$$ upf=ranlab-upf-$$
if [[ $(id -u) != 0 ]] || ! ip netns add "$load" 2>/dev/null; then
    echo "on loopback: this user may not make network namespaces"
    exec "$RANLAB" bench run "$scenario" --fresh "$@"
fi
cleanup() { ip netns del "$load" || true; ip netns del "$upf" 2>/dev/null || true; }
trap cleanup EXIT
ip netns add "$upf"
ip -n "$load" link add n3 type veth peer name n3 netns "$upf"
for place in "$load 10.3.0.1" "$upf 10.3.0.2"; do
    read -r space address <<<"$place"
    ip -n "$space" link set lo up
    ip -n "$space" address add "$address/24" dev n3
    ip -n "$space" link set n3 up
done
for n in $(seq 11 18); do ip -n "$load" address add "10.3.0.$n/24" dev n3; done
"$RANLAB" bench run "$scenario" --fresh --set sut.netns="$upf" --set load.netns="$load" --set sut.n4=10.3.0.2:8805 \
    --set sut.n3=10.3.0.2:2152 --set load.network=10.3.0.1:2153 --set load.smf=10.3.0.1:8805 --set load.gnb=10.3.0.11:2152 "$@"
