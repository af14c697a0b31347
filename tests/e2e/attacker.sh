#!/usr/bin/env bash
# The RIC hosts xApps of which most attack it and their neighbours: a fork bomb, a memory hog, a log flood, a CPU spin, and one that
# tries whatever it can name. Its neighbours lose nothing, counted; the host starts nothing of its; nothing is left behind.
set -euo pipefail
. "$(dirname "$0")/started.sh"
[[ $(id -u) == 0 ]] || { echo "hosted xApps are started by root alone"; exit 77; }
command -v curl >/dev/null || { echo "there is no curl"; exit 77; }
chmod 0755 .
cp "$RANLAB" ranlab && chmod 0755 ranlab
BIN=$PWD/ranlab
mkdir -m 0755 manifests bad
echo 0123456789abcdef0123 >token && chmod 0600 token

# manifest NAME USER RULE SCRIPT [MORE]: what the operator installs.
manifest() {
    printf 'command = "/bin/sh"\narguments = ["-c", '"'''%s'''"']\nuser = "%s"\nrule = "%s"\n%s\n' "$4" "$2" "$3" "${5:-}" \
        >"manifests/$1.toml"
}
few='[limits]
processes = 16
memory_mib = 64
cpus = 0.2
[restart]
first_ms = 50
longest_ms = 100
times = 3
[log]
file_kib = 64
kib_per_s = 64'
much='[limits]
memory_mib = 1024
cpus = 2'
manifest monitor 65201 observers "exec $BIN xapp monitor --connect \$RANLAB_E42 --sm mac --period 10ms --totals --format ndjson" "$much"
manifest holder 65202 holders "exec $BIN xapp control --connect \$RANLAB_E42 --plmn 505.01 --rc-quota 1=0:20 --effect 60 --kpi RRU.PrbTotDl" "$much"
manifest bomb 65203 attackers 'f() { f | f & sleep 60; }; f; sleep 60' "$few"
manifest hog 65204 attackers 'x=0123456789abcdef; while :; do x=$x$x; done' "$few"
manifest flood 65205 attackers 'exec yes "I fill the disk, and whoever reads it"' "$few"
manifest spin 65206 attackers 'while :; do :; done' "$few"
# What it may not, and what came of it, a line each.
cat >thief.txt <<T
code() { curl -s -m 5 -o /dev/null -w "%{http_code}" "\$@" || true; }
own() { code --unix-socket "\$RANLAB_HTTP_SOCKET" -H "Authorization: Bearer \$RANLAB_TOKEN" -H "Content-Type: application/json" "\$@"; }
echo "user \$(id -u) \$(id -g) \$(id -G)"
kill -9 \$PPID 2>/dev/null || echo "kill refused"
cat /proc/\$PPID/environ >/dev/null 2>&1 || echo "environment refused"
(echo x >$PWD/manifests/own.toml) 2>/dev/null || echo "manifest refused"
cat $PWD/token 2>/dev/null || echo "token refused"
echo "network \$(code \$RANLAB_HTTP/healthz)"
echo "neighbour \$(code --unix-socket "\${RANLAB_HTTP_SOCKET%/thief/*}/monitor/http.sock" http://localhost/healthz)"
echo "nobody \$(code --unix-socket "\$RANLAB_HTTP_SOCKET" http://localhost/v1/host/xapps)"
echo "list \$(own http://localhost/v1/host/xapps)"
echo "stop \$(own -d "{}" http://localhost/v1/host/xapps/monitor/stop)"
echo "start \$(own -d "{}" http://localhost/v1/iapps/host/thief/start)"
echo "nodes \$(own http://localhost/v1/nodes)"
echo "slice \$(curl -s -m 9 --unix-socket "\$RANLAB_HTTP_SOCKET" -H "Authorization: Bearer \$RANLAB_TOKEN" -H "Content-Type: application/json" \
    -d "{\"node\": \"\$NODE\", \"sm\": \"slice\", \"message\": {\"delete\": 1}}" http://localhost/v1/control)"
echo "rlc \$($BIN xapp monitor --connect \$RANLAB_E42 --sm rlc --totals --duration 2s --format json 2>&1 | tr "\n" " ")"
echo "quota \$($BIN xapp control --connect \$RANLAB_E42 --plmn 505.01 --rc-quota 1=0:90 2>&1 | tr "\n" " ")"
echo "flood \$(curl -s -o /dev/null -w "%{http_code}\n" --unix-socket "\$RANLAB_HTTP_SOCKET" -H "Authorization: Bearer \$RANLAB_TOKEN" \
    -H "Content-Type: application/json" -d "{}" "http://localhost/v1/control?[1-3000]" | sort | uniq -c | tr "\n" " ")"
echo "thief is done"
while :; do sleep 1; done
T
manifest thief 65207 thieves "$(cat thief.txt)" 'start = false
environment = ["NODE"]
[limits]
memory_mib = 1024
cpus = 1
[restart]
when = "never"'

cat >rules.toml <<'R'
[conflicts]
hold_s = 600

[[rule]]
name = "observers"
tenant = "observers"
models = ["mac"]
control = false

[[rule]]
name = "holders"
tenant = "holders"
priority = 5

[[rule]]
name = "attackers"
tenant = "attackers"
models = ["mac"]
control = false

[[rule]]
name = "thieves"
tenant = "thieves"
models = ["mac", "rc", "slice"]
subscriptions = 4
requests = 4
priority = 1
R

# What somebody else may have written is not started, nor anything beside it: refuses FILE WORDS.
refuses() {
    local code=0
    "$RANLAB" ric --e2 "unix://$PWD/x" --e42 "unix://$PWD/y" --xapps rules.toml --manifests bad --duration 1s >/dev/null 2>err.txt || code=$?
    [[ $code == 2 ]] && grep -q "$1" err.txt || { echo "exit $code instead of: $1"; cat err.txt; exit 1; }
}
ln -s ../manifests/monitor.toml bad/link.toml; refuses 'link.toml is a symbolic link'; rm bad/link.toml
cp manifests/monitor.toml bad/; chmod 0666 bad/monitor.toml; refuses 'may be written by its group or by everybody'
chmod 0644 bad/monitor.toml; chown 65207 bad/monitor.toml; refuses 'belongs to user 65207'
chown 0 bad/monitor.toml; chmod 0777 bad; refuses 'may be written by its group or by everybody'
chmod 0755 bad; cp bad/monitor.toml 'bad/..monitor.toml'; refuses 'is no name of an xApp'; rm bad/..monitor.toml
sed -i 's/65201/root/' bad/monitor.toml; refuses 'is root'
sed -i 's/"root"/"65201"/; s/observers/nobody/' bad/monitor.toml; refuses 'no \[\[rule\]\] has the name "nobody"'
code=0
"$RANLAB" ric --xapps rules.toml --manifests manifests --http 127.0.0.1:0 --duration 1s >/dev/null 2>err.txt || code=$?
[[ $code == 2 ]] && grep -q 'takes --http-token-file on loopback as well' err.txt || { echo "exit $code"; cat err.txt; exit 1; }

export NODE="gnb 505.01 1"
"$RANLAB" emulate --connect "unix://$PWD/e2" --radio nr:106 --nodes 1 --ues 2 --flows full --sm mac,rlc,kpm --format ndjson >stations.txt &
started+=($!)
"$RANLAB" ric --e2 "unix://$PWD/e2" --e42 "unix://$PWD/e42" --http 127.0.0.1:0 --http-token-file token --xapps rules.toml \
    --manifests manifests --format ndjson >ric.txt 2>ric.err &
ric=$!
started+=("$ric")
api=$(address ric.txt http)
[[ -n $api ]] || { cat ric.err; exit 1; }
ask() { curl -sS -m 10 -H "Authorization: Bearer $(cat token)" -H 'content-type: application/json' "$@"; }
# of NAME KEY: what the host says of an xApp.
of() { ask "$api/v1/host/xapps/$1" | python3 -c 'import json, sys; print(json.load(sys.stdin)[sys.argv[1]])' "$2"; }
# until_is COMMAND WORDS: asks until the answer holds them.
until_is() {
    for _ in {1..200}; do [[ $($1 2>/dev/null || true) != *"$2"* ]] || return 0; sleep 0.1; done
    echo "\"$1\" never says $2:"; $1; tail -n 3 ric.txt ric.err; exit 1
}
logged() { ask "$api/v1/host/xapps/$1/log"; }
running() { ps -o pid= -u "$1" | wc -l; }

until_is "ask $api/v1/nodes" '"connected":true'
node=$(ask "$api/v1/nodes" | python3 -c 'import json, sys; print(json.load(sys.stdin)["nodes"][0]["id"])')
[[ $node == "$NODE" ]] || { echo "the base station is called $node"; exit 1; }
until_is "of monitor phase" running
until_is "logged monitor" indications
until_is "of hog phase" given_up
until_is "of holder phase" running

# The operator's own order over HTTP: held by whoever gave it, as any other.
slices='{"configure": {"algorithm": "nvs", "sharing": true, "slices": [{"id": 1, "label": "", "scheduler": "pf", "parameters": {"capacity": 500000}}]}}'
ask "$api/v1/control" -d "{\"node\": \"$NODE\", \"sm\": \"slice\", \"message\": $slices}" | grep -q acknowledged
ask "$api/v1/host/xapps/thief/start" -d '{"command": ["/bin/false"]}' >/dev/null
until_is "logged thief" 'thief is done'

logged thief | python3 -c '
import json, sys
lines = dict(line.partition(" ")[::2] for line in json.load(sys.stdin)["lines"])
wanted = {"user": "65207 65207 65207", "kill": "refused", "environment": "refused", "manifest": "refused", "token": "refused",
          "network": "000", "neighbour": "000", "nobody": "401", "list": "403", "stop": "403", "start": "403", "nodes": "403"}
for name, said in wanted.items():
    assert lines.get(name) == said, (name, lines)
assert "is set by http://127.0.0.1 of priority 255" in lines["slice"], lines["slice"]
assert "is set by xApp" in lines["quota"] and "of priority 5" in lines["quota"], lines["quota"]
assert "om-intervention" in lines["rlc"] or "\"indications\":0" in lines["rlc"].replace(" ", ""), lines["rlc"]
flood = dict(reversed(pair.split()) for pair in lines["flood"].replace("  ", "\n").split("\n") if len(pair.split()) == 2)
assert int(flood.get("429", 0)) > 0 and int(flood.get("429", 0)) + int(flood.get("422", 0)) == 3000, flood'

# Who has no token, or names what was not installed, starts nothing.
[[ $(curl -s -o /dev/null -w '%{http_code}' "$api/v1/host/xapps") == 401 ]]
for name in '..%2f..%2fbin%2fsh' '%2fbin%2fsh' 'own' 'monitor.toml' '..' 'monitor%00'; do
    code=$(ask -o /dev/null -w '%{http_code}' --path-as-is "$api/v1/host/xapps/$name/start" -d '{}')
    [[ $code == 404 || $code == 400 || $code == 405 ]] || { echo "start of $name: $code"; exit 1; }
done
[[ $(ask -o /dev/null -w '%{http_code}' -X PUT "$api/v1/host/xapps/own" -d '{"command": "/bin/sh"}') == 405 ]]
ask "$api/v1/host/xapps" | python3 -c 'import json, sys
names = [it["name"] for it in json.load(sys.stdin)["xapps"]]
assert names == ["bomb", "flood", "hog", "holder", "monitor", "spin", "thief"], names'

# Each within its bounds.
most=0
for _ in {1..20}; do now=$(running 65203) && ((now <= most)) || most=$now; done
((1 < most && most <= 16)) || { echo "$most processes of the bomb"; exit 1; }
[[ $(of spin phase) == running && $(of flood phase) == running && $(of hog starts) == 3 ]]
for log in /run/ranlab-part-$ric-*/flood.log*; do (($(stat -c %s "$log") <= 80 << 10)) || { ls -l "$log"; exit 1; }; done

# The neighbours have lost nothing.
[[ $(of monitor starts) == 1 && $(of monitor ends) == 0 && $(of holder ends) == 0 ]]
logged monitor | python3 -c '
import json, sys
told = [json.loads(line) for line in json.load(sys.stdin)["lines"] if line.startswith("{")]
last = [it for it in told if "indications" in it][-1]
assert last["indications"] > 100 and last["lost"] == 0, last
print("a monitor beside attackers:", last["indications"], "indications, lost", last["lost"], ";", sys.argv[1])' "$(of bomb held_by)"
ask "$api/metrics" >metrics.txt
grep -q 'ranlab_hosted_given_up_total{xapp="hog"} 1' metrics.txt
(($(sed -n 's/^ranlab_ric_controls_in_conflict_total //p' metrics.txt) >= 2))

# By hand, and with the RIC.
ask "$api/v1/host/xapps/spin/stop" -d '{}' >/dev/null
until_is "of spin phase" off
ask "$api/v1/host/xapps/spin/start" -d '{}' >/dev/null
until_is "of spin starts" 2
kill -9 "$ric"
for user in 65201 65202 65205 65206 65207; do
    for _ in {1..100}; do (($(running $user) > 0)) || break; sleep 0.1; done
done
# What a bomb has thrown outlives a RIC that is killed; the next one ends it before it starts another.
sed -i 's/^\(rule = .*\)/\1\nstart = false/' manifests/[fhms]*.toml
"$RANLAB" ric --e2 "unix://$PWD/e2" --e42 "unix://$PWD/e42" --http 127.0.0.1:0 --http-token-file token --xapps rules.toml \
    --manifests manifests --format ndjson >ric.txt 2>ric.err &
ric=$!
started+=("$ric")
api=$(address ric.txt http)
until_is "of bomb phase" running
kill "$ric"
wait "$ric" || true
for user in 65201 65202 65203 65204 65205 65206 65207; do
    (($(running $user) == 0)) || { ps -f -u $user; echo "user $user has processes left"; exit 1; }
done
echo "attackers beside a monitor: it lost nothing, they started nothing, and nothing is left of them"
