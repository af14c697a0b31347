#!/usr/bin/env python3
"""Part of quotas.sh. `stations TABLE` prints the arguments of `ranlab emulate` for each kind of cell; `orders TABLE E42 API`
sends the orders, each to its own base station, and compares the shares of UEs in KPM with the computed ones."""
import collections, json, os, subprocess, sys, time, urllib.error, urllib.request

RANLAB = os.environ["RANLAB"]
# Share of the carrier by which a share may differ from the computed one, in %.
TOLERANCE = 1.0
PRBS = 273

table = json.load(open(sys.argv[2]))
orders = table["orders"]
numbers = {}
for kind in table["cells"]:
    for order in orders:
        if order["cell"] == kind:
            numbers[order["name"]] = len(numbers) + 1


def stations():
    for kind, cell in table["cells"].items():
        of_kind = [numbers[it["name"]] for it in orders if it["cell"] == kind]
        flows = [word for flow in cell["flows"] for word in ("--flows", flow)]
        print("--first", of_kind[0] - 1, "--nodes", len(of_kind), "--ues", cell["ues"], "--snssai", ",".join(cell["snssai"]),
              "--plmn", ",".join(cell["plmn"]), *flows)


def quotas(text):
    for one in text.split(","):
        slice, percent = one.split("=")
        sst, _, sd = slice.partition("-")
        percent = [int(it) for it in percent.split(":")]
        yield int(sst), sd, percent + [0] * (3 - len(percent))


def element(id, **value):
    return {"ranParameter-ID": id, "ranParameter-valueType": {"ranP-Choice-ElementFalse": {"ranParameter-value": value}}}


def structure(id, *parts):
    return {"ranParameter-ID": id, "ranParameter-valueType":
            {"ranP-Choice-Structure": {"ranParameter-Structure": {"sequence-of-ranParameters": list(parts)}}}}


def members(id, *lists):
    lists = [{"sequence-of-ranParameters": list(it)} for it in lists]
    return {"ranParameter-ID": id, "ranParameter-valueType":
            {"ranP-Choice-List": {"ranParameter-List": {"list-of-ranParameter": lists}}}}


def digits(plmn):
    mcc, mnc = plmn.split(".")
    mnc = mnc if len(mnc) == 3 else "f" + mnc
    return mcc[1] + mcc[0] + mnc[0] + mcc[2] + mnc[2] + mnc[1]


def rc_objects(sent):
    policies = []
    for sst, sd, (low, high, dedicated) in quotas(sent["rc"]):
        slice = [element(9, valueOctS=f"{sst:02x}")] + ([element(10, valueOctS=sd)] if sd else [])
        member = structure(6, element(7, valueOctS=digits(sent.get("plmn", "505.01"))), structure(8, *slice))
        ratios = [element(11, valueInt=low), element(12, valueInt=high), element(13, valueInt=dedicated)]
        policies.append([structure(2, structure(3, members(5, [member])), *ratios)])
    ue = {"gNB-DU-UEID": {"gNB-CU-UE-F1AP-ID": 1}}
    header = {"ueID": ue, "ric-Style-Type": 2, "ric-ControlAction-ID": 6}
    return {"sm": "rc", "header": {"ric-controlHeader-formats": {"controlHeader-Format1": header}},
            "message": {"ric-controlMessage-formats": {"controlMessage-Format1": {"ranP-List": [members(1, *policies)]}}}}


def ccc_objects(sent, number):
    def policy(sst, sd, ratios):
        snssai = {"sst": sst, **({"sd": sd} if sd else {})}
        low, high, dedicated = ratios
        new = {"resourceType": sent["resource"], "rRMPolicyMinRatio": low, "rRMPolicyMaxRatio": high,
               "rRMPolicyDedicatedRatio": dedicated,
               "rRMPolicyMemberList": [{"plmnId": {"mcc": "505", "mnc": "01"}, "snssai": snssai}]}
        return {"ranConfigurationStructureName": "O-RRMPolicyRatio",
                "oldValuesOfAttributes": {"ranConfigurationStructure": {}},
                "newValuesOfAttributes": {"ranConfigurationStructure": new}}
    cell = {"plmnIdentity": {"mcc": "505", "mnc": "01"}, "nRCellIdentity": f"{number << 4:09X}"}
    structures = [policy(*it) for it in quotas(sent["ccc"])]
    return {"sm": "ccc", "header": {"controlHeaderFormat": {"ricStyleType": 2}}, "message": {"controlMessageFormat": {
        "listOfCellsControlled": [{"cellGlobalId": cell, "listOfConfigurationStructures": structures}]}}}


