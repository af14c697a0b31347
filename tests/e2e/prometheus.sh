#!/usr/bin/env bash
# Debian's Prometheus scrapes a RIC, base stations, a load generator and a campaign. Each query of
# docs/how-to/prometheus-grafana.md returns a sample.
set -euo pipefail
root=$(cd "$(dirname "$0")/../.." && pwd)
for tool in prometheus promtool curl; do
    command -v "$tool" >/dev/null || { echo "$tool is not installed (Debian: prometheus, curl)"; exit 77; }
done
. "$(dirname "$0")/started.sh"
# page FILE: prints the address of the page of a verb, whose stderr is in FILE.
page() {
    local found=
    for _ in $(seq 200); do
        found=$(sed -n 's|^the page: http://\(.*\)/$|\1|p' "$1")
        [[ -z $found ]] || break
        sleep 0.05
    done
    echo "$found"
}

"$RANLAB" ric --e2 tcp://127.0.0.1:0 --e42 tcp://127.0.0.1:0 --http 127.0.0.1:0 --threads 2 --kpi mac,kpm --period 1s --duration 120s --format ndjson >ric.txt &
started+=($!)
ric=$(address ric.txt http)
"$RANLAB" emulate --connect "$(address ric.txt e2)" --nodes 3 --ues 2 --sm mac,rlc,kpm --duration 120s --web >fleet.txt 2>fleet.err &
started+=($!)
"$RANLAB" xapp monitor --connect "$(address ric.txt e42)" --period 100ms --duration 120s --totals >monitor.txt &
started+=($!)
"$RANLAB" upf --n4 127.78.9.8:8805 --n3 127.78.9.8:2152 --n6 udp://127.78.9.8:2153,127.78.9.10:2153 --duration 120s >upf.txt &
started+=($!)
cat >campaign.toml <<'T'
title = "a campaign that is scraped"
rig = "controller"
[load]
ues = 1
period = "100ms"
[host]
when_noisy = "warn"
[measure]
duration = "2s"
warm_up = "100ms"
repeats = 20
T
"$RANLAB" bench run campaign.toml --out campaign --web >bench.txt 2>bench.err &
started+=($!)
sleep 1
"$RANLAB" load upf --n4 127.78.9.8:8805 --n3 127.78.9.8:2152 --smf 127.78.9.1:8805 --gnb 127.78.9.2:2152 --n6 udp://127.78.9.10:2153,127.78.9.8:2153 --mode mixed --sessions 20 \
    --arrivals constant --rate 50 --hold 100ms --uplink 200 --reflect-every 1 --duration 60s --web >load.txt 2>load.err &
started+=($!)

fleet=$(page fleet.err) load=$(page load.err) bench=$(page bench.err)
[[ -n $ric && -n $fleet && -n $load && -n $bench ]] || { cat fleet.err load.err bench.err; exit 1; }
for target in "$ric" "http://$fleet" "http://$load" "http://$bench"; do
    curl -fsS "$target/metrics" | promtool check metrics || { echo "$target/metrics is invalid"; exit 1; }
done
# Uses the configuration in the page. Only addresses and the interval are replaced.
awk '/^```yaml$/ { on = 1; next } /^```$/ { on = 0 } on' "$root/docs/how-to/prometheus-grafana.md" |
    sed -e "s/127.0.0.1:8080/${ric#http://}/" -e "s/127.0.0.1:8081\"/$fleet\"/" -e "s/127.0.0.1:8082\"/$load\"/" \
        -e "s/127.0.0.1:8083\"/$bench\"/" -e 's/scrape_interval: 5s/scrape_interval: 1s/' >prometheus.yml
promtool check config prometheus.yml
port=$(python3 -c 'import socket; s = socket.socket(); s.bind(("127.0.0.1", 0)); print(s.getsockname()[1])')
prometheus --config.file=prometheus.yml --storage.tsdb.path=data --web.listen-address="127.0.0.1:$port" >prometheus.txt 2>&1 &
started+=($!)
server=http://127.0.0.1:$port
for _ in $(seq 200); do curl -fsS "$server/-/ready" >/dev/null 2>&1 && break || sleep 0.1; done

# Every line in a promql block is a query, except lines with #, which describe it. A sample needs a few scrapes.
awk '/^```promql$/ { on = 1; next } /^```$/ { on = 0 } on && !/^#/ && NF' "$root/docs/how-to/prometheus-grafana.md" >queries.txt
[[ $(wc -l <queries.txt) -ge 20 ]] || { echo "docs/how-to/prometheus-grafana.md has no queries"; exit 1; }
answered=0
while read -r query; do
    for _ in $(seq 60); do
        promtool query instant "$server" "$query" >answer.txt 2>error.txt || { echo "$query: $(cat error.txt)"; exit 1; }
        [[ ! -s answer.txt ]] || break
        sleep 0.5
    done
    [[ -s answer.txt ]] || { echo "no sample: $query"; exit 1; }
    # A query with a missing metric might return a sample only because of its `or`. Therefore each metric of the query
    # must exist.
    for name in $(grep -oE 'ranlab_[a-z0-9_]+' <<<"$query"); do
        promtool query instant "$server" "$name" >answer.txt
        [[ -s answer.txt ]] || { echo "no target exports $name"; exit 1; }
    done
    answered=$((answered + 1))
done <queries.txt
echo "$answered queries of docs/how-to/prometheus-grafana.md, each with a sample"

# Each alert can be evaluated, and each of its metrics exists. The metrics of a cluster exist only in a cluster.
alerts=$root/packaging/prometheus/alerts.yml
promtool check rules "$alerts" >checked.txt || { cat checked.txt; exit 1; }
for name in $(grep -oE 'ranlab_[a-z0-9_]+' "$alerts" | sort -u); do
    [[ $name != ranlab_bus_* ]] || continue
    promtool query instant "$server" "$name" >answer.txt
    [[ -s answer.txt ]] || { echo "no target exports $name of alerts.yml"; exit 1; }
done
