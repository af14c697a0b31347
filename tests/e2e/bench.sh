#!/usr/bin/env bash
# Tests `bench` on the command line: the steps of a new user, a campaign that is killed and resumed, and faults.
set -euo pipefail
here=$(cd "$(dirname "$0")/../.." && pwd)

expect() {
    local code=$1 got=0
    shift
    "$RANLAB" "$@" >out.txt 2>err.txt || got=$?
    [[ $got == "$code" ]] || { echo "ranlab $* exited with $got instead of $code"; cat out.txt err.txt; exit 1; }
}

echo "-- first steps of a new user: new, edit two lines, run, report"
"$RANLAB" bench new controller >my.toml
sed -i 's/^"load.nodes" = .*/"load.nodes" = [1, 2]/; s/^ues = .*/ues = 4/' my.toml
expect 0 bench check my.toml
grep -q 'load.ues *4' out.txt
expect 0 bench run my.toml --quick --format json
python3 - <<'P'
import json
result = json.loads(open("out.txt").read())
keys = {"campaign", "report", "points", "expects", "counts", "behaviour", "headline", "warnings"}
assert set(result) == keys, set(result)
for point in result["points"]:
    assert point["outcome"] in ("ok", "degraded", "misses_budget", "overloaded"), point
    metric = point["metrics"]["indications_per_s"]
    assert set(metric) >= {"mean", "ci95", "interval", "n", "unit"} and metric["mean"] > 0, metric
    assert point["metrics"]["sut.rss_mb"]["mean"] > 0
    assert point["metrics"]["latency_us_n"]["mean"] > 0
    # Messages, bytes and packets are counted separately per direction: reports arrive, TCP acknowledgements
    # leave.
    of = lambda name: point["metrics"][name]["mean"]
    assert abs(of("e2_rx_messages_per_s") / metric["mean"] - 1) < 0.5, point["metrics"]
    assert of("e2_rx_packets_per_s") >= of("e2_rx_data_packets_per_s") > 0 and of("e2_rx_kbps") > 0
    assert of("e2_tx_packets_per_s") > of("e2_tx_messages_per_s") and of("e2_tx_data_packets_per_s") < of("e2_tx_packets_per_s")
    assert of("e42_tx_messages_per_s") > 0 and of("e42_tx_kbps") > of("e42_rx_kbps")
    assert of("sut.pss_mb") > 0
open("my.json", "w").write(json.dumps(result))
page = open(result["report"]).read()
assert "quick" in page.lower() and 'id="data"' in page and "http://" not in page.replace("http://www.w3.org", "")
print(len(result["points"]), "points,", len(page), "bytes of report")
P
expect 0 bench query results/my.quick "SELECT count(*) AS n FROM repeats" --csv
[[ $(tail -n 1 out.txt) -ge 2 ]]
expect 0 bench compare results/my.quick results/my.quick --metric indications_per_s
expect 0 bench report results/my.quick --out again --csv --parquet
[[ -s again/report.html ]]
# A report that is drawn again still names the command that measured its results.
grep -q '"command":"ranlab bench run my.toml' again/report.html
for table in points repeats series distributions; do
    [[ -s again/tables/$table.csv && $(head -c 4 again/tables/$table.parquet) == PAR1 ]] || { echo "table $table is missing"; exit 1; }
done
grep -q 'again/tables/points.parquet' out.txt

echo "-- round trips, one hop and two, over Unix sockets"
"$RANLAB" bench new e2-rtt >rtt.toml
for path in iapp xapp; do
    expect 0 bench run rtt.toml --quick --set load.path=$path --set sut.transport=unix --set sweep.mode=none \
        --out "results/$path" --format json
    python3 -c '
