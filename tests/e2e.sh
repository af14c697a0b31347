#!/usr/bin/env bash
# Builds the release binary, unless $RANLAB names another, and runs every executable tests/e2e/*.sh against it, each in a
# folder of its own; or those that are named: tests/e2e.sh upf xhaul.
# A script finds the binary in $RANLAB, and fails by its exit code. One that fails is run once more, since a shared machine
# may stop for a second where a script waits for less: what it printed is told, and two failures are a failure.
set -euo pipefail
cd "$(dirname "$0")/.."

if [[ -z ${RANLAB:-} ]]; then
    cargo build --release -p ranlab
    export RANLAB=$PWD/target/release/ranlab
fi
[[ -x $RANLAB ]] || { echo "RANLAB names no program: $RANLAB" >&2; exit 3; }

run=0 failed=0 odd=()
for script in "$PWD"/tests/e2e/*.sh; do
    name=$(basename "$script" .sh)
    [[ -x $script && ($# == 0 || " $* " == *" $name "*) ]] || continue
    run=$((run + 1)) verdict=FAILED
    for attempt in ok FLAKY; do
        folder=$(mktemp -d)
        start=$SECONDS
        if (cd "$folder" && "$script" >output.txt 2>&1); then
            verdict=$attempt
            # What a script has left behind may still take its own files away.
            rm -rf "$folder"
            break
        fi
        printf 'failed  %-32s %4d s   %s\n' "$name" $((SECONDS - start)) "$folder"
        tail -n 40 "$folder/output.txt"
    done
    printf '%-7s %-32s %4d s\n' "$verdict" "$name" $((SECONDS - start))
    [[ $verdict == ok ]] || odd+=("$name: $verdict")
    [[ $verdict != FAILED ]] || failed=$((failed + 1))
done
((run > 0)) || { echo "no script is called $*" >&2; exit 1; }
echo "$run end-to-end scripts, $failed failed${odd[*]:+ (${odd[*]})}"
((failed == 0))
