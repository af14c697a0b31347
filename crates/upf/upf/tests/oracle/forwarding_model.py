#!/usr/bin/env python3
"""A user plane as TS 29.244 describes it, small and slow, to compare the real one with.

Reads lines from standard input and writes one line for each packet:

  pfds HEX       a PFCP PFD Management Request
  session HEX    a PFCP Session Establishment Request, whose F-TEIDs are chosen by the SMF
  up HEX         a GTP-U datagram that came to the UPF
  down HEX       an IP packet from the data network

  n6 HEX | n3 ADDRESS CLASS HEX | drop | unknown TEID | taken

It decodes the bytes itself and shares no code with the user plane. Not modelled: time (bit rates, timers) and buffers.
"""

import ipaddress
import struct
import sys

ACCESS, CORE, N6_LAN = 0, 1, 2
DROP, FORWARD = 1, 2
GROUPS = {1, 2, 3, 4, 6, 7, 58, 59}


def elements(raw):
    """[(type, value)]; the value of a group is such a list."""
    found = []
    while raw:
        kind, length = struct.unpack_from(">HH", raw)
        value, raw = raw[4 : 4 + length], raw[4 + length :]
        found.append((kind, elements(value) if kind in GROUPS else value))
    return found


def all_of(group, kind):
    return [value for own, value in group if own == kind]


def first(group, kind, default=None):
    return next(iter(all_of(group, kind)), default)


def number(raw):
    return int.from_bytes(raw, "big")


class Packet:
    """A user's IP packet: what rules ask about it."""

    def __init__(self, raw):
        self.version = raw[0] >> 4
        self.label = None
        if self.version == 4:
            at, self.protocol, self.tos = 4 * (raw[0] & 15), raw[9], raw[1]
            self.raw = raw[: number(raw[2:4])]
            self.source, self.destination = raw[12:16], raw[16:20]
        else:
            at, self.protocol = 40, raw[6]
            self.tos, self.label = number(raw[:2]) >> 4 & 0xFF, number(raw[1:4]) & 0xFFFFF
            self.raw = raw[: 40 + number(raw[4:6])]
            self.source, self.destination = raw[8:24], raw[24:40]
        has_ports = self.protocol in (6, 17, 132)
        self.ports = struct.unpack_from(">HH", self.raw, at) if has_ports else (None, None)
        self.spi = number(self.raw[at : at + 4]) if self.protocol == 50 else None


def side(words):
    """ADDRESS [PORTS] at the beginning of words."""
    address, ports = words.pop(0), None
    if words and words[0][0].isdigit():
        ranges = [part.split("-") for part in words.pop(0).split(",")]
        ports = [(int(part[0]), int(part[-1])) for part in ranges]
    network = None if address in ("any", "assigned") else ipaddress.ip_network(address, strict=False)
    return network, ports


def inside(end, address, port):
    network, ports = end
    if network is not None:
        ip = ipaddress.ip_address(address)
        if ip.version != network.version or ip not in network:
            return False
    return ports is None or (port is not None and any(low <= port <= high for low, high in ports))


def flow_of(text):
    """Protocol, remote end and UE's end of a flow description."""
    words = text.split()
    protocol, words = words[2], words[4:]
    remote = side(words)
    words.pop(0)
    names = {"ip": None, "tcp": 6, "udp": 17, "icmp": 1}
    return names[protocol] if protocol in names else int(protocol), remote, side(words)


class Filter:
    """An SDF filter (8.2.5): flags, then a flow description and the other parts."""

    def __init__(self, value):
        flags, at = value[0], 2
        self.flow = self.tos = self.spi = self.label = None
        if flags & 1:
            length = number(value[2:4])
            text, at = value[4 : 4 + length].decode(), 4 + length
            self.flow = flow_of(text) if text else None
        if flags & 2:
            self.tos, at = value[at : at + 2], at + 2
        if flags & 4:
            self.spi, at = number(value[at : at + 4]), at + 4
        if flags & 8:
            self.label = number(value[at : at + 3]) & 0xFFFFF
        self.excludes = (self.flow, self.tos, self.spi, self.label) != (None, None, None, None)

    def takes(self, packet, from_ue):
        if self.flow is not None:
            protocol, remote, ue = self.flow
            ends = [(packet.source, packet.ports[0]), (packet.destination, packet.ports[1])]
            at_ue, at_remote = ends if from_ue else reversed(ends)
            fits = protocol is None or protocol == packet.protocol
            if not (fits and inside(remote, *at_remote) and inside(ue, *at_ue)):
                return False
        if self.tos is not None and packet.tos & self.tos[1] != self.tos[0] & self.tos[1]:
            return False
        return self.spi in (None, packet.spi) and self.label in (None, packet.label)


