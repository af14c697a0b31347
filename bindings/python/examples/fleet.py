#!/usr/bin/env python3
"""A RIC and 50 base stations with 8 UEs each in this process; an xApp reads their MAC statistics with `async for`."""

import asyncio
import os
import time

import ranlab
from ranlab.models import MacRow

SECONDS = float(os.environ.get("SECONDS_TO_RUN", "10"))


async def listen(reports: ranlab.Subscription[MacRow], until: float) -> int:
    worst: dict[str, int] = {}
    count = 0
    async for report in reports:
        count += 1
        worst[report.node] = min(row.wb_cqi for row in report.rows)
        if time.monotonic() > until:
            break
    print("worst CQI:", ", ".join(f"{node} {cqi}" for node, cqi in sorted(worst.items())[:3]), "…")
    return count


def main() -> None:
    with ranlab.Ric() as ric, ranlab.Fleet(ric.e2, nodes=50, ues=8) as fleet, ranlab.Xapp(ric.e42) as xapp:
        print(f"{len(xapp.wait_nodes(50))} nodes at {ric.e2}")
        with xapp.subscribe(MacRow, period_ms=100) as reports:
            count = asyncio.run(listen(reports, time.monotonic() + SECONDS))
            print(f"{count} reports taken, {reports.dropped} dropped, {xapp.counters()['lost']} lost on the way")
        print("base stations:", {name: fleet.report()[name] for name in ("alive", "sent", "dropped")})
        print("RIC:", ric.report())


main()
