#!/usr/bin/env bash
# long
# Every scenario of the repository passes `bench check`, and its quick run measures something. A verdict about timing is
# printed but not asserted, because the runs take one second and test machines are shared.
#
# By default, only scenarios that take seconds run. SCENARIOS="a.toml b.toml" selects others, and the nightly job runs all.
set -euo pipefail
here=$(cd "$(dirname "$0")/../.." && pwd)
out=$PWD
cd "$here"
mapfile -t all < <(find scenarios -name '*.toml' | sort)
for scenario in "${all[@]}"; do "$RANLAB" bench check "$scenario" --quick >/dev/null; done
few=(scenarios/quickstart.toml scenarios/flexric/{fig7,fig8b,fig9b,table2}.toml scenarios/tipsy/fig9.toml)
failed=0
for scenario in ${SCENARIOS:-"${few[@]}"}; do
    name=$(echo "${scenario#scenarios/}" | tr '/' '-')
    name=${name%.toml} got=0
    "$RANLAB" bench run "$scenario" --quick --out "$out/$name" --format json >"$out/$name.json" 2>"$out/$name.err" || got=$?
    python3 - "$scenario" "$got" "$out/$name.json" <<'P' || { cat "$out/$name.err"; failed=1; }
import json, os, sys
scenario, code, file = sys.argv[1:]
assert code in "013", f"{scenario}: exit {code}"
result = json.load(open(file))
outcomes = [point["outcome"] for point in result["points"]]
counting = sum(outcome in ("ok", "degraded", "misses_budget", "overloaded") for outcome in outcomes)
fails = [f"{e['metric']} {e['where']}: {e['ours']}, {e['paper']}" for e in result["expects"] if e["verdict"] == "fails"]
print(f"{scenario}: {counting} of {len(outcomes)} points measured", *[f"\n    this law does not hold in this run: {law}" for law in fails])
# One repeat is conclusive only for values that are the same in every run: simulations and sizes.
if scenario.endswith(("quickstart.toml", "fig9.toml")):
    assert all(e["verdict"] in ("inconclusive", "unmeasurable") for e in result["expects"]), result["expects"]
# A machine that is too slow or too busy to send the load gives an invalid result.
reasons = [point["reason"] for point in result["points"] if point["outcome"] == "invalid"]
unsent = reasons and all("load was not sent" in reason for reason in reasons)
assert counting or unsent, f"{scenario}: nothing could be measured: {outcomes} {reasons}"
assert code == ("1" if fails else "0" if counting else "3"), f"{scenario}: exit {code} with {len(fails)} laws that fail"
assert os.path.getsize(result["report"]) > 4_000
P
done
exit $failed