import json
metrics = json.load(open("out.txt"))["points"][0]["metrics"]
assert metrics["pings_per_s"]["mean"] > 100, metrics["pings_per_s"]
assert metrics["loss_ratio"]["mean"] == 0
# Messages are counted on any socket, but packets only on TCP sockets.
assert metrics["e2_tx_messages_per_s"]["mean"] > 100 and "e2_tx_packets_per_s" not in metrics
# The byte count of the base station equals that of the codec.
up = metrics["e2_kbps_up"]["mean"] / metrics["e2_rx_messages_per_s"]["mean"] * 1000 / 8
assert abs(up / metrics["e2_bytes_per_indication"]["mean"] - 1) < 0.1, up
'
done

echo "-- killed and resumed: every repeat once, with the same results"
cat >mock.toml <<'T'
title = "a law"
rig = "mock"
[load]
takes = "60ms"
[sweep.axes]
"load.workers" = [1, 2, 3, 4, 5, 6, 7, 8, 9, 10]
[measure]
repeats = 3
T
expect 0 bench run mock.toml --out whole --format json
for cut in 0.3 0.5 1.0; do
    "$RANLAB" bench run mock.toml --out cut >/dev/null 2>&1 &
    pid=$!
    sleep $cut
    kill -9 $pid
    wait $pid 2>/dev/null || true
done
expect 0 bench run mock.toml --out cut
grep -q 'are already measured' err.txt
sql="SELECT point, repeat, metric, value FROM results ORDER BY point, repeat, metric"
"$RANLAB" bench query whole "$sql" --csv >whole.csv
"$RANLAB" bench query cut "$sql" --csv >cut.csv
cmp whole.csv cut.csv

echo "-- progress bar with remaining time on a terminal, plain lines otherwise"
script -qec "'$RANLAB' bench run mock.toml --out terminal" /dev/null </dev/null >terminal.txt
grep -q 'about .* left' terminal.txt && grep -q $'\x1b' terminal.txt
"$RANLAB" bench run mock.toml --out pipe >/dev/null 2>lines.txt
[[ $(grep -c ' left)$' lines.txt) == 30 ]] || { echo "expected one line per repeat"; cat lines.txt; exit 1; }
if grep -q $'\x1b' lines.txt; then echo "colour codes in a pipe"; exit 1; fi

echo "-- a killed campaign leaves no process behind"
"$RANLAB" bench run my.toml --quick --fresh --set measure.duration=1s >/dev/null 2>&1 &
pid=$!
for _ in $(seq 100); do
    children=$(pgrep -P $pid -f ' worker' || true)
    [[ -n $children ]] && break
    sleep 0.05
done
[[ -n $children ]] || { echo "no worker started"; exit 1; }
kill -9 $pid
wait $pid 2>/dev/null || true
for _ in $(seq 100); do
    kill -0 $children 2>/dev/null || break
    sleep 0.1
done
kill -0 $children 2>/dev/null && { echo "a worker outlived its campaign"; exit 1; }

echo "-- Ctrl-C keeps completed repeats"
got=0
# The command runs in the foreground. Otherwise the signal would arrive twice, at the process and at its group, and the
# second signal would end the process immediately.
timeout --foreground --preserve-status -s INT 1 "$RANLAB" bench run mock.toml --set load.takes=300ms --out ctrl-c >out.txt 2>err.txt || got=$?
[[ $got == 130 ]] || { echo "after Ctrl-C, the exit code is $got instead of 130"; cat err.txt; exit 1; }
grep -q 'continues from here' err.txt

echo "-- a stored result opens like a campaign, and is stale without a behaviour version"
stored=$here/docs/results/marc/table2.json
expect 0 bench report "$stored" --out stored --format json
python3 - "$stored" <<'P'
import json, sys
result = json.loads(open("out.txt").read())
assert result["campaign"].endswith("table2.json") and len(result["points"]) == 6, result["points"]
# Results without a behaviour version may not represent the current version.
if "behaviour" not in json.load(open(sys.argv[1])):
    assert {e["verdict"] for e in result["expects"]} == {"stale"}, result["expects"]
    assert all("not state the version of the rig" in e["reason"] for e in result["expects"])
