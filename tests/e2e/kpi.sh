#!/usr/bin/env bash
# Tests the KPIs at /metrics. Their values equal those of the radio model, the number of series is limited, and InfluxDB
# lines contain the same values. If Debian's Prometheus is installed, each query of the dashboard returns data, and a query
# for each family of KPIs returns the values of the radio model.
set -euo pipefail
root=$(cd "$(dirname "$0")/../.." && pwd)
. "$(dirname "$0")/started.sh"
# Checks the dashboard, as far as this is possible without Grafana. Its queries are run below.
python3 "$root/tests/e2e/grafana.py" "$root/docs/how-to/grafana-dashboard.json" >queries.txt
command -v curl >/dev/null || { echo "curl is not installed"; exit 77; }

# A substitute for an InfluxDB server, which stores received lines.
python3 - >influx.txt 2>influx.err <<'P' &
import http.server
class Influx(http.server.BaseHTTPRequestHandler):
    def do_POST(self):
        open("lines.txt", "ab").write(self.rfile.read(int(self.headers["content-length"])))
        self.send_response(204)
        self.end_headers()
    def log_message(self, *_):
        pass
server = http.server.HTTPServer(("127.0.0.1", 0), Influx)
print(server.server_port, flush=True)
server.serve_forever()
P
started+=($!)
for _ in $(seq 100); do [[ -s influx.txt ]] && break || sleep 0.05; done
"$RANLAB" ric --e2 "unix://$PWD/e2" --e42 "unix://$PWD/e42" --http 127.0.0.1:0 --kpi kpm,mac,pdcp,cell --period 1s \
    --publish "influx://127.0.0.1:$(cat influx.txt)/ranlab" --sm mac --duration 300s --format ndjson >ric.txt 2>ric.err &
started+=($!)
api=$(address ric.txt http)
[[ -n $api ]] || { cat ric.err; exit 1; }
# Two UEs receive 5 Mbit/s each, and the cell has a capacity of 10 Mbit/s.
"$RANLAB" emulate --connect "unix://$PWD/e2" --radio nr:106 --nodes 2 --ues 2 --flows udp:5 --sm kpm,mac --duration 300s \
    --format ndjson >fleet.txt 2>fleet.err &
started+=($!)
until curl -fsS "$api/metrics" | grep -q '^ranlab_kpi_kpm_value{'; do
    ((SECONDS < 60)) || { echo "no KPI was exported within 60 s"; curl -fsS "$api/metrics" | grep ranlab_kpi; exit 1; }
    sleep 0.2
done
! command -v promtool >/dev/null || curl -fsS "$api/metrics" | promtool check metrics

# Compares with the reports of the radio itself: MAC bytes of each UE over the same reports, at /metrics and from an
# xApp.
"$RANLAB" xapp monitor --connect "unix://$PWD/e42" --sm mac --period 1s --duration 12s --format ndjson >xapp.txt &
monitor=$!
python3 - "$api" <<'P'
import json, re, sys, time, urllib.request
def scrape():
    text = urllib.request.urlopen(sys.argv[1] + "/metrics").read().decode()
    series = {}
    for line in text.splitlines():
        if line.startswith("ranlab_kpi"):
            name, value = line.rsplit(" ", 1)
            series[name] = float(value)
    return time.monotonic(), series
of = lambda series, name: {k: v for k, v in series.items() if k.startswith(name + "{")}
begin, first = scrape()
time.sleep(10)
end, last = scrape()
tbs = of(last, "ranlab_kpi_mac_dl_aggr_tbs_total")
assert len(tbs) == 4 and all('ue="' in name and 'node="gnb 505.01' in name for name in tbs), tbs
# The radio carries 5 Mbit/s per UE. Reports arrive every second, so ten seconds contain ten periods, plus or minus one.
for name, value in tbs.items():
    mbps = (value - first[name]) * 8e-6 / (end - begin)
    assert 4.4 < mbps < 6.2, (name, mbps)
