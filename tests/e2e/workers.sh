#!/usr/bin/env bash
# Tests workers that a campaign finds through a NATS server: their list, a load that is divided among them, and a worker
# that is killed during a repeat.
set -euo pipefail
. "$(dirname "$0")/started.sh"
nats=$(command -v nats-server || echo /usr/sbin/nats-server)
[[ -x $nats ]] || { echo "nats-server is not installed; scripts/need.sh nats installs it"; exit 77; }
port=$(python3 -c 'import socket; s = socket.socket(); s.bind(("127.0.0.1", 0)); print(s.getsockname()[1])')
bus=nats://127.0.0.1:$port/lab
refused() {
    local code=0
    "$RANLAB" "${@:3}" >refused.txt 2>&1 || code=$?
    [[ $code == "$1" ]] && grep -q -- "$2" refused.txt || { echo "exit $code:"; cat refused.txt; exit 1; }
}
refused 2 "nats://HOST:PORT" worker --find http://127.0.0.1:1
# The scheme may be omitted, because only `nats` is supported.
refused 3 "no NATS server at nats://127.0.0.1:1" worker --find 127.0.0.1:1
refused 2 "--listen" worker --bus "$bus"
refused 2 "--advertise" worker --listen 0.0.0.0:0 --allow 127.0.0.1 --bus "$bus"
# The server starts after the workers and requires a password from a file. A worker without a valid file reports this.
printf 'listen: 127.0.0.1:%s\nauthorization { user: lab, password: hush }\n' "$port" >nats.conf
echo lab:hush >secret
printf 'lab:hush\nmore\n' >wrong
RANLAB_BUS_PASSWORD_FILE=wrong refused 3 "one line is expected" worker --find "$bus"
! grep -q hush refused.txt
"$RANLAB" worker --listen 127.0.0.1:0 --bus "$bus" >outsider.txt 2>&1 &
started+=($!)
export RANLAB_BUS_PASSWORD_FILE=$PWD/secret
workers=()
for n in 1 2 3; do
    "$RANLAB" worker --listen 127.0.0.1:0 --bus "$bus" >"worker-$n.txt" 2>&1 &
    workers+=($!) started+=($!)
done
"$nats" -c nats.conf >nats.log 2>&1 &
started+=($!)
found() { "$RANLAB" worker --find "$bus" --format json 2>found.err | grep -q "\"workers\":$1"; }
for _ in {1..40}; do ! found 3 || break; sleep 0.2; done
RANLAB_BUS_PASSWORD_FILE='' refused 3 "reject the credentials" worker --find "$bus"
for _ in {1..200}; do ! grep -q "does not let it in" outsider.txt || break; sleep 0.05; done
grep -q "does not let it in" outsider.txt || { cat outsider.txt; exit 1; }
found 3 || { cat found.err worker-*.txt; exit 1; }
! grep -q hush ./*.txt
refused 3 "no worker answers" worker --find "nats://127.0.0.1:$port/nobody"

"$RANLAB" bench new e2-statistics >my.toml
"$RANLAB" bench run my.toml --out out --fresh --set load.nodes=6 --set load.at="$bus" --set measure.repeats=4 --set measure.duration=1500ms \
    --set measure.warm_up=100ms --set host.when_noisy=warn --format json >out.json 2>told.txt &
campaign=$!
started+=($campaign)
# Selects a worker that runs base stations in the second repeat.
for _ in {1..400}; do ! grep -q '^1/4' told.txt || break; sleep 0.05; done
victim=${workers[1]}
held() { cat /proc/"$victim"/task/*/children; }
before=$(held)
for _ in {1..400}; do
    [[ -z $(held) || $(held) == "$before" ]] || break
    sleep 0.05
done
sleep 0.5
# shellcheck disable=SC2046
kill -9 "$victim" $(held)
wait "$campaign" || { cat told.txt; exit 1; }
[[ $(grep -c 'repeat [1-4]  ok' told.txt) == 3 ]] || { cat told.txt; exit 1; }
# If the worker was killed before it was contacted, the repeat reports this.
grep -qE 'repeat [2-4]  (invalid|unmeasurable): .*tcp://127\.0\.0\.1:[0-9]+' told.txt || { cat told.txt; exit 1; }
found 2
