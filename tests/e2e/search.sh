#!/usr/bin/env bash
# Tests searches with real rigs and small budgets, and the sizing of a deployment from a profile and from a campaign.
# alone: testbeds
set -euo pipefail
here=$(cd "$(dirname "$0")/../.." && pwd)

say() { # say FILE PYTHON: checks an assertion about the object that a verb printed
    python3 -c "
import json
result = json.load(open('$1'))
$2"
}

cat >knee.toml <<'T'
title = "base stations within a bound on indications"
rig = "controller"
[load]
ues = 2
period = "100ms"
[host]
when_noisy = "warn"
[search]
type = "knee"
axis = "load.nodes"
metric = "indications_per_s"
at_most = 140
min = 1
max = 6
[measure]
duration = "2s"
warm_up = "100ms"
repeats = 1
T
echo "-- knee: with 40 indications per second and base station, 3 base stations stay within 140 if the machine sends them in time"
"$RANLAB" bench run knee.toml --out knee --format json >knee.json
say knee.json '
metrics = result["points"][0]["metrics"]
load = metrics["search.load"]["mean"]
assert 2 <= load <= 6 and 0 < metrics["indications_per_s"]["mean"] <= 140, metrics
assert load == 6 or metrics["search.upper"]["mean"] == load + 1, metrics["search.upper"]
'
"$RANLAB" bench query knee "SELECT name FROM series JOIN names ON id = name_id WHERE name = 'search.tried'" --csv | grep -q tried

echo "-- without loss: the largest load passes, and the true value is reported to be above it"
sed -e 's/type = "knee"/type = "ndr"/; /^metric/d; /^at_most/d; s/^max = 6/max = 3/' knee.toml >ndr.toml
"$RANLAB" bench run ndr.toml --out ndr --format json >ndr.json
say ndr.json '
point = result["points"][0]
assert point["metrics"]["search.load"]["mean"] == 3, point
assert "the true value is above" in point["reason"], point["reason"]
'

echo "-- without loss at a UPF: a result, a limit of the generator, or the largest load passes"
cat >upf.toml <<'T'
title = "sessions of a UPF without a loss"
rig = "upf"
[sut]
n4 = "127.77.3.8:8805"
n3 = "127.77.3.8:2152"
[load]
arrivals = "constant"
t1 = "300ms"
smf = "127.77.3.1:8805"
gnb = "127.77.3.2:2152"
network = "127.77.3.10:2153"
[host]
when_noisy = "warn"
[search]
type = "ndr"
axis = "load.rate"
min = 100
max = 400_000
precision = 0.2
[measure]
duration = "1s"
repeats = 1
T
"$RANLAB" bench run upf.toml --out upf --format json >upf.json
say upf.json '
point = result["points"][0]
metrics = {name: value["mean"] for name, value in point["metrics"].items()}
assert 100 <= metrics["search.load"] <= 400_000 and metrics["loss_ratio"] == 0, point
# On a fast machine, the largest load passes, and the result states that the true value is above it.
if metrics["search.load"] > 390_000:
    assert "the true value is above" in point["reason"], point["reason"]
else:
    assert ("search.upper" in metrics) != ("search.unsent" in metrics), metrics
assert "search.unsent" not in metrics or "not the system, gave up" in point["reason"], point["reason"]
'

echo "-- a UPF with 100 us per request and three requests per session serves 3,333 sessions per second; later responses do not count"
sed -e 's/^n4 = /service = "100us"\n&/; s/^min = .*/min = 1000/; s/^max = .*/max = 10_000/; s/^precision = .*/precision = 0.1/' upf.toml >served.toml
"$RANLAB" bench run served.toml --out served --format json >served.json
say served.json '
metrics = {name: value["mean"] for name, value in result["points"][0]["metrics"].items()}
# The result is lower on a machine with other load, and never higher than the capacity of the UPF.
assert metrics.get("search.load", 0) <= 3_500, metrics
assert metrics.get("sessions_per_s", 0) <= 3_500, metrics
'

echo "-- a trial too short to show missing responses is refused, with the minimum length"
if "$RANLAB" bench check upf.toml --set load.t1=1s 2>short.err; then false; fi
grep -q 'the shortest useful `measure.duration`.* is 3s' short.err

