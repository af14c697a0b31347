#!/usr/bin/env bash
# Tests two kinds of overload: a RIC with half of the CPU time that it needs, and an xApp that reads a tenth of its stream.
# Memory stays bounded, the number of drops equals the gaps that the xApp detects, and delivered reports are recent.
set -euo pipefail
exec python3 - "$RANLAB" <<'P'
import json, os, signal, subprocess, sys, threading, time

RANLAB, HERE = sys.argv[1], os.getcwd()
TRANSPORTS = {
    "unix": (f"unix://{HERE}/e2", f"unix://{HERE}/e42"),
    "tcp": ("tcp://127.0.0.1:26421", "tcp://127.0.0.1:26422"),
}
RSS_MB_MAX, AGE_US_MAX = 64, 250_000

def start(*arguments):
    return subprocess.Popen([RANLAB, *arguments, "--format", "ndjson"], stdout=subprocess.PIPE, text=True)

def cpu_s(pid):
    fields = open(f"/proc/{pid}/stat").read().rsplit(")", 1)[1].split()
    return (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")

def rss_mb(pid):
    return next(int(l.split()[1]) for l in open(f"/proc/{pid}/status") if l.startswith("VmHWM")) / 1024

def last(process):
    lines = process.communicate(timeout=90)[0].splitlines()
    return json.loads(lines[-1])

class Throttle(threading.Thread):
    """Lets a process run for a share of the time. Needs no cgroups, so it works in any container."""
    def __init__(self, pid, share, slice_s=0.01):
        super().__init__(daemon=True)
        self.pid, self.share, self.slice_s, self.on = pid, share, slice_s, True
    def run(self):
        # The quota applies to CPU time. The process may use share * elapsed, and is stopped while it has used more.
        begin, used = time.monotonic(), cpu_s(self.pid)
        stopped = False
        while self.on:
            over = cpu_s(self.pid) - used > self.share * (time.monotonic() - begin)
            if over != stopped:
                os.kill(self.pid, signal.SIGSTOP if over else signal.SIGCONT)
                stopped = over
            time.sleep(self.slice_s)
        os.kill(self.pid, signal.SIGCONT)

def run(name, transport, slow_ric=False, share=None):
    e2, e42 = TRANSPORTS[transport]
    ric = start("ric", "--e2", e2, "--e42", e42, "--duration", "60s")
    time.sleep(0.5)
    fleet = start("emulate", "--connect", e2, "--nodes", "40", "--ues", "32", "--duration", "45s")
    time.sleep(1)
    probe = start("xapp", "monitor", "--connect", e42, "--period", "10ms", "--duration", "4s")
    time.sleep(1.5)
    before, at = cpu_s(ric.pid), time.monotonic()
    time.sleep(2)
    need = (cpu_s(ric.pid) - before) / (time.monotonic() - at)
    offered = last(probe)["indications"] / 4
    # At the end, RIC and xApp have sufficient CPU time and speed again. A report then follows each gap, so the gap is counted.
    slow = ["--at-most", str(int(offered * share)), "--slow-from", "2s", "--slow-until", "11s"] if share else []
    xapp = start("xapp", "monitor", "--connect", e42, "--period", "10ms", "--duration", "16s", *slow)
    time.sleep(2)
    if slow_ric:
        throttle = Throttle(ric.pid, need / 2)
        throttle.start()
        time.sleep(9)
        throttle.on = False
        throttle.join()
    seen = last(xapp)
    memory = rss_mb(ric.pid)
    fleet.send_signal(signal.SIGTERM)
    sent = last(fleet)
    ric.send_signal(signal.SIGTERM)
    served = last(ric)
    dropped = served["dropped"] + sent["dropped"]
    print(f"{name}, {transport}: {offered:.0f}/s offered, RIC needs {need:.3f} cores; delivered {seen['indications']}, "
          f"lost {seen['lost']}, dropped {dropped} (RIC {served['dropped']}, nodes {sent['dropped']}), "
          f"p99 age {seen['latency_us']['p99'] / 1000:.0f} ms, RIC {memory:.1f} MB at most")
    assert seen["subscriptions"] == 160, seen
    assert dropped > 0, "nothing was dropped: the test did not starve anything"
    assert seen["lost"] == dropped, "the gaps are not the drops"
    assert memory < RSS_MB_MAX, "memory"
    assert seen["latency_us"]["p99"] <= AGE_US_MAX, "old data was delivered"

for transport in TRANSPORTS:
    run("half of the CPU", transport, slow_ric=True)
    run("a tenth of the stream", transport, share=0.1)
P
