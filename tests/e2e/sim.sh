#!/usr/bin/env bash
# Tests virtual time. A scenario gives the same throughput and shares as in a live network. A seed gives the same digest in
# any process. An idle xApp has no effect, and the effect of an active xApp is reported for each UE. Injected faults are
# reported, and a command replays them.
#
# A live run measures in the time of the simulated radio. If the machine stalls, control messages arrive late, and throughput
# near a phase change is wrong. The shares of a phase therefore exclude its start and its end. Shares and throughput must
# agree within 2 %.
set -euo pipefail
command -v python3 >tool.txt || { echo "python3 is not installed"; exit 77; }
here=$(cd "$(dirname "$0")/../.." && pwd)
sim() { "$RANLAB" sim "$@" 2>err.txt; }

# Compares a live run with virtual time. Two slices, gray (66 %) and black (34 %), share the radio; black stops sending after
# 10 s. One repeat of 20 s.
file=$here/scenarios/flexric/fig13b.toml
short=(--set xapp.sharing=true --set measure.repeats=1)
"$RANLAB" bench run "$file" "${short[@]}" --out live --format json >live.json 2>live.err || { cat live.err; exit 1; }
sim "$file" "${short[@]}" --format json >sim.json || { cat err.txt; exit 1; }
python3 - <<'P'
import json
live, sim = (json.load(open(f"{name}.json"))["points"][0] for name in ("live", "sim"))
assert live["outcome"] in ("ok", "degraded") and sim["outcome"] == "ok", (live["outcome"], sim["outcome"])
assert live["metrics"].keys() == sim["metrics"].keys(), live["metrics"].keys() ^ sim["metrics"].keys()
for name in ("total_mbps", "prb_use", "phase1_ue1_share", "phase2_ue1_share", "ue1_mbps"):
    a, b = (point["metrics"][name]["mean"] for point in (live, sim))
    print(f"{name}: {a:.4f} live, {b:.4f} in virtual time")
    assert abs(a / b - 1) <= 0.02, name
P

# A seed always gives the same digest. The simulation runs as fast as the machine allows.
for name in one two; do sim "$file" --set load.channel=sinr:15 --seeds 2 --format json >$name.json || { cat err.txt; exit 1; }; done
python3 - <<'P'
import json
one, two = (json.load(open(f"{name}.json"))["runs"] for name in ("one", "two"))
digests = [run["digest"] for run in one]
assert digests == [run["digest"] for run in two] and len(set(digests)) == 4, digests
print("speed relative to real time:", *[round(run["real_time_factor"], 1) for run in one])
P

# Runs with and without an xApp or controller, with the same seeds. A slice of two thirds of the resources must change the UEs'
# throughput; a controller that does nothing must not.
sim "$file" --point 0 --without xapp.slice --seeds 3 --record learn --out page --format json >twin.json
grep -q 'class=gains>gains' page/report.html && grep -q 'class=loses>loses' page/report.html
grep -q '^xapp.sharing=true,1,1,mbps,.*,gains' page/differences.csv && [[ -s page/figure-1.png ]] || { cat page/differences.csv; exit 1; }
for table in states controls; do [[ $(head -c 4 learn/$table.parquet)$(tail -c 4 learn/$table.parquet) == PAR1PAR1 ]]; done
sim "$here/scenarios/flexric/fig11.toml" --point 0 --set load.channel=sinr:12 --set load.ues=3 --set measure.duration=8s \
    --without sut.traffic --seeds 2 --format json >nothing.json || { cat err.txt; exit 1; }
python3 - <<'P'
import json
twin, nothing = (json.load(open(f"{name}.json"))["points"][0]["differences"] for name in ("twin", "nothing"))
verdicts = {it["ue"]: it["verdict"] for it in twin if it["kpi"] == "mbps"}
assert verdicts == {1: "gains", 2: "loses"}, verdicts
assert nothing and all(it["verdict"] == "same" and set(it["differences"]) == {0} for it in nothing), nothing
P

# An xApp that subscribes over E42, at a RIC without iApps, receives the same reports as in a live run, and has no effect on any
# UE. The runs with and without it can be repeated with `--events`, with the same digests.
watched=("$here/scenarios/sim/watched.toml" --set measure.duration=3s)
"$RANLAB" bench run "${watched[@]}" --set measure.repeats=1 --out heard --format json >live.json 2>live.err || { cat live.err; exit 1; }
sim "${watched[@]}" --seeds 1 --out watched --format json >heard.json
[[ -s watched/report.html ]]
sim "${watched[@]}" --without xapp.monitor --seeds 2 --format json >watched.json
sim "${watched[@]}" --seeds 1 --events >with.txt
sim "${watched[@]}" --seeds 1 --without xapp.monitor --events >without.txt
grep -q 'xapp.monitor starts' with.txt && ! grep -q 'xapp.monitor' without.txt
python3 - <<'P'
import json, re
told = json.load(open("watched.json"))["points"][0]
assert told["differences"] and all(set(it["differences"]) == {0} for it in told["differences"]), told
def digest(name):
    with open(name) as file:
        return re.search(" seed .*: digest ([0-9a-f]+)", file.read())[1]
assert [digest("with.txt"), digest("without.txt")] == told["runs"][0]["digests"], told["runs"]
live, heard = (json.load(open(f"{name}.json"))["points"][0]["metrics"] for name in ("live", "heard"))
assert live.keys() == heard.keys(), live.keys() ^ heard.keys()
for point in (live, heard):
    # There are four models with ten reports per second. A live window may begin before the first report.
    assert point["xapp_lost"]["mean"] == 0 and 108 <= point["xapp_indications"]["mean"] <= 124, point
P

# Faults are reported line by line, and again by the replay command of a failed repeat.
sim "$file" --point 0 --seeds 1 --set 'sim.faults=["crash:ric@1s-2s", "cut:agent@5s"]' --events >events.txt || { cat err.txt; exit 1; }
grep -q '\*\*\* Crash' events.txt && grep -q '\*\*\* Cut' events.txt || { cat events.txt; exit 1; }
code=0
sim "$file" --point 0 --seeds 1 --set 'sim.faults=["crash:ric@0s-30s"]' >failed.txt || code=$?
((code == 1)) || { cat failed.txt err.txt; exit 1; }
replay=$(sed -n 's/.*to repeat it: ranlab \(.*\)$/\1/p' err.txt)
code=0
eval "\"\$RANLAB\" $replay" >again.txt 2>err.txt || code=$?
((code == 1)) && grep -q '\*\*\* Crash' again.txt || { echo "$replay"; cat again.txt err.txt; exit 1; }

# If virtual time does not support a setting, the error names it. It also names an unknown component or point.
refused() {
    local code=0
    sim "${@:2}" >refused.txt || code=$?
    ((code == 2)) && grep -q "$1" err.txt || { echo "$*: $code"; cat err.txt; exit 1; }
}
refused 'rig "e2-rtt" does not run in virtual time' "$here/scenarios/flexric/fig7.toml"
refused '`load.at` = tcp://lab:1 does not run' "$file" --set load.at=tcp://lab:1
refused 'unknown component "xapp.traffic"' "$file" --without xapp.traffic
refused 'there is no point 9' "$file" --point 9
