#!/usr/bin/env bash
# alone: testbeds
# Tests a gate for a CI job. A UPF far slower than its budget fails, and an unchanged UPF passes, regardless of other load
# on the machine.
set -euo pipefail

"$RANLAB" bench new gate >gate.toml
"$RANLAB" bench check gate.toml >/dev/null
# run CODES NAME [ARGUMENT...]: performs a short run, and checks that it exits with one of these codes.
run() {
    local codes=$1 name=$2 got=0
    "$RANLAB" bench run gate.toml --out "$name" --junit "$name.xml" --set measure.duration=1s --set measure.repeats=3 \
        --set measure.warm_up=100ms "${@:3}" --format json >"$name.json" 2>"$name.err" || got=$?
    [[ " $codes " == *" $got "* ]] || { echo "$name exited with $got instead of $codes"; cat "$name.err"; exit 1; }
}
echo "-- an unchanged UPF"
run 0 unchanged
grep -q 'failures="0"' unchanged.xml
echo "-- a slower UPF"
run 1 slower --set sut.service=20ms --set load.rate=10
python3 - <<'P'
import json
result = json.load(open("slower.json"))
assert result["error"]["kind"] == "check" and result["error"]["code"] == 1, result["error"]
verdicts = {e["metric"]: (e["class"], e["verdict"]) for e in result["expects"]}
assert verdicts["establishment_us_service_min"] == ("own", "fails"), verdicts
assert result["headline"]["metric"] == "establishment_us_service_min", result["headline"]
own, = result["counts"]
assert own["class"] == "own" and own["all"] == len(result["expects"]), own
P
grep -q '<failure message="fails: measured' slower.xml
echo "-- verdicts that fail a job"
run "0 1" strict --fail-on inconclusive,differs,degraded,unmeasurable --set sut.service=1ms
grep -q 'skipped="0"' strict.xml
"$RANLAB" bench run gate.toml --out unchanged --set measure.duration=1s --set measure.repeats=3 --set measure.warm_up=100ms >again.txt 2>/dev/null || true
[[ $(sed -n 2p again.txt) == expectations* ]] || { cat again.txt; exit 1; }
echo "the gate passes and fails as expected"
