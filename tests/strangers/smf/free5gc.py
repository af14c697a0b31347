"""free5GC's SMF against `ranlab upf`: a session with online charging, whose quota is granted, exhausted and granted again.

Usage: free5gc.py RANLAB SMF [UPF OPTION ...], in a network namespace.
"""
import subprocess, sys, time

from core import Client, Core, Session, settings
from n3 import GNB, SERVER, UPF, Bed, Gpdu, packet, wait_for

RANLAB, SMF_PROGRAM = sys.argv[1:3]
CORE, SMF = "127.0.0.20", "127.0.0.2"
UE = "10.60.0.1"
QUOTA = 10_000

ARP = {"priorityLevel": 8, "preemptCap": "NOT_PREEMPT", "preemptVuln": "NOT_PREEMPTABLE"}
DNN = {
    "pduSessionTypes": {"defaultSessionType": "IPV4", "allowedSessionTypes": ["IPV4"]},
    "sscModes": {"defaultSscMode": "SSC_MODE_1", "allowedSscModes": ["SSC_MODE_1"]},
    "5gQosProfile": {"5qi": 9, "arp": ARP, "priorityLevel": 8},
    "sessionAmbr": {"uplink": "100 Mbps", "downlink": "100 Mbps"},
}
DECISION = {
    "sessRules": {"default": {"sessRuleId": "default", "authSessAmbr": DNN["sessionAmbr"], "authDefQos": {"5qi": 9, "arp": ARP, "priorityLevel": 8}}},
    "pccRules": {"all": {
        "pccRuleId": "all", "precedence": 255, "refChgData": ["online"],
        "flowInfos": [{"flowDescription": "permit out ip from any to assigned", "flowDirection": "BIDIRECTIONAL"}],
    }},
    "chgDecs": {"online": {"chgId": "online", "online": True, "ratingGroup": 1, "meteringMethod": "VOLUME"}},
}
used = []


def charge(request):
    """Grants the quota again for every usage that is reported."""
    granted = []
    for unit in request.get("multipleUnitUsage") or []:
        used.extend(container.get("totalVolume", 0) for container in unit["usedUnitContainer"])
        granted.append({
            "ratingGroup": unit["ratingGroup"], "uPFID": unit["uPFID"], "resultCode": "SUCCESS",
            "grantedUnit": {"totalVolume": QUOTA, "uplinkVolume": QUOTA, "downlinkVolume": QUOTA},
            "triggers": [{"triggerType": "QUOTA_EXHAUSTED", "triggerCategory": "IMMEDIATE_REPORT"}],
        })
    return granted


core = Core(CORE, 7777, settings(DNN, DECISION, charge))
bed = Bed(RANLAB, *sys.argv[3:])
with open("smf.yaml", "w") as file:
    file.write(f"""
info: {{ version: 1.0.7, description: SMF }}
configuration:
  smfName: SMF
  sbi: {{ scheme: http, registerIPv4: {SMF}, bindingIPv4: {SMF}, port: 8000 }}
  serviceNameList: [ nsmf-pdusession, nsmf-event-exposure, nsmf-oam ]
  snssaiInfos: [ {{ sNssai: {{ sst: 1 }}, dnnInfos: [ {{ dnn: internet, dns: {{ ipv4: 8.8.8.8 }} }} ] }} ]
  plmnList: [ {{ mcc: "001", mnc: "01" }} ]
  locality: area1
  pfcp:
    nodeID: {SMF}
    listenAddr: {SMF}
    externalAddr: {SMF}
    assocFailAlertInterval: 10s
    assocFailRetryInterval: 30s
    heartbeatInterval: 10s
  userplaneInformation:
    upNodes:
      gNB1: {{ type: AN }}
      UPF:
        type: UPF
        nodeID: {UPF}
        addr: {UPF}
        sNssaiUpfInfos: [ {{ sNssai: {{ sst: 1 }}, dnnUpfInfoList: [ {{ dnn: internet, pools: [ {{ cidr: 10.60.0.0/16 }} ] }} ] }} ]
        interfaces: [ {{ interfaceType: N3, endpoints: [ {UPF} ], networkInstances: [ internet ] }} ]
    links: [ {{ A: gNB1, B: UPF }} ]
  t3591: {{ enable: true, expireTime: 16s, maxRetryTimes: 3 }}
  t3592: {{ enable: true, expireTime: 16s, maxRetryTimes: 3 }}
  nrfUri: {core.uri}
  urrPeriod: 2
  urrThreshold: 100000
  requestedUnit: {QUOTA}
logger: {{ enable: true, level: debug, reportCaller: false }}
""")
with open("uerouting.yaml", "w") as file:
    file.write("info: { version: 1.0.7, description: routing }\n")
with open("smf.log", "w") as log:
    smf = subprocess.Popen([SMF_PROGRAM, "-c", "smf.yaml", "-u", "uerouting.yaml"], stdout=log, stderr=subprocess.STDOUT)
try:
    log = lambda: open("smf.log", errors="replace").read()
    wait_for("the association", lambda: "UPF(" in log() and "setup association" in log())
    session = Session(Client(SMF, 8000), core, kind=1, prefix="urn:uuid:")
    transfer = core.transfers.get(timeout=10)
    at = transfer.index(bytes(map(int, UPF.split("."))))
    teid = int.from_bytes(transfer[at + 4 : at + 8], "big")
    print(f"session of {UE}, uplink TEID {teid:#x}")
    session.accepted(GNB, 0x2001)
    up = packet(UE, SERVER, octets=500)
    assert bed.up(teid, up, 1) == up, "the uplink packet must arrive unchanged"
    # The start of traffic is reported, and the SMF grants the quota.
    wait_for("the first grant", lambda: len(used) >= 1)
    down = wait_for("downlink", lambda: bed.down(packet(SERVER, UE, octets=500)))
    while down.kind != 255:
        down = Gpdu(bed.received(bed.gnb))
    assert (down.teid, down.packet) == (0x2001, packet(SERVER, UE, octets=500))
    print("QFI", down.qfi)
    passed = 0
    end = time.monotonic() + 10
    while time.monotonic() < end and passed < 100:
        passed += bed.up(teid, up, 1) is not None
    wait_for("further grants", lambda: sum(volume > 0 for volume in used) >= 3)
    print("passed", passed, "packets; reported to the CHF:", used)
    assert all(volume <= QUOTA + 500 for volume in used), used
    session.idle()
    assert bed.down(packet(SERVER, UE)) is None
    core.transfers.get(timeout=10)
    print("idle: the packet waits, and the SMF asks the AMF to page")
    session.activate()
    session.accepted(GNB, 0x2003)
    waiting = wait_for("the waiting packet", lambda: bed.received(bed.gnb, 0.2))
    assert Gpdu(waiting).teid == 0x2003
    session.release()
finally:
    smf.terminate()
    smf.wait(timeout=10)
    report = bed.end()
print(report)
assert report["refused"] == 0 and report["sessions_left"] == 0, report
print("free5gc smf: established, modified, charged, reported and released")
