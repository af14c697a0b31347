#!/usr/bin/env bash
# Builds the release binary and runs every executable tests/e2e/*.sh against it, each in a folder of its own; or those
# that are named: tests/e2e.sh upf xhaul.
# A script finds the binary in $RANLAB, and fails by its exit code.
set -euo pipefail
cd "$(dirname "$0")/.."

cargo build --release -p ranlab
export RANLAB=$PWD/target/release/ranlab

run=0 failed=()
for script in "$PWD"/tests/e2e/*.sh; do
    name=$(basename "$script" .sh)
    [[ -x $script && ($# == 0 || " $* " == *" $name "*) ]] || continue
    folder=$(mktemp -d)
    start=$SECONDS
    run=$((run + 1))
    if (cd "$folder" && "$script" >output.txt 2>&1); then
        printf 'ok      %-32s %4d s\n' "$name" $((SECONDS - start))
        rm -r "$folder"
    else
        printf 'FAILED  %-32s %4d s   %s\n' "$name" $((SECONDS - start)) "$folder"
        tail -n 40 "$folder/output.txt"
        failed+=("$name")
    fi
done
((run > 0)) || { echo "no script is called $*" >&2; exit 1; }
echo "$run end-to-end scripts, ${#failed[@]} failed"
[[ ${#failed[@]} == 0 ]]
