#!/usr/bin/env bash
# Measures the CPU time of a RIC with and without --kpi. 200 base stations with 10 UEs each report once per second, and the
# KPIs are scraped every 5 s. They may cost at most 5 % of a core, and have at most 10,000 series. SECONDS_EACH: length of each
# window (default 60).
set -euo pipefail
exec python3 - "${RANLAB:?}" "${SECONDS_EACH:-60}" <<'P'
import json, os, re, subprocess, sys, tempfile, time, urllib.request

RANLAB, WINDOW = sys.argv[1], float(sys.argv[2])
NODES, UES, EVERY_S, SHARE_MAX, SERIES_MAX = 200, 10, 5, 0.05, 10_000
TICKS = os.sysconf("SC_CLK_TCK")

def cpu_s(process):
    fields = open(f"/proc/{process.pid}/stat").read().rpartition(")")[2].split()
    return (int(fields[11]) + int(fields[12])) / TICKS

def scrape(address):
    text = urllib.request.urlopen(address + "/metrics", timeout=30).read().decode()
    value = lambda name: float((re.search(rf"^{name} (\S+)$", text, re.M) or [0, "0"])[1])
    return len(re.findall(r"^ranlab_kpi_\w+\{", text, re.M)), {name: value(name) for name in (
        "ranlab_nodes_connected", "ranlab_kpi_reports_total", "ranlab_kpi_series_left_out")}

def start(*words):
    return subprocess.Popen([RANLAB, *words, "--format", "ndjson"], stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True)

def measured(kpi):
    """Share of a core, series and values at the end, and reports per second."""
    with tempfile.TemporaryDirectory() as folder:
        ric = start("ric", "--e2", f"unix://{folder}/e2", "--e42", f"unix://{folder}/e42", "--http", "127.0.0.1:0", "--period", "1s", *kpi)
        fleet = start("emulate", "--connect", f"unix://{folder}/e2", "--nodes", str(NODES), "--ues", str(UES), "--sm", "kpm,mac")
        try:
            address = next(it["address"] for it in map(json.loads, ric.stdout) if it.get("listening") == "http")
            for _ in range(60):
                if scrape(address)[1]["ranlab_nodes_connected"] == NODES:
                    break
                time.sleep(0.5)
            # Subscriptions are complete and first reports have arrived.
            time.sleep(10)
            begin, spent, first = time.monotonic(), cpu_s(ric), scrape(address)
            while time.monotonic() - begin < WINDOW:
                time.sleep(EVERY_S)
                last = scrape(address)
            took = time.monotonic() - begin
            reports = last[1]["ranlab_kpi_reports_total"] - first[1]["ranlab_kpi_reports_total"]
            assert last[1]["ranlab_nodes_connected"] == NODES, last
            return (cpu_s(ric) - spent) / took, *last, reports / took
        finally:
            for process in (fleet, ric):
                process.terminate()
                process.wait()

share, series, values, rate = measured(["--kpi", "kpm,mac"])
without, none, *_ = measured([])
print(f"{NODES} base stations of {UES} UEs, a report of two models a second, scraped every {EVERY_S} s: {share * 100:.2f} % of a core, "
      f"{without * 100:.2f} % without --kpi; {series} series, {values['ranlab_kpi_series_left_out']:.0f} left out; {rate:.0f} reports/s")
assert rate > 1.8 * NODES, "the base stations do not report two models a second"
assert share <= SHARE_MAX, f"{share:.3f} of a core"
assert 0 < series <= SERIES_MAX and none == 0, (series, none)
P
