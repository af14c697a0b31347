#!/usr/bin/env bash
# A whole 5G system of unmodified third-party programs with ranlab's RIC: OCUDU's gNB, srsRAN's UE, Open5GS's core.
# N2 and E2 use the preload library. It compares KPM's volume with the bytes at the UE, and measures the effect of
# quotas by RC and by CCC at the real scheduler. About three minutes; as root, in a network namespace for the UE.
#
# $OCUDU, $SRSRAN_4G and $OPEN5GS_CORE name build folders, $MONGODB the URI of a database server that may be changed
# (FerretDB suffices), $RANLAB the binary, $PRELOAD the library that carries SCTP. $GNB_PRELOAD and $CORE_PRELOAD name
# further libraries to load: two CPUs are too few for the gNB's thread pool, and Debian 12's libcurl breaks the core's
# second request on a connection (docs/reference/peers.md).
set -uo pipefail

skip() { echo "$1"; exit 77; }
fail() { echo "FAILED: $*" >&2; exit 1; }
for name in OCUDU SRSRAN_4G OPEN5GS_CORE MONGODB; do [[ -n ${!name:-} ]] || skip "$name is not set"; done
[[ $(id -u) == 0 ]] || skip 'it makes devices and a network namespace, which requires root'
for program in ping iperf3; do [[ -n $(type -P "$program") ]] || skip "$program is not installed"; done
python3 -c 'import pymongo' 2>/dev/null || skip 'the Python package pymongo is not installed'
gnb=$OCUDU/apps/gnb/gnb ue=$SRSRAN_4G/srsue/src/srsue
functions=(nrf scp ausf udm udr pcf nssf bsf upf smf amf)
for program in "$gnb" "$ue" "${functions[@]/#/$OPEN5GS_CORE/src/}"; do
    [[ -d $program ]] && program=$program/open5gs-${program##*/}d
    [[ -x $program ]] || skip "$program is not there"
done
RANLAB=${RANLAB:?names no binary}
PRELOAD=${PRELOAD:-$(dirname "$RANLAB")/libranlab_preload.so}
[[ -f $PRELOAD ]] || { echo "$PRELOAD is not there: make preload" >&2; exit 3; }
here=$(cd "$(dirname "$0")" && pwd)/ocudu

work=$(mktemp -d)
mkdir -m 700 "$work/net"
cd "$work"
namespace=ranlab-ue device=ogstun
pids=() made=()
end() {
    ((${#pids[@]} == 0)) || kill -9 "${pids[@]}" 2>/dev/null
    # Only what this script has made: a device of that name may belong to a core in use.
    for each in "${made[@]}"; do ip $each 2>/dev/null; done
    rm -rf "$work"
}
trap end EXIT
# The gNB ends when its input ends, so the input of each program is a pipe that stays open.
mkfifo input
exec 9<>input
start() { local name=$1; shift; "$@" >"$name.out" 2>&1 <&9 & pids+=($!); disown; }
# carried NAME LIBRARIES PROGRAM...: starts a program whose SCTP the preload library transports.
carried() { local name=$1 more=$2; shift 2; start "$name" env RANLAB_SCTP="$work/net" LD_PRELOAD="$PRELOAD${more:+:$more}" "$@"; }
in_ue() { ip netns exec $namespace "$@"; }
waits() { local what=$1; shift; for _ in {1..300}; do "$@" >/dev/null 2>&1 && return; sleep 0.1; done; fail "$what: $(tail -n 3 ./*.out)"; }

echo '== the core'
ip tuntap add name $device mode tun || fail "device $device"
made+=("link del $device")
ip addr add 10.45.0.1/16 dev $device && ip link set $device up || fail "device $device"
ip netns add $namespace || fail "namespace $namespace"
made+=("netns del $namespace")
"$here/configure.py" "$OPEN5GS_CORE/configs/sample.yaml" "$MONGODB" >core.yaml || fail 'the configuration of the core'
LD_LIBRARY_PATH=$(find "$OPEN5GS_CORE/lib" "$OPEN5GS_CORE/subprojects" -name '*.so*' -printf '%h\n' | sort -u | paste -sd:)
export LD_LIBRARY_PATH
for name in "${functions[@]}"; do
    carried "$name" "${CORE_PRELOAD:-}" "$OPEN5GS_CORE/src/$name/open5gs-${name}d" -c core.yaml
    sleep 0.4
done
waits 'the AMF does not listen' test -S "net/127.0.0.5:38412"
unset LD_LIBRARY_PATH

echo '== RIC, gNB, UE'
start ric "$RANLAB" ric --e2 "shim://$work/net/127.0.0.1:36421" --e42 "unix://$work/e42" --http 127.0.0.1:0
"$here/configure.py" gnb >gnb.yml
"$RANLAB" ric --e2 "shim://$work/net/127.0.0.1:36421" --hint ocudu | grep -v '^#' >>gnb.yml
"$here/configure.py" ue $namespace >ue.conf
carried gnb "${GNB_PRELOAD:-}" "$gnb" -c gnb.yml
waits 'the gNB has not reached the AMF' grep -q 'Number of gNBs is now 1' amf.out
start ue env LD_LIBRARY_PATH="$SRSRAN_4G/lib/src/phy/rf" "$ue" ue.conf
waits 'the UE has no PDU session' grep -q 'PDU Session Establishment successful' ue.out
in_ue ip link set lo up
in_ue ip route add default dev tun_srsue
in_ue ping -c 3 -W 5 10.45.0.1 >ping.out || fail "ping: $(cat ping.out)"
tail -n 1 ping.out
start iperf iperf3 -s -B 10.45.0.1

echo '== volume of KPM, and the effect of quotas'
http=$(grep -o 'http://[0-9.:]*' ric.out | head -n 1)
"$here/whole.py" "$RANLAB" "$work/e42" $namespace "$http" || fail 'values'
kill -0 "${pids[@]}" || fail 'a program has ended'
