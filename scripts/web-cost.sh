#!/usr/bin/env bash
# Cost of pages for the RIC that they show, as promised in SPECIFICATION.md: 5,000 base stations live, and a
# stopped tab, in interleaved pairs. RANLAB names the binary, else the release binary is built; NODES, WINDOW
# (seconds) and PAIRS (at least 7) set the size.
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
