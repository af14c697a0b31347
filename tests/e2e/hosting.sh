#!/usr/bin/env bash
# Tests a RIC with its monitoring iApp. Rules decide which xApps are admitted, and HTTP requests reach the resources of
# iApps.
set -euo pipefail
trap 'kill $(jobs -p) 2>/dev/null || true' EXIT

# get PATH: prints status line and body of a GET; post PATH BODY.
get() { request GET "$1" ""; }
request() {
    exec 3<>"/dev/tcp/${http%:*}/${http##*:}"
    printf '%s %s HTTP/1.1\r\nHost: localhost\r\nContent-Type: application/json\r\nConnection: close\r\nContent-Length: %d\r\n\r\n%s' "$1" "$2" ${#3} "$3" >&3
    cat <&3
    exec 3>&-
}
# until_seen PATH TEXT: waits until the response contains TEXT.
until_seen() {
    for _ in $(seq 200); do
        get "$1" >answer.txt
        ! grep -qF "$2" answer.txt || return 0
        sleep 0.1
    done
    echo "timed out: GET $1 did not contain $2:"; cat answer.txt; exit 1
}
says() { grep -qF "$1" answer.txt || { echo "the response lacks $1:"; cat answer.txt; exit 1; }; }

cat >rules.toml <<'RULES'
[[rule]] # xApps of this machine may only observe
peer = "unix://*"
tenant = "observers"
subscriptions = 4
control = false
RULES
"$RANLAB" ric --e2 unix://"$PWD"/e2 --e42 unix://"$PWD"/e42 --e42 tcp://127.0.0.1:0 --http 127.0.0.1:0 \
    --iapp monitor --sm mac,rlc --period 20ms --xapps rules.toml >ric.txt &
for _ in $(seq 200); do ! grep -q '^http' ric.txt || break; sleep 0.05; done
http=$(sed -n 's#^http *http://##p' ric.txt) tcp=$(sed -n 's#^e42 *\(tcp://.*\)#\1#p' ric.txt)

"$RANLAB" emulate --connect unix://"$PWD"/e2 --nodes 2 --ues 3 --sm mac,rlc >/dev/null &
until_seen /v1/iapps '"monitor"'
until_seen /v1/iapps/monitor '"ues":3'
node=$(grep -o '"node":"[^"]*"' answer.txt | head -n 1 | cut -d '"' -f 4)
get "/v1/iapps/monitor/${node// /%20}" >answer.txt
says "HTTP/1.1 200"; says '"wb_cqi":'; says '"rnti":'; says '"rlc":'
get /v1/iapps/monitor/gnb%20nowhere >answer.txt
says "HTTP/1.1 404"; says "$node"
request POST /v1/iapps/manitor '{}' >answer.txt
says "HTTP/1.1 404"; says "monitor"

# A rule admits xApps on the Unix socket. No rule admits xApps on TCP.
"$RANLAB" xapp monitor --connect unix://"$PWD"/e42 --sm mac --format json --duration 20s >xapp.json &
until_seen /v1/iapps/xapps '"tenant":"observers"'
code=0
"$RANLAB" xapp monitor --connect "$tcp" --duration 20s >/dev/null 2>refused.txt || code=$?
[[ $code == 3 ]] && grep -q "the RIC refuses this xApp" refused.txt || { echo "exit $code for an xApp without a matching rule:"; cat refused.txt; exit 1; }

# Errors in rules name the line and the allowed values.
printf '[[rule]]\npeer = "*"\ncontrol = "never"\n' >bad.toml
code=0
"$RANLAB" ric --e2 unix://"$PWD"/x --e42 unix://"$PWD"/y --xapps bad.toml >/dev/null 2>err.txt || code=$?
[[ $code == 2 ]] && grep -q 'bad.toml: line 3: .*expected a boolean' err.txt || { echo "exit $code:"; cat err.txt; exit 1; }
echo "iApps are served over HTTP, and xApps admitted by rules"
