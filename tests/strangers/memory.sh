#!/usr/bin/env bash
# Memory of ranlab-ric and of FlexRIC 2.0.0's RIC under the same load, in alternating rounds: fails if ours uses more. The load is
# NODES (default 10) emulated base stations of 32 UEs with MAC reports each PERIOD (default 10ms), all read by one xApp. $FLEXRIC names
# its build folder, $RANLAB the binary for the load, $RIC ours (default: ranlab-ric next to $RANLAB), $PRELOAD the library; ROUNDS
# (default 3). About 40 s per round. Memory is the proportional set size (PSS), of which the largest of ten values counts.
set -uo pipefail

skip() { echo "$1"; exit 77; }
[[ -n ${FLEXRIC:-} ]] || skip 'FLEXRIC does not name a build folder of it'
[[ -x $FLEXRIC/examples/ric/nearRT-RIC ]] || skip "$FLEXRIC/examples/ric/nearRT-RIC is not there"
RANLAB=${RANLAB:?names no binary}
RIC=${RIC:-$(dirname "$RANLAB")/ranlab-ric}
[[ -x $RIC ]] || skip "$RIC is not there: make ric"
PRELOAD=${PRELOAD:-$(dirname "$RANLAB")/libranlab_preload.so}
[[ -f $PRELOAD ]] || { echo "$PRELOAD is not there: make preload" >&2; exit 3; }

work=$(mktemp -d)
mkdir "$work/models" "$work/db"
pids=()
# Each program is ended by its process id.
end_all() { for pid in "${pids[@]}"; do kill -9 "$pid" 2>/dev/null; wait "$pid" 2>/dev/null; done; pids=(); }
trap 'end_all; rm -rf "$work"' EXIT
find "$FLEXRIC/src/sm" -name 'lib*_sm.so' -exec ln -s {} "$work/models/" \;
printf '[NEAR-RIC]\nNEAR_RIC_IP = 127.0.0.1\n\n[XAPP]\nDB_DIR = %s/db/\n' "$work" >"$work/flexric.conf"

# Prints PSS and RSS in kB.
memory() { sed -n 's/^\(Pss\|Rss\): *\([0-9]*\) kB/\1 \2/p' "/proc/$1/smaps_rollup" | sort | cut -d' ' -f2 | tr '\n' ' '; }

# Starts a RIC and the load. Prints the largest PSS of ten seconds with its RSS, and the number of indications that the
# xApp received.
round() {
    local name=$1 net=$work/net ric most='0 0' now second
    rm -rf "$net"; mkdir -m 700 "$net"
    local at=shim://$net/127.0.0.1
    if [[ $name == flexric ]]; then
        (cd "$work" && ulimit -c 0 && RANLAB_SCTP=$net LD_PRELOAD=$PRELOAD exec "$FLEXRIC/examples/ric/nearRT-RIC" \
            -c "$work/flexric.conf" -p "$work/models/" >"$work/ric.out" 2>&1 </dev/null) &
    else
        "$RIC" --e2 "$at:36421" --e42 "$at:36422" >"$work/ric.out" 2>&1 </dev/null &
    fi
    ric=$!
    pids=("$ric")
    sleep 1
    "$RANLAB" emulate --connect "$at:36421" --nodes "${NODES:-10}" --ues 32 --sm mac >"$work/load.out" 2>&1 </dev/null &
    pids+=($!)
    sleep 4
    "$RANLAB" xapp monitor --connect "$at:36422" --sm mac --period "${PERIOD:-10ms}" --totals --duration 16s --format json \
        >"$work/xapp.json" 2>"$work/xapp.err" </dev/null &
    local xapp=$!
    pids+=("$xapp")
    sleep 4
    for ((second = 0; second < 10; second++)); do
        sleep 1
        now=$(memory "$ric") || { echo "the RIC has ended: $(tail -n 1 "$work/ric.out")" >&2; exit 1; }
        ((${now%% *} <= ${most%% *})) || most=$now
    done
    wait "$xapp"
    end_all
    echo "$most $(sed -n 's/.*"indications": *\([0-9]*\).*/\1/p' "$work/xapp.json" | tail -n 1)"
}

worse=0
for ((at = 1; at <= ${ROUNDS:-3}; at++)); do
    read -r theirs their_rss their_count <<<"$(round flexric)"
    read -r ours our_rss our_count <<<"$(round ranlab-ric)"
    echo "round $at: FlexRIC $theirs kB (RSS $their_rss, $their_count indications), ranlab-ric $ours kB (RSS $our_rss, $our_count indications)"
    ((theirs > 0 && ours > 0 && ${their_count:-0} > 0 && ${our_count:-0} > 0)) || { echo 'a load did not run' >&2; tail -n 3 "$work"/*.err "$work"/*.out >&2; exit 1; }
    ((ours <= theirs)) || worse=$((worse + 1))
done
((worse == 0)) || { echo "ranlab-ric used more memory in $worse rounds" >&2; exit 1; }
