#!/usr/bin/env python3
"""Writes the seed corpora of the codec targets from the vectors of crates/wire/tests, each content once."""

import hashlib
import pathlib
import struct

FUZZ = pathlib.Path(__file__).resolve().parent
VECTORS = FUZZ.parent / "crates/wire/tests/vectors"
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


def main():
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
