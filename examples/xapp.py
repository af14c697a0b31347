#!/usr/bin/env python3
"""An xApp without a library: ranlab ric --http 127.0.0.1:8080, then xapp.py [http://127.0.0.1:8080 [mac]].

Lists the nodes, subscribes a service model, halves the carrier where a node knows SLICE, prints each UE's throughput."""
import json, os, sys, urllib.error, urllib.request

api, sm = (sys.argv[1:] + ["http://127.0.0.1:8080", "mac"][len(sys.argv) - 1 :])[:2]


def ask(method, path, body=None):
    head = {"content-type": "application/json", "authorization": f"Bearer {os.environ.get('RANLAB_TOKEN', '')}"}
    data = None if body is None else json.dumps(body).encode()
    return urllib.request.urlopen(urllib.request.Request(api + path, data, head, method=method))


slices = [{"id": n, "label": "", "scheduler": "pf", "parameters": {"capacity": 500_000}} for n in (1, 2)]
for node in json.load(ask("GET", "/v1/ric/nodes"))["nodes"]:
    models = {function["sm"] for function in node["functions"]}
    print(node["id"], "offers", *sorted(filter(None, models)), flush=True)
    for hint in node["hints"]:
        print("  likely:", hint["hint"])
    if sm in models:
        ask("POST", "/v1/subscriptions", {"node": node["id"], "sm": sm, "period_ms": 1000})
    if "slice" in models:
        halves = {"configure": {"algorithm": "nvs", "sharing": True, "slices": slices}}
        try:
            print(" ", ask("POST", "/v1/control", {"node": node["id"], "sm": "slice", "message": halves}).read().decode())
        except urllib.error.HTTPError as refused:
            print("  refused:", refused.read().decode())
before = {}
for line in ask("GET", f"/v1/indications?sm={sm}"):
    told = json.loads(line)
    for row in told.get("rows", []):
        who, sent = (told["node"], row.get("rnti")), row.get("dl_aggr_bytes_sdus")
        if sent is not None and who in before:
            mbps = (sent - before[who][1]) * 8 / max(1, told["tstamp_us"] - before[who][0])
            print(f"{who[0]}  ue {who[1]}  {mbps:.2f} Mbit/s", flush=True)
        before[who] = (told["tstamp_us"], sent or 0)
