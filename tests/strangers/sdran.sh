#!/usr/bin/env bash
# Published SD-RAN controllers, where a variable names a build: 10 x 10 and 30 x 10 are alive for a minute,
# the controller's REST API agrees on base stations and UEs, and a stop of ten seconds is reported as a send
# delay of ten seconds.
#   $FLEXRAN_RTC, $MOSAIC5G   FlexRAN's and Mosaic5G's program rt_controller, with log_config/basic_log in a folder above it
#   $EMPOWER1, $EMPOWER2      a program that becomes 5G-EmPOWER's runtime; arguments: port of base stations, port of REST, and for
#                             EMPOWER1 the tenant whose UEs and cells its two pollers measure
# SECONDS_ALIVE is the time for which they are to be alive.
set -euo pipefail

alive_s=${SECONDS_ALIVE:-60}
controller=0 met=0 tenant=
trap '((controller == 0)) || kill -KILL "$controller" 2>/dev/null || true' EXIT

field() { tr -d ' \n' <"$2" | grep -o "\"$1\":[0-9.]*" | head -n 1 | cut -d: -f2; }
# Prints the CPU time of the controller so far, in hundredths of a second.
cpu() { awk '{ sub(/.*\) /, ""); print $12 + $13 }' "/proc/$controller/stat"; }
ask() { curl --silent --fail --max-time 10 --user root:root "$@"; }
fail() { echo "$1"; shift; cat "$@"; exit 1; }

# New ports are used each time, because some controllers cannot bind theirs again immediately.
start() {
    south=$((20000 + RANDOM % 10000)) rest=$((30000 + RANDOM % 2000))
    "$1" >controller.txt 2>&1 &
    controller=$!
    # Only REST is probed, because a connection to the other port would count as a base station.
    for _ in $(seq 150); do
        sleep 0.2
        curl --silent --output /dev/null --max-time 2 "http://127.0.0.1:$rest/" && return
    done
    fail "the controller does not answer" controller.txt
}

stop() {
    kill -KILL "$controller"
    wait "$controller" 2>/dev/null || true
    controller=0
}

rtc() {
    local folder
    folder=$(dirname "$(readlink -f "$program")")
    while [[ ! -e $folder/log_config/basic_log && $folder != / ]]; do folder=$(dirname "$folder"); done
    export FLEXRAN_RTC_HOME=$folder
    exec "$program" -p "$south" -n "$rest"
}

runtime() { exec "$program" "$south" "$rest" ${tenant:+"$tenant"}; }

# known: prints the number of base stations and UEs known to the controller.
known() {
    case $name in
    # The response is text with everything that each base station has reported.
    flexran-rtc) ask "http://127.0.0.1:$rest/stats_manager/enb_config" >known.txt && grep -c '^eNB_id:' known.txt && grep -c '^ue_config {' known.txt ;;
    mosaic5g) ask "http://127.0.0.1:$rest/stats" >known.txt && grep -o '"agent_info"' known.txt | wc -l && grep -o '"imsi":' known.txt | wc -l ;;
    empower-v1)
        ask "http://127.0.0.1:$rest/api/v1/vbses" >known.txt && grep -o '"state": "online"' known.txt | wc -l
        ask "http://127.0.0.1:$rest/api/v1/tenants/$tenant/ues" >ues.txt && grep -o '"imsi":' ues.txt | wc -l
        ;;
    empower-v2)
        ask "http://127.0.0.1:$rest/api/v1/vbses" >known.txt && grep -o '"state": "online"' known.txt | wc -l
        ask "http://127.0.0.1:$rest/api/v1/users" >ues.txt && grep -o '"imsi":' ues.txt | wc -l
        ;;
    esac
}

# Checks that base stations with ten UEs each are alive from their fifteenth second on.
meet() {
    local nodes=$1 told before
    before=$(cpu)
    "$RANLAB" emulate "${speak[@]}" --connect "tcp://127.0.0.1:$south" --nodes "$nodes" --ues 10 --activation constant:0s \
        --duration "$((alive_s + 20))s" --format ndjson >fleet.txt 2>fleet.err &
    local fleet=$!
    sleep $((alive_s + 15))
    mapfile -t told < <(known)
    wait "$fleet" || fail "$name $nodes x 10: emulate exits with $?" fleet.err
    local share=$((($(cpu) - before) / (alive_s + 20)))
    [[ ${told[*]} == "$nodes $((nodes * 10))" ]] || fail "$name $nodes x 10: REST reports ${told[*]}" known.txt
    tail -n +16 fleet.txt | grep '"alive"' | grep -v "\"alive\":$nodes," >dead.txt && fail "$name: not all agents stayed alive" dead.txt
    tail -n 1 fleet.txt >last.txt
    [[ $(field reconnects last.txt) == 0 && $(field faults last.txt) == 0 ]] || fail "$name: the fleet had reconnects or faults" last.txt
    echo "$name $nodes x 10: alive for $alive_s s, REST agrees, $share % of a core, send delay p99 $(field lateness_us_p99 last.txt) us"
    if [[ $name == empower-v1 && $nodes == 10 ]]; then ((share < 30)) || fail "the fleet used $share % of a core; less than 30 % are allowed" last.txt; fi
}

