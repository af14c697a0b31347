#!/usr/bin/env python3
"""The messages of RRC that a base station copies (E2SM-RC report style 1), as pycrate encodes them, for
`tests/pycrate_e2sm.rs`: lines `nr or lte TAB direction TAB number in c1, from 1 TAB name TAB hexadecimal`."""

from pycrate_asn1dir import RRCLTE, RRCNR

NAS = b""  # a UE here has none
MESSAGES = [
    ("nr", "UL", "rrcSetupComplete", ("rrcSetupComplete", {"selectedPLMN-Identity": 1, "dedicatedNAS-Message": NAS})),
    ("nr", "UL", "rrcReconfigurationComplete", ("rrcReconfigurationComplete", {})),
    ("nr", "DL", "rrcRelease", ("rrcRelease", {})),
    (
        "lte",
        "UL",
        "rrcConnectionSetupComplete",
        ("c1", ("rrcConnectionSetupComplete-r8", {"selectedPLMN-Identity": 1, "dedicatedInfoNAS": NAS})),
    ),
    ("lte", "UL", "rrcConnectionReconfigurationComplete", ("rrcConnectionReconfigurationComplete-r8", {})),
    ("lte", "DL", "rrcConnectionRelease", ("c1", ("rrcConnectionRelease-r8", {"releaseCause": "other"}))),
]
TEXTS = {"nr": RRCNR.NR_RRC_Definitions, "lte": RRCLTE.EUTRA_RRC_Definitions}

for generation, direction, name, contents in MESSAGES:
    text = TEXTS[generation]
    pdu = getattr(text, f"{direction}_DCCH_Message")
    number = 1 + list(getattr(text, f"{direction}_DCCH_MessageType")._cont["c1"]._cont).index(name)
    message = {"rrc-TransactionIdentifier": 0, "criticalExtensions": contents}
    pdu.set_val({"message": ("c1", (name, message))})
    print(generation, direction, number, name, pdu.to_uper().hex(), sep="\t")