def post(api, node, body):
    """Returns the refusal, or None."""
    body = json.dumps({"node": node, **body}).encode()
    request = urllib.request.Request(api + "/v1/control", body, {"content-type": "application/json"})
    try:
        answer = json.load(urllib.request.urlopen(request, timeout=20))
    except urllib.error.HTTPError as refused:
        assert refused.code == 409, refused
        return refused.read().decode()
    assert answer["result"] == "acknowledged", answer
    return None


def control(e42, node, sent):
    """Returns the refusal, or None."""
    plmn = ["--plmn", sent["plmn"]] if "plmn" in sent else []
    command = [RANLAB, "xapp", "control", "--connect", e42, "--node", node, "--rc-quota", sent["rc"], *plmn]
    done = subprocess.run(command, capture_output=True, text=True, timeout=60)
    assert done.returncode in (0, 1), done
    return None if done.returncode == 0 else done.stdout


def send(e42, api):
    for order in orders:
        number = numbers[order["name"]]
        node = f"gnb 505.01 {number}"
        for sent in order["send"]:
            if "ccc" in sent:
                refusal = post(api, node, ccc_objects(sent, number))
            elif number % 2 and "ffffff" not in sent["rc"]:
                refusal = post(api, node, rc_objects(sent))
            else:
                refusal = control(e42, node, sent)
            expected = sent.get("refused")
            assert (refusal is None) == (expected is None) and (expected or "") in (refusal or ""), (order, refusal)


def measure(e42):
    """Returns the share of each UE of each base station in both directions, in %, over two reports."""
    command = [RANLAB, "xapp", "monitor", "--connect", e42, "--sm", "kpm", "--kpm-measure", "RRU.PrbUsedDl,RRU.PrbUsedUl",
               "--period", "1s", "--duration", "3600ms", "--format", "ndjson"]
    lines = subprocess.run(command, capture_output=True, text=True, check=True, timeout=60).stdout.splitlines()
    reports = collections.defaultdict(list)
    for row in map(json.loads, lines):
        if row.get("sm") == "kpm" and "ue" in row:
            reports[row["node"], row["ue"], row["measurement"]].append(row["value"])
    return {key: 100 * sum(values[1:]) / len(values[1:]) / PRBS for key, values in reports.items()}


def connected(api):
    nodes = json.load(urllib.request.urlopen(api + "/v1/nodes", timeout=20))["nodes"]
    return sum(node["connected"] for node in nodes)


def compare(e42, api):
    until = time.time() + 30
    while connected(api) < len(orders):
        assert time.time() < until, f"{connected(api)} of {len(orders)} base stations are connected"
        time.sleep(0.1)
    send(e42, api)
    shares = measure(e42)
    wrong = []
    most = 0
    for order in orders:
        for name, expected in ("RRU.PrbUsedDl", order["down"]), ("RRU.PrbUsedUl", order.get("up", order["down"])):
            node = f"gnb 505.01 {numbers[order['name']]}"
            measured = [shares[node, ue, name] for ue in range(1, len(expected) + 1)]
            difference = max(abs(a - b) for a, b in zip(measured, expected))
            most = max(most, difference)
            if difference > TOLERANCE:
                wrong.append(f"{order['name']}, {name}: {[round(it, 2) for it in measured]}, computed {expected}")
    print("\n".join(wrong))
    assert not wrong
    print(f"{len(orders)} orders: shares differ by at most {most:.2f} % of the carrier from the computed ones")


if sys.argv[1] == "stations":
    stations()
else:
    compare(sys.argv[3], sys.argv[4])
