#!/usr/bin/env bash
# VPP 26.06 and ranlab: loads every configuration of the golden files line by line, and verifies the pipelines that are
# run against the oracle in both tiers. $VPP names a build folder (bin/vpp, bin/vppctl, lib/*/vpp_plugins), $RANLAB the
# binary. About three minutes. As root: VPP gets a private /dev/shm.
set -uo pipefail

skip() { echo "$1"; exit 77; }
[[ -n ${VPP:-} ]] || skip 'VPP does not name a build folder of it'
[[ -x $VPP/bin/vpp && -x $VPP/bin/vppctl ]] || skip "$VPP/bin/vpp or bin/vppctl is not there"
RANLAB=${RANLAB:?names no binary}
cd "$(dirname "$0")/../.." || exit 3
plugins=$(find "$VPP/lib" -maxdepth 3 -type d -name vpp_plugins | head -n 1)
[[ -n $plugins ]] || skip "$VPP/lib has no vpp_plugins"

work=$(mktemp -d)
pid=
stop() { [[ -z $pid ]] || { kill "$pid" 2>/dev/null; wait "$pid" 2>/dev/null; pid=; }; }
trap 'stop; rm -rf "$work"' EXIT
ask() { "$VPP/bin/vppctl" -s "$work/cli.sock" "$@"; }
start() {
    local enabled=
    for name in acl gre gtpu memif nat nat44_ei policer vxlan; do enabled+="plugin ${name}_plugin.so { enable } "; done
    cat >"$work/startup.conf" <<END
unix { nodaemon nosyslog nobanner nocolor cli-listen $work/cli.sock runtime-dir $work log $work/log }
api-segment { prefix ranlab-test }
statseg { socket-name $work/stats.sock size 256M page-size 4K }
memory { main-heap-size 512M main-heap-page-size 4K }
buffers { buffers-per-numa 16384 page-size 4K }
plugins { path $plugins plugin default { disable } $enabled }
END
    unshare --mount --propagation private -- sh -c 'mount -t tmpfs tmpfs /dev/shm && exec "$0" -c "$1"' \
        "$VPP/bin/vpp" "$work/startup.conf" >"$work/out" 2>&1 &
    pid=$!
    for ((i = 0; i < 300; i++)); do ask show version 2>/dev/null | grep -q 'vpp v' && return; sleep 0.1; done
    echo "VPP does not answer: $(tail -n 3 "$work/out")" >&2
    exit 1
}

failed=0
start
ask show version
stop
for golden in crates/pipeline/pipeline/tests/backends/vpp-*.txt; do
    start
    lines=0
    while IFS= read -r line; do
        # `comment { ... }` is only understood in a file.
        [[ -n $line && $line != \#* && $line != comment* ]] || continue
        lines=$((lines + 1))
        printed=$(ask "${line//\/run\/vpp\//$work/}" | tr -d '\r')
        case $line in
            create*) [[ $printed != *unknown* && $printed != *": "* ]] ;;
            set\ acl-plugin\ acl*) [[ $printed == 'ACL index:'* ]] ;;
            *) [[ -z $printed ]] ;;
        esac || { echo "$golden: \`$line\`: $printed" >&2; failed=1; }
    done <"$golden"
    echo "$golden: $lines lines"
    stop
done

cat >"$work/scenario.toml" <<'END'
title = "VPP against the oracle"
rig = "pipeline"
[pipeline]
name = "portfwd"
[sut]
engine = "vpp"
[load]
pkt-num = 1024
pkt-size = 128
verify = 1024
[measure]
duration = "500ms"
repeats = 1
[host]
when_noisy = "warn"
END
run() {
    local out
    out=$("$RANLAB" bench run "$work/scenario.toml" --set sut.build="$VPP" --fresh --out "$work/results" --format json "$@" 2>&1) ||
        case $out in
            # The switch has already been verified. If two CPUs have other work, they are too few for a tester and a
            # polling switch.
            *'tool.unsent_ratio'*) echo "verified, not measured (the generator was late): $*"; return ;;
            *) echo "$*: $(tail -c 600 <<<"$out")" >&2; failed=1; return ;;
        esac
    echo "verified: $*"
}
generous=(--set pipeline.rate-limit=1000000000000 --set pipeline.rate-burst=4000000000)
for dir in uplink downlink; do
    for tier in mem ring; do
        with=(--set load.dir=$dir --set sut.tier=$tier)
        [[ $tier == mem ]] || with+=(--set load.rate=20000)
        run "${with[@]}"
        run --set pipeline.name=l2fwd "${with[@]}"
        run --set pipeline.name=l3fwd --set pipeline.upstream-l3-table-size=1000 "${with[@]}"
        run --set pipeline.name=encap "${with[@]}"
        run --set pipeline.name=rlimit "${generous[@]}" "${with[@]}"
        run --set pipeline.name=acl --set pipeline.rule-num=100 "${with[@]}"
        run --set pipeline.name=acl --set pipeline.rule-num=100 --set pipeline.fakedrop=false "${with[@]}"
        run --set pipeline.name=nat "${with[@]}"
        run --set pipeline.name=mgw --set pipeline.user=30 "${generous[@]}" "${with[@]}"
        run --set pipeline.name=bng --set pipeline.user=30 "${generous[@]}" "${with[@]}"
    done
done
exit $failed
