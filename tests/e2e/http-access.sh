#!/usr/bin/env bash
# Tests the access checks of every HTTP endpoint. Beyond loopback, no endpoint listens without a token, and none answers a
# request without it. A request with a Host or Origin of another server is rejected for every method.
set -euo pipefail
. "$(dirname "$0")/started.sh"
command -v curl >/dev/null || { echo "curl is not installed"; exit 77; }
outside=$(ip -4 -o address show scope global 2>/dev/null | sed -n 's/.*inet \([0-9.]*\).*/\1/p' | head -n 1)
[[ -n $outside ]] || { echo "this machine has no address beyond loopback"; exit 77; }
(umask 077 && echo 0123456789abcdef0123 >token)

# refused WORDS...: checks that the endpoint does not open beyond loopback without a token.
refused() {
    local code=0
    timeout 20 "$RANLAB" "$@" >out.txt 2>err.txt || code=$?
    [[ $code == 2 || $code == 3 ]] && grep -q 'token' err.txt || { echo "$*: exit $code"; cat err.txt; exit 1; }
}
own=(--e2 "unix://$PWD/r2" --duration 3s)
refused ric "${own[@]}" --e42 "unix://$PWD/r42" --http 0.0.0.0:0
for kind in slicing traffic association; do refused controller $kind "${own[@]}" --http 0.0.0.0:0; done
operators=(--tenant A:0.5:001.01@tcp://127.0.0.1:9 --tenant B:0.5:001.02@tcp://127.0.0.1:9)
refused controller virt "${own[@]}" "${operators[@]}" --http 0.0.0.0:0
refused controller flexran --listen 127.0.0.1:0 --http 0.0.0.0:0 --duration 3s
refused controller empower --listen 127.0.0.1:0 --http 0.0.0.0:0 --duration 3s
refused emulate --connect "unix://$PWD/nobody" --wait 0s --web 0.0.0.0:0
refused load upf --web 0.0.0.0:0 --duration 1s

# Every endpoint with a token, its address, and the requests of an attacker.
declare -A endpoint
serve() {
    local name=$1
    shift
    "$RANLAB" "$@" --format ndjson --duration 120s >"$name.txt" 2>"$name.err" &
    started+=($!)
    endpoint[$name]=$(address "$name.txt" http | sed 's|^http://||')
    [[ -n ${endpoint[$name]} ]] || { echo "$name does not listen"; cat "$name.err"; exit 1; }
}
beyond=(--http "$outside:0" --http-token-file token)
serve ric ric --e2 "unix://$PWD/e2" --e42 "unix://$PWD/e42" "${beyond[@]}"
serve slicing controller slicing --e2 "unix://$PWD/s2" "${beyond[@]}"
serve traffic controller traffic --e2 "unix://$PWD/t2" "${beyond[@]}"
serve association controller association --e2 "unix://$PWD/a2" "${beyond[@]}"
serve virt controller virt "${operators[@]}" --e2 "unix://$PWD/v2" "${beyond[@]}"
serve flexran controller flexran --listen 127.0.0.1:0 "${beyond[@]}"
serve empower controller empower --listen 127.0.0.1:0 "${beyond[@]}"
"$RANLAB" emulate --connect "unix://$PWD/e2" --duration 120s --web "$outside:0" --web-token-file token >page.txt 2>page.err &
started+=($!)
for _ in $(seq 200); do
    endpoint[page]=$(sed -n 's|^the page: http://\(.*\)/$|\1|p' page.err)
    [[ -z ${endpoint[page]} ]] || break
    sleep 0.05
done
[[ -n ${endpoint[page]} ]] || { cat page.err; exit 1; }

# ask STATUS... -- CURL_WORDS...: sends a request and checks that the status is one of these.
ask() {
    local want=() got
    while [[ $1 != -- ]]; do want+=("$1"); shift; done
    shift
    got=$(curl -s -m 10 -o answer.txt -w '%{http_code}' "$@") || true
    [[ " ${want[*]} " == *" $got "* ]] || { echo "$* returned $got, expected ${want[*]}"; head -c 500 answer.txt; exit 1; }
}
declare -A paths=(
    [ric]="/v1/nodes /v1/subscriptions /v1/control /metrics /v1/overview /openapi.json /v1/kv/a/b"
    [slicing]="/v1/nodes /v1/policy /metrics" [traffic]="/v1/nodes /v1/events /metrics"
    [association]="/v1/nodes /v1/policy" [virt]="/v1/tenants /v1/nodes"
    [flexran]="/stats_manager/all /dl_sched/1 /rrm_config /slice/enb/0 /v1/counters /healthz"
    [empower]="/api/v1/vbses /v1/counters /healthz" [page]="/v1/stream /metrics /v1/document /v1/actions/stop"
)
json=(-H 'content-type: application/json')
bearer=(-H 'authorization: Bearer 0123456789abcdef0123')
asked=0
for name in "${!endpoint[@]}"; do
    at=http://${endpoint[$name]}
    for path in ${paths[$name]}; do
        for method in GET POST PUT DELETE PATCH OPTIONS; do
            body=()
            [[ $method == GET ]] || body=("${json[@]}" -d '{}')
            ask 401 -- -X $method "${body[@]}" "$at$path"
            ask 401 -- -X $method "${body[@]}" -H 'authorization: Bearer 0123456789abcdef0124' "$at$path"
            ask 421 -- -X $method "${body[@]}" "${bearer[@]}" -H 'Host: evil.example' "$at$path"
            ask 403 -- -X $method "${body[@]}" "${bearer[@]}" -H 'Origin: http://evil.example' "$at$path"
            asked=$((asked + 4))
        done
        ask 401 -- --head "$at$path"
        ask 421 -- --head "${bearer[@]}" -H 'Host: evil.example' "$at$path"
    done
    # A DNS name of an attacker that resolves to this address is rejected. The token grants access.
    ask 421 -- "${bearer[@]}" --resolve "rebound.example:${at##*:}:$outside" "http://rebound.example:${at##*:}/v1/nodes"
done
ask 200 -- "${bearer[@]}" "http://${endpoint[ric]}/v1/nodes"
ask 200 -- "${bearer[@]}" "http://${endpoint[flexran]}/v1/counters"
ask 200 -- "${bearer[@]}" "http://${endpoint[page]}/metrics"
# A probe without a token learns only that the process responds.
ask 200 -- "http://${endpoint[ric]}/healthz"
[[ $(cat answer.txt) == '{"status":"ok"}' ]] || { cat answer.txt; exit 1; }
ask 200 -- "http://${endpoint[ric]}/readyz"
[[ $(cat answer.txt) == '{"status":"ready"}' ]] || { cat answer.txt; exit 1; }
ask 405 -- -X POST "http://${endpoint[ric]}/readyz"

# On loopback no token is needed. A page of a third party still cannot send commands.
serve near controller flexran --listen 127.0.0.1:0 --http 127.0.0.1:0
at=http://${endpoint[near]}
ask 200 -- "$at/v1/counters"
for method in GET POST PUT DELETE; do
    ask 421 -- -X $method -H 'Host: evil.example' "$at/stats_manager/all"
    ask 403 -- -X $method -H 'Origin: http://evil.example' "$at/rrm_config"
done
echo "$asked unauthorized requests to ${#endpoint[@]} endpoints: all refused"
