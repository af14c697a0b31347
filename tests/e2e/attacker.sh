#!/usr/bin/env bash
# Tests hosted xApps that attack the RIC and the other xApps: by a fork bomb, by excessive use of memory, log and CPU, and
# by access to everything that an xApp can reach (attacker.py). The other xApps lose nothing, the host starts no program
# of the attacker, and no process or file remains.
set -euo pipefail
. "$(dirname "$0")/started.sh"
here=$(cd "$(dirname "$0")" && pwd)
[[ $(id -u) == 0 ]] || { echo "only root can start hosted xApps"; exit 77; }
command -v curl >/dev/null || { echo "curl is not installed"; exit 77; }
# A folder in /tmp would be hidden from hosted xApps.
place=$(mktemp -d /var/lib/ranlab-attacker-XXXXXX)
trap 'for pid in "${started[@]}"; do kill "$pid" 2>/dev/null || true; done; rm -rf "$place"' EXIT
chmod 0755 "$place" && cd "$place"
install -m 0755 "$RANLAB" ranlab
install -m 0644 "$here/attacker.py" attacker.py
BIN=$place/ranlab
mkdir -m 0755 manifests bad
(umask 077 && echo 0123456789abcdef0123 >token)

# manifest NAME USER RULE SCRIPT [MORE]: writes a manifest, as installed by the operator.
manifest() {
    printf 'command = "/bin/sh"\narguments = ["-c", '"'''%s'''"']\nuser = "%s"\nrule = "%s"\n%s\n' "$4" "$2" "$3" "${5:-}" \
        >"manifests/$1.toml"
}
few='[limits]
processes = 16
memory_mib = 64
cpus = 0.1
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
# A neighbour that sets a value and keeps it.
slices='{\"configure\": {\"algorithm\": \"nvs\", \"sharing\": true, \"slices\": [{\"id\": 1, \"label\": \"\", \"scheduler\": \"pf\", \"parameters\": {\"capacity\": 500000}}]}}'
manifest holder 65202 holders "until curl -s --unix-socket \$RANLAB_HTTP_SOCKET -H \"Authorization: Bearer \$RANLAB_TOKEN\" -H \"Content-Type: application/json\" \
    -d \"{\\\"node\\\": \\\"\$NODE\\\", \\\"sm\\\": \\\"slice\\\", \\\"message\\\": $slices}\" http://localhost/v1/control | grep acknowledged; do sleep 0.2; done; exec sleep 600" \
    "environment = [\"NODE\"]
$much"
manifest bomb 65203 attackers 'f() { f | f & sleep 60; }; f; sleep 60' "$few"
manifest hog 65204 attackers 'exec python3 -c "x = bytes([1]) * (200 << 20)"' "${few/cpus = 0.1/cpus = 0.5}"
manifest flood 65205 attackers 'exec yes "I fill the disk, and whoever reads it"' "$few"
manifest spin 65206 attackers 'while :; do :; done' "$few"
manifest thief 65207 thieves "exec python3 $place/attacker.py $place $BIN \"\$NODE\" \$(pgrep -o -u 65201)" 'start = false
environment = ["NODE"]
[limits]
memory_mib = 512
cpus = 0.5
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
models = ["mac", "slice"]
subscriptions = 4
requests = 4
priority = 1
reads = ["shared"]
R