echo "-- tuning: every combination once, the best is named"
cat >tune.toml <<'T'
title = "which build of the engine"
rig = "pipeline"
[pipeline]
name = "portfwd"
[host]
when_noisy = "warn"
[search]
type = "tune"
metric = "mpps"
trials = 4
[search.knobs]
"sut.isa" = ["wide", "baseline"]
"pipeline.decomposition" = ["block", "chain"]
[measure]
duration = "100ms"
warm_up = "20ms"
repeats = 1
T
"$RANLAB" bench run tune.toml --out tune --format json >tune.json
say tune.json '
point = result["points"][0]
assert point["metrics"]["search.trials"]["mean"] == 4, point
assert point["metrics"]["search.best"]["mean"] == point["metrics"]["mpps"]["mean"] > 0, point
assert point["reason"].startswith("best of 4 trials: ") and "sut.isa = " in point["reason"], point["reason"]
'

echo "-- sizes: a published table from its own inputs"
"$RANLAB" bench size "$here/docs/profiles/tipsy-bng-eswitch.toml" --format json >size.json
say size.json '
linear = result["linear"]
assert (linear["blades"], linear["racks"], linear["kw"], round(linear["mw_per_user"]), linear["cells"]) == (32, 2, 16, 21, 2560), linear
'
echo "-- sizes: from a point of a stored result, with its interval and the power of a blade"
"$RANLAB" bench size "$here/docs/profiles/tipsy-mgw-measured.toml" >size.txt
grep -q 'a core serves .* users (.* to .* over [0-9]* repeats' size.txt
grep -q '^least ' size.txt
grep -q '^most ' size.txt
grep -q 'costs .* a user' size.txt
grep -q 'power is unknown' size.txt || grep -q ' at [0-9.]* W' size.txt
echo "-- sides of one campaign, a picture per value of a setting"
cat >sides.toml <<'T'
title = "two builds"
rig = "mock"
[sweep.axes]
"sut.build" = ["old", "new"]
"sut.sigma" = [0.1, 0.5]
"load.workers" = [1, 4]
[measure]
repeats = 2
T
"$RANLAB" bench run sides.toml --out sides >/dev/null 2>&1
"$RANLAB" bench compare sides --first sut.build=old --second sut.build=new --metric throughput --per sut.sigma --out pictures >sides.txt
[[ $(grep -c '^picture' sides.txt) == 2 ]]
[[ -s pictures/0_1-throughput.svg && -s pictures/0_5-throughput.svg ]]
code=0
"$RANLAB" bench compare sides --first sut.build=old --second sut.build=newer 2>sides.err || code=$?
[[ $code == 2 ]]
grep -q 'is one of: new, old' sides.err
echo "-- sizes: from a campaign and an objective"
cat >sweep.toml <<'T'
title = "a queue"
rig = "mock"
[sut]
law = "queue"
service_us = 100
[load]
requests = 20000
[sweep.axes]
"load.rate" = [1000, 5000, 8000, 9500]
[measure]
repeats = 3
T
"$RANLAB" bench run sweep.toml --out sweep >/dev/null 2>&1
cat >profile.toml <<'T'
[demand]
subscribers = 1_000_000
[blade]
cores = 10
watts = 400
per_rack = 16
[capacity]
cores_per_instance = 1
[capacity.from]
campaign = "sweep"
axis = "load.rate"
users_per_load = 1
metric = "rtt_us_p50"
at_most = 600
T
"$RANLAB" bench size profile.toml >size.txt
grep -q 'rtt_us_p50 <= 600 is kept up to load.rate = 8000 .* the objective is missed at load.rate = 9500' size.txt
# 8,000 sessions used about 0.8 cores, which gives 10,000 per core and 100,000 per blade.
"$RANLAB" bench size profile.toml --format json >size.json
say size.json 'assert 9 <= result["linear"]["blades"] <= 11, result'
grep -q 'extrapolated beyond the load that was measured' size.txt

echo "-- sizes: from the result of a search, with a price"
"$RANLAB" bench run ndr.toml --out ndr >/dev/null 2>&1
cat >found.toml <<'T'
[demand]
subscribers = 1000
[blade]
cores = 10
watts = 400
per_rack = 16
price = 5000
[capacity]
cores_per_instance = 1
[capacity.from]
campaign = "ndr"
users_per_load = 2
T
"$RANLAB" bench size found.toml >size.txt
grep -q 'the objective of the search is met up to the load = 3 ' size.txt && grep -q 'costs .* a user' size.txt
sed -i 's/load.rate/load.nodes/' profile.toml
got=0; "$RANLAB" bench size profile.toml 2>err.txt || got=$?
[[ $got == 2 ]] && grep -q 'no axis "load.nodes"; it has load.rate' err.txt
echo "searches and sizes: all checks passed"
