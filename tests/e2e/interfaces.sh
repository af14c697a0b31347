#!/usr/bin/env bash
# Tests the model NI: when UEs connect, leave and are handed over in the radio model, the messages at the interfaces of base
# stations appear as rows of an xApp.
set -euo pipefail
. "$(dirname "$0")/started.sh"

"$RANLAB" ric --e2 tcp://127.0.0.1:0 --e42 tcp://127.0.0.1:0 --http 127.0.0.1:0 --duration 60s --format ndjson >ric.txt &
started+=($!)
e2=$(address ric.txt e2) e42=$(address ric.txt e42) api=$(address ric.txt http)
# UE 2 is connected from 3 s to 4 s; UE 1 of the first base station moves to the cell of the second.
"$RANLAB" emulate --connect "$e2" --radio lte:25 --nodes 2 --ues 2 --stay 2@3s-4s --moves 1=20@4s --sm ni \
    --duration 60s >stations.txt &
started+=($!)
# In a disaggregated base station, only the CU-CP reports, including F1.
"$RANLAB" emulate --connect "$e2" --radio lte:25 --first 30 --nodes 3 --kind split --ues 1 --stay 1@3s-4s --sm ni \
    --duration 60s >parts.txt &
started+=($!)
for _ in {1..200}; do
    [[ $(curl -fsS "$api/v1/nodes" | grep -o '"connected":true' | wc -l) == 5 ]] && break || sleep 0.05
done
"$RANLAB" xapp monitor --connect "$e42" --sm ni --duration 5s --format ndjson >rows.ndjson

python3 - <<'P'
import collections, json
rows = [row for row in map(json.loads, open("rows.ndjson")) if row.get("sm") == "ni"]
told = collections.defaultdict(list)
for row in rows:
    told[row["node"]].append((row["interface"], row["direction"], row["procedure"], row["message"]))
    assert row["ue_ids"] and row["length"] > 10, row
comes = ("ng", "outgoing", "InitialUEMessage", "initiating")
goes = [("ng", "outgoing", "UEContextReleaseRequest", "initiating"), ("ng", "incoming", "UEContextRelease", "initiating"),
        ("ng", "outgoing", "UEContextRelease", "successful")]
xn = lambda way: ("xn", way, "UEContextRelease", "initiating")
f1 = lambda name: [("f1", "outgoing", name, "initiating"), ("f1", "incoming", name, "successful")]
expected = {
    "gnb 505.01 1": [comes, *goes, xn("incoming")],
    "gnb 505.01 2": [comes, *goes, xn("outgoing")],
    "gnb 505.01 11": [comes, *f1("UEContextSetup"), *goes, *f1("UEContextRelease")],
}
found = {node: sorted(messages) for node, messages in told.items()}
assert found == {node: sorted(messages) for node, messages in expected.items()}, found
ends = {(row["node"], row["end"]) for row in rows if row["interface"] != "ng"}
assert ends == {("gnb 505.01 1", "gnb 505.01 2"), ("gnb 505.01 2", "gnb 505.01 1"),
                ("gnb 505.01 11", "gnb 505.01 11/du 11")}, ends
print(len(rows), "messages reported by", ", ".join(sorted(told)))
P
