#!/usr/bin/env bash
# long
# Runs the commands of the README that contain addresses, between two network namespaces. Only the addresses are replaced,
# and each command must work at the first attempt.
set -euo pipefail
root=$(cd "$(dirname "$0")/../.." && pwd)
. "$(dirname "$0")/started.sh"
[[ $(id -u) == 0 ]] && command -v ip >/dev/null || { echo "network namespaces need root and iproute2"; exit 77; }
near=ranlab-near-$$ far=ranlab-far-$$
trap 'for pid in "${started[@]}"; do kill "$pid" 2>/dev/null || true; done; ip netns del $near 2>/dev/null; ip netns del $far 2>/dev/null' EXIT
ip netns add $near 2>/dev/null && ip netns add $far || { echo "no network namespaces can be created"; exit 77; }
ip -n $near link add veth0 type veth peer name veth0 netns $far 2>/dev/null || { echo "no veth devices can be created"; exit 77; }
for space in $near:10.46.0.1 $far:10.46.0.2; do
    ip -n "${space%:*}" address add "${space#*:}/24" dev veth0
    ip -n "${space%:*}" link set veth0 up
    ip -n "${space%:*}" link set lo up
done

# Starts the programs that the commands refer to, at 10.46.0.2.
ip netns exec $far "$RANLAB" upf --n4 10.46.0.2:8805 --n3 10.46.0.2:2152 --n6 reflect --duration 300s --format ndjson >upf.txt 2>upf.err &
started+=($!)
ip netns exec $far "$RANLAB" ric --e2 tcp://10.46.0.2:36421 --e42 tcp://10.46.0.2:36422 --duration 300s --format ndjson >ric.txt 2>ric.err &
started+=($!)
[[ -n $(address ric.txt e42) ]] || { cat ric.err; exit 1; }

# Commands of the README, in backticks or after a prompt, with an address or a file of this repository.
grep -oE '`ranlab [^`]*`|^(\$ )?ranlab .*' "$root/README.md" | sed -E 's/^[`$ ]*//; s/`$//; s/ +#.*//' |
    grep -E '^ranlab (load upf|check upf|emulate --connect|xapp monitor --connect) |^ranlab bench run scenarios/xhaul' | sort -u >lines.txt
for kind in 'load upf' 'check upf' 'emulate --connect' 'xapp monitor --connect' 'bench run scenarios/xhaul'; do
    grep -q "^ranlab $kind" lines.txt || { echo "the README has no command: $kind"; exit 1; }
done

# Starts a base station, so that the monitor has data to show.
ip netns exec $near "$RANLAB" emulate --connect tcp://10.46.0.2:36421 --first 5000 --duration 300s >station.txt 2>&1 &
started+=($!)
cp -r "$root/scenarios" .
while read -r program words; do
    [[ $program == ranlab ]]
    words=$(sed -E 's#(127\.0\.0\.1|10\.3\.0\.2|10\.0\.0\.1)(:[0-9]+)#10.46.0.2\2#g' <<<"$words")
    # A command that runs until Ctrl-C is interrupted after 8 s. Any other command must end by itself; `check` waits for
    # timers of whole seconds, about 20 s in total.
    code=0 limit=120 expected=0
    [[ $words != emulate* && $words != 'xapp monitor'* ]] || limit=8 expected=124
    ip netns exec $near timeout --signal INT $limit "$RANLAB" $words >line.out 2>line.err </dev/null || code=$?
    [[ $code == "$expected" ]] || { echo "ranlab $words: exit $code"; tail -n 5 line.out line.err; exit 1; }
    [[ -s line.out ]] || { echo "ranlab $words prints nothing"; cat line.err; exit 1; }
    echo "exit $code: ranlab $words: $(tail -n 1 line.out | cut -c 1-100)"
done <lines.txt

# fails WORDS FLAG...: checks that the command fails with WORDS. The message names the address, the flag and a remedy.
fails() {
    local code=0
    ip netns exec $near "$RANLAB" "${@:2}" >fail.out 2>fail.err || code=$?
    [[ $code == 2 || $code == 3 ]] && grep -qE -- "$1" fail.err || { echo "exit $code instead of $1:"; cat fail.err; exit 1; }
}
upf=(load upf --n4 10.46.0.2:8805 --n3 10.46.0.2:2152 --duration 1s)
fails '127.0.1.1:2152 \(--gnb\).*10.46.0.2:2152 \(--n3\).*try --gnb 10.46.0.1:2152' "${upf[@]}" --gnb 127.0.1.1:2152
fails '127.0.2.1:8805 \(--smf\).*10.46.0.2:8805 \(--n4\).*try --smf 10.46.0.1:8805' "${upf[@]}" --smf 127.0.2.1:8805
fails '10.46.0.9:2152.*with --gnb' "${upf[@]}" --gnb 10.46.0.9:2152
fails 'no route to 10.99.0.1:2152 \(--n3\).*--gnb' load upf --n4 10.99.0.1:8805 --n3 10.99.0.1:2152 --duration 1s
fails '"10.46.0.2" has no port.*10.46.0.2:8080' load upf --n4 10.46.0.2
# Each further base station needs an address. The default address exists already.
ip -n $near address add 10.46.0.3/24 dev veth0
ip netns exec $near "$RANLAB" "${upf[@]}" --gnb 10.46.0.3:2152 --mode sessions --sessions 10 --uplink 100 --reflect-every 1 --format json >sessions.json
python3 -c 'import json; r = json.load(open("sessions.json")); assert r["unexplained"] == 0, r'

# The rig measures a UPF that already runs, with the same defaults.
cat >mine.toml <<'T'
title = "a UPF that runs already"
rig = "upf"
[sut]
design = "external"
n4 = "10.46.0.2:8805"
n3 = "10.46.0.2:2152"
[host]
when_noisy = "warn"
[measure]
duration = "1s"
warm_up = "100ms"
repeats = 1
T
ip netns exec $near "$RANLAB" bench run mine.toml --out mine >bench.out 2>bench.err || { tail -n 20 bench.out bench.err; exit 1; }
grep -q 'sessions_per_s' bench.out || { cat bench.out; exit 1; }
echo "$(wc -l <lines.txt) commands of the README work with the addresses of a namespace"
