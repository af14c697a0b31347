#!/usr/bin/env bash
# The scenarios of scenarios/peers, shortened, with real builds where a variable names one: each is measured
# twice in a row with its profile only, agrees with ranlab on base stations and UEs, and leaves nothing
# behind.
#   $FLEXRAN_RTC   FlexRAN's program rt_controller, in the folder build of its checkout
#   $MOSAIC5G      Mosaic5G's, with log_config in a folder above it
set -euo pipefail
here=$(cd "$(dirname "$0")/../.." && pwd)
met=0

meet() { # PROFILE, FILL...
    local name=$1 turn fill
    shift
    met=$((met + 1))
    fill=$(printf ', "%s"' "$@")
    for turn in 1 2; do
        "$RANLAB" bench run "$here/scenarios/peers/flexran-rtc.toml" --quick --allow-commands --fresh --out "$name" \
            --set "sut.peer=\"$name\"" --set "sut.fill=[${fill#, }]" --set 'measure.warm_up="6s"' --set measure.repeats=2 \
            --format json >"$name.json" 2>"$name.err" || { cat "$name.err"; exit 1; }
        python3 - "$name.json" <<'P'
import json, sys
for point in json.load(open(sys.argv[1]))["points"]:
    mean = {name: metric["mean"] for name, metric in point["metrics"].items()}
    nodes = point["axes"]["load.nodes"]
    assert point["outcome"] == "ok", (nodes, point["outcome"], point["reason"])
    assert (mean["rest_nodes"], mean["rest_ues"]) == (nodes, 10 * nodes), (nodes, mean["rest_nodes"], mean["rest_ues"])
    assert mean["sut.cpu_cores"] > 0 and mean["sut.rss_mb"] > 0, mean
    print(nodes, "base stations:", mean["sut.cpu_cores"], "cores,", mean["sut.rss_mb"], "MB")
P
    done
}

ports=("port=$((20000 + RANDOM % 10000))" "rest=$((30000 + RANDOM % 2000))")
above() { local folder=$1; while [[ ! -e $folder/log_config && $folder != / ]]; do folder=$(dirname "$folder"); done; echo "$folder"; }
[[ -z ${FLEXRAN_RTC:-} ]] || meet flexran-rtc "folder=$(above "$FLEXRAN_RTC")" "${ports[@]}"
if [[ -n ${MOSAIC5G:-} ]]; then
    folder=$(above "$MOSAIC5G")
    meet mosaic5g "folder=$folder" "program=${MOSAIC5G#"$folder"/}" "${ports[@]}"
fi
((met > 0)) || { echo "neither \$FLEXRAN_RTC nor \$MOSAIC5G names a build"; exit 77; }
