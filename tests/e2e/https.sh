#!/usr/bin/env bash
# Tests HTTPS. Every HTTP address of a process uses HTTPS and does not answer plain HTTP. ranlab's xApps query controllers
# over HTTPS with a token. Tokens and certificates can be replaced while the program runs. A client that connects without
# a request does not delay other clients.
set -euo pipefail
source "$(dirname "$0")/started.sh"
"$RANLAB" ric --help | grep -q -- --https-key || { echo "this program was built without the feature tls"; exit 77; }
command -v curl >/dev/null || { echo "curl is not installed"; exit 77; }

"$RANLAB" tls init lab --name 127.0.0.1
"$RANLAB" tls init others --name 127.0.0.1
(umask 077 && echo 0123456789abcdef >token)
https=(--https-certificate server.pem --https-key server.key)
cp lab/ric.pem server.pem && cp lab/ric.key server.key
"$RANLAB" ric --e2 "unix://$PWD/e2" --e42 "unix://$PWD/e42" --http 127.0.0.1:0 --http-token-file token "${https[@]}" --duration 120s --format ndjson \
    >ric.txt 2>ric.err &
started+=($!)
url=$(address ric.txt http)
[[ $url == https://127.0.0.1:* ]] || { cat ric.txt ric.err; exit 1; }

# answered WANT AUTHORITY TOKEN: checks that a request returns the status WANT (000: the certificate is refused).
answered() {
    local got
    got=$(curl -s -m 10 --cacert "$2/authority.pem" -H "Authorization: Bearer $3" -o answer.txt -w '%{http_code}' "$url/v1/nodes") || true
    [[ $got == "$1" ]] || { echo "$2 $3 returned $got instead of $1"; cat ric.err; return 1; }
}
answered 200 lab 0123456789abcdef
answered 401 lab fedcba9876543210
answered 000 others 0123456789abcdef
if curl -s -m 10 "http://${url#https://}/v1/nodes" -H 'Authorization: Bearer 0123456789abcdef' | grep -q '{'; then exit 1; fi

# soon COMMAND...: retries the command until it succeeds, for at most 10 s.
soon() { for _ in $(seq 100); do ! "$@" >soon.txt || return 0; sleep 0.1; done; cat soon.txt; return 1; }
# Rotation of the token: first both tokens are valid, then only the new one. An invalid file changes nothing.
printf '0123456789abcdef\nfedcba9876543210\n' >token
soon answered 200 lab fedcba9876543210
answered 200 lab 0123456789abcdef
echo short >token
sleep 2
answered 200 lab fedcba9876543210
grep -q 'token: a token file has 1 to 4 lines' ric.err
echo fedcba9876543210 >token
soon answered 401 lab 0123456789abcdef
answered 200 lab fedcba9876543210
# Rotation of the certificate: the files are replaced while the program runs.
cp others/ric.pem server.pem && cp others/ric.key server.key
soon answered 200 others fedcba9876543210
answered 000 lab fedcba9876543210

# Some clients begin a handshake or a request and stop. Other clients are still answered, and one address has a limited
# share of connections.
python3 - "${url##*:}" <<'EOF'
import socket, sys
held = []
for _ in range(300):
    held.append(socket.create_connection(("127.0.0.1", int(sys.argv[1])), 5, ("127.0.0.3", 0)))
open("held", "w").close()
import time
time.sleep(6)
EOF
answered 200 others fedcba9876543210
curl -s -m 10 --cacert others/authority.pem -H "Authorization: Bearer fedcba9876543210" "$url/metrics" >metrics.txt
awk '$1 == "ranlab_http_connections_refused_total" { exit !($2 >= 44) }' metrics.txt

# A controller and its xApp communicate with authority and token.
"$RANLAB" controller slicing --e2 "unix://$PWD/s2" --http 127.0.0.1:0 --http-token-file token "${https[@]}" --duration 120s --format ndjson \
    >slicing.txt 2>slicing.err &
started+=($!)
rest=$(address slicing.txt http)
"$RANLAB" emulate --connect "unix://$PWD/s2" --radio nr:106 --ues 2 --duration 120s >emulate.txt 2>&1 &
started+=($!)
slice() { "$RANLAB" xapp slice --rest "$rest" --slice 1=0.6,2=0.4 "$@"; }
slice --https-authority others/authority.pem --rest-token-file token --format json >slice.json
grep -q '"nodes": *1' slice.json
refused() {
    local words=$1; shift
    if "$@" >refused.txt 2>&1; then cat refused.txt; exit 1; fi
    grep -q -- "$words" refused.txt || { cat refused.txt; exit 1; }
}
refused "needs --https-authority FILE" slice --rest-token-file token
refused "UnknownIssuer" slice --https-authority lab/authority.pem --rest-token-file token
refused "missing or invalid bearer token" slice --https-authority others/authority.pem
refused "--https-key" "$RANLAB" ric --https-certificate server.pem
refused "nobody.pem" "$RANLAB" ric --https-certificate nobody.pem --https-key server.key
# The live page also uses HTTPS.
"$RANLAB" emulate --connect "unix://$PWD/e2" --duration 60s --web 127.0.0.1:0 "${https[@]}" >page.txt 2>page.err &
started+=($!)
page() { sed -n 's|^the page: \(https://.*\)/$|\1|p' page.err | grep .; }
soon page
[[ $(curl -s -m 10 --cacert others/authority.pem "$(page)/") == *"<html"* ]]
