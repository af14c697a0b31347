#!/usr/bin/env bash
# Scenarios, campaigns and configuration of earlier versions (tests/upgrade/VERSION) work in this version. A stored campaign
# is shown, compared and resumed. A scenario that is computed again has the same results. OLD_RANLAB: a program of an earlier
# version; its base stations, RIC and xApps must then work with those of this version.
set -euo pipefail
here=$(cd "$(dirname "$0")/.." && pwd)
source "$here/e2e/started.sh"

for version in "$here"/upgrade/*/; do
    cp -r "$version" "$PWD/files"
    for scenario in files/scenarios/*.toml; do
        "$RANLAB" bench check "$scenario" >check.txt 2>&1 || { echo "$scenario"; cat check.txt; exit 1; }
    done
    for stored in files/results/*.sqlite.gz; do
        name=$(basename "$stored" .sqlite.gz)
        mkdir -p "campaigns/$name"
        gzip -dc "$stored" >"campaigns/$name/campaign.sqlite"
        "$RANLAB" bench report "campaigns/$name" >report.txt 2>&1 || { echo "$stored"; cat report.txt; exit 1; }
        [[ -s campaigns/$name/report.html && -s campaigns/$name/points.csv ]]
        # The campaign still has each point, with its metrics.
        "$RANLAB" bench compare "campaigns/$name" "campaigns/$name" --format json >compare.json
        python3 - "$stored" <<'EOF'
import json, sys
told = json.load(open("compare.json"))
assert told["rows"] and not told["lost"] and not any(told["unmatched"]), (sys.argv[1], told["sentence"])
assert not any(row["change"] for row in told["rows"]), (sys.argv[1], told["rows"][:3])
EOF
    done
    # The campaign is resumed. Every point is measured already.
    repeats() { "$RANLAB" bench query campaigns/mock "SELECT point, repeat, started_unix_ms FROM repeats ORDER BY 1, 2" --format json; }
    repeats >before.json
    "$RANLAB" bench run files/scenarios/mock.toml --quick --out campaigns/mock >resumed.txt 2>&1 || { cat resumed.txt; exit 1; }
    repeats >after.json
    grep -q started_unix_ms before.json && cmp before.json after.json
    # The scenario is computed again and must give the same values.
    "$RANLAB" bench run files/scenarios/oru-window.toml --quick --fresh --out again >again.txt
    "$RANLAB" bench compare campaigns/xhaul again --format json >compare.json
    python3 - <<'EOF'
import json
told = json.load(open("compare.json"))
assert told["rows"] and not told["lost"] and not any(told["unmatched"]), told["sentence"]
# The speed of the simulator is not a result of the network.
changed = [row for row in told["rows"] if row["change"] and not row["metric"].startswith("sim.")]
assert not changed, changed[:3]
EOF
    "$RANLAB" bench size files/configuration/profile.toml >size.txt
    "$RANLAB" ric --e2 "unix://$PWD/e2" --e42 "unix://$PWD/e42" --xapps files/configuration/rules.toml --duration 100ms >ric.txt
    rm -r files campaigns again
done

[[ -n ${OLD_RANLAB:-} ]] || { echo "files of $(find "$here"/upgrade/* -maxdepth 0 -type d | wc -l) version(s)"; exit 0; }
# together RIC EMULATE XAPP: runs base station and xApp of these programs at the RIC of another program.
together() {
    "$1" ric --e2 "unix://$PWD/$4.e2" --e42 "unix://$PWD/$4.e42" --duration 60s >"$4.ric" &
    started+=($!)
    for _ in $(seq 100); do [[ ! -S $4.e42 ]] || break; sleep 0.1; done
    "$2" emulate --connect "unix://$PWD/$4.e2" --sm mac,kpm --nodes 2 --ues 3 --duration 60s >"$4.nodes" 2>&1 &
    started+=($!)
    "$3" xapp monitor --connect "unix://$PWD/$4.e42" --sm mac,kpm --duration 3s --format json >"$4.json"
    python3 -c 'import json, sys; told = json.load(open(sys.argv[1])); assert told["indications"] > 20 and not told["lost"], told["nodes"]' "$4.json"
}
together "$RANLAB" "$OLD_RANLAB" "$OLD_RANLAB" old-clients
together "$OLD_RANLAB" "$RANLAB" "$RANLAB" old-ric
