#!/usr/bin/env python3
"""An xApp without a library: subscribes to KPM, prints each UE's throughput, and limits every cell to 30 % of its resource blocks.

    ranlab ric --http 127.0.0.1:8080 &
    ranlab emulate --radio nr:106 --ues 2 --flows full --sm kpm,mac,slice &
    examples/xapp.py [http://127.0.0.1:8080 [SECONDS]]

At the end, it restores the slices and deletes its subscriptions. If it is killed, the subscriptions end with their lease."""
import json, os, signal, sys, time, urllib.error, urllib.request

api, seconds = sys.argv[1] if len(sys.argv) > 1 else "http://127.0.0.1:8080", float(sys.argv[2]) if len(sys.argv) > 2 else 10.0


def request(method, path, body=None, timeout=30):
    head = {"content-type": "application/json", "authorization": f"Bearer {os.environ.get('RANLAB_TOKEN', '')}"}
    data = None if body is None else json.dumps(body).encode()
    return urllib.request.urlopen(urllib.request.Request(api + path, data, head, method=method), timeout=timeout)


def control(node, message):
    try:
        print(f"{node}: slices {json.dumps(message)[:60]}...", request("POST", "/v1/control", {"node": node, "sm": "slice", "message": message}).read().decode())
        return True
    except urllib.error.HTTPError as refused:
        print(f"{node}: refused:", refused.read().decode())
        return False


def show(until):
    """Prints KPM rows of UEs as they come."""
    for line in request("GET", "/v1/indications?sm=kpm", timeout=seconds + 10):
        for row in (report := json.loads(line)).get("rows", []):
            if row.get("rnti") is not None and row.get("value") is not None:
                print(f"{report['node']}  ue {row['rnti']}  {row['measurement']} = {row['value']:.1f} {row['value_unit']}", flush=True)
        if time.monotonic() > until:
            return


signal.signal(signal.SIGTERM, lambda *_: sys.exit(143))
subscriptions, limited = [], []
first = [{"id": 1, "label": "", "scheduler": "pf", "parameters": {"capacity": 300_000}}]
try:
    for node in json.load(request("GET", "/v1/ric/nodes"))["nodes"]:
        if "kpm" in (models := {function["sm"] for function in node["functions"]}):
            made = request("POST", "/v1/subscriptions", {"node": node["id"], "sm": "kpm", "period_ms": 1000, "lease_s": int(seconds) + 30})
            subscriptions.append(json.load(made)["id"])
        # UEs that no xApp assigned to a slice are in the first one.
        limited += [node["id"]] * ("slice" in models)
    if not subscriptions:
        sys.exit("no base station offers kpm: ranlab emulate --radio nr:106 --flows full --sm kpm,mac,slice")
    show(time.monotonic() + seconds / 2)
    limited = [node for node in limited if control(node, {"configure": {"algorithm": "nvs", "sharing": False, "slices": first}})]
    show(time.monotonic() + seconds / 2)
finally:
    for node in limited:
        control(node, {"configure": {"algorithm": "none", "sharing": True, "slices": []}})
    for number in subscriptions:
        request("DELETE", f"/v1/subscriptions/{number}")
