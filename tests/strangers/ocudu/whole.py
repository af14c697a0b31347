#!/usr/bin/env python3
"""Compares KPM's volume with the bytes of the UE's device, and measures throughput under quotas.

    whole.py RANLAB E42_SOCKET NAMESPACE HTTP
"""
import json
import subprocess
import sys
import time
import urllib.request

ranlab, socket, namespace, http = sys.argv[1:]
node, connect = "gnb 001.01 411/du 0", ["--connect", f"unix://{socket}"]


def iperf(*flags):
    """Result of iperf3 at the UE."""
    command = ["ip", "netns", "exec", namespace, "iperf3", "-J", "-c", "10.45.0.1", *flags]
    return json.loads(subprocess.run(command, capture_output=True, text=True, timeout=60, check=True).stdout)["end"]


def device_bytes(uplink):
    """Bytes that the UE's device has sent (uplink) or received."""
    text = subprocess.run(["ip", "netns", "exec", namespace, "cat", "/proc/net/dev"], capture_output=True, text=True, check=True).stdout
    fields = next(line for line in text.splitlines() if "tun_srsue" in line).split(":")[1].split()
    return int(fields[8 if uplink else 0])


def volume(uplink):
    """Ratio of the volume that KPM reports for a burst to the bytes of the UE's device, in one direction."""
    command = [ranlab, "xapp", "monitor", *connect, "--sm", "kpm", "--period", "1s", "--duration", "20s", "--format", "ndjson", "--node", node]
    monitor = subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True)
    time.sleep(4)
    before = device_bytes(uplink)
    iperf("-u", "-b", "4M", "-l", "1300", "-t", "10", *([] if uplink else ["-R"]))
    time.sleep(1)
    kbit = (device_bytes(uplink) - before) * 8 / 1000
    name = f"DRB.RlcSduTransmittedVolume{'UL' if uplink else 'DL'}"
    rows = map(json.loads, monitor.communicate(timeout=60)[0].splitlines())
    reported = sum(it["value"] or 0 for it in rows if it.get("measurement") == name)
    print(f"{name}: {reported:.0f} kbit reported, {kbit:.0f} kbit at the UE, ratio {reported / kbit:.4f}")
    return reported / kbit


def by_rc(maximum):
    """Lets the UE use `maximum` % of the PRBs, by RC style 2 action 6."""
    order = [ranlab, "xapp", "control", *connect, "--node", node, "--ue", "f1ap=0", "--plmn", "001.01", "--rc-quota", f"1=0:{maximum}"]
    subprocess.run(order, check=True, timeout=30, stdout=subprocess.DEVNULL)


def by_ccc(maximum):
    """Lets slice 1 use `maximum` % of the PRBs, by CCC's O-RRMPolicyRatio. OCUDU refuses a dedicated ratio of 0."""
    network = {"mcc": "001", "mnc": "01"}
    policy = {"resourceType": "PRB_DL", "rRMPolicyMinRatio": 1, "rRMPolicyMaxRatio": maximum, "rRMPolicyDedicatedRatio": 1,
              "rRMPolicyMemberList": [{"plmnId": network, "snssai": {"sst": 1}}]}
    structure = {"ranConfigurationStructureName": "O-RRMPolicyRatio", "oldValuesOfAttributes": {"ranConfigurationStructure": {}},
                 "newValuesOfAttributes": {"ranConfigurationStructure": policy}}
    cell = {"cellGlobalId": {"plmnIdentity": network, "nRCellIdentity": f"{411 << 14:09x}"}, "listOfConfigurationStructures": [structure]}
    order = {"node": node, "sm": "ccc", "header": {"controlHeaderFormat": {"ricStyleType": 2}},
             "message": {"controlMessageFormat": {"listOfCellsControlled": [cell]}}}
    request = urllib.request.Request(f"{http}/v1/control", json.dumps(order).encode(), {"content-type": "application/json"})
    result = json.load(urllib.request.urlopen(request, timeout=30))
    assert result["result"] == "acknowledged", result


def rate(limit, maximum):
    """Downlink TCP throughput in Mbit/s while `maximum` % of the PRBs may be used."""
    limit(maximum)
    time.sleep(1)
    return iperf("-R", "-t", "8", "-O", "2")["sum_received"]["bits_per_second"] / 1e6


# An RLC SDU is an IP packet and PDCP's header of 3 bytes.
for uplink in [False, True]:
    ratio = volume(uplink)
    assert 0.98 < ratio < 1.02, ratio
for name, limit in {"RC": by_rc, "CCC": by_ccc}.items():
    rates = {maximum: rate(limit, maximum) for maximum in [100, 50, 25, 10]}
    print(f"Mbit/s by {name}'s maximum in %:", {maximum: round(value, 2) for maximum, value in rates.items()})
    assert rates[100] > rates[50] > rates[25] > rates[10], rates
    # A busy machine limits the rate without a maximum, so only the limited rates are compared by their size.
    assert rates[25] < 0.75 * rates[50] and rates[10] < 0.6 * rates[25], rates
    limit(100)
