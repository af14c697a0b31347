#!/usr/bin/env python3
"""Compares round-trip times of an xApp in Python and one in Rust, with the same RIC and base station. The xApps alternate
for ROUNDS rounds of COUNT pings each; each ping follows the echo of the previous one."""

import json
import os
import statistics
import subprocess
import time

import ranlab
from ranlab.cli import program

COUNT = int(os.environ.get("COUNT", "2000"))
ROUNDS = int(os.environ.get("ROUNDS", "5"))
#: HW's event trigger "on control": each control is echoed.
ON_CONTROL = b"\0"


def rust(address):
    command = [program(), "xapp", "ping", "--connect", address, "--dialect", "ranlab", "--format", "json"]
    command += ["--count", str(COUNT), "--size", "0"]
    told = json.loads(subprocess.run(command, check=True, capture_output=True, text=True).stdout)
    return told["rtt_us"]["p50"], told["rtt_us"]["p99"]


def python(address):
    times = []
    with ranlab.Xapp(address) as xapp:
        [node] = xapp.wait_nodes(1, offering="hw")
        # Reuses a ping received from the base station as the message to send.
        with xapp.subscribe("hw", period_ms=10, node=node) as pings:
            ping = next(iter(pings)).message
        with xapp.subscribe("hw", node=node, trigger=ON_CONTROL) as echoes:
            for _ in range(COUNT):
                sent = time.perf_counter_ns()
                xapp.control(node, "hw", ping, ack=False)
                echo = echoes.next(timeout=10)
                times.append((time.perf_counter_ns() - sent) / 1000)
                assert echo is not None and echo.message == ping, echo
    times.sort()
    return times[len(times) // 2], times[len(times) * 99 // 100]


def main():
    # The RIC and the base station run in separate processes, like the xApp in Rust.
    ric = subprocess.Popen([program(), "ric", "--e2", "tcp://127.0.0.1:0", "--e42", "tcp://127.0.0.1:0", "--format",
                            "ndjson"], stdout=subprocess.PIPE, text=True)
    places = [json.loads(ric.stdout.readline()) for _ in range(2)]
    e2, e42 = (place["address"] for place in places)
    fleet = subprocess.Popen([program(), "emulate", "--connect", e2, "--ues", "0", "--sm", "hw"], stdout=subprocess.DEVNULL)
    try:
        rounds = [(rust(e42), python(e42)) for _ in range(ROUNDS)]
    finally:
        for process in (fleet, ric):
            process.terminate()
            process.wait(10)
        ric.stdout.close()
    for at, name in enumerate(("p50", "p99")):
        r, p = (statistics.median(one[which][at] for one in rounds) for which in (0, 1))
        print(f"round trip {name}: Rust {r:.0f} us, Python {p:.0f} us, ratio {p / r:.2f} (medians of {ROUNDS} x {COUNT})")


main()
