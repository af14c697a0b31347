#!/usr/bin/env bash
# What takes too long for every push: fuzzing and soaks. FUZZ_SECONDS for each fuzz target.
set -euo pipefail
cd "$(dirname "$0")/.."

failed=()

# New inputs go to target/, so that the committed corpus changes only when somebody means it.
targets=()
if [[ -d fuzz ]]; then
    mapfile -t targets < <(cargo +nightly fuzz list)
fi
for target in "${targets[@]}"; do
    echo "== fuzz $target, ${FUZZ_SECONDS:-600} s"
    found=target/fuzz-corpus/$target
    mkdir -p "$found" "fuzz/corpus/$target"
    cargo +nightly fuzz run "$target" "$found" "fuzz/corpus/$target" -- \
        -max_total_time="${FUZZ_SECONDS:-600}" -rss_limit_mb=2048 -malloc_limit_mb=64 -timeout=5 -print_final_stats=1 ||
        failed+=("fuzz $target")
done

cargo build --release -p ranlab
export RANLAB=$PWD/target/release/ranlab
soaks=0
for soak in "$PWD"/scripts/soak/*.sh; do
    [[ -x $soak ]] || continue
    echo "== soak $soak"
    soaks=$((soaks + 1))
    folder=$(mktemp -d)
    (cd "$folder" && "$soak") || failed+=("$soak")
    rm -r "$folder"
done

echo "nightly: ${#targets[@]} fuzz targets, $soaks soaks, ${#failed[@]} failed"
printf '  failed: %s\n' "${failed[@]+"${failed[@]}"}" | grep -v ': $' || true
[[ ${#failed[@]} == 0 ]]