# refuses WORDS [OPTION...]: if another user could have written the files, the host starts nothing and prints WORDS.
refuses() {
    local code=0 words=$1
    shift
    timeout 30 "$RANLAB" ric --e2 "unix://$place/x" --e42 "unix://$place/y" --xapps rules.toml --manifests bad --duration 1s "$@" \
        >/dev/null 2>err.txt || code=$?
    [[ $code == 2 ]] && grep -q "$words" err.txt || { echo "exit code $code, or the error lacks: $words"; cat err.txt; exit 1; }
}
own=bad/monitor.toml
# wrong SED WORDS: checks that the manifest, changed by the sed command SED, is refused with WORDS.
wrong() { sed "$1" manifests/monitor.toml >$own; refuses "$2"; }
ln -s ../manifests/monitor.toml bad/link.toml; refuses 'link.toml is a symbolic link'; rm bad/link.toml
mkfifo bad/pipe.toml; refuses 'pipe.toml is not a file'; rm bad/pipe.toml
cp manifests/monitor.toml $own; chmod 0666 $own; refuses 'is writable by its group or by all users'
chmod 0644 $own; chown 65207 $own; refuses 'belongs to user 65207'
chown 0 $own; chmod 0777 bad; refuses 'is writable by its group or by all users'
chmod 0755 bad; cp $own 'bad/..monitor.toml'; refuses 'is not a valid xApp name'; rm bad/..monitor.toml
cp $own bad/other.toml; refuses 'already belongs to monitor'; rm bad/other.toml
wrong 's/65201/root/' 'is root'
wrong 's/"observers"/"nobody"/' 'no \[\[rule\]\] has the name "nobody"'
wrong 's#/bin/sh#sh#' 'must be an absolute path'
wrong 's#^rule#set = { LD_PRELOAD = "/x" }\nrule#' 'cannot be set'
wrong 's#^rule#shell = true\nrule#' 'unknown field'
install -m 0755 -o 65207 /bin/true theirs
wrong "s#/bin/sh#$place/theirs#" 'belongs to user 65207'
mkdir theirs.d && chown 65207 theirs.d && ln -s /bin/true theirs.d/sh
wrong "s#/bin/sh#$place/theirs.d/sh#" 'belongs to user 65207'
wrong 's#^rule#folder = "/tmp"\nrule#' 'is not visible to an xApp'
ln -s token alias.log
wrong "s#^cpus = 2#&\n[log]\nfile = \"$place/alias.log\"#" 'alias.log'
cp manifests/monitor.toml $own
refuses 'requires --http-token-file even on loopback' --http 127.0.0.1:0
chmod 0644 token; refuses 'can be read by other users' --http 127.0.0.1:0 --http-token-file token; chmod 0600 token
chmod 0666 rules.toml; refuses 'is writable by its group or by all users'; chmod 0644 rules.toml

export NODE="gnb 505.01 1"
"$RANLAB" emulate --connect "unix://$place/e2" --radio nr:106 --nodes 1 --ues 2 --flows full --sm mac,rlc,kpm --format ndjson >stations.txt &
started+=($!)
# Starts the RIC. Open file descriptors of the shell must not be inherited by xApps.
serve() {
    "$RANLAB" ric --e2 "unix://$place/e2" --e42 "unix://$place/e42" --http 127.0.0.1:0 --http-token-file token --xapps rules.toml \
        --manifests manifests --format ndjson >ric.txt 2>ric.err 7<token &
    ric=$!
    started+=("$ric")
    api=$(address ric.txt http)
    [[ -n $api ]] || { cat ric.err; exit 1; }
}
serve
ask() { curl -sS -m 10 -H "Authorization: Bearer $(cat token)" -H 'content-type: application/json' "$@"; }
# of NAME KEY: prints the value KEY in the status of the xApp NAME.
of() { ask "$api/v1/host/xapps/$1" | python3 -c 'import json, sys; print(json.load(sys.stdin)[sys.argv[1]])' "$2"; }
# until_is COMMAND WORDS: waits until the output of COMMAND contains WORDS.
until_is() {
    for _ in {1..300}; do [[ $($1 2>/dev/null || true) != *"$2"* ]] || return 0; sleep 0.1; done
    echo "the output of \"$1\" never contained $2:"; $1; tail -n 3 ric.txt ric.err; exit 1
}
logged() { ask "$api/v1/host/xapps/$1/log"; }
# Prints the number of processes of a user, without zombies.
running() { ps -o stat= -u "$1" | grep -vc '^Z' || true; }

until_is "ask $api/v1/nodes" '"connected":true'
node=$(ask "$api/v1/nodes" | python3 -c 'import json, sys; print(json.load(sys.stdin)["nodes"][0]["id"])')
[[ $node == "$NODE" ]] || { echo "unexpected name of the base station: $node"; exit 1; }
until_is "logged monitor" indications
until_is "of hog phase" given_up
until_is "logged holder" acknowledged

ask -X PUT "$api/v1/kv/monitor/k" -d '{"value": "mine"}' >/dev/null
ask "$api/v1/host/xapps/thief/start" -d '{"command": ["/bin/false"]}' >/dev/null
most=0 files=0
for _ in {1..300}; do
    now=$(running 65203) && ((now <= most)) || most=$now
    now=$(ls "/proc/$ric/fd" | wc -l) && ((now <= files)) || files=$now
    [[ $(logged thief) != *'"done"'* ]] || break
    sleep 0.1
done

logged thief >thief.json
python3 - thief.json <<'P'
import json, sys
said = json.load(open(sys.argv[1]))["lines"]
lines = dict(line.partition(" ")[::2] for line in said)
assert "done" in lines, said
wanted = {"user": "65207 65207 0", "descriptors": "3", "secrets": "0", "bounds": "0", "tmp": "0", "nobody": "401", "forged": "401",
          "elsewhere": "421", "long": "413", "climb": "404"}
