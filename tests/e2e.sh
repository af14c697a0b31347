#!/usr/bin/env bash
# Builds the release binary, unless $RANLAB names another, and runs every executable tests/e2e/*.sh against it, each in a
# folder of its own; or those that are named: tests/e2e.sh upf xhaul.
# SCRIPTS names another folder of scripts: tests/strangers, which run other people's programs where a variable names a build.
# A script finds the binary in $RANLAB, and fails by its exit code; 77 says that it cannot run here, and its last line why.
# One that fails is run once more, since a shared machine may stop for a second where a script waits for less: what it
# printed is told, and two failures are a failure. So is one that takes longer than SCRIPT_SECONDS.
set -euo pipefail
cd "$(dirname "$0")/.."

if [[ -z ${RANLAB:-} ]]; then
    cargo build --release -p ranlab -p ranlab-preload
    export RANLAB=$PWD/target/release/ranlab
fi
[[ -x $RANLAB ]] || { echo "RANLAB names no program: $RANLAB" >&2; exit 3; }

# Other people's programs are met many times over.
limit=${SCRIPT_SECONDS:-$([[ -n ${SCRIPTS:-} ]] && echo 7200 || echo 600)}

run=0 failed=0 skipped=0 odd=()
for script in "$PWD/${SCRIPTS:-tests/e2e}"/*.sh; do
    name=$(basename "$script" .sh)
    [[ -x $script && ($# == 0 || " $* " == *" $name "*) ]] || continue
    run=$((run + 1)) verdict=FAILED
    for attempt in ok FLAKY; do
        folder=$(mktemp -d)
        start=$SECONDS
        code=0
        (cd "$folder" && timeout --kill-after=10 "$limit" "$script" >output.txt 2>&1) || code=$?
        case $code in
        0) verdict=$attempt ;;
        77) verdict=skipped skipped=$((skipped + 1)) name="$name: $(tail -n 1 "$folder/output.txt")" ;;
        *)
            printf 'failed  %-32s %4d s   %s\n' "$name" $((SECONDS - start)) "$folder"
            tail -n 40 "$folder/output.txt"
            ((code == 124)) || continue
            echo "it was ended after $limit s (SCRIPT_SECONDS)"
            break
            ;;
        esac
        # What a script has left behind may still take its own files away.
        rm -rf "$folder"
        break
    done
    printf '%-7s %-32s %4d s\n' "$verdict" "$name" $((SECONDS - start))
    [[ $verdict == ok || $verdict == skipped ]] || odd+=("$name: $verdict")
    [[ $verdict != FAILED ]] || failed=$((failed + 1))
done
((run > 0)) || { echo "no script is called $*" >&2; exit 1; }
echo "$run end-to-end scripts, $failed failed, $skipped skipped${odd[*]:+ (${odd[*]})}"
((failed == 0))
