#!/usr/bin/env python3
"""Writes the seed corpora of the codec targets from the vectors of crates/e2/codec/tests, each content once."""

import hashlib
import pathlib
import struct

FUZZ = pathlib.Path(__file__).resolve().parent
VECTORS = FUZZ.parent / "crates/e2/codec/tests/vectors"
E42_PORT = 36422


def seed(target, octets):
    folder = FUZZ / "corpus" / target
    folder.mkdir(parents=True, exist_ok=True)
    (folder / hashlib.sha1(octets).hexdigest()).write_bytes(octets)


def capture():
    """(is E42, PDU) of the first PDU of each procedure and length in the capture: SCTP DATA chunks, not fragmented."""
    octets = (VECTORS / "flexric_e2_e42_sctp.pcap").read_bytes()
    at, seen = 24, set()
    while at < len(octets):
        (length,) = struct.unpack_from("<I", octets, at + 8)
        packet = octets[at + 16 : at + 16 + length]
        at += 16 + length
        ip = packet.find(b"\x45")
        sctp = packet[ip + 20 :]
        is_e42 = E42_PORT in struct.unpack_from(">HH", sctp)
        chunk = 12
        while chunk + 4 <= len(sctp):
            kind, flags, size = struct.unpack_from(">BBH", sctp, chunk)
            if size < 4:
                break
            pdu = sctp[chunk + 16 : chunk + size]
            if kind == 0 and flags & 3 == 3 and (is_e42, pdu[:2], len(pdu)) not in seen:
                seen.add((is_e42, pdu[:2], len(pdu)))
                yield is_e42, pdu
            chunk += size + (-size % 4)


def ie(number, value):
    return struct.pack(">HH", number, len(value)) + value


def pfcp(kind, elements, seid=None, sequence=1):
    tail = sequence.to_bytes(3, "big") + b"\0" + b"".join(elements)
    if seid is not None:
        tail = seid.to_bytes(8, "big") + tail
    return struct.pack(">BBH", 0x20 | (seid is not None), kind, len(tail)) + tail


