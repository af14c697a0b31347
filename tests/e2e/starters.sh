#!/usr/bin/env bash
# The scenario that `bench new` writes for each rig is valid, also with `--all`, which writes every setting. Its quick run
# draws a figure of two points.
set -euo pipefail

rigs=$("$RANLAB" bench list --format json | python3 -c 'import json,sys; print(*[r["name"] for r in json.load(sys.stdin)["rigs"]])')
failed=0
for rig in $rigs; do
    "$RANLAB" bench new "$rig" >"$rig.toml"
    "$RANLAB" bench new "$rig" --all >"$rig-all.toml"
    "$RANLAB" bench check "$rig.toml" >/dev/null
    "$RANLAB" bench check "$rig-all.toml" >/dev/null
    "$RANLAB" bench run "$rig.toml" --quick --fresh --out "$rig" --format json >"$rig.json" 2>"$rig.err" || true
    python3 - "$rig" <<'P' || { cat "$rig.err"; failed=1; }
import csv, json, sys
rig = sys.argv[1]
result = json.load(open(f"{rig}.json"))
outcomes = [point["outcome"] for point in result["points"]]
measured = sum(outcome in ("ok", "degraded", "misses_budget", "overloaded") for outcome in outcomes)
rows = [row for row in csv.reader(open(f"{rig}/figure-1.csv"))][1:]
print(f"{rig}: {measured} of {len(outcomes)} points measured, {len(rows)} in the first figure")
assert measured >= 2 and len(rows) >= 2, (rig, outcomes, [point["reason"] for point in result["points"]])
P
done
((failed == 0))
echo "the starter scenario of every rig draws a figure"
