#!/usr/bin/env bash
# Tests the demo with its page. The page is served, and the demo ends on time even while a page is open.
set -euo pipefail
. "$(dirname "$0")/started.sh"
command -v curl >curl.txt || { echo "curl is not installed"; exit 77; }

"$RANLAB" demo --web --nodes 3 --ues 2 --period 100ms --duration 5s --format json >demo.json 2>demo.err &
demo=$!
started+=("$demo")
for _ in {1..600}; do grep -q 'the page: ' demo.err && break || sleep 0.1; done
page=$(sed -n 's/^ *the page: //p' demo.err)
curl -fsS "${page}" >page.html
grep -q '<title>ranlab RIC' page.html
curl -sSN "${page}v1/overview" >overview.txt 2>curl.err &
listener=$!
started+=("$listener")
for _ in {1..100}; do grep -q '"begin":true' overview.txt && break || sleep 0.1; done
kill -STOP "$listener"
wait "$demo"
kill -CONT "$listener"
kill "$listener" 2>curl.err || true
grep -q '"begin":true' overview.txt
grep -q '"nodes":3' demo.json || { cat demo.json; exit 1; }
