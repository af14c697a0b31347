# Sourced by scripts that run packet scenarios and check the results of the points.

# run NAME [ARGUMENT...]: runs the scenario in $scenario and writes NAME.json. A point without a verdict is not a
# failure of the run.
run() {
    local name=$1 code=0
    "$RANLAB" bench run "$scenario" --fresh --out "$name" "${@:2}" --format json >"$name.json" 2>"$name.err" || code=$?
    [[ $code == 0 || $code == 1 || $code == 3 ]] || { cat "$name.err"; exit 1; }
}
# holds NAME EXPRESSION: evaluates the expression. p is the first point, and m the means of its metrics; points and means
# are lists for all points. Every loss in rings must have a cause or be counted as unknown.
holds() {
    python3 - "$1.json" "$2" <<'PYTHON'
import json, sys
points = json.loads(open(sys.argv[1]).read().splitlines()[-1])["points"]
means = [{k: v["mean"] for k, v in point.get("metrics", {}).items()} for point in points]
p, m = points[0], means[0]
for each in means:
    causes = [k for k in each if k.startswith("lost_") and not k.startswith("lost_dropped_")]
    lost = sum(each[k] for k in causes)
    assert "lost" not in each or each["lost"] == lost == each["packets_due"] - each["packets_received"], each
if not eval(sys.argv[2]):
    sys.exit(f"{sys.argv[2]} does not hold: {json.dumps(points)[:4000]}")
PYTHON
}
# wires: sets up links in a namespace of the script, from our-access and our-core to its-access and its-core,
# the ports of a switch.
wires() {
    local port one
    ip link set lo up
    for port in access core; do
        ip link add "our-$port" type veth peer name "its-$port"
        for one in "our-$port" "its-$port"; do
            echo 1 >"/proc/sys/net/ipv6/conf/$one/disable_ipv6" 2>/dev/null || true
            ip link set "$one" mtu 2000 up
        done
    done
}
