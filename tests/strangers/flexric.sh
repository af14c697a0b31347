#!/usr/bin/env bash
# Unmodified FlexRIC 2.0.0 and ranlab: checks whether FlexRIC programs abort more often with ranlab than among
# themselves. $FLEXRIC names its build folder, $RANLAB the binary, $PRELOAD the library; ROUNDS (default 10)
# is the number of rounds. Rounds with FlexRIC alone are interleaved, so that load on the machine affects
# both. About two minutes per round.
set -uo pipefail

skip() { echo "$1"; exit 77; }
[[ -n ${FLEXRIC:-} ]] || skip 'FLEXRIC does not name a build folder of it'
[[ -x $FLEXRIC/examples/ric/nearRT-RIC ]] || skip "$FLEXRIC/examples/ric/nearRT-RIC is not there"
RANLAB=${RANLAB:?names no binary}
PRELOAD=${PRELOAD:-$(dirname "$RANLAB")/libranlab_preload.so}
[[ -f $PRELOAD ]] || { echo "$PRELOAD is not there: make preload" >&2; exit 3; }

work=$(mktemp -d)
mkdir "$work/models" "$work/db"
trap 'end_all; rm -rf "$work"' EXIT
find "$FLEXRIC/src/sm" -name 'lib*_sm.so' -exec ln -s {} "$work/models/" \;
printf '[NEAR-RIC]\nNEAR_RIC_IP = 127.0.0.1\n\n[XAPP]\nDB_DIR = %s/db/\n' "$work" >"$work/flexric.conf"

declare -A program=(
    [ric]=examples/ric/nearRT-RIC [gnb]=examples/emulator/agent/emu_agent_gnb [du]=examples/emulator/agent/emu_agent_gnb_du
    [moni]=examples/xApp/c/monitor/xapp_gtp_mac_rlc_pdcp_moni [kpm_moni]=examples/xApp/c/monitor/xapp_kpm_moni
    [kpm_rc]=examples/xApp/c/kpm_rc/xapp_kpm_rc
)
# An xApp that uses FlexRIC's library and sends controls one after the other, if a variable names one.
[[ -z ${FLEXRIC_CONTROLS:-} ]] || program[controls]=$FLEXRIC_CONTROLS
declare -A pid=() runs=() aborts=() hung=() failed=()
# Each program is ended by its process id.
end_all() { for name in "${!pid[@]}"; do kill -9 "${pid[$name]}" 2>/dev/null; wait "${pid[$name]}" 2>/dev/null; done; pid=(); }