# Runs two base stations with two UEs, and a controller that is stopped for ten seconds.
sleeps() {
    "$RANLAB" emulate "${speak[@]}" --connect "tcp://127.0.0.1:$south" --nodes 2 --ues 2 --activation constant:0s \
        --duration 25s >fleet.txt 2>fleet.err &
    local fleet=$!
    sleep 8
    kill -STOP "$controller"
    sleep 10
    kill -CONT "$controller"
    # Some controllers disconnect all base stations after this stop, so the exit code is ignored.
    wait "$fleet" || true
    grep -Eq 'the controller stopped reading at [0-9.]+ s, for (9|10|11)\.[0-9] s' fleet.txt || fail "$name: the fleet did not report that the controller stopped reading" fleet.txt
    # Without requests, nothing is due: reports to the worker of version 2 are responses.
    [[ $name == empower-v2 ]] || grep -Eq 'send delay p99 (9|10|11)[0-9]{6} us' <(tail -n 1 fleet.txt) || fail "$name: the send delay does not contain the pause of the controller" fleet.txt
    echo "$name: $(grep -m 1 'stopped reading' fleet.txt)"
}

register() {
    local macs mac
    mapfile -t macs < <("$RANLAB" emulate --protocol empower --nodes 30 --identities)
    for mac in "${macs[@]}"; do
        ask -X POST -H 'Content-Type: application/json' -d "{\"version\":$1,\"addr\":\"$mac\",\"label\":\"x\"}" \
            "http://127.0.0.1:$rest/api/v1/vbses" >>registered.txt || [[ $1 == 1.0 ]]
    done
    if [[ $1 != 1.0 ]]; then
        # Without this request, no report is requested.
        ask -X POST -H 'Content-Type: application/json' "http://127.0.0.1:$rest/api/v1/workers" \
            -d '{"version":"1.0","name":"empower.workers.macprbutilization.macprbutilization","params":{"every":2000}}' >>registered.txt
        return 0
    fi
    ask -X POST -d '{"version":1.0,"owner":"foo","tenant_name":"t","desc":"d","plmn_id":"222f93","bssid_type":"unique"}' \
        "http://127.0.0.1:$rest/api/v1/tenants" >>registered.txt || true
    tenant=$(ask "http://127.0.0.1:$rest/api/v1/tenants" | grep -o '"tenant_id": "[^"]*"' | head -n 1 | cut -d'"' -f4)
    for mac in "${macs[@]}"; do
        ask -X POST -d '{"version":1.0}' "http://127.0.0.1:$rest/api/v1/tenants/$tenant/vbses/$mac" >>registered.txt || true
    done
}

for variable in FLEXRAN_RTC MOSAIC5G EMPOWER1 EMPOWER2; do
    program=${!variable:-}
    [[ -n $program ]] || { echo "skipped: $variable names no build"; continue; }
    [[ -x $program ]] || { echo "$variable names no program: $program"; exit 1; }
    met=$((met + 1))
    case $variable in
    FLEXRAN_RTC) name=flexran-rtc run=rtc speak=(--protocol flexran) ;;
    # The emulator does not know to which of the two controllers it is connected.
    MOSAIC5G) name=mosaic5g run=rtc speak=(--protocol flexran) ;;
    EMPOWER1) name=empower-v1 run=runtime speak=(--protocol empower) ;;
    EMPOWER2) name=empower-v2 run=runtime speak=(--protocol empower --openempower 2) ;;
    esac
    if [[ $name == empower-v1 ]]; then
        start $run
        register 1.0
        stop
    fi
    # Each round has a new controller, because some controllers keep the state of base stations that have left.
    for nodes in 10 30 stopped; do
        start $run
        [[ $name != empower-v2 ]] || register '"1.0"'
        if [[ $nodes == stopped ]]; then sleeps; else meet $nodes; fi
        stop
    done
done
((met > 0)) || { echo "none of FLEXRAN_RTC, MOSAIC5G, EMPOWER1, EMPOWER2 names a build"; exit 77; }