thp = {n: v for n, v in of(last, "ranlab_kpi_kpm_value").items() if 'measurement="DRB.UEThpDl"' in n}
print("KPM", thp)
assert thp and all(v > 4000 for v in thp.values()), thp
assert last["ranlab_kpi_series"] == sum(1 for n in last if "{" in n) and last["ranlab_kpi_series_left_out"] == 0
json.dump({n: v for n, v in last.items()}, open("last.json", "w"))
P
wait "$monitor"
python3 - <<'P'
# InfluxDB lines must contain the values of /metrics. The counter grows, so the exported value is among them.
import json, re
last = json.load(open("last.json"))
fields = {}
for line in open("lines.txt"):
    head, values, when = re.match(r"((?:\\.|[^ ])*) (\S+) (\d+)$", line).groups()
    assert head.startswith("ranlab_") and len(when) == 19, line
    if head.startswith("ranlab_mac,"):
        fields.setdefault(head, set()).add(dict(pair.split("=") for pair in values.split(","))["dl_aggr_tbs"])
assert len(fields) == 4, fields.keys()
for name, value in last.items():
    if name.startswith("ranlab_kpi_mac_dl_aggr_tbs_total{"):
        node, ue = re.search(r'node="([^"]*)",ue="(\d+)"', name).groups()
        head = "ranlab_mac,node=" + node.replace(" ", "\\ ") + ",ue=" + ue
        assert str(int(value)) in fields[head], (name, value, sorted(fields[head])[-3:])
print(sum(map(len, fields.values())), "lines have the values of /metrics")
P

# The number of series stays at the limit, and further series are counted.
"$RANLAB" ric --e2 "unix://$PWD/f2" --e42 "unix://$PWD/f42" --http 127.0.0.1:0 --kpi mac --kpi-series 50 --period 1s --duration 120s \
    --format ndjson >small.txt 2>small.err &
started+=($!)
small=$(address small.txt http)
"$RANLAB" emulate --connect "unix://$PWD/f2" --nodes 3 --ues 10 --sm mac --duration 120s >many.txt 2>&1 &
started+=($!)
until (($(curl -fsS "$small/metrics" | sed -n 's/^ranlab_kpi_series_left_out //p') > 0)); do ((SECONDS < 120)) || exit 1; sleep 0.2; done
[[ $(curl -fsS "$small/metrics" | grep -c '^ranlab_kpi_mac') == 50 ]] || { echo "the RIC does not export exactly the allowed 50 series"; exit 1; }

# Prometheus evaluates the queries of the dashboard.
command -v prometheus >/dev/null && command -v promtool >/dev/null ||
    { echo "values and limit are correct; the dashboard's queries were skipped: prometheus is not installed"; exit 77; }
cat >prometheus.yml <<C
global: { scrape_interval: 1s }
scrape_configs: [{ job_name: ric, static_configs: [{ targets: ["${api#http://}"] }] }]
C
port=$(python3 -c 'import socket; s = socket.socket(); s.bind(("127.0.0.1", 0)); print(s.getsockname()[1])')
prometheus --config.file=prometheus.yml --storage.tsdb.path=data --web.listen-address="127.0.0.1:$port" >prometheus.txt 2>&1 &
started+=($!)
# The radio of this cell prints its counters. One UE has a constant load, and one always has data to receive.
"$RANLAB" emulate --connect "unix://$PWD/e2" --first 9 --nodes 1 --ues 2 --radio nr:106 --flows 1=udp:5 --flows 2=full \
    --sm kpm,mac,pdcp,cell --duration 300s --format ndjson >model.txt 2>model.err &
started+=($!)
while read -r query; do
    for _ in $(seq 60); do
        promtool query instant "http://127.0.0.1:$port" "$query" >answer.txt 2>error.txt && [[ -s answer.txt ]] && break
        sleep 0.5
    done
    [[ -s answer.txt ]] || { echo "no data: $query: $(cat error.txt)"; exit 1; }
done <queries.txt
echo "$(wc -l <queries.txt) queries of the dashboard return data"
# Compares families of KPIs with the radio.
python3 "$root/tests/e2e/kpi_model.py" "http://127.0.0.1:$port" model.txt
