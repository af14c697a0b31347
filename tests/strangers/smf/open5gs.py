"""Open5GS's SMF against `ranlab upf`: a dual-stack session with a dedicated QoS flow, idle, paged, and released.

Usage: open5gs.py RANLAB SMFD [UPF OPTION ...], in a network namespace.
"""
import re, subprocess, sys

from core import Client, Core, Session, settings
from n3 import GNB, SERVER, UPF, Bed, Gpdu, packet, wait_for

RANLAB, SMFD = sys.argv[1:3]
CORE, SMF = "127.0.0.20", "127.0.0.4"

DNN = {
    "pduSessionTypes": {"defaultSessionType": "IPV4V6", "allowedSessionTypes": ["IPV4", "IPV6", "IPV4V6"]},
    "sscModes": {"defaultSscMode": "SSC_MODE_1"},
    "5gQosProfile": {"5qi": 9, "arp": {"priorityLevel": 8, "preemptCap": "NOT_PREEMPT", "preemptVuln": "NOT_PREEMPTABLE"}, "priorityLevel": 1},
    "sessionAmbr": {"uplink": "100 Mbps", "downlink": "100 Mbps"},
}
RULE = {
    "pccRuleId": "video", "precedence": 10, "refQosData": ["video"],
    "flowInfos": [
        {"flowDescription": f"permit out udp from {SERVER} 7000 to assigned", "flowDirection": "DOWNLINK"},
        {"flowDescription": f"permit out udp from {SERVER} 7000 to assigned", "flowDirection": "UPLINK"},
    ],
}
QOS = {
    "qosId": "video", "5qi": 2, "maxbrUl": "1 Mbps", "maxbrDl": "1 Mbps", "gbrUl": "1 Mbps", "gbrDl": "1 Mbps", "priorityLevel": 20,
    "arp": {"priorityLevel": 4, "preemptCap": "NOT_PREEMPT", "preemptVuln": "NOT_PREEMPTABLE"},
}
DECISION = {
    "sessRules": {"default": {"sessRuleId": "default", "authSessAmbr": DNN["sessionAmbr"], "authDefQos": {"5qi": 9, "arp": DNN["5gQosProfile"]["arp"], "priorityLevel": 8}}},
    "policyCtrlReqTriggers": ["SE_AMBR_CH", "DEF_QOS_CH"],
    "pccRules": {"video": RULE}, "qosDecs": {"video": QOS}, "suppFeat": "4000000",
}
core = Core(CORE, 7777, settings(DNN, DECISION, None), one_request=True)
bed = Bed(RANLAB, *sys.argv[3:])
with open("smf.yaml", "w") as file:
    file.write(f"""
logger: {{ level: info }}
smf:
  sbi: {{ server: [ {{ address: {SMF}, port: 7777 }} ], client: {{ nrf: [ {{ uri: "{core.uri}" }} ] }} }}
  pfcp: {{ server: [ {{ address: {SMF} }} ], client: {{ upf: [ {{ address: {UPF} }} ] }} }}
  gtpc: {{ server: [ {{ address: {SMF} }} ] }}
  gtpu: {{ server: [ {{ address: {SMF} }} ] }}
  metrics: {{ server: [ {{ address: {SMF}, port: 9090 }} ] }}
  session: [ {{ subnet: 10.45.0.0/16, gateway: 10.45.0.1 }}, {{ subnet: "2001:db8:cafe::/48", gateway: "2001:db8:cafe::1" }} ]
  dns: [ 8.8.8.8, "2001:4860:4860::8888" ]
  mtu: 1400
""")
with open("smf.log", "w") as log:
    smf = subprocess.Popen([SMFD, "-c", "smf.yaml"], stdout=log, stderr=subprocess.STDOUT)
try:
    log = lambda: open("smf.log", errors="replace").read()
    wait_for("the association", lambda: "PFCP associated" in log())
    wait_for("the registration at NRF", lambda: any(path.startswith("/nnrf-nfm/v1/nf-instances/") for _, path, _ in core.requests))
    session = Session(Client(SMF, 7777), core)
    transfer = core.transfers.get(timeout=10)
    v4, v6 = wait_for("the UE's addresses", lambda: (m := re.search(r"IPv4\[([0-9.]+)\] IPv6\[([0-9a-f:]+)\]", log())) and m.groups())
    # The transfer is a PDU Session Resource Setup Request Transfer. The tunnel is an IPv4 address of 32 bits (1F 0) and
    # a TEID.
    address = bytes(map(int, UPF.split(".")))
    at = transfer.index(address)
    teid = int.from_bytes(transfer[at + 4 : at + 8], "big")
    print(f"session of {v4} and {v6}, uplink TEID {teid:#x}")
    v6_ue = v6 + "1" if v6.endswith("::") else v6
    # Before the base station has its tunnel, packets to the UE are buffered or dropped, not sent.
    assert bed.down(packet(SERVER, v4)) is None
    session.accepted(GNB, 0x2001)
    for ue, server in ((v4, SERVER), (v6_ue, "2001:db8::9")):
        up = packet(ue, server)
        assert bed.up(teid, up, 1) == up, f"the uplink packet of {ue} must arrive unchanged"
        down = wait_for(f"arrival of the downlink packet of {ue}", lambda ue=ue, server=server: bed.down(packet(server, ue)))
        while down.kind != 255 or down.packet != packet(server, ue):
            down = Gpdu(bed.received(bed.gnb))
        assert (down.teid, down.qfi) == (0x2001, 1), (hex(down.teid), down.qfi)
    print("both versions pass in both directions")
    # For the dedicated flow, the SMF modifies the session at N4. It modifies the session again after the base station
    # has added the flow.
    core.transfers.get(timeout=10)
    session.changed(2)
    video = packet(SERVER, v4, (7000, 6000))
    down = wait_for("the dedicated flow", lambda: (g := bed.down(video)) and g.packet == video and g)
    assert (down.teid, down.qfi) == (0x2001, 2), (hex(down.teid), down.qfi)
    down = wait_for("the default flow", lambda: bed.down(packet(SERVER, v4)))
    assert down.qfi == 1, down.qfi
    print("video has QoS flow 2, other packets flow 1")
    session.idle()
    assert bed.down(packet(SERVER, v4)) is None
    core.transfers.get(timeout=10)
    print("idle: the packet waits, and the SMF asks the AMF to page")
    session.activate()
    session.accepted(GNB, 0x2003)
    waiting = wait_for("the waiting packet", lambda: bed.received(bed.gnb, 0.2))
    assert Gpdu(waiting).teid == 0x2003
    session.release()
    wait_for("the deletion", lambda: "Removed Session" in log() or "SMF-Sessions is now 0" in log())
    bed.gnb.settimeout(0.05)
    assert bed.down(packet(SERVER, v4)) is None
finally:
    smf.terminate()
    smf.wait(timeout=10)
    report = bed.end()
print(report)
assert report["refused"] == 0 and report["sessions_left"] == 0, report
print("open5gs smf: established, modified, reported and released")
