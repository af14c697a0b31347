#!/bin/busybox sh
# First process of the guest that scripts/test-sctp.sh boots: runs the programs in /bin and reports failures.
/bin/busybox --install -s /bin
export PATH=/usr/bin:/bin LD_LIBRARY_PATH=/usr/lib TMPDIR=/tmp
mount -t proc none /proc
mount -t sysfs none /sys
mount -t devtmpfs none /dev
mount -t tmpfs none /tmp
mount -t tmpfs none /run
depmod
modprobe sctp && modprobe veth
ip link set lo up
uname -a

# A namespace at the other end of two links simulates a second machine. Tests cut these links.
/usr/bin/ip netns add far
for wire in 1 2; do
    /usr/bin/ip link add near$wire type veth peer name far$wire netns far
    /usr/bin/ip addr add 10.$wire.0.1/24 dev near$wire
    /usr/bin/ip -n far addr add 10.$wire.0.2/24 dev far$wire
    /usr/bin/ip link set near$wire up
    /usr/bin/ip -n far link set far$wire up
done
/usr/bin/ip -n far link set lo up
export RANLAB_FAR=/run/netns/far

failed=
step() {
    echo "== $1"
    shift
    "$@" || failed="$failed [$*: $?]"
}

emulated() {
    ranlab ric --e2 sctp://0.0.0.0:36421 --e42 sctp://0.0.0.0:36422 --duration 300s >/tmp/ric.txt 2>&1 &
    ric=$!
    for _ in $(seq 100); do grep -q 36422 /proc/net/sctp/eps && break; sleep 0.2; done
    /usr/bin/ip netns exec far ranlab emulate --connect sctp://10.1.0.1:36421 --nodes 2 --ues 4 --duration 300s --format ndjson >/tmp/emulate.txt 2>&1 &
    agents=$!
    for _ in $(seq 300); do grep -q '"alive":2' /tmp/emulate.txt && break; sleep 0.2; done
    ranlab xapp ping --connect sctp://127.0.0.1:36422 --count 200 --size 1500 --format json >/tmp/ping.txt || cat /tmp/ping.txt
    cat /proc/net/sctp/assocs
    kill $agents $ric
    cat /tmp/ping.txt
    tail -n 5 /tmp/ric.txt
    tail -n 1 /tmp/emulate.txt
    [ "$(grep -c '^+ gnb' /tmp/ric.txt)" = 2 ] && grep -q '"received": *200' /tmp/ping.txt
}

stock() {
    iperf3 --server --one-off >/dev/null 2>&1 &
    sleep 2
    iperf3 --client 127.0.0.1 --sctp --time 5
}

step "transports" test-transport
step "associations" test-sctp --test-threads 1 --nocapture
step "a RIC, two base stations behind a wire, an xApp" emulated
# All clauses over SCTP, including payload protocol identifiers.
checked() {
    ranlab ric --e2 sctp://0.0.0.0:36421 --e42 sctp://0.0.0.0:36422 --duration 300s >/tmp/ric.txt 2>&1 &
    ric=$!
    for _ in $(seq 100); do grep -q 36422 /proc/net/sctp/eps && break; sleep 0.2; done
    /usr/bin/ip netns exec far ranlab check ric sctp://10.1.0.1:36421 --e42 sctp://10.1.0.1:36422 --patience 5s --captures /tmp >/tmp/check.txt
    told=$?
    grep -v ^passed /tmp/check.txt
    kill $ric
    return $told
}

step "check ric, over SCTP" checked
step "iperf3 beside it" stock
if [ -z "$failed" ]; then echo "== all tests passed"; else echo "== failed:$failed"; fi
poweroff -f