def pfd_filters(value):
    """Filters of PFD Contents (8.2.39): a flow description, and a list of further ones."""
    flags, at, texts = value[0], 2, []
    if flags & 1:
        length = number(value[at : at + 2])
        texts, at = [value[at + 2 : at + 2 + length]], at + 2 + length
    if flags & 0x20:
        end, at = at + 2 + number(value[at : at + 2]), at + 2
        while at < end:
            length = number(value[at : at + 2])
            texts, at = [*texts, value[at + 2 : at + 2 + length]], at + 2 + length
    return [Filter(b"\1\0" + len(text).to_bytes(2, "big") + text) for text in texts]


class Applications:
    """Flow descriptions by Application ID (6.2.5): a request replaces those that it names, or deletes all."""

    def __init__(self):
        self.filters = {}

    def manage(self, message):
        named = all_of(elements(message[8:]), 58)
        if not named:
            self.filters = {}
        for application in named:
            contexts = all_of(application, 59)
            contents = [value for context in contexts for value in all_of(context, 61)]
            self.filters[first(application, 24)] = [one for value in contents for one in pfd_filters(value)]


def prefix(address):
    """A UE is known by its IPv4 address or its IPv6 /64."""
    return address if len(address) == 4 else address[:8]


class Rule:
    def __init__(self, pdr, fars, qers, urrs, applications):
        pdi = first(pdr, 2)
        self.id, self.precedence = number(first(pdr, 56)), number(first(pdr, 29))
        self.interface = number(first(pdi, 20))
        f_teid = first(pdi, 21)
        self.teid = number(f_teid[1:5]) if f_teid else None
        self.from_network = f_teid is None and self.interface in (CORE, N6_LAN)
        self.from_ue = self.interface == ACCESS
        self.qfis = {number(value) for value in all_of(pdi, 124)}
        self.ues, self.by_destination = set(), not self.from_ue
        for value in all_of(pdi, 93):
            self.by_destination |= bool(value[0] & 4)
            at = 1
            for flag, length in ((2, 4), (1, 16)):
                if value[0] & flag:
                    self.ues.add(prefix(value[at : at + length]))
                    at += length
        filters = [Filter(value) for value in all_of(pdi, 23)]
        self.filters = [one for one in filters if one.excludes]
        self.application, self.applications = first(pdi, 24), applications
        removal = first(pdr, 95)
        self.strips = removal is not None and len(removal) > 1 and bool(removal[1] & 1)
        self.far = fars.get(number(first(pdr, 108)))
        named = {number(value) for value in all_of(pdr, 109)}
        self.qers = [qer for qer in qers if number(first(qer, 109)) in named]
        counted = {number(value) for value in all_of(pdr, 81)}
        self.meters = [meter for meter in urrs if meter.id in counted]
        flows = [number(value) for qer in self.qers for value in all_of(qer, 124)]
        self.marked = next((flow for flow in flows if flow), flows[0] if flows else None)

    def takes(self, packet):
        address = packet.destination if self.by_destination else packet.source
        if self.ues and prefix(address) not in self.ues:
            return False
        filters = self.filters
        if self.application is not None:
            filters = self.applications.filters.get(self.application, [])
        elif not filters:
            return True
        return any(one.takes(packet, self.from_ue) for one in filters)

    def is_closed(self):
        """Gate Status (8.2.7): two bits for each direction, uplink in the upper ones."""
        shift = 2 if self.from_ue else 0
        return any(number(first(qer, 25)) >> shift & 3 for qer in self.qers)


