#!/usr/bin/env bash
# Runs the tests that use an optional program twice: with the program as installed, and with the program hidden.
#   scripts/matrix.sh [PROGRAM...]    the tests of these programs, or of all programs
# With the program, its tests pass and none of them is skipped because of it. Without it, they pass, or are skipped with a
# reason that names the program. Tests also find programs outside PATH, so an overlay over /usr hides the program. Only the
# test sees this overlay.
set -euo pipefail
cd "$(dirname "$0")/.."
export RANLAB=${RANLAB:-$PWD/target/release/ranlab}
logs=$PWD/target/matrix
mkdir -p "$logs"

# Files are hidden in a mount namespace, which requires root or a user namespace.
own=(unshare --mount)
[[ $(id -u) == 0 ]] || own=(unshare --map-root-user --mount)
# hidden FILES COMMAND...: runs a command that finds none of the files, neither in /usr nor elsewhere on the path.
hidden() {
    local layer path folder code=0
    layer=$(mktemp -d)
    mkdir "$layer/upper" "$layer/work"
    path=$(tr ':' '\n' <<<"$PATH" | while read -r folder; do
        if [[ $folder == /usr/bin || $folder == /usr/sbin || ! -x $folder/$(basename "${1%% *}") ]]; then
            echo "$folder"
        fi
    done | paste -sd :)
    # shellcheck disable=SC2016
    PATH=$path LAYER=$layer FILES=$1 "${own[@]}" bash -euc '
        mount -t overlay overlay -o "lowerdir=/usr,upperdir=$LAYER/upper,workdir=$LAYER/work" /usr
        rm -f $FILES
        exec "$@"' bash "${@:2}" || code=$?
    rm -rf "$layer"
    return $code
}
hidden /usr/bin/no-such-program true 2>"$logs/hide.log" ||
    { echo "programs cannot be hidden here: $(tail -n 1 "$logs/hide.log")"; exit 77; }

rows=0 failed=() absent=()
# row PROGRAM FILES REASON COMMAND...: runs the command with PROGRAM and with FILES hidden. REASON is a pattern for the message
# of a test that is skipped because the program is missing.
row() {
    local program=$1 files=$2 reason=$3 state code
    shift 3
    ((${#chosen[@]} == 0)) || [[ " ${chosen[*]} " == *" $program "* ]] || return 0
    rows=$((rows + 1))
    # The first file is the program itself.
    local states=(present hidden)
    [[ -x ${files%% *} ]] || { absent+=("$program"); states=(hidden); }
    for state in "${states[@]}"; do
        local log=$logs/$program-$state.log
        code=0
        if [[ $state == hidden ]]; then
            hidden "$files" "$@" >"$log" 2>&1 || code=$?
        else
            "$@" >"$log" 2>&1 || code=$?
        fi
        local skipped
        skipped=$(grep -cE "^skipped.*($reason)" "$log" || true)
        if ((code != 0)); then
            failed+=("$program $state: exit $code ($log)")
        elif [[ $state == present && $skipped != 0 ]]; then
            failed+=("$program present: $skipped tests are skipped because of it ($log)")
        elif [[ $state == hidden && $skipped == 0 ]]; then
            failed+=("$program hidden: no skipped test names it ($log)")
        fi
        printf '%-14s %-8s exit %d, %d skipped because of it\n' "$program" "$state" "$code" "$skipped"
    done
}
tests() { cargo test --workspace "${@/#/--test=}"; }
# Runs scripts of tests/e2e/.
scripts() { tests/e2e.sh "$@"; }
export -f tests scripts

chosen=("$@")
sh=(bash -euo pipefail -c)
switches='cargo test -p ranlab-pipeline-lab --lib switches::'
row tshark /usr/bin/tshark tshark "${sh[@]}" 'tests tshark_ecpri n4_n3_tshark ap pcap'
row flatc /usr/bin/flatc flatc "${sh[@]}" 'tests flat e2sm_list'
row testpmd /usr/bin/dpdk-testpmd testpmd "${sh[@]}" "tests memif_testpmd; $switches"
row openvswitch '/usr/sbin/ovs-vswitchd /usr/lib/openvswitch-switch/ovs-vswitchd /usr/lib/openvswitch-switch-dpdk/ovs-vswitchd-dpdk' \
    'ovs-vswitchd' "${sh[@]}" "$switches; scripts openflow"
row nft /usr/sbin/nft 'nft' "${sh[@]}" "$switches"
row ip '/usr/bin/ip /usr/sbin/ip' '`?ip`?\b|iproute2' "${sh[@]}" "tests xsk xdp; $switches"
row python3 '/usr/bin/python3' python3 "${sh[@]}" 'unset RANLAB_PYTHON; tests written forwarding_model; cargo test -p ranlab-pipeline-lab --lib plugin::'
row redis-server /usr/bin/redis-server redis-server "${sh[@]}" \
    'cargo test -p ranlab-ric-server --features redis --test redis'
row nats-server /usr/sbin/nats-server nats-server "${sh[@]}" 'scripts publish shared workers handover'
row prometheus '/usr/bin/prometheus /usr/bin/promtool' prometheus "${sh[@]}" 'scripts kpi prometheus'
row curl /usr/bin/curl curl "${sh[@]}" 'scripts kpi publish shared http'

((rows > 0)) || { echo "matrix.sh: no row is called ${chosen[*]}" >&2; exit 2; }
echo "matrix: $rows optional programs, ${#failed[@]} failures; not installed, so only hidden: ${absent[*]:-none}"
printf '  failed: %s\n' "${failed[@]+"${failed[@]}"}" | grep -v ': $' || true
((${#failed[@]} == 0))