P
[[ -s stored/report.html ]]
expect 0 bench query "$stored" "SELECT value FROM results WHERE metric = 'rx_mbps' AND label = 'sut.type=flexran load.nodes=10'" --csv
[[ $(tail -n 1 out.txt) == 13.2* ]] || { echo "the printed mean is not the stored mean"; cat out.txt; exit 1; }
expect 0 bench query "$stored" --where '{"load.nodes": 10}' --csv
expect 0 bench compare "$stored" "$stored" --metric rx_mbps
grep -q 'the same constant on both sides' out.txt
expect 2 bench report "$stored" --csv --out stored
expect 0 bench query my.json "SELECT count(*) FROM points" --csv

echo "-- errors"
for file in "$here"/crates/base/campaign/tests/malformed/*.toml; do
    expect 2 bench check "$file"
    [[ -s err.txt ]]
done
expect 2 bench run nothing.toml
expect 2 bench new controler
grep -q 'allowed are' err.txt
expect 2 bench run my.toml --quick --set load.node=3
grep -q 'load.nodes' err.txt
expect 2 bench query my.toml "SELECT 1"
expect 2 bench query results/my.quick "DELETE FROM repeats"
expect 2 bench run mock.toml --out whole --set load.rate=1
grep -q -- '--fresh' err.txt
expect 3 bench run my.toml --quick --out nowhere --set load.at=tcp://127.0.0.1:1
grep -q 'no worker listens' out.txt err.txt

echo "-- remote worker: over TCP, and over ssh, replaced by a script"
"$RANLAB" worker --listen 127.0.0.1:0 --format ndjson >worker.txt &
worker=$!
trap 'kill $worker 2>/dev/null || true' EXIT
for _ in $(seq 100); do [[ -s worker.txt ]] && break; sleep 0.05; done
place=$(sed -n 's/.*"address":"\([^"]*\)".*/\1/p' worker.txt)
mkdir -p bin
cat >bin/ssh <<T
#!/usr/bin/env bash
# ssh -o X -o Y -- HOST PROGRAM worker
while [[ \$1 != -- ]]; do shift; done
echo "\$2" >>"$PWD/ssh-hosts.txt"
exec "$RANLAB" "\${@:4}"
T
chmod +x bin/ssh
PATH=$PWD/bin:$PATH expect 0 bench run my.toml --quick --out far --set "load.at=$place" --set xapp.at=ssh://lab7 --format json
grep -q lab7 ssh-hosts.txt
python3 -c '
import json
for point in json.load(open("out.txt"))["points"]:
    metrics = point["metrics"]
    assert metrics["indications_per_s"]["mean"] > 0
    assert 0 < metrics["clock_error_us"]["mean"] < 1e6, metrics["clock_error_us"]
    # The clock drift is within the clock error.
    assert abs(metrics["clock_drift_us"]["mean"]) <= metrics["clock_error_us"]["mean"], metrics["clock_drift_us"]
'
expect 2 bench check my.toml --set "load.at=$place,nowhere"
grep -q '"nowhere" is not a worker location' err.txt
expect 0 bench check my.toml --set "load.at=$place,local"
grep -q 'cannot run: point 0 .*1 base stations cannot be divided among 2 places' out.txt
expect 0 bench run my.toml --quick --out two --set "load.at=$place,local" --set 'sweep.axes.load.nodes=[2,3]' --format json
python3 -c '
import json
for point in json.load(open("out.txt"))["points"]:
    metrics = point["metrics"]
    assert metrics["nodes_lost"]["mean"] == 0 and metrics["indications_per_s"]["mean"] > 0, metrics
    assert 0 < metrics["tool.cpu_cores_busiest"]["mean"] < metrics["tool.cpu_cores"]["mean"]
'
expect 2 worker --listen 0.0.0.0:0
echo "bench: all checks passed"
