#!/usr/bin/env python3
"""Part of ocudu.sh: `values UES ROWS` compares KPM rows with what nodes.cpp feeds; `ccc NODE` prints the request of a CCC
control; `orders FILE` compares the orders that nodes.cpp printed with those that ocudu.sh sends."""
import collections, json, sys

PRBS = 273


def of_ue(i):
    """Values of UE i, in OCUDU's units."""
    down, up = 1 + i % 4, 1 + i % 3
    return {
        "DRB.AirIfDelayUl": 30 + 5 * (i % 4), "DRB.RlcDelayUl": 2 * (i + 1), "DRB.RlcPacketDropRateDl": i % 5,
        "DRB.RlcSduDelayDl": i + 1, "DRB.RlcSduTransmittedVolumeDL": 1000 * (i + 1),
        "DRB.RlcSduTransmittedVolumeUL": 200 * (i + 1), "DRB.UEThpDl": 1000 * (i + 1), "DRB.UEThpUl": 200 * (i + 1),
        "RRU.PrbTotDl": down * 100 // PRBS, "RRU.PrbTotUl": up * 100 // PRBS, "RRU.PrbUsedDl": down, "RRU.PrbUsedUl": up,
    }


def of_node(ues):
    """Values of a complete node: sums, and means of delays and rates."""
    each = [of_ue(i) for i in range(ues)]
    node = {name: sum(it[name] for it in each) for name in each[0]}
    for name in ("DRB.AirIfDelayUl", "DRB.RlcDelayUl", "DRB.RlcPacketDropRateDl", "DRB.RlcSduDelayDl"):
        node[name] /= ues
    for way in ("Dl", "Ul"):
        node["RRU.PrbTot" + way] = node["RRU.PrbUsed" + way] * 100 // PRBS
        node["RRU.PrbAvail" + way] = PRBS - node["RRU.PrbUsed" + way]
    return node | {
        "RACH.PreambleDedCell": 7, "DRB.PdcpReordDelayUl": 25, "DRB.PacketSuccessRateUlgNBUu": 90, "RRC.ConnEstabAtt": 5,
        "RRC.ConnEstabSucc": 4, "RRC.ConnEstabFailCause.NetworkReject": 0, "RRC.ConnMean": ues, "RRC.ConnMax": ues + 1,
        "RRC.ReEstabAtt": 3, "RRC.ReEstabSuccWithUeContext": 2, "UECNTX.ConnEstabAtt": 0, "UECNTX.ConnEstabSucc": 0,
    }


def values(ues, rows):
    node, wrong, seen, without_unit = of_node(ues), [], collections.Counter(), set()
    for row in map(json.loads, open(rows)):
        if "measurement" not in row:
            continue
        name = row["measurement"]
        expected = (of_ue(row["ue"] - 100) | {k: node[k] for k in node if "PrbAvail" in k} if "ue" in row and
                    row["ue"] is not None else node).get(name)
        if expected is None or row["value"] is None or abs(row["value"] - expected) > 0.51:
            wrong.append((row["node"], row.get("ue"), name, row["value"], "expected", expected))
        # Counts have no unit.
        if not row["value_unit"] and name.startswith(("DRB.", "RRU.")):
            without_unit.add(name)
        seen[name] += 1
    assert not wrong, wrong[:5]
    assert not without_unit, without_unit
    assert seen, f"{rows} has no value"
    print(f"{rows}: {sum(seen.values())} values of {len(seen)} measurements, all equal to the expected values")


def ccc(node):
    policy = {"resourceType": "PRB_DL", "rRMPolicyMinRatio": 20, "rRMPolicyMaxRatio": 60, "rRMPolicyDedicatedRatio": 10,
              "rRMPolicyMemberList": [{"plmnId": {"mcc": "001", "mnc": "01"}, "snssai": {"sst": 1, "sd": "010203"}}]}
    structure = {"ranConfigurationStructureName": "O-RRMPolicyRatio",
                 "oldValuesOfAttributes": {"ranConfigurationStructure": {}},
                 "newValuesOfAttributes": {"ranConfigurationStructure": policy}}
    cell = {"plmnIdentity": {"mcc": "001", "mnc": "01"}, "nRCellIdentity": "000067000"}
    print(json.dumps({"node": node, "sm": "ccc", "header": {"controlHeaderFormat": {"ricStyleType": 2}},
                      "message": {"controlMessageFormat": {"listOfCellsControlled": [
                          {"cellGlobalId": cell, "listOfConfigurationStructures": [structure]}]}}}))


def orders(printed):
    got = collections.defaultdict(list)
    for line in open(printed):
        if line.startswith("{"):
            order = json.loads(line)
            got[order.pop("order")].append(order)
    quota = [(it["target"], it["plmn"], it["sst"], it["dedicated"], it["min"], it["max"]) for it in got["rc-quota"]]
    assert quota == [("1", "00101", 1, 5, 10, 50), ("1", "00101", 2, 0, 20, 100)], quota
    policy = [(it["sst"], it["sd"], it["dedicated"], it["min"], it["max"]) for it in got["ccc"]]
    assert policy == [(1, 0x010203, 10, 20, 60)], policy
    assert [it["f1ap"] for it in got["ue"]] == [101, 102], got["ue"]
    assert got["ue"][1]["amf_ue"] == 0xFFFFFFFFFF and got["ue"][1]["guami"] == "00101-1-2-3", got["ue"]
    assert got["handover"] == [{"ue": 1, "nci": "67001"}, {"ue": 2, "nci": "67001"}], got["handover"]
    print("orders: 2 quotas, 1 CCC policy, 2 handovers, all as sent")


if __name__ == "__main__":
    match sys.argv[1:]:
        case ["values", ues, rows]:
            values(int(ues), rows)
        case ["ccc", node]:
            ccc(node)
        case ["orders", printed]:
            orders(printed)
        case _:
            sys.exit(__doc__)
