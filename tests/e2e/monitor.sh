#!/usr/bin/env bash
# Tests `xapp monitor`. It shows values as text, and writes them as rows to a stream and to files. The files are complete
# after Ctrl-C, and after the pipe has been closed.
set -euo pipefail
e2=unix://$PWD/e2 e42=unix://$PWD/e42

"$RANLAB" ric --e2 "$e2" --e42 "$e42" --duration 60s >/dev/null &
parts=($!)
trap 'kill "${parts[@]}" 2>/dev/null || true' EXIT
for _ in $(seq 200); do [[ -S e42 && -S e2 ]] && break; sleep 0.02; done
"$RANLAB" emulate --connect "$e2" --nodes 2 --ues 3 --sm hw,mac,rlc,pdcp,gtp --duration 60s >/dev/null &
parts+=($!)
monitor() { "$RANLAB" xapp monitor --connect "$e42" --period 100ms "$@"; }

monitor --duration 5s >text.txt
[[ $(grep -c '^gnb 505.01 [12]  ue [0-9]*  mac ' text.txt) -ge 6 ]]
monitor --duration 3s --totals | { ! grep ' ue '; }
ue=$(sed -n 's/^gnb 505.01 2  ue \([0-9]*\) .*/\1/p' text.txt | head -1)
monitor --duration 3s --sm hw,mac,gtp --ue "$ue" --format ndjson >ue.ndjson
monitor --duration 3s --sm hw --format ndjson >hw.ndjson

# Waits until the files have content, because the signal could otherwise arrive before the handler is set.
"$RANLAB" xapp monitor --connect "$e42" --period 100ms --record all.csv --format json >all.json &
parts+=($!) end=$!
for _ in $(seq 600); do [[ $(wc -l 2>/dev/null <all.csv) -gt 20 ]] && break; sleep 0.05; done
kill -INT "$end"
wait "$end"
monitor --record cut.parquet --format ndjson 2>/dev/null | head -3 >/dev/null || true
if monitor --record values.xlsx 2>refused.txt; then exit 1; else [[ $? == 2 ]]; fi
grep -q 'allowed are .csv and .parquet' refused.txt

python3 - "$ue" <<'P'
import csv, json, struct, sys
ue = [json.loads(line) for line in open("ue.ndjson")]
rows = [row for row in ue if "sm" in row]
assert {row["sm"] for row in rows} == {"mac", "gtp"} and {row["ue"] for row in rows} == {int(sys.argv[1])}, rows[:2]
assert "dl_aggr_tbs" in rows[0] or "qfi" in rows[0], rows[0]
assert ue[-1]["indications"] > 0 and ue[-1]["lost"] == 0, ue[-1]
pings = [row for row in map(json.loads, open("hw.ndjson")) if "sm" in row]
assert pings and all(row["sm"] == "hw" and row["tstamp_us"] is None for row in pings), pings[:2]
lines = open("all.csv", newline="").read().splitlines()
assert lines[0].startswith("# ") and "mac_pusch_snr dB" in lines[0], lines[0]
table = list(csv.DictReader(lines[1:]))
assert {row["sm"] for row in table} == {"mac", "rlc", "pdcp", "gtp"}
assert all(row["mac_wb_cqi"] if row["sm"] == "mac" else not row["mac_wb_cqi"] for row in table)
assert len({(row["node"], row["ue"]) for row in table}) == 6, "the file must have rows of six UEs"
assert json.load(open("all.json"))["indications"] * 3 == len(table), "the file must have a row for each UE of each report"
file = open("cut.parquet", "rb").read()
footer = struct.unpack("<I", file[-8:-4])[0]
assert file[:4] == file[-4:] == b"PAR1" and b"unit.mac_pusch_snr" in file[-footer:], "the Parquet file must be complete"
print(len(rows), "rows of one UE,", len(table), "in the file")
P
