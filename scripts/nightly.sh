#!/usr/bin/env bash
# Tests that take too long for every push: fuzzing, end-to-end scripts with the release binary, and soak
# tests. FUZZ_SECONDS: CPU time per fuzz target.
set -euo pipefail
cd "$(dirname "$0")/.."

failed=()

# Prints the CPU seconds used by a process.
cpu_s() { awk -v tick="$(getconf CLK_TCK)" '{ sub(/.*\) /, ""); print int(($12 + $13) / tick) }' "/proc/$1/stat"; }

# Fuzzes one target for FUZZ_SECONDS of CPU time, regardless of the load on the machine.
#
# New inputs are written to target/, so that the committed corpus changes only intentionally. The time limit of an input
# is wall-clock time, with a margin for a busy machine.
fuzz() {
    local target=$1 limit=${FUZZ_SECONDS:-600} found=target/fuzz-corpus/$1 pid
    mkdir -p "$found" "fuzz/corpus/$target" "fuzz/artifacts/$target"
    "fuzz/target/$host/release/$target" "$found" "fuzz/corpus/$target" "-artifact_prefix=fuzz/artifacts/$target/" \
        -rss_limit_mb=2048 -malloc_limit_mb=64 -timeout=120 -print_final_stats=1 >"target/fuzz-$target.log" 2>&1 &
    pid=$!
    while kill -0 $pid 2>/dev/null; do
        # The process may end between the two calls.
        if (($(cpu_s $pid 2>/dev/null || echo 0) >= limit)); then kill -USR1 $pid 2>/dev/null || true; fi
        sleep 2
    done
    wait $pid || { tail -n 40 "target/fuzz-$target.log"; return 1; }
    # Checks that inputs were executed and that nothing was found.
    grep -E 'number_of_executed_units|new_units_added|peak_rss_mb' "target/fuzz-$target.log"
}

targets=()
if [[ -d fuzz ]]; then
    host=$(rustc -vV | sed -n 's/^host: //p')
    cargo +nightly fuzz build
    mapfile -t targets < <(cargo +nightly fuzz list)
fi
# FUZZ_TARGETS selects targets.
for target in ${FUZZ_TARGETS:-"${targets[@]}"}; do
    echo "== fuzz $target, ${FUZZ_SECONDS:-600} CPU seconds"
    fuzz "$target" || failed+=("fuzz $target")
done

# Tests the code of the packet engine outside safe Rust (prefetch, wide instructions, huge pages) with the address
# sanitizer.
echo "== sanitizer: packet engine"
RUSTFLAGS=-Zsanitizer=address cargo +nightly test --target "$(rustc -vV | sed -n 's/^host: //p')" \
    -p ranlab-pipeline --lib --tests || failed+=("sanitizer")

# Runs tests under Miri, which also checks the validity of references and uninitialised memory. Miri is slow, so only the
# tests of files with `unsafe` and of their callers run, with a few hundred packets of one pipeline.
echo "== Miri: packet engine"
miri() {
    RUSTFLAGS=-Ctarget-feature=+avx2,+bmi1,+bmi2,+popcnt cargo +nightly miri test -p ranlab-pipeline "$@"
}
miri --lib -- engine::hot engine::exact engine::headers::tests::translated || failed+=("Miri")
miri --test equals_oracle -- portfwd || failed+=("Miri on packets")

echo "== UPF rules against the model: 1,000 sessions, 100,000 packets"
RANLAB_MODEL=1000,100000 cargo test -p ranlab-upf --test forwarding_model || failed+=("UPF model")
cargo build --release -p ranlab -p ranlab-preload
export RANLAB=$PWD/target/release/ranlab
echo "== several RICs as one: 20 faults"
scripts/need.sh nats
namespaces=()
[[ $(id -u) != 0 ]] || namespaces=(--namespaces)
scripts/cluster.py "$RANLAB" --random 20 "${namespaces[@]}" || failed+=("several RICs")
scripts/cluster.py "$RANLAB" --restart || failed+=("several RICs, restarted")
scripts/cluster.py "$RANLAB" --nodes 300 --xapps 10 --period 100ms --cpu || failed+=("several RICs: CPU time per message")

echo "== end to end, the release binary"
TUTORIALS=all SWITCHES_KILLED=1 tests/e2e.sh || failed+=("end to end")
echo "== optional programs, present and hidden"
scripts/need.sh switches programs nats
code=0
scripts/matrix.sh || code=$?
((code == 0 || code == 77)) || failed+=("optional programs")
scripts/need.sh bare
for packages in "" "openvswitch-switch-dpdk dpdk-dev iproute2 tshark nftables redis-server nats-server"; do
    echo "== make test in a bare Debian${packages:+ with $packages}"
    code=0
    # shellcheck disable=SC2086 # names of packages
    scripts/bare-root.sh $packages || code=$?
    ((code == 0 || code == 77)) || failed+=("bare Debian${packages:+ with $packages}")
done
echo "== each feature alone"
scripts/features.sh || failed+=("single features")
echo "== what a release needs, and its artifacts on a bare Debian"
{ make --no-print-directory release-check && make --no-print-directory dist dist-check; } || failed+=("release")
echo "== the C package, by CMake and by pkg-config"
bindings/c/tests/package.sh || failed+=("C package")
echo "== Redis, which is a feature"
cargo test -p ranlab-ric-server --features redis --test redis || failed+=("Redis")
echo "== SCTP of a kernel"
scripts/test-sctp.sh || failed+=("SCTP")
echo "== virtual functions and the kernel's schedulers, emulated"
scripts/test-sriov.sh || failed+=("SR-IOV")
echo "== the Python package: tests, round trips beside Rust's, the notebooks"
scripts/need.sh python notebook
{ scripts/python.sh wheel && scripts/python.sh measure && .venv/bin/python scripts/notebook.py bindings/python/examples/study.ipynb docs/tutorials/course/*.ipynb; } ||
    failed+=("Python")
echo "== third-party programs that a variable names (docs/reference/peers.md)"
SCRIPTS=tests/strangers tests/e2e.sh || failed+=("strangers")
soaks=0
for soak in "$PWD"/scripts/soak/*.sh; do
    [[ -x $soak ]] || continue
    echo "== soak $soak"
    soaks=$((soaks + 1))
    folder=$(mktemp -d)
    (cd "$folder" && "$soak") || failed+=("$soak")
    rm -r "$folder"
done

echo "== report, as a browser shows it"
scripts/need.sh pages
scripts/screenshots.sh target/screenshots || failed+=("screenshots")

echo "== the Grafana dashboard against Grafana's types"
scripts/need.sh grafana
scripts/grafana.sh || failed+=("Grafana's types")

echo "== the RIC's page in a browser"
scripts/need.sh web
scripts/test-web.sh || failed+=("page")

echo "nightly: ${#targets[@]} fuzz targets, $soaks soaks, ${#failed[@]} failed"
printf '  failed: %s\n' "${failed[@]+"${failed[@]}"}" | grep -v ': $' || true
[[ ${#failed[@]} == 0 ]]
