#!/usr/bin/env bash
# The same command resumes a campaign of a published figure, although the text of one of its settings looks like a duration.
# Stored results contain the quartiles of a metric, from which its box plots are drawn.
set -euo pipefail
here=$(cd "$(dirname "$0")/../.." && pwd)
scenarios=${SCENARIOS:-$here/scenarios}

echo "== the same command twice, also with a setting on the command line; another choice is another campaign"
go() { "$RANLAB" bench run "$scenarios/xhaul/fig4.toml" --quick --set measure.duration=200ms --set sim.phases=1 --out figure "$@" >out.txt 2>err.txt; }
go --set user.timer=100ms
go --set user.timer=100ms || { cat err.txt; exit 1; }
go || { cat err.txt; exit 1; }
code=0
go --set user.timer=1ms || code=$?
[[ $code == 2 ]] && grep -q " in the file and " err.txt

echo "== the box plots of a stored result are drawn"
for figure in fig4 fig6; do
    "$RANLAB" bench report "$here/docs/results/xhaul/$figure.json" --out "$figure" >out.txt
    python3 - "$figure" "$here/docs/results/xhaul/$figure.json" <<'PYTHON'
import json, pathlib, sys
folder, stored = pathlib.Path(sys.argv[1]), json.load(open(sys.argv[2]))
drawing = (folder / "figure-1.svg").read_text()
assert "no repeat has" not in drawing and "not drawn" not in drawing, drawing[:500]
for point in stored["points"]:
    counts = point["distributions"]["jitter_ns"]["counts"]
    total = sum(count for _, count in counts)
    # The distribution contains one value per second of each repeat.
    assert len(counts) <= 25 and total >= 20, (point["axes"], counts)
PYTHON
done
