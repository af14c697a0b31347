#!/usr/bin/env bash
# Compares sockets with AF_XDP for the packets of the base stations, in turn and on the same veth pair. Prints packets per
# second and CPU time per packet of the generator, first for sending only, then with every packet reflected. veth copies
# frames, so the results do not apply to a network card. Needs root.
set -euo pipefail
[[ $(id -u) == 0 ]] || { echo "network namespaces need root; skipped"; exit 0; }
exec python3 - "$RANLAB" "${SECONDS_EACH:-3}" "${TURNS:-3}" <<'P'
import json, os, statistics, subprocess, sys, time

RANLAB, SECONDS, TURNS = sys.argv[1], int(sys.argv[2]), int(sys.argv[3])
RAN, CORE = (f"ranlab-{name}-{os.getpid()}" for name in ("ran", "upf"))
KINDS = ("sockets", "af-xdp", "af-xdp,native")

def sh(text):
    subprocess.run(text, shell=True, check=True)

def set_up():
    sh(f"ip netns add {RAN}; ip netns add {CORE}; ip -n {RAN} link add n3 type veth peer name n3 netns {CORE}")
    for space, addresses in ((RAN, ("10.3.0.1", "10.3.0.11", "10.3.0.12")), (CORE, ("10.3.0.2",))):
        for address in addresses:
            sh(f"ip -n {space} address add {address}/24 dev n3")
        sh(f"ip -n {space} link set lo up; ip -n {space} link set n3 up")

def run(io, n6):
    upf = subprocess.Popen(["ip", "netns", "exec", CORE, RANLAB, "upf", "--n4", "10.3.0.2:8805", "--n3", "10.3.0.2:2152", "--n6", n6,
        "--format", "ndjson"], stdout=subprocess.PIPE, text=True)
    time.sleep(0.4)
    load = subprocess.run(["ip", "netns", "exec", RAN, RANLAB, "load", "upf", "--mode", "sessions", "--sessions", "100", "--uplink", "max",
        "--bytes", "100", "--duration", f"{SECONDS}s", "--n4", "10.3.0.2:8805", "--n3", "10.3.0.2:2152", "--smf", "10.3.0.1:8805",
        "--gnb", "10.3.0.11:2152", "--gnbs", "2", "--no-smoke-test", "--io", io, "--format", "json"], stdout=subprocess.PIPE, text=True)
    report = json.loads(load.stdout.splitlines()[-1])
    upf.terminate()
    seen = json.loads(upf.communicate(timeout=30)[0].splitlines()[-1])
    assert report["unexplained"] == 0, report
    step = report["steps"][0]
    up = step["uplink"]
    return {"sent": up["sent"] / step["seconds"], "back": up["received"] / step["seconds"], "unsent": up["unsent"],
        "upf": seen["n3_received"] / step["seconds"], "cpu_us": step["generator_cpu_s"] * 1e6 / (up["sent"] + up["received"]),
        "rx_lost": (report["af_xdp"] or {}).get("rx_dropped", 0)}

try:
    set_up()
    for n6 in ("sink", "reflect"):
        runs = {io: [] for io in KINDS}
        for turn in range(TURNS):
            for io in KINDS:
                runs[io].append(run(io, n6))
        base = statistics.median(one["sent"] + one["back"] for one in runs["sockets"])
        for io, of_io in runs.items():
            middle = {key: statistics.median(one[key] for one in of_io) for key in of_io[0]}
            total = [one["sent"] + one["back"] for one in of_io]
            print(f"{n6}, {io}: {middle['sent']:,.0f} packets/s sent, {middle['upf']:,.0f} came to the UPF, {middle['back']:,.0f} came back; "
                  f"{middle['cpu_us']:.2f} us of CPU each; {statistics.median(total) / base:.2f} of sockets (from {min(total) / base:.2f} to "
                  f"{max(total) / base:.2f}); unsent {middle['unsent']:,.0f}, lost at RX {middle['rx_lost']:,.0f}", flush=True)
finally:
    for space in (RAN, CORE):
        subprocess.run(["ip", "netns", "del", space], check=False)
P
