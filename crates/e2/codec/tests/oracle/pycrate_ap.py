#!/usr/bin/env python3
"""Checks our NGAP, XnAP and F1AP messages with pycrate, an independent ASN.1 codec, for `tests/ap.rs`.

    pycrate_ap.py CORPUS

CORPUS: lines `interface TAB procedure TAB identifiers of the UE TAB hexadecimal`. pycrate must decode each PDU.
The PDU must have every mandatory element of its message, and the identifiers. Encoding it again must give the same octets.
Exits with 1 if a PDU fails a check, or without any PDU.
"""

import collections
import sys

from pycrate_asn1dir import F1AP, NGAP, XnAP

PROTOCOLS = {
    "ng": (NGAP.NGAP_PDU_Descriptions.NGAP_PDU, NGAP.NGAP_PDU_Contents),
    "xn": (XnAP.XnAP_PDU_Descriptions.XnAP_PDU, XnAP.XnAP_PDU_Contents),
    "f1": (F1AP.F1AP_PDU_Descriptions.F1AP_PDU, F1AP.F1AP_PDU_Contents),
}


def mandatory(contents, message):
    """Identifiers of the elements that a message must have."""
    name = message.replace("-", "_")
    for known in (f"{name}_IEs", f"{name}IEs"):
        if hasattr(contents, known):
            rows = getattr(contents, known).get_val().root
            return {row["id"] for row in rows if row["presence"] == "mandatory"}
    raise KeyError(message)


def numbers(value):
    """Every whole number in a value."""
    if isinstance(value, int):
        yield value
    elif isinstance(value, dict):
        for part in value.values():
            yield from numbers(part)
    elif isinstance(value, (list, tuple)):
        for part in value:
            yield from numbers(part)


def main(corpus):
    agreed, faults = collections.Counter(), []
    for line in open(corpus):
        interface, procedure, ids, hexadecimal = line.rstrip("\n").split("\t")
        pdu, contents = PROTOCOLS[interface]
        octets = bytes.fromhex(hexadecimal)
        pdu.from_aper(octets)
        kind, outer = pdu.get_val()
        message, inner = outer["value"]
        there = {ie["id"] for ie in inner["protocolIEs"]}
        missing = mandatory(contents, message) - there
        unread = [ie for ie in inner["protocolIEs"] if isinstance(ie["value"][1], bytes) and ie["id"] != 38]
        absent = {int(number) for number in ids.split(",")} - set(numbers(inner["protocolIEs"]))
        if missing or unread or absent or pdu.to_aper() != octets:
            faults.append((message, missing, unread, absent, hexadecimal, pdu.to_aper().hex()))
        agreed[f"{interface} {procedure}: {message}"] += 1
    for name, count in sorted(agreed.items()):
        print(f"pycrate, {name}: {count}")
    print(*faults[:5], sep="\n", file=sys.stderr)
    return 1 if faults or not agreed else 0


if __name__ == "__main__":
    sys.exit(main(*sys.argv[1:]))
