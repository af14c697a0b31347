#!/usr/bin/env bash
# Compares the packet rate of each UPF design with that of a bare loop, which forwards packets without reading them. RAN,
# UPF and data network are three namespaces joined by veth pairs. The designs and the loop run one after the other, with
# the same load, several times. Each design must reach at least 0.6 of the rate of the loop. Needs root.
set -euo pipefail
[[ $(id -u) == 0 ]] || { echo "network namespaces need root; skipped"; exit 0; }
exec python3 - "$RANLAB" "${SECONDS_EACH:-4}" "${TURNS:-3}" <<'P'
import json, os, statistics, subprocess, sys, time

RANLAB, SECONDS, TURNS = sys.argv[1], int(sys.argv[2]), int(sys.argv[3])
LEAST = 0.6
RAN, CORE, DN = (f"ranlab-{name}-{os.getpid()}" for name in ("ran", "upf", "dn"))

def sh(text):
    subprocess.run(text, shell=True, check=True)

def set_up():
    for space in (RAN, CORE, DN):
        sh(f"ip netns add {space}; ip -n {space} link set lo up")
    sh(f"ip -n {RAN} link add n3 type veth peer name n3 netns {CORE}")
    sh(f"ip -n {CORE} link add n6 type veth peer name n6 netns {DN}")
    for space, address, device in ((RAN, "10.3.0.1", "n3"), (CORE, "10.3.0.2", "n3"), (CORE, "10.6.0.2", "n6"), (DN, "10.6.0.1", "n6")):
        sh(f"ip -n {space} address add {address}/24 dev {device}; ip -n {space} link set {device} up")
    for n in (11, 12):
        sh(f"ip -n {RAN} address add 10.3.0.{n}/24 dev n3")
    sh(f"ip netns exec {CORE} sysctl -qw net.ipv4.ip_forward=1")
    sh(f"ip -n {CORE} tuntap add upf0 mode tun; ip -n {CORE} link set upf0 up; ip -n {CORE} route add 10.60.0.0/16 dev upf0")
    sh(f"ip -n {DN} route add 10.60.0.0/16 via 10.6.0.2")

def start(space, *arguments):
    return subprocess.Popen(["ip", "netns", "exec", space, RANLAB, *arguments, "--format", "ndjson"], stdout=subprocess.PIPE, text=True)

def end(process):
    process.terminate()
    return json.loads(process.communicate(timeout=30)[0].splitlines()[-1])

UDP = ["--n6", "udp://10.6.0.2:2153,10.6.0.1:2153"], ["--n6", "udp://10.6.0.1:2153,10.6.0.2:2153"]
TUN = ["--n6", "tun://upf0"], ["--n6", "routed://10.6.0.1:9"]
KINDS = {
    "bare": (["--design", "bare"], UDP),
    "software": (["--design", "software"], UDP),
    "cp-offload": (["--design", "cp-offload"], UDP),
    "dp-offload, thread": (["--design", "dp-offload"], UDP),
    "dp-offload, XDP": (["--design", "dp-offload", "--xdp", "n3,n6"], TUN),
}

if os.environ.get("KINDS"):
    KINDS = {kind: how for kind, how in KINDS.items() if kind == "bare" or kind in os.environ["KINDS"].split(";")}

def run(kind, octets, downlink):
    design, (n6, network) = KINDS[kind]
    upf = start(CORE, "upf", "--n4", "10.3.0.2:8805", "--n3", "10.3.0.2:2152", *n6, *design)
    time.sleep(0.4)
    rates = ["--downlink", "max"] if downlink else []
    dn = start(DN, "load", "upf", "--role", "data-network", *network, "--duration", "120s", "--sessions", "100", "--bytes", str(octets))
    time.sleep(0.3)
    load = subprocess.run(["ip", "netns", "exec", RAN, RANLAB, "load", "upf", "--mode", "sessions", "--sessions", "100",
        "--uplink", "max", "--reflect-every", "0", "--bytes", str(octets), "--duration", f"{SECONDS}s", "--n4", "10.3.0.2:8805",
        "--n3", "10.3.0.2:2152", "--smf", "10.3.0.1:8805", "--gnb", "10.3.0.11:2152", "--gnbs", "2", "--server", "10.6.0.1:9",
        "--format", "json"], stdout=subprocess.PIPE, text=True)
    report = json.loads(load.stdout.splitlines()[-1])
    seen, upf = end(dn), end(upf)
    step = report["steps"][0]
    # A few duplicates are allowed: the sequence numbers of smoke packets occur again later, and the data network cannot
    # distinguish the two.
    assert report["unexplained"] == 0 and seen["duplicates"] <= 10, (report, seen)
    sent = step["uplink"]["sent"]
    return seen["received"] / step["seconds"], sent / step["seconds"], upf["cpu_s"], upf.get("xdp")

try:
    set_up()
    for octets in (100, 1400):
        rates = {kind: [] for kind in KINDS}
        for turn in range(TURNS):
            for kind in KINDS:
                rates[kind].append(run(kind, octets, False))
        bare = statistics.median(rate for rate, *_ in rates["bare"])
        for kind, of_kind in rates.items():
            got = statistics.median(rate for rate, *_ in of_kind)
            offered = statistics.median(rate for _, rate, *_ in of_kind)
            xdp = of_kind[-1][3]
            print(f"{octets} octets, {kind}: {got:,.0f} packets/s of {offered:,.0f} offered, {got / bare:.2f} of the bare loop"
                  f" (from {min(r for r, *_ in of_kind):,.0f} to {max(r for r, *_ in of_kind):,.0f})" + (f"; in the kernel {xdp['uplink']:,}" if xdp else ""), flush=True)
            assert got >= LEAST * bare, (kind, got, bare)
            assert xdp is None or xdp["uplink"] > 0, xdp
finally:
    for space in (RAN, CORE, DN):
        subprocess.run(["ip", "netns", "del", space], check=False)
P
