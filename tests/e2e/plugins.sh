#!/usr/bin/env bash
# Tests the line protocol for third-party switches and generators (docs/how-to/plugins.md). examples/plugin.py, in both
# roles, is verified by the oracle and measured. Commands without permission, a failed verification and crashes determine
# the outcome of the point.
# alone: testbeds
set -euo pipefail
. "$(dirname "$0")/judged.sh"
here=$(cd "$(dirname "$0")/../.." && pwd)

cat >plugin.toml <<TOML
title = "a switch and a generator of somebody else"
rig = "pipeline"
[pipeline]
name = "portfwd"
[sut]
engine = "plugin"
tier = "nic"
plugin = "$here/examples/plugin.py"
[load]
plugin = "$here/examples/plugin.py"
rate = 1000
pkt-size = 128
pkt-num = 256
late_after = "400ms"
drain = "3s"
[host]
when_noisy = "warn"
[measure]
duration = "1s"
warm_up = "0s"
repeats = 1
TOML
scenario=plugin.toml

echo "== commands of a scenario need permission"
run refused
holds refused 'p["outcome"] == "unmeasurable" and "--allow-commands" in p["reason"]'

echo "== verified by the oracle, with a verdict for every packet"
run both --allow-commands
holds both 'm["verified_packets"] == 256 and m["packets_due"] == 1000 and m["packets_sent"] + m["lost_late"] == 1000'
holds both 'm["lost_unknown"] == 0 and m["packets_received"] > 0 and m["latency_ns_p99"] > 0 and m["tester_mpps"] == 0.005'

echo "== a load above the generator's maximum is invalid; an unsupported pipeline is refused"
run beyond --allow-commands --set load.rate=20000 --set host.when_noisy=invalid
holds beyond 'p["outcome"] == "invalid"'
run other --allow-commands --set pipeline.name=l2fwd
holds other 'p["outcome"] == "sut_failed" and "knows no other pipeline" in p["reason"]'

echo "== plug-ins that crash, flood or send invalid lines"
for way in dies floods nonsense leaves; do
    ln -s "$here/crates/pipeline/lab/src/plugin/bad.sh" "$way"
    run "bad-$way" --allow-commands --set "sut.plugin=$PWD/$way"
    holds "bad-$way" 'p["outcome"] == "sut_failed" and "the plug-in" in p["reason"]'
done

echo "== missing generator; missing rings"
sed '/^\[load\]/,/^rate/ { /^plugin/d }' plugin.toml >lonely.toml
"$RANLAB" bench run lonely.toml --fresh --out lonely --allow-commands --format json >lonely.json 2>lonely.err || true
holds lonely 'p["outcome"] == "unmeasurable" and "`load.plugin`" in p["reason"]'
echo "plug-ins: all checks passed"
