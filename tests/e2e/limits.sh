#!/usr/bin/env bash
# A RIC with the maximum number of base stations refuses further ones with a reason, reports this in its
# events, and summarises it at its end.
set -euo pipefail
"$RANLAB" ric --max-nodes 3 --e2 "unix://$PWD/a" --e42 "unix://$PWD/b" --format ndjson >ric.txt 2>ric.err &
ric=$! fleet=
trap 'kill $ric $fleet 2>/dev/null || true' EXIT
for _ in $(seq 100); do [[ -S b ]] && break; sleep 0.05; done
# One base station is refused with a reason. Further connections are closed.
"$RANLAB" emulate --connect "unix://$PWD/a" --nodes 9 --ues 1 --duration 60s >/dev/null 2>&1 &
fleet=$!
for _ in $(seq 100); do
    grep -q 'the maximum of 3 connected nodes is reached' ric.txt && grep -q 'the connection is closed, because' ric.txt && break
    sleep 0.1
done
[[ $(grep -c '"+ gnb' ric.txt) == 3 ]] || { echo "the RIC does not report three base stations"; cat ric.txt; exit 1; }
kill -INT $ric
wait $ric
grep -q 'were refused, because 3 base stations are connected; --max-nodes sets the limit' ric.err || { cat ric.txt ric.err; exit 1; }
tail -n 1 ric.txt | grep -q '"nodes":3,"setups":3,"refused":[1-9]' || { tail -n 1 ric.txt; exit 1; }
echo "the limit is kept and reported to all base stations"
