#!/usr/bin/env python3
"""Both kinds of plug-ins in one program (docs/how-to/plugins.md): a switch that forwards every packet, and a generator, over UDP on
this machine. In a scenario of rig pipeline: sut.engine = "plugin", sut.tier = "nic", sut.plugin and load.plugin."""
import json, socket, struct, sys, threading, time

SWITCH, MARK = ("127.0.0.1", 47811), struct.Struct("<IId")  # run, number, time of sending
wire, books, latency = socket.socket(socket.AF_INET, socket.SOCK_DGRAM), {}, {}

def frames(path):  # yields header and bytes of each packet of a pcap file
    octets, at = open(path, "rb").read(), 24
    while at < len(octets):
        (size,) = struct.unpack_from("<I", octets, at + 8)
        yield octets[at : at + 16], octets[at + 16 : at + 16 + size]
        at += 16 + size

def forward():
    while True:
        packet, sender = wire.recvfrom(65535)
        books["received"] += 1
        wire.sendto(packet, sender)

def replay(order, trace):  # sends each packet once; a returned packet has left the switch at the other port
    wire.settimeout(2)
    for port, other in (("access", "core"), ("core", "access")):
        with open(order[other], "wb") as out:
            out.write(open(trace[port]["pcap"], "rb").read(24))
            for head, frame in frames(trace[port]["pcap"]):
                wire.send(frame)
                out.write(head + wire.recv(65535))

def load(order, packets):  # open loop: the rate alone decides when a packet is due; it is sent or late; a sent one returns or is lost
    began, number, last = time.perf_counter(), 0, 0
    end = began + order["duration_s"] + order["drain_s"]
    while (now := time.perf_counter()) < end and (number < books["due"] or books["received"] < books["sent"]):
        if number < books["due"] and now >= (at := began + number / order["rate"]):
            books[fate := "late" if now > at + order["late_after_s"] else "sent"] += 1
            if fate == "sent":
                wire.send(MARK.pack(order["run"], number, now) + packets[number % len(packets)])
            number += 1
        try:
            run, _, sent = MARK.unpack_from(wire.recv(65535))
        except BlockingIOError:
            continue
        last = time.perf_counter()
        ns = max(int((last - sent) * 1e9), 1)
        ns = round(ns, 2 - len(str(ns)))
        latency[ns] = latency.get(ns, 0) + 1
        books["received" if run == order["run"] else "strangers"] += 1
    books.update(late=books["late"] + books["due"] - number, took_ns=max(int((last - began) * 1e9), 0), over=True)

for order in map(json.loads, sys.stdin):
    do, reply = order["do"], {"ok": True}
    if do == "hello":
        role, reply = order["role"], {"ok": True, "version": 1, "features": ["replay"]}
        wire.bind(SWITCH) if role == "switch" else wire.connect(SWITCH)
    elif do == "configure" and order["pipeline"]["name"] != "portfwd":
        reply = {"ok": False, "error": "this switch passes packets on, and knows no other pipeline"}
    elif do == "configure":
        trace, books, reply["rate_max"] = order["trace"], {"received": 0}, 5_000
        role == "switch" and threading.Thread(target=forward, daemon=True).start()
    elif do == "replay":
        replay(order, trace)
    elif do == "start":
        wire.setblocking(False)
        latency.clear()
        books = dict(due=int(order["rate"] * order["duration_s"]), sent=0, late=0, received=0, strangers=0, over=False)
        packets = [frame for port in trace.values() for _, frame in frames(port["pcap"])]
        threading.Thread(target=load, args=(order, packets), daemon=True).start()
    else:  # counters, stop
        reply |= books if role == "switch" else books | {"latency_ns": sorted(latency.items())}
    print(json.dumps(reply | {"id": order["id"]}), flush=True)
