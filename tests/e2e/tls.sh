#!/usr/bin/env bash
# Tests tls://. A RIC, base stations and an xApp authenticate each other by certificates. A peer without a valid certificate
# is refused with a reason. So is a base station that is not on the list, or whose certificate is not the one on the list.
set -euo pipefail
source "$(dirname "$0")/started.sh"
"$RANLAB" ric --help | grep -q -- --tls-key || { echo "this program was built without the feature tls"; exit 77; }

"$RANLAB" tls init lab --name 127.0.0.1
"$RANLAB" tls issue lab gnb-1 --name gnb-1.lab
"$RANLAB" tls init others
"$RANLAB" tls issue others stranger --name gnb-1.lab
mv others/stranger.* lab
[[ $(stat -c %a lab/gnb-1.key) == 600 ]]
# Existing files are not replaced. OpenSSL accepts the certificates that were created.
if "$RANLAB" tls issue lab gnb-1 2>refused.txt; then exit 1; fi
grep -q 'File exists' refused.txt
if command -v openssl >/dev/null; then
    openssl verify -CAfile lab/authority.pem lab/ric.pem lab/node.pem lab/xapp.pem lab/gnb-1.pem
fi
as() { local who=$1; shift; "$RANLAB" "$@" --tls-certificate "lab/$who.pem" --tls-key "lab/$who.key" --tls-authority "${authority:-lab}/authority.pem"; }

as ric ric --e2 tls://127.0.0.1:0 --e42 tls://127.0.0.1:0 --admit "gnb 505.01 1@gnb-1.lab,gnb 505.01 2@gnb-2.lab" --duration 90s --format ndjson \
    >ric.txt 2>ric.err &
started+=($!)
e2=$(address ric.txt e2)
e42=$(address ric.txt e42)
[[ $e2 == tls://127.0.0.1:* ]] || { cat ric.txt ric.err; exit 1; }

as gnb-1 emulate --connect "$e2" --ues 3 --duration 90s --format ndjson >emulate.txt 2>&1 &
started+=($!)
for _ in $(seq 200); do grep -q '"alive":1' emulate.txt && break; sleep 0.05; done
grep -q '+ gnb 505.01 1 from tls://127.0.0.1:[0-9]* as gnb-1.lab' ric.txt
as xapp xapp ping --connect "$e42" --count 200 --format json >ping.json
python3 -c 'import json; told = json.load(open("ping.json")); assert told["received"] == 200, told'

# The second base station is on the list, but with another certificate. The third is not on the list.
for index in 2 3; do
    as gnb-1 emulate --connect "$e2" --first $((index - 1)) --ues 3 --duration 2s >"refused$index.txt" 2>&1 || true
    grep -q "gnb 505.01 $index is not on the list" ric.txt
done
[[ $(grep -c '"+ gnb' ric.txt) == 1 ]]

refused() {
    local words=$1; shift
    if "$@" >refused.txt 2>&1; then cat refused.txt; exit 1; fi
    grep -q "$words" refused.txt || { cat refused.txt; exit 1; }
}
refused "the authority of our certificate is unknown to the peer" as stranger xapp ping --connect "$e42" --count 1
authority=others refused "signed by an unknown authority" as xapp xapp ping --connect "$e42" --count 1
refused "does not contain the name in the address" as xapp xapp ping --connect "tls://localhost:${e42##*:}" --count 1
refused "TLS needs a certificate" "$RANLAB" xapp ping --connect "$e42" --count 1
refused "belong together" "$RANLAB" xapp ping --connect "$e42" --count 1 --tls-key lab/xapp.key
refused "nobody.pem" as nobody xapp ping --connect "$e42" --count 1
# Other connections are not affected.
as xapp xapp ping --connect "$e42" --count 50 --format json >ping.json