class Meter:
    """A volume quota (8.2.50): flags total, uplink, downlink; packets stop once one is used up."""

    def __init__(self, urr):
        self.id, self.used = number(first(urr, 81)), [0, 0]
        quota, at = first(urr, 73), 1
        self.limits = [None, None, None]
        for bit in range(3) if quota else ():
            if quota[0] >> bit & 1:
                self.limits[bit], at = number(quota[at : at + 8]), at + 8

    def is_used_up(self):
        used = [sum(self.used), *self.used]
        return any(limit is not None and now >= limit for limit, now in zip(self.limits, used))


class Session:
    def __init__(self, message, applications):
        body = elements(message[16:])
        fars = {number(first(far, 108)): far for far in all_of(body, 3)}
        meters = [Meter(urr) for urr in all_of(body, 6)]
        rules = [Rule(pdr, fars, all_of(body, 7), meters, applications) for pdr in all_of(body, 1)]
        self.rules = sorted(rules, key=lambda rule: rule.precedence)
        self.teids = {rule.teid for rule in rules if rule.teid is not None}
        self.ues = set()
        if any(rule.from_network for rule in rules):
            self.ues = set().union(*(rule.ues for rule in rules))
        one = [rule.qfis for rule in self.rules if rule.from_ue and len(rule.qfis) == 1]
        self.uplink_flow = min(one[0]) if one else None
        # Without an F-TEID a rule takes the packets of every tunnel at its interface.
        self.at = {}
        for rule in rules:
            self.at.setdefault(rule.interface, set()).add(rule.teid)


def gtpu(teid, container, packet):
    """container: (type, bytes of the container's content) or None."""
    head = b"" if container is None else b"\0\0\0\x85\x01" + container + b"\0"
    flags = 0x34 if container is not None else 0x30
    return struct.pack(">BBHI", flags, 255, len(head) + len(packet), teid) + head + packet


def forward(session, rule, packet, container):
    if rule.far is None or not number(first(rule.far, 44)[:1]) & FORWARD:
        return "drop"
    way = first(rule.far, 4)
    header = first(way, 84)
    if rule.is_closed() or any(meter.is_used_up() for meter in rule.meters):
        return "drop"
    for meter in rule.meters:
        meter.used[0 if rule.from_ue else 1] += len(packet.raw)
    if header is None:
        return "n6 " + packet.raw.hex()
    flow = rule.marked if rule.marked is not None else session.uplink_flow
    keeps = container is not None and not rule.strips and rule.marked is None
    if not keeps:
        # A rule that removes the container adds no other, unless a QER names a flow. Packets from the network have no container.
        adds = flow is not None and (rule.marked is not None or rule.from_network or not rule.strips)
        container = bytes([0x10 if rule.from_ue else 0, flow]) if adds else None
    marking = first(way, 30, b"\0\0")
    address = ipaddress.ip_address(header[6:])
    return f"n3 {address} {marking[0] & marking[1]} {gtpu(number(header[2:6]), container, packet.raw).hex()}"


def uplink(sessions, datagram):
    teid, at, container = number(datagram[4:8]), 8, None
    if datagram[0] & 7:
        following, at = datagram[11], 12
        while datagram[0] & 4 and following:
            length = 4 * datagram[at]
            if following == 0x85:
                container = datagram[at + 1 : at + 3]
            following, at = datagram[at + length - 1], at + length
    session = next((one for one in sessions if teid in one.teids), None)
    if session is None:
        return f"unknown {teid}" if teid else "taken"
    packet = Packet(datagram[at:])
    for rule in session.rules:
        tunnels = {rule.teid} if rule.teid is not None else session.at[rule.interface]
        flow = container[1] & 63 if container else None
        if rule.from_network or teid not in tunnels or (rule.qfis and flow not in rule.qfis):
            continue
        if rule.takes(packet):
            return forward(session, rule, packet, container)
    return "drop"


def downlink(sessions, raw):
    packet = Packet(raw)
    session = next((one for one in sessions if prefix(packet.destination) in one.ues), None)
    for rule in session.rules if session else ():
        if rule.from_network and rule.takes(packet):
            return forward(session, rule, packet, None)
    return "drop"


def main():
    sessions, applications = [], Applications()
    for line in sys.stdin:
        kind, text = line.split()
        raw = bytes.fromhex(text)
        if kind == "pfds":
            applications.manage(raw)
        elif kind == "session":
            sessions.append(Session(raw, applications))
        else:
            print((uplink if kind == "up" else downlink)(sessions, raw))


main()
