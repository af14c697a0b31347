"""Compares KPIs in Prometheus with what an emulated radio holds: kpi_model.py PROMETHEUS MODEL.

MODEL is the ndjson output of `ranlab emulate` with one cell and two UEs: 1 with a constant load, 2 that is never done.
Rates and means of 20 s agree within 1 %.
"""
import json
import sys
import time
import urllib.parse
import urllib.request

SPAN = 20
NODE = 'node="gnb 505.01 10"'


def query(prometheus, expression):
    """Values by UE. The key "cell" has the values of the node."""
    address = f"{prometheus}/api/v1/query?" + urllib.parse.urlencode({"query": expression})
    result = json.loads(urllib.request.urlopen(address).read())["data"]["result"]
    return {it["metric"].get("ue", "cell"): float(it["value"][1]) for it in result}


def seconds_of(path):
    """Counters of the radio in each second."""
    lines = [line for line in open(path) if line.endswith("\n") and '"radios"' in line]
    return [json.loads(line)["radios"][0] for line in lines]


def held(lines):
    """Mean per second at the radio: bytes that arrived, bytes of transport blocks, PRBs."""
    seconds = sum(line["seconds"] for line in lines)
    fields = ("bytes", "tbs_bytes", "prbs")
    rate = lambda field, at: sum(line["ues"][at][field] for line in lines) / seconds
    return {field: {str(at + 1): rate(field, at) for at in range(2)} for field in fields}


def main(prometheus, path):
    end = time.monotonic() + 90
    while len(seconds_of(path)) < SPAN + 6:
        assert time.monotonic() < end, "the radio reports nothing"
        time.sleep(0.5)
    lines = seconds_of(path)[-SPAN:]
    model = held(lines)
    prb_use = sum(line["prb_use"] for line in lines) / len(lines)
    all_prbs = sum(model["prbs"].values())
    kpm = lambda name: f'avg_over_time(ranlab_kpi_kpm_value{{measurement="{name}",{NODE},ue!=""}}[{SPAN}s])'
    counter = lambda name: f"rate(ranlab_kpi_{name}_total{{{NODE}}}[{SPAN}s])"
    cell = lambda field: {"cell": sum(model[field].values())}
    times = lambda field, ue, factor: {ue: model[field][ue] * factor}
    share = {"2": model["prbs"]["2"] / all_prbs * prb_use * 100}
    wrong = []
    for expression, values in [
        (counter("mac_dl_aggr_tbs"), model["tbs_bytes"]),
        (counter("cell_dl_aggr_tbs"), cell("tbs_bytes")),
        (counter("cell_dl_aggr_prb"), cell("prbs")),
        (counter("pdcp_txsdu_bytes"), times("bytes", "1", 1)),
        (kpm("DRB.PdcpSduVolumeDL"), times("bytes", "1", 8e-6)),
        (kpm("DRB.UEThpDl"), {ue: value * 8e-3 for ue, value in model["bytes"].items()}),
        # The KPI is in whole percent, which is too coarse for the small share of UE 1.
        (kpm("RRU.PrbTotDl"), share),
    ]:
        found = query(prometheus, expression)
        for key, value in values.items():
            ratio = found.get(key, 0) / value
            print(f"{expression} of {key}: {found.get(key)}, the radio holds {value:.6g}: ratio {ratio:.4f}")
            if not 0.99 < ratio < 1.01:
                wrong.append((expression, key, found))
    assert not wrong, wrong


main(*sys.argv[1:])