def gtpu(kind, teid, payload, extension=b""):
    """A GTP-U message; an extension is its type, then its content of 4n - 2 octets."""
    flags, option = 0x30, b""
    if extension:
        content = extension[1:]
        flags, option = 0x34, b"\0\0\0" + extension[:1] + bytes([(len(content) + 2) // 4]) + content + b"\0"
    body = option + payload
    return struct.pack(">BBHI", flags, kind, len(body), teid) + body


def n4_n3():
    """Seeds of pfcp_decode, gtpu_decode and n4_machines: one of each message, and scripts of them."""
    node, stamp, accepted = ie(60, bytes([0, 10, 0, 0, 1])), ie(96, bytes(4)), ie(19, b"\1")
    f_seid = ie(57, b"\2" + (7).to_bytes(8, "big") + bytes([10, 0, 0, 1]))
    ue = ie(93, bytes([2, 10, 60, 0, 1]))
    f_teid, choose = ie(21, b"\1\0\0\0\7\x0a\0\0\2"), ie(21, b"\5")
    header = ie(84, b"\1\0\0\0\0\7\x0a\0\0\3")
    labels = ie(22, b"\x08internet")

    def pdr(number, source, tunnel, far):
        return ie(1, ie(56, struct.pack(">H", number)) + ie(29, bytes(4))
                  + ie(2, ie(20, bytes([source])) + tunnel + labels + ue) + ie(95, b"\0") + ie(108, struct.pack(">I", far)))

    def far(number, action, way=b""):
        return ie(3, ie(108, struct.pack(">I", number)) + ie(44, bytes([action, 0])) + way)

    forward = far(1, 2, ie(4, ie(42, b"\1")))
    qer = ie(7, ie(109, bytes([0, 0, 0, 1])) + ie(25, b"\0") + ie(26, bytes(10)) + ie(124, b"\x09"))
    urr = ie(6, ie(81, bytes([0, 0, 0, 1])) + ie(62, b"\2") + ie(37, b"\2\0\0") + ie(31, b"\1" + bytes(8)))
    switch = ie(10, ie(108, bytes([0, 0, 0, 1])) + ie(44, b"\2\0") + ie(11, ie(42, b"\0") + header + ie(49, b"\2")))
    association = pfcp(5, [node, stamp])
    establishment = pfcp(50, [node, f_seid, pdr(1, 0, f_teid, 1), forward], 0, 2)
    modification, deletion = pfcp(52, [switch], 1, 3), pfcp(54, [], 1, 4)
    messages = [
        association, establishment, modification, deletion,
        pfcp(50, [node, f_seid, pdr(1, 0, choose, 1), pdr(2, 1, b"", 1), forward, qer, urr, ie(113, b"\1")], 0, 5),
        pfcp(1, [stamp]), pfcp(2, [stamp]), pfcp(6, [node, accepted, stamp]), pfcp(9, [node]), pfcp(14, [node]),
        pfcp(51, [node, accepted, f_seid, ie(8, ie(56, b"\0\1") + f_teid)], 7, 2),
        pfcp(53, [accepted], 7, 3), pfcp(55, [ie(19, bytes([65]))], 0, 4),
        pfcp(55, [accepted, ie(79, ie(81, bytes(4)) + ie(104, bytes(4)) + ie(63, bytes(3)))], 7, 4),
        pfcp(56, [ie(39, b"\1"), ie(83, ie(56, b"\0\2"))], 7, 6), pfcp(12, [node, ie(101, b"\0")]),
    ]
    for message in messages:
        seed("pfcp_decode", message)
    ip = bytes([0x45, 0, 0, 28, 0, 0, 0, 0, 64, 17, 0, 0, 10, 60, 0, 1, 192, 0, 2, 1, 0, 1, 0, 2, 0, 8, 0, 0])
    for datagram in (gtpu(255, 7, ip), gtpu(255, 7, ip, b"\x85\x10\x09"), gtpu(1, 0, b""), gtpu(2, 0, b"\x0e\0"),
                     gtpu(254, 7, b""), gtpu(26, 0, b"\x10\0\0\0\7\x85\0\4\x0a\0\0\1"), gtpu(31, 0, b"\x8d\1\x85")):
        seed("gtpu_decode", datagram)
    script = [message for message in messages if len(message) < 256]
    for first in (0x00, 0x01, 0x02, 0x03, 0x80, 0x82):
        seed("n4_machines", bytes([first]) + b"".join(bytes([len(message)]) + message for message in script))


def memif():
    """Scripts for memif_machine: a polite slave, a polite master."""
    def message(kind, body=b"", descriptors=0):
        return bytes([kind, descriptors, len(body)]) + body

    name = b"them".ljust(32, b"\0")
    init = struct.pack("=HIB24s32s", 0x200, 0, 0, b"", name)
    rings = [struct.pack("=HHHIBH", s2m, 0, 0, at, 4, 0) for s2m, at in ((1, 0), (0, 512))]
    announced = message(4, struct.pack("=HQ", 0, 1 << 16), 1) + b"".join(message(5, ring, 1) for ring in rings)
    seed("memif_machine", b"\0" + message(3, init) + announced + message(6, name) + message(8))
    several = [struct.pack("=HHHIBH", s2m, index, 0, 1024 * at, 4, 0)
               for at, (s2m, index) in enumerate(((1, 0), (1, 1), (0, 0), (0, 1)))]
    announced = message(4, struct.pack("=HQ", 0, 1 << 16), 1) + b"".join(message(5, ring, 1) for ring in several)
    seed("memif_machine", b"\0" + message(3, init) + announced + message(6, name) + message(8))
    hello = struct.pack("=32sHHHHHB", b"them", 0x200, 0x200, 1, 1, 1, 14)
    seed("memif_machine", b"\1" + message(2, hello) + 4 * message(1) + message(7, name) + message(8, b"\0" * 4 + b"bye"))


def memif_memory():
    """Scripts for memif_rings and memif_port: a polite peer whose packets pass, then one that spoils the memory."""
    describe = bytes([2, 0, 0, 0]) + struct.pack("<II", 60, 4096)
    spoilt = bytes([1]) + struct.pack("<I", 40_000) + bytes([5, 45])
    for owns in (0, 1):
        head = bytes([owns, 0, 3, 0, 3])
        seed("memif_rings", head + describe + bytes([0, 1, 5, 45, 0x46, 60, 7]) + spoilt)
        seed("memif_rings", head + bytes([0x40, 1, 5, 60, 6, 64, 7, 3]) + struct.pack("<II", 128, 7) + bytes([5, 45, 4, 0, 0, 0, 0]))
        handshake = 7 * bytes([0, 8])
        packets = bytes([6, 0, 0, 30, 40, 5, 0, 1, 0, 9, 10, 30, 10, 30, 9, 7, 0, 0, 7, 9, 1, 9])
        seed("memif_port", bytes([owns]) + handshake + packets)
        seed("memif_port", bytes([owns]) + handshake + packets + bytes([5, 0, 200, 0, 9, 10, 30, 11, 0, 8, 9]))
        seed("memif_port", bytes([owns, 0, 8, 3, 10, 1, 2, 8, 8, 0, 8]))


def main():
    n4_n3()
    memif()
    memif_memory()
    standard = [file.read_bytes() for file in sorted(VECTORS.glob("**/*.bin")) if file.parent.name != "plain"]
    captured = list(capture())
    e2 = standard + [pdu for is_e42, pdu in captured if not is_e42]
    for pdu in e2:
        seed("e2ap_decode", pdu)
        if pdu[:2] in (b"\x00\x04", b"\x00\x05"):
            seed("fast_vs_general", pdu)
    for is_e42, pdu in captured:
        if is_e42:
            seed("e42_decode", pdu)
    for file in VECTORS.glob("plain/*.bin"):
        seed("plain_decode", file.read_bytes())
    for ping in ("00000000000000000000000000000000", "006000000100800102030405060708000461626364"):
        seed("hw_decode", bytes.fromhex(ping))
    # Scripts, as src/lib.rs reads them: operation, then message, version, seed, treatment.
    node, setup = bytes([0x04]), bytes([0x04, 3, 0, 1, 0])
    xapp, e42_setup = bytes([0x34]), bytes([0x34, 0, 3, 0, 1, 0])
    subscribe, control = bytes([0x34, 1, 3, 0, 1, 0]), bytes([0x34, 3, 3, 0, 1, 0])
    answer, indicate = bytes([0x07, 3, 0, 2, 0]), bytes([0x06, 3, 0, 3, 0])
    seed("ric_machine", node + setup + xapp + e42_setup + subscribe + answer + 3 * indicate + control)
    seed("ric_machine", xapp + e42_setup + subscribe + node + setup + bytes([0x01, 0x00, 4, 0x04]) + setup)
    accept, request = bytes([0x04, 3, 0, 1, 0]), bytes([0x06, 3, 0, 5, 0])
    seed("agent_machine", node + accept + request + bytes([0x08, 3, 0, 1, 0, 0x00, 4]) + request)
    listed = bytes([0x04, 4, 3, 0, 1, 0])
    seed("xapp_machine", bytes([0, 0x12, 0x04]) + listed + bytes([0x04, 5, 3, 0, 5, 0, 0x01, 0x00, 4, 0x04]) + listed)
    frames = b"".join(len(pdu).to_bytes(4, "big") + pdu for pdu in standard[:12])
    for head in (b"\xff\xff\xff\x00", b"\xff\xff\x07\x01", b"\x00\x20\xff\x01"):
        seed("framer", head + frames)
    # The packet engine: 40 frames of each pipeline's own traffic with changes between, and damaged ones.
    for pipeline in range(12):
        sound = b"".join(bytes([i % 8 == 0, i]) for i in range(40))
        damaged = b"".join(bytes([0x04 | (i % 3 == 0), i, 12 + i, 0x45, 0x20 | i % 4 << 6, i, 3 * i]) for i in range(30))
        seed("engine_vs_oracle", bytes([pipeline]) + sound)
        seed("engine_vs_oracle", bytes([pipeline]) + damaged)


if __name__ == "__main__":
    main()
