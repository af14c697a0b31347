#!/usr/bin/env bash
# Tests A1 policies. A non-real-time RIC creates them. An xApp reads them from the shared store, receives their changes
# as messages of a topic, and reports that it enforces them.
set -euo pipefail
. "$(dirname "$0")/started.sh"
command -v curl >/dev/null || { echo "curl is not installed"; exit 77; }
chmod 0755 .
mkdir types
echo '{"policySchema": {"type": "object", "properties": {"prbs": {"type": "integer", "minimum": 0, "maximum": 100}},
    "additionalProperties": false, "required": ["prbs"]}}' >types/quota_1.0.0.json
"$RANLAB" ric --e2 "unix://$PWD/e2" --e42 "unix://$PWD/e42" --http 127.0.0.1:0 --a1-types types --duration 60s --format ndjson >ric.txt &
started+=($!)
api=$(address ric.txt http)
# asks METHOD PATH STATUS [BODY]: sends a request and checks the status; the response is in answer.txt.
asks() {
    local code
    code=$(curl -sS -m 10 -X "$1" -o answer.txt -w '%{http_code}' -H 'content-type: application/json' ${4:+-d "$4"} "$api$2")
    [[ $code == "$3" ]] || { echo "$1 $2 returned $code instead of $3"; cat answer.txt; exit 1; }
}
says() { grep -qF "$1" answer.txt || { echo "the response lacks $1:"; cat answer.txt; exit 1; }; }

curl -sSN -m 50 "$api/v1/topics/a1/quota_1.0.0" >heard.txt &
started+=($!)
policies=/A1-P/v2/policytypes/quota_1.0.0/policies
asks GET /A1-P/v2/policytypes 200; says '["quota_1.0.0"]'
asks PUT $policies/night 400 '{"prbs": 101}'; says '/prbs: 101 violates maximum 100'
for _ in {1..50}; do asks POST /v1/topics/a1/quota_1.0.0 200 '{"ready": true}'; ! grep -q '"listeners":1' answer.txt || break; sleep 0.1; done
asks PUT $policies/night 201 '{"prbs": 30}'
asks PUT $policies/night 200 '{"prbs": 40}'
asks GET $policies/night/status 200; says NOT_ENFORCED
asks GET /v1/kv/a1/quota_1.0.0:night 200; says '"value":{"prbs":40}'
asks PUT /v1/kv/a1-status/quota_1.0.0:night 200 '{"value": {"enforceStatus": "ENFORCED"}, "revision": 0}'
asks PUT /v1/kv/a1-status/quota_1.0.0:night 409 '{"value": {"enforceStatus": "NOT_ENFORCED"}, "revision": 0}'
asks GET $policies/night/status 200; says '{"enforceStatus":"ENFORCED"}'
asks DELETE $policies/night 204
asks GET $policies/night 404
asks GET /v1/kv/a1-status 200; says '{"keys":[]}'
for _ in {1..50}; do ! grep -q delete heard.txt || break; sleep 0.1; done
[[ $(grep -c '"event":"put"' heard.txt) == 2 && $(grep -c '"event":"delete"' heard.txt) == 1 ]] || { cat heard.txt; exit 1; }
asks GET /metrics 200; says 'ranlab_topics_published_total'
echo "policies reach xApps, and their status is reported back"
