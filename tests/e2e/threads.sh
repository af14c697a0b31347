#!/usr/bin/env bash
# Tests `ric --threads` with two threads, 20 base stations, and three xApps that subscribe to all of them: controls, losses,
# and indications that bypass the main thread because only xApps receive them. Then other scripts run unchanged with a RIC
# of two threads.
set -euo pipefail
here=$(dirname "$0")
. "$here/started.sh"

"$RANLAB" ric --threads 2 --thread-load 0 --e2 tcp://127.0.0.1:0 --e2 "unix://$PWD/e2" --e42 tcp://127.0.0.1:0 --e42 "unix://$PWD/e42" \
    --http 127.0.0.1:0 --iapp monitor --duration 90s --format ndjson >ric.txt &
started+=($!)
e2=$(address ric.txt e2 | head -n 1) e42=$(address ric.txt e42 | head -n 1) api=$(address ric.txt http)
"$RANLAB" emulate --connect "$e2" --radio lte:25 --nodes 15 --ues 1 --flows full --sm mac,kpm --duration 80s >stations.txt &
started+=($!)
"$RANLAB" emulate --connect "unix://$PWD/e2" --nodes 5 --first 16 --ues 2 --sm mac --duration 80s >more.txt &
more=$!
started+=($more)
nodes() { curl -fsS "$api/v1/nodes" | grep -o "\"connected\":$1" | wc -l; }
# until_nodes COUNT STATE: waits until COUNT base stations have the state STATE (true: connected).
until_nodes() {
    for _ in {1..200}; do [[ $(nodes "$2") == "$1" ]] && return || sleep 0.05; done
    echo "$(nodes "$2") base stations have connected:$2, instead of $1"; exit 1
}
until_nodes 20 true

# Three xApps connect over TCP and a Unix socket to all base stations, and each report arrives every 100 ms. Two xApps
# request the same reports as the iApp, so the main thread also receives these reports. The third xApp has separate
# subscriptions, which bypass the main thread.
xapps=()
for n in 1 2 3; do
    at=$e42 period=100ms
    ((n < 3)) || at=unix://$PWD/e42 period=90ms
    "$RANLAB" xapp monitor --connect "$at" --sm mac --period "$period" --duration 6s --totals --format json >"xapp$n.json" &
    xapps+=($!)
done
sleep 1
"$RANLAB" xapp control --connect "$e42" --plmn 505.01 --rc-quota 1=0:20 --format ndjson >control.ndjson
grep -q '{"accepted":15,"refused":0}' control.ndjson || { cat control.ndjson; exit 1; }
passed() { sed -n "s/^ranlab_thread_passed_total{thread=\"$1\"} //p" metrics.txt; }
for _ in {1..100}; do
    curl -fsS "$api/metrics" >metrics.txt
    (($(passed 0) > 20 && $(passed 1) > 20)) && break || sleep 0.05
done
# One xApp is killed during the run. Its subscriptions end, and the other xApps lose nothing (checked below).
"$RANLAB" xapp monitor --connect "$e42" --sm kpm --duration 60s --format json >doomed.json &
doomed=$!
sleep 0.7
kill -9 "$doomed"
for pid in "${xapps[@]}"; do wait "$pid"; done
python3 - <<'P'
import json
for n in 1, 2, 3:
    told = json.load(open(f"xapp{n}.json"))
    assert told["lost"] == 0 and told["nodes"] == 20, told
    # 20 base stations send 10 reports per second for 6 s. Some time is needed for subscribing, and a busy machine may
    # lose half.
    assert told["indications"] >= 500, told
of = {}
for line in open("metrics.txt"):
    if line.startswith("ranlab_thread_"):
        name, value = line.split()
        of[name.removeprefix("ranlab_thread_")] = int(value)
# 20 base stations and three xApps are distributed evenly.
links = [of['links{thread="0"}'], of['links{thread="1"}']]
assert min(links) >= 10 and sum(links) >= 23, of
# Both paths are used, on both threads.
for thread in 0, 1:
    assert of[f'passed_total{{thread="{thread}"}}'] > 20 < of[f'crossings_total{{thread="{thread}"}}'], of
assert of['alive{thread="1"}'] == 1 and of['panics_total{thread="1"}'] == 0, of
assert of['inward_bytes_total{thread="1"}'] > 10_000 < of['outward_bytes_total{thread="1"}'], of
print("links", links, {name: value for name, value in of.items() if 'thread="1"' in name})
P

kill -9 "$more"
until_nodes 15 true
[[ $(grep -c '"event":"- gnb' ric.txt) == 5 ]] || { cat ric.txt; exit 1; }
"$RANLAB" emulate --connect "$e2" --nodes 5 --first 16 --ues 2 --sm mac --duration 60s >again.txt &
started+=($!)
until_nodes 20 true

# A substitute for the binary gives each RIC a second thread.
real=$RANLAB
printf '#!/usr/bin/env bash\n[[ $1 == ric ]] && exec %q ric --threads 2 --thread-load 0 "${@:2}"\nexec %q "$@"\n' "$real" "$real" >ranlab
chmod +x ranlab
for script in check hosting limits fluid; do
    mkdir "$script"
    (cd "$script" && RANLAB=$OLDPWD/ranlab timeout 240 "$here/$script.sh" >output.txt 2>&1) ||
        { echo "$script.sh fails with two threads:"; tail -n 20 "$script/output.txt"; exit 1; }
done
echo "two threads: same results as one thread in check, hosting, limits and fluid"
