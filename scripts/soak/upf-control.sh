#!/usr/bin/env bash
# Measures the UPF's control plane and the generator that loads it, and compares each value with a limit: the generator
# compared with a bare loop, sessions over loopback and in memory, constant cost from 0 to 500,000 sessions and over a minute,
# and a mock with known service time. Also shows coordinated omission, which a closed loop hides and an open loop does not.
set -euo pipefail
exec python3 - "$RANLAB" "$@" <<'P'
import json, os, statistics, subprocess, sys, time

RANLAB, PARTS = sys.argv[1], sys.argv[2:] or ["calibrate", "cycles", "live", "hold", "mock"]
NET = f"127.{100 + os.getpid() % 100}"
N4, N3, N6, DN = f"{NET}.0.8:8805", f"{NET}.0.8:2152", f"{NET}.0.8:2153", f"{NET}.0.10:2153"
# UPF and load have separate CPUs. Otherwise the kernel may run both on one CPU, and half of the machine is idle.
UPF_CPU, LOAD_CPU = ("0", "1,0") if os.cpu_count() > 1 else ("0", "0")
fallen = []

def holds(good, what):
    print(("holds   " if good else "FALLS   ") + what, flush=True)
    if not good:
        fallen.append(what)

class Upf:
    def __init__(self, *arguments):
        self.process = subprocess.Popen([RANLAB, "upf", "--format", "ndjson", "--n4", N4, "--n3", N3, "--n6", f"udp://{N6},{DN}", "--pin", UPF_CPU, *arguments], stdout=subprocess.PIPE, text=True)
        self.process.stdout.readline()
    def __enter__(self):
        return self
    def __exit__(self, *_):
        self.process.terminate()
        self.summary = json.loads(self.process.communicate(timeout=60)[0].splitlines()[-1])
    def load(self, *arguments):
        out = subprocess.run([RANLAB, "load", "upf", "--format", "json", "--n4", N4, "--n3", N3, "--smf", f"{NET}.0.1:8805", "--gnb", f"{NET}.1.1:2152",
            "--n6", f"udp://{DN},{N6}", "--upf-pid", str(self.process.pid), "--pin", LOAD_CPU, *arguments], stdout=subprocess.PIPE, text=True).stdout
        report = json.loads(out.splitlines()[-1])
        assert report.get("unexplained", 0) == 0, report
        return report

def each_us(report):
    return report["control"]["upf_cpu_s"] * 1e6 / report["control"]["completed"]

def calibrate():
    with Upf() as upf:
        r = upf.load("--mode", "calibrate")
    holds(r["ratio"] >= 0.7, f"generator {r['generator_per_cpu_s']:,.0f} answers per CPU-second, {r['ratio']:.2f} of the bare loop's {r['bare']['per_cpu_s']:,.0f} (0.7)")
    for memory in r["in_memory"]:
        print(f"        in memory, {memory['live']:,} live: {memory['cycles_per_cpu_s']:,.0f} cycles, {memory['messages_per_cpu_s']:,.0f} messages per CPU-second")
    holds(r["in_memory"][0]["cycles_per_cpu_s"] >= 1e6, "1,000,000 cycles in memory")

def cycles():
    with Upf() as upf:
        runs = [upf.load("--mode", "control", "--window", "64", "--duration", "5s") for _ in range(3)]
    best = sorted(run["control"]["cycles_per_s"] for run in runs)
    holds(best[1] >= 60_000, f"{best[1]:,.0f} cycles/s over loopback (from {best[0]:,.0f} to {best[2]:,.0f}; 60,000)")

def live():
    counts, costs = (0, 100_000, 500_000), {}
    for turn in range(int(os.environ.get("TURNS", 3))):
        # The numbers of sessions are measured in alternating order, so that a change of the machine affects all of them equally.
        for count in counts[::1 if turn % 2 == 0 else -1]:
            with Upf() as upf:
                costs.setdefault(count, []).append(each_us(upf.load("--mode", "control", "--window", "64", "--duration", "6s", "--live", str(count))))
    median = {count: statistics.median(of) for count, of in costs.items()}
    print("        UPF's CPU for each cycle:", "; ".join(f"{count:,} live {', '.join(f'{c:.2f}' for c in costs[count])} us" for count in counts))
    for count in counts[1:]:
        holds(abs(median[count] / median[0] - 1) <= 0.1, f"{count:,} live cost {median[count] / median[0]:.3f} of none (0.9 to 1.1)")

def hold():
    with Upf() as upf:
        r = upf.load("--mode", "control", "--window", "64", "--duration", "60s", "--live", "1000")
    rate, latency = r["control"]["drift"]
    holds(abs(rate - 1) <= 0.1, f"over 60 s: last third's rate {rate:.3f} of the first's, latency {latency:.3f} ({each_us(r):.2f} us CPU a cycle, {r['control']['completed']:,} cycles)")

def mock():
    with Upf("--service", "2ms") as upf:
        closed = upf.load("--mode", "control", "--window", "1", "--duration", "5s")
        below = upf.load("--mode", "control", "--arrivals", "constant", "--rate", "40", "--duration", "5s")
        above = upf.load("--mode", "control", "--arrivals", "constant", "--rate", "250", "--duration", "8s", "--t1", "20s")
    p50 = lambda r: r["control"]["requests"]["establishment"]["latency_us"]["p50"]
    for name, r in (("closed loop", closed), ("open loop at 40/s", below)):
        holds(abs(p50(r) / 2_000 - 1) <= 0.1, f"mock of 2 ms, {name}: p50 {p50(r):,.0f} us (2,000 +- 10 %)")
    rate = above["control"]["answers_per_s"]
    holds(abs(rate / 500 - 1) <= 0.05, f"mock of 2 ms offered 750/s: {rate:.1f} answers/s (500 +- 5 %)")
    # A closed loop slows down with the UPF and does not show the queue. The open loop shows it.
    holds(p50(above) > 20 * p50(closed), f"coordinated omission: closed {p50(closed):,.0f} us at the same UPF's limit, open {p50(above):,.0f} us")
    with Upf("--service", "2ms", "--loss-permille", "50") as upf:
        lossy = upf.load("--mode", "control", "--arrivals", "constant", "--rate", "40", "--duration", "10s", "--no-smoke-test", "--heartbeat", "0s", "--t1", "300ms", "--n1", "0")
    lost = sum(kind["lost"] + kind["late"] for kind in lossy["control"]["requests"].values())
    holds(lost == upf.summary["mock_lost"], f"{lost} lost by the account, {upf.summary['mock_lost']} by the mock")

for part in PARTS:
    globals()[part]()
if fallen:
    sys.exit(f"{len(fallen)} bars missed")
P
