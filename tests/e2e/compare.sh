#!/usr/bin/env bash
# Tests `bench compare` (differing settings are named first; thresholds and exit codes; results of other tools) and
# `bench report` of a CSV table.
set -euo pipefail

expect() {
    local code=$1 got=0
    shift
    "$RANLAB" "$@" >out.txt 2>err.txt || got=$?
    [[ $got == "$code" ]] || { echo "ranlab $* exited with $got instead of $code"; cat out.txt err.txt; exit 1; }
}
contains() {
    grep -qF -- "$1" out.txt || { echo "the output lacks: $1"; cat out.txt; exit 1; }
}

cat >before.toml <<'T'
title = "before"
rig = "mock"
[load]
rate = 100.0
[sweep.axes]
"load.workers" = [1, 2, 4, 8, 16, 32]
[measure]
repeats = 5
T
expect 0 bench run before.toml --out before
expect 0 bench run before.toml --set sut.lambda=930 --set measure.seed=9 --out after
expect 0 bench run before.toml --set measure.seed=7 --out same
expect 0 bench run before.toml --set sut.lambda=850 --set load.requests=10 --out other

echo "-- a regression among all metrics, and with a single metric"
expect 0 bench compare before after
head -n 1 out.txt | grep -q '^The campaigns differ in measure.seed (1 → 9), sut.lambda (1000 → 930)\. .*worse: throughput at [56] of 6 points'
expect 0 bench compare before after --metric throughput
head -n 1 out.txt | grep -q 'worse: throughput at [56] of 6 points'
expect 0 bench compare before same
head -n 1 out.txt | grep -q 'No difference shown (.*throughput smaller than .* cannot be detected'

echo "-- thresholds"
expect 1 bench compare before after --fail-if 'throughput < -2%'
contains 'exceeded'
expect 0 bench compare before same --fail-if 'throughput < -5%' --fail-if 'rtt_us_p99 > +80%'
expect 1 bench compare before after --fail-if 'throughput < -2%' --format json
python3 - out.txt <<'P'
import json, sys
compared = json.load(open(sys.argv[1]))
assert compared["thresholds"][0]["verdict"] == "exceeded", compared["thresholds"]
assert compared["settings"][1]["path"] == "sut.lambda" and compared["settings"][1]["intended"]
P
expect 2 bench compare before other --fail-if 'throughput < -5%'
expect 1 bench compare before other --fail-if 'throughput < -5%' --differ load
expect 2 bench compare before same --fail-if 'throughput -5%'
expect 2 bench compare before same --fail-if 'through < -5%'

echo "-- results of other tools"
echo '{"results":[{"command":"old","mean":0.10002,"times":[0.1001,0.0999,0.1003,0.0998,0.1,0.1002,0.0997,0.1001,0.1,0.1001]}]}' >a.json
echo '{"results":[{"command":"new","mean":0.10118,"times":[0.1012,0.1009,0.1015,0.101,0.1011,0.1013,0.1008,0.1014,0.1012,0.1014]}]}' >b.json
expect 0 bench compare a.json b.json
contains '4.94e-10'
contains '+1.16 %'
contains 'sut.command (old → new)'
printf 'n,throughput\n1,70.0\n16,845.92\n32,1302.93\n64,1682.19\n96,1762.85\n128,1734.55\n192,1583.56\n' >law.csv
expect 0 bench report law.csv
contains 'best n: 99.0 ('
contains 'least squares of the logarithm'
[[ -s results/law/report.html ]]
expect 0 bench report law.csv --format json
python3 - out.txt <<'P'
import json, sys
fit = json.load(open(sys.argv[1]))["laws"][0]["fit"]
assert abs(fit["usl"]["sigma"] - 0.02) < 1e-4 and fit["peak"]["type"] == "at", fit
P
printf 'threads,ops\n1,10\n2,20\n4,40\n8,80\n16,160\n' >linear.csv
expect 0 bench report linear.csv
contains 'no peak'
printf 'n,throughput\n1,x\n' >wrong.csv
expect 2 bench report wrong.csv
echo "comparisons and imports: all checks passed"
