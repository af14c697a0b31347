#!/usr/bin/env bash
# Tests rig `base-station` with a base station that is started from a profile, without reports and with KPM reports of two
# periods. The reports reach the xApp and cost CPU time, and the process of the base station is metered. A base station
# that never connects is reported as a failure of the system, with the reason.
set -euo pipefail
holds() { python3 -c 'import json, sys; r = json.load(open(sys.argv[1])); assert eval(sys.argv[2]), (sys.argv[2], r)' "$@"; }
port=$((20000 + RANDOM % 10000))
cat >gnb.toml <<'T'
name = "own-gnb"
title = "A base station of a third party"
version = "1"
[fill.program]
about = "program"
[fill.e2]
about = "address of the RIC"
[run]
start = ["{program}", "emulate", "--connect", "{e2}", "--ues", "4", "--sm", "kpm"]
each = "repeat"
[dialect]
e2ap = ["2.03"]
T
cat >own.toml <<T
title = "CPU time that reports add to a base station"
rig = "base-station"
[sut]
agent = "external"
peer = "./gnb.toml"
fill = ["program=$RANLAB", "e2=tcp://127.0.0.1:$port"]
[controller]
e2 = "tcp://127.0.0.1:$port"
[sweep]
mode = "joint"
[sweep.axes]
"load.sm" = [[], ["kpm"], ["kpm"]]
"load.period" = ["1s", "1s", "10ms"]
[measure]
duration = "2s"
repeats = 1
[host]
when_noisy = "warn"
T
echo "== without reports, each second, each 10 ms"
"$RANLAB" bench run own.toml --allow-commands --fresh --out out --format json >out.json
holds out.json '[p["outcome"] for p in r["points"]] == ["ok"] * 3'
metric='[p["metrics"]["reports_per_s"]["mean"] for p in r["points"]]'
holds out.json "(lambda none, slow, fast: none == 0 and slow > 0 and 70 < fast / slow < 130)(*$metric)"
holds out.json 'all(p["metrics"]["sut.rss_mb"]["mean"] > 1 for p in r["points"])'
echo "== a key of ranlab's radio is refused, since the base station has its own"
"$RANLAB" bench check own.toml --set load.radio=lte:25 >refused.txt 2>&1 || true
grep -q '`load.radio` configures' refused.txt
echo "== a base station that never connects"
sed '/^\[sweep\]/,/^"load.period"/d' own.toml >one.toml
if "$RANLAB" bench run one.toml --allow-commands --fresh --out away --set controller.e2=tcp://127.0.0.1:$((port + 1)) --format json >away.json; then exit 1; fi
holds away.json '["all E2 nodes of the base station connected" in p["reason"] for p in r["points"]] == [True]'