path_of() { if [[ ${program[$1]} == /* ]]; then echo "${program[$1]}"; else echo "$FLEXRIC/${program[$1]}"; fi; }
# Runs a FlexRIC program in the folder of this round, with the preloaded library.
stock() {
    mkdir -p "$work/$1"
    (cd "$work/$1" && ulimit -c 0 && RANLAB_SCTP=$folder LD_PRELOAD=$PRELOAD exec "$(path_of "$1")" \
        -c "$work/flexric.conf" -p "$work/models/" >out 2>&1 </dev/null) &
    pid[$1]=$!
}
ours() { local name=$1; shift; "$RANLAB" "$@" >"$work/$name.out" 2>&1 </dev/null & pid[$name]=$!; }
running() { kill -0 "${pid[$1]}" 2>/dev/null && [[ $(sed 's/.*) //' "/proc/${pid[$1]}/stat" 2>/dev/null) != Z* ]]; }
count() { local -n of=$1; of[$2]=$((${of[$2]:-0} + 1)); }

# Checks whether the servers still run at the end of a round.
lived() {
    local name
    for name in "$@"; do
        count runs "$meeting/$name"
        running "$name" || { count aborts "$meeting/$name"; tail -n 1 "$work/$name/out" 2>/dev/null | sed "s|^|  $meeting/$name: |" >&2; }
    done
}

# Runs an xApp of either side until it exits.
xapp() {
    local name=$1 code=0 waited
    shift
    if (($#)); then ours "$name" "$@"; else stock "$name"; fi
    for ((waited = 0; waited < 240; waited++)); do running "$name" || break; sleep 0.25; done
    count runs "$meeting/$name"
    if running "$name"; then
        count hung "$meeting/$name"
        kill -9 "${pid[$name]}"
    fi
    wait "${pid[$name]}" 2>/dev/null || code=$?
    unset "pid[$name]"
    if ((code == 134 || code == 139)); then
        count aborts "$meeting/$name"
        tail -n 1 "$work/$name/out" | sed "s|^|  $meeting/$name: |" >&2
    elif ((code != 0 && waited < 240)) && [[ $name != monitor ]]; then
        count failed "$meeting/$name"
    fi
}
begin() { meeting=$1 folder=$work/net-$1; mkdir -p -m 700 "$folder"; at="shim://$folder/127.0.0.1"; }
# Runs ranlab's monitor, which detects the dialect of its peer. A monitor without reports has failed.
monitor() {
    xapp monitor xapp monitor --connect "$at:36422" --duration 4s
    grep -q ' [1-9][0-9]* indications' "$work/monitor.out" || { count failed "$meeting/monitor"; tail -n 1 "$work/monitor.out" >&2; }
}

# Checks that KPM of FlexRIC's agents, in a modified ASN.1, has values. Reports of FlexRIC are random, and may have no
# values for seconds.
kpm_values() {
    local attempt
    for attempt in 1 2 3 4 5; do
        xapp kpm_values xapp monitor --connect "$at:36422" --sm kpm --duration 4s
        grep -q ' measurement=' "$work/kpm_values.out" && break
    done
    grep -q ' measurement=' "$work/kpm_values.out" || { count failed "$meeting/kpm_values"; tail -n 1 "$work/kpm_values.out" >&2; }
}

for ((round = 1; round <= ${ROUNDS:-10}; round++)); do
    begin alone
    stock ric; sleep 1; stock gnb; sleep 0.5; stock du; sleep 1
    for name in moni kpm_moni kpm_rc; do xapp $name; done
    if [[ -n ${program[controls]:-} ]]; then xapp controls; fi
    lived ric gnb du; end_all

    begin our-ric
    ours our-ric ric --e2 "$at:36421" --e42 "$at:36422"; sleep 1; stock gnb; sleep 0.5; stock du; sleep 1
    monitor
    for name in moni kpm_moni kpm_rc; do xapp $name; done
    monitor; kpm_values
    if [[ -n ${program[controls]:-} ]]; then xapp controls; fi
    lived our-ric gnb du; end_all

    begin our-nodes
    stock ric; sleep 1
    ours emulate emulate --connect "$at:36421" --nodes 2 --ues 4 --radio nr:106 --flows udp:5 --sm mac,rlc,pdcp,gtp,kpm,rc; sleep 1.5
    monitor
    for name in moni kpm_moni kpm_rc; do xapp $name; done
    monitor
    lived ric emulate; end_all

    begin our-xapp
    stock ric; sleep 1; stock gnb; sleep 0.5; stock du; sleep 1
    monitor; xapp moni; monitor
    lived ric gnb du; end_all
    echo "round $round of ${ROUNDS:-10}" >&2
done

worse=0
printf '%-10s %-10s %6s %8s %6s %7s   %s\n' meeting program runs aborted hung 'failed' 'FlexRIC alone aborted'
for key in $(printf '%s\n' "${!runs[@]}" | sort); do
    name=${key#*/} alone=alone/${key#*/} note=
    if [[ $key != alone/* && -n ${program[$name]:-} ]]; then
        note="${aborts[$alone]:-0} of ${runs[$alone]}"
        # The comparison uses shares, because the numbers of runs differ.
        ((${aborts[$key]:-0} * runs[$alone] <= ${aborts[$alone]:-0} * runs[$key])) || { worse=1; note+='   MORE'; }
    elif [[ $key != alone/* ]] && ((${aborts[$key]:-0} + ${failed[$key]:-0} > 0)); then
        worse=1 note='ours failed'
    fi
    printf '%-10s %-10s %6d %8d %6d %7d   %s\n' "${key%%/*}" "$name" "${runs[$key]}" "${aborts[$key]:-0}" "${hung[$key]:-0}" \
        "${failed[$key]:-0}" "$note"
done
exit $worse
