#!/usr/bin/env python3
"""Measures the throughput per UE of 10 base stations with KPM, sets a slice quota with RC, and measures its effect."""

import collections
import os
import time

import ranlab

SECONDS = float(os.environ.get("SECONDS_TO_RUN", "10"))

mbps: dict[tuple[str, int], list[float]] = collections.defaultdict(list)
radio = {"radio": "lte:25", "ues": 2, "flows": ["full"], "sm": ["kpm"]}
with ranlab.Ric() as ric, ranlab.Fleet(ric.e2, nodes=10, **radio), ranlab.Xapp(ric.e42) as xapp:
    nodes = xapp.wait_nodes(10, offering="rc")
    quota = ranlab.SliceQuota(sst=1, max=30)
    with xapp.subscribe("kpm", period_ms=200) as reports:
        end = time.monotonic() + SECONDS
        while time.monotonic() < end and (report := reports.next(timeout=2)):
            for row in report.rows:
                if row.measurement == "DRB.UEThpDl" and row.ue is not None:
                    mbps[report.node, row.ue].append(row.value / 1000)
    told = xapp.order(nodes[0], quota, effect=ranlab.Effect(["DRB.UEThpDl", "RRU.PrbTotDl"]))
    for kpi, change in (told.effect or {}).items():
        print(f"{nodes[0].name}: {kpi} {change.before:.0f} before, {change.after:.0f} after")
try:
    import matplotlib.pyplot as plt

    for (node, ue), values in mbps.items():
        plt.plot(values, label=f"{node} UE {ue}")
    plt.ylabel("Mbit/s")
    plt.savefig("kpm_slice.png")
except ImportError:
    for (node, ue), values in mbps.items():
        print(f"{node:15} UE {ue:5} {sum(values) / len(values):6.2f} Mbit/s {'#' * round(max(values))}")
