#!/usr/bin/env bash
# Tests earlier names of settings and metrics: scenarios and stored results that use them still work, with a notice.
set -euo pipefail

notice() {
    grep -qF "notice: $1 has an earlier name: $2" err.txt || { echo "missing notice: $1 $2"; cat err.txt; exit 1; }
}

cat >earlier.toml <<'T'
title = "t"
rig = "mock"
[sut]
law = "queue"
[load]
requests = 500
rate = 500.0
[sweep.axes]
"load.most" = [1000.0, 2000.0]
[measure]
repeats = 3
[[plot]]
x = "load.most"
y = "lateness_us_p99"
[[expect]]
metric = "lateness_us_p99"
at_most = 1e9
T
sed 's/load\.most/load.rate_max/; s/lateness_us/send_delay_us/' earlier.toml >current.toml

echo "-- a scenario with earlier names has the same points"
"$RANLAB" bench check earlier.toml --format json >earlier.json 2>err.txt
notice "the scenario" '`load.most` is now `load.rate_max`'
notice "the scenario" '`lateness_us_p99` is now `send_delay_us_p99`'
"$RANLAB" bench check current.toml --format json >current.json 2>err.txt
[[ ! -s err.txt ]] || { cat err.txt; exit 1; }
python3 - <<'P'
import json
earlier, current = (json.load(open(f"{name}.json")) for name in ("earlier", "current"))
for document in (earlier, current):
    document.pop("command", None)
assert earlier["scenario"] == current["scenario"], (earlier["scenario"], current["scenario"])
assert earlier["points"] == current["points"] and earlier["points"], earlier["points"]
P

echo "-- both have the same numbers"
"$RANLAB" bench run earlier.toml --out earlier 2>err.txt
notice "the scenario" '`load.most` is now `load.rate_max`'
"$RANLAB" bench run current.toml --out current 2>err.txt
"$RANLAB" bench compare earlier current --format json >same.json 2>err.txt
python3 - <<'P'
import json
same = json.load(open("same.json"))
assert same["unmatched"] == [0, 0] and same["settings"] == [], same
assert same["rows"] and all(row["a"] == row["b"] for row in same["rows"]), same["rows"]
assert any(row["metric"] == "send_delay_us_p99" for row in same["rows"])
P
"$RANLAB" bench compare earlier current --metric lateness_us_p99 >out.txt 2>err.txt
notice "the command" '`lateness_us_p99` is now `send_delay_us_p99`'
grep -q send_delay_us_p99 out.txt

echo "-- a campaign that was stored with earlier names"
python3 - <<'P'
import sqlite3
names = {"load.rate_max": "load.most", "send_delay_us": "lateness_us"}
db = sqlite3.connect("earlier/campaign.sqlite")
for now, then in names.items():
    db.execute("UPDATE names SET name = replace(name, ?, ?)", (now, then))
    for table, column in (("points", "label"), ("points", "axes"), ("points", "settings"), ("campaign", "value")):
        db.execute(f"UPDATE {table} SET {column} = replace({column}, ?, ?)", (now, then))
db.commit()
P
"$RANLAB" bench compare earlier current --format json >stored.json 2>err.txt
notice earlier '`load.most` is now `load.rate_max`'
cmp same.json stored.json
"$RANLAB" bench query earlier "SELECT DISTINCT metric FROM results WHERE metric LIKE 'send_delay_us%'" >out.txt 2>err.txt
[[ $(wc -l <out.txt) == 9 ]] || { cat out.txt; exit 1; }
"$RANLAB" bench report earlier --out report >out.txt 2>err.txt
notice earlier '`lateness_us_p99` is now `send_delay_us_p99`'
"$RANLAB" bench run earlier.toml --out earlier 2>err.txt >out.txt
"$RANLAB" bench compare earlier current 2>err.txt >out.txt
! grep -q notice err.txt || { echo "the continued campaign still has earlier names"; cat err.txt; exit 1; }

echo "-- a stored result with earlier names"
mkdir -p scenarios
cp current.toml scenarios/t.toml
python3 - <<'P'
import json
metric = {"mean": 7.0, "ci95": 1.0, "n": 3}
points = [{"axes": {"load.most": rate}, "outcome": "ok", "metrics": {"lateness_us_p99": metric}} for rate in (1000.0, 2000.0)]
json.dump({"scenario": "t", "command": "ranlab bench run t.toml", "points": points}, open("stored-result.json", "w"))
P
"$RANLAB" bench compare stored-result.json current --format json >out.json 2>err.txt
notice stored-result.json '`load.most` is now `load.rate_max`'
python3 - <<'P'
import json
rows = json.load(open("out.json"))["rows"]
assert len(rows) == 2 and all(row["metric"] == "send_delay_us_p99" and row["a"] == 7.0 for row in rows), rows
P
