#!/usr/bin/env bash
# Measures the cost of pages for the RIC that they show, and compares it with the limits in SPECIFICATION.md: a page of 5,000 base
# stations, and a tab that does not read. Pairs of windows with and without the page alternate. RANLAB names the binary; by
# default, the release binary is built. NODES, WINDOW (seconds) and PAIRS (at least 7) set the size.
#   scripts/web-cost.sh [page|many|stopped]     page: the page alone; WEBS=FOLDER,FOLDER compares two of them, alternating
set -euo pipefail
cd "$(dirname "$0")/.."
for tool in node chromium ps; do
    command -v "$tool" >/dev/null || { echo "missing: $tool (scripts/need.sh web)" >&2; exit 3; }
done
if [[ -z ${RANLAB:-} ]]; then
    cargo build --release -p ranlab
    RANLAB=$PWD/target/release/ranlab
fi
exec node tests/web/cost.mjs "$RANLAB" "$@"