wanted |= dict.fromkeys("kill kill-neighbour ptrace ptrace-neighbour memory root manifest other-manifest rules token link socket log "
                        "hosts fill network neighbour neighbour-e42".split(), "refused")
wanted |= dict.fromkeys("list stop install start policy cluster drain nodes read-other write-other hear-other "
                        "write-readable".split(), "403")
wrong = {name: (lines.get(name), said) for name, said in wanted.items() if lines.get(name) != said}
assert not wrong, wrong
assert lines["slice"].startswith("409") and "is set by xapp://holder of priority 5" in lines["slice"], lines["slice"]
assert "om-intervention" in lines["quota"], lines["quota"]
assert "om-intervention" in lines["rlc"] or '"indications":0' in lines["rlc"].replace(" ", ""), lines["rlc"]
taken, last = lines["filled"].split()
assert 50 <= int(taken) < 90 and last == "409", lines["filled"]
assert lines["topics"] == "8 6" and lines["hurry"] == "True True" and lines["octets"] == "True", lines
P
((files < 150)) || { echo "the RIC has $files open descriptors"; exit 1; }

# Requests without a token, and requests for xApps that are not installed, start nothing.
[[ $(curl -s -o /dev/null -w '%{http_code}' "$api/v1/host/xapps") == 401 ]]
for name in '..%2f..%2fbin%2fsh' '%2fbin%2fsh' 'own' 'monitor.toml' '..' 'monitor%00'; do
    code=$(ask -o /dev/null -w '%{http_code}' --path-as-is "$api/v1/host/xapps/$name/start" -d '{}')
    [[ $code == 404 || $code == 400 || $code == 405 ]] || { echo "the start of $name returned $code"; exit 1; }
done
[[ $(ask -o /dev/null -w '%{http_code}' -X PUT "$api/v1/host/xapps/own" -d '{"command": "/bin/sh"}') == 405 ]]
# Each attack must stay within the limits of its xApp.
((1 < most && most <= 16)) || { echo "the fork bomb reached $most processes"; exit 1; }
for log in /run/ranlab-part-$ric-*/flood.log*; do (($(stat -c %s "$log") <= 80 << 10)) || { ls -l "$log"; exit 1; }; done

# The neighbours must have lost nothing.
ask "$api/v1/host/xapps" >xapps.json
ask "$api/v1/kv/monitor/k" | grep -q '"value":"mine"'
logged monitor >monitor.json
python3 - <<'P'
import json
xapps = {it["name"]: it for it in json.load(open("xapps.json"))["xapps"]}
assert sorted(xapps) == ["bomb", "flood", "hog", "holder", "monitor", "spin", "thief"], xapps
of = lambda name, *keys: tuple(xapps[name][key] for key in keys)
assert of("monitor", "starts", "ends") == of("holder", "starts", "ends") == (1, 0), xapps
assert of("spin", "phase") == of("flood", "phase") == ("running",) and of("hog", "starts", "phase") == (3, "given_up"), xapps
told = [json.loads(line) for line in json.load(open("monitor.json"))["lines"] if line.startswith("{")]
last = [it for it in told if "indications" in it][-1]
assert last["indications"] > 100 and last["lost"] == 0, last
print("a monitor beside attackers:", last["indications"], "indications, lost", last["lost"], ";", xapps["bomb"]["held_by"])
P
ask "$api/metrics" >metrics.txt
grep -q 'ranlab_hosted_given_up_total{xapp="hog"} 1' metrics.txt
(($(sed -n 's/^ranlab_ric_controls_in_conflict_total //p' metrics.txt) >= 1))
(($(sed -n 's/^ranlab_topics_missed_total //p' metrics.txt) > 0))

# Checks the start of an xApp by a request, and its start together with the RIC.
ask "$api/v1/host/xapps/spin/stop" -d '{}' >/dev/null
until_is "of spin phase" off
ask "$api/v1/host/xapps/spin/start" -d '{}' >/dev/null
until_is "of spin starts" 2
kill -9 "$ric"
for user in 65201 65202 65205 65206 65207; do
    for _ in {1..100}; do (($(running $user) > 0)) || break; sleep 0.1; done
done
# Processes of a fork bomb survive a killed RIC. The next RIC kills them before it starts another xApp.
sed -i 's/^\(rule = .*\)/\1\nstart = false/' manifests/[fhms]*.toml
serve
until_is "of bomb phase" running
kill "$ric"
wait "$ric" || true
for user in 65201 65202 65203 65204 65205 65206 65207; do
    (($(running $user) == 0)) || { ps -f -u $user; echo "user $user has processes left"; exit 1; }
done
echo "attackers next to a monitor: it lost nothing, they started nothing, and nothing remains of them"
