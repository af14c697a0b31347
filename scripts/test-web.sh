#!/usr/bin/env bash
# Tests the pages of the RIC and of other verbs, and reports, in Debian's Chromium. RANLAB names the binary; default: the
# release binary. Pictures of each view are written to target/web for inspection. For development, WEB names a folder whose
# files replace those in the binary: `WEB=$PWD/web scripts/test-web.sh`.
set -euo pipefail
cd "$(dirname "$0")/.."
for tool in node chromium; do
    command -v "$tool" >/dev/null || { echo "missing: $tool (scripts/need.sh web)" >&2; exit 3; }
done
axe=target/node/node_modules/axe-core/axe.min.js
[[ -e $axe ]] || { echo "missing: axe-core (scripts/need.sh web)" >&2; exit 3; }
if [[ -z ${RANLAB:-} ]]; then
    cargo build --release -p ranlab
    RANLAB=$PWD/target/release/ranlab
fi
# The reports contain 1,000 points and every kind of figure, from a rig with known laws.
reports=target/web/reports
rm -rf "$reports"
cargo run -q -p ranlab-report --example large -- "$reports" 1000
cargo run -q -p ranlab-report --example gallery -- "$reports/gallery"
timeout --kill-after=10 300 node tests/web/report.mjs "$RANLAB" target/web "$axe" "$reports"
timeout --kill-after=10 300 node tests/web/live.mjs "$RANLAB" target/web "$axe" crates/e2/codec/tests/vectors/flexric_e2_e42_sctp.pcap
timeout --kill-after=10 600 node tests/web/run.mjs "$RANLAB" target/web "$axe"
echo "pictures: target/web"
