"""pfcpsim against `ranlab upf`: packets take the rule of their application filter, and a closed gate stops them.

Usage: pfcpsim.py RANLAB FOLDER [UPF OPTION ...], in a network namespace. FOLDER has pfcpsim and pfcpctl.
"""
import subprocess, sys, time

from n3 import GNB, UPF, Bed, packet

RANLAB, FOLDER = sys.argv[1:3]
FILTERS = ["udp:10.0.0.0/8:80-88:allow:100", "ip:10.1.0.0/16:any:deny:50", "ip:any:any:allow:200"]
SESSIONS = ["--count", "2", "--baseID", "1", "--ue-pool", "17.0.0.0/24", "--gnb-addr", GNB, "--qfi", "9"]
SESSIONS += [word for filter in FILTERS for word in ("--app-filter", filter)]

bed = Bed(RANLAB, *sys.argv[3:])
with open("pfcpsim.log", "w") as log:
    sim = subprocess.Popen([f"{FOLDER}/pfcpsim", "-p", "54321", "--interface", "lo"], stdout=log, stderr=subprocess.STDOUT)


def ctl(*words):
    subprocess.run([f"{FOLDER}/pfcpctl", "-s", "localhost:54321", *words], check=True, capture_output=True)


try:
    time.sleep(1)
    ctl("service", "configure", "--n3-addr", UPF, "--remote-peer-addr", UPF)
    ctl("service", "associate")
    ctl("session", "create", *SESSIONS)
    ctl("session", "modify", *SESSIONS)
    for session, ue in ((1, "17.0.0.1"), (11, "17.0.0.2")):
        # The tuples are server, its port, the UE's port, and whether the gate is open. pfcpsim filters the UE's port.
        for server, ports, passes in (("10.0.0.5", (9, 85), True), ("10.1.0.5", (9, 5), False), ("8.8.8.8", (9, 9), True)):
            up = packet(ue, server, ports[::-1])
            assert (bed.up(session, up, 9) == up) == passes, f"an uplink packet to {server} must {'pass' if passes else 'be dropped'}"
            down = bed.down(packet(server, ue, ports))
            assert (down is not None) == passes, f"a downlink packet from {server} must {'pass' if passes else 'be dropped'}"
            assert down is None or (down.teid, down.qfi) == (session + 1, 9), (down.teid, down.qfi)
    ctl("session", "modify", "--buffer", "--notifycp", *SESSIONS)
    assert bed.down(packet("8.8.8.8", "17.0.0.1")) is None
    ctl("session", "delete", "--count", "2", "--baseID", "1")
    # pfcpsim names the node 0.0.0.0 in the release, which is refused with cause 72. It does not read the cause.
    ctl("service", "disassociate")
finally:
    sim.terminate()
    sim.wait(timeout=10)
    report = bed.end()
print(report)
assert report["refused"] == 1 and report["sessions_left"] == 0 and report["dropped"] == {"gate": 4}, report
print("pfcpsim: established, modified, policed and released")
