#!/usr/bin/env bash
# Unmodified third-party SMFs against `ranlab upf`, in each of its designs: $OPEN5GS_SMF names open5gs-smfd,
# $FREE5GC_SMF the program of free5GC's SMF, $PFCPSIM the folder of pfcpsim and pfcpctl; an SMF without variable is
# skipped. The other functions of the core are smf/core.py (Python with the package h2). Each session is established,
# modified, reported and released, and its packets take the way of its rules.
# Needs root: network namespaces.
set -euo pipefail
here=$(cd "$(dirname "$0")" && pwd)
skip() { echo "$1"; exit 77; }
[[ -n ${OPEN5GS_SMF:-}${FREE5GC_SMF:-}${PFCPSIM:-} ]] || skip "none of OPEN5GS_SMF, FREE5GC_SMF and PFCPSIM is set"
[[ $(id -u) == 0 ]] || skip "needs root for network namespaces"
python3 -c 'import h2' 2>/dev/null || skip "python3 lacks the package h2"
space=ranlab-smf-$$
ip netns add "$space" 2>/dev/null || skip "network namespaces cannot be made here"
cleanup() {
    ip netns pids "$space" | xargs -r kill
    ip netns del "$space"
}
trap cleanup EXIT
ip -n "$space" link set lo up

met=0 skipped=()
# meets NAME VARIABLE: runs smf/NAME.py with the program that a variable names.
meets() {
    local name=$1 program=${!2:-} design
    if [[ -z $program ]]; then
        skipped+=("$name: $2 names no program")
        return
    fi
    for design in cp-offload dp-offload "software --workers 4"; do
        echo "== $name, $design"
        # shellcheck disable=SC2086 # words
        ip netns exec "$space" env PYTHONPATH="$here/smf" timeout 120 python3 "$here/smf/$name.py" "$RANLAB" "$program" --design $design
    done
    met=$((met + 1))
}
meets open5gs OPEN5GS_SMF
meets free5gc FREE5GC_SMF
meets pfcpsim PFCPSIM
echo "$met SMFs passed, ${#skipped[@]} were skipped${skipped[*]:+ (${skipped[*]})}"
