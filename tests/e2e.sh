#!/usr/bin/env bash
# Builds the release binary, unless $RANLAB names another, and runs every executable tests/e2e/*.sh against
# it, each in its own folder. Arguments select scripts: tests/e2e.sh upf xhaul.
#
# JOBS: number of scripts that run in parallel (default 1). SCRIPTS: another folder of scripts, e.g.
# tests/strangers, whose scripts run third-party programs where a variable names a build. SCRIPT_SECONDS: time
# limit of a script.
#
# A script finds the binary in $RANLAB and fails by its exit code. Exit code 77 means that it cannot run here;
# its last line gives the reason. `# alone: WORD` in a script names a resource of the machine: scripts with
# the same word do not run in parallel.
#
# A script that fails is run once more, alone, after all others, because a shared machine may stall for longer
# than a script waits. The output of the first run is printed; two failures are a failure. So is a script that
# exceeds its time limit.
set -euo pipefail
cd "$(dirname "$0")/.."

if [[ -z ${RANLAB:-} ]]; then
    cargo build --release -p ranlab -p ranlab-preload
    export RANLAB=$PWD/target/release/ranlab
fi
[[ -x $RANLAB ]] || { echo "RANLAB is not a program: $RANLAB" >&2; exit 3; }

# Tests with third-party programs need more time.
limit=${SCRIPT_SECONDS:-$([[ -n ${SCRIPTS:-} ]] && echo 7200 || echo 600)}
books=$(mktemp -d)
trap 'rm -rf "$books"' EXIT
export limit books

# once SCRIPT WORD: runs a script, prints the result, and records it under the script's name: WORD on success,
# else skipped or failed.
once() {
    local script=$1 word=$2 name folder start code=0 what
    name=$(basename "$script" .sh)
    folder=$(mktemp -d)
    what=$(sed -n 's/^# alone: //p' "$script")
    exec 9>"$books/lock-${what:-$name}"
    flock 9
    start=$SECONDS
    (cd "$folder" && exec 9>&- && timeout --kill-after=10 "$limit" "$script" >output.txt 2>&1) || code=$?
    local took=$((SECONDS - start)) why=
    case $code in
    0) ;;
    77) word=skipped why=": $(tail -n 1 "$folder/output.txt")" ;;
    *)
        word=failed
        # The result is printed in one piece, so that output of parallel scripts does not interleave.
        why=$(tail -n 40 "$folder/output.txt"; ((code != 124)) || echo "stopped after $limit s (SCRIPT_SECONDS)")
        printf '%-7s %-32s %4d s   %s\n%s\n' failed "$name" "$took" "$folder" "$why"
        ;;
    esac
    echo "$word" >"$books/$name.verdict"
    [[ $word != failed ]] || return 0
    printf '%-7s %-32s %4d s\n' "$word" "$name$why" "$took"
    # Processes that a script has left behind may still remove files in the folder.
    rm -rf "$folder"
}
export -f once

scripts=()
for script in "$PWD/${SCRIPTS:-tests/e2e}"/*.sh; do
    [[ -x $script && ($# == 0 || " $* " == *" $(basename "$script" .sh) "*) ]] && scripts+=("$script")
done
((${#scripts[@]} > 0)) || { echo "unknown script: $*" >&2; exit 1; }
# Scripts marked `# long` start first. Otherwise one of them could run at the end without others in parallel.
mapfile -t scripts < <(grep -lx '# long' "${scripts[@]}" || true; grep -Lx '# long' "${scripts[@]}")
printf '%s\0' "${scripts[@]}" | xargs -0 -n 1 -P "${JOBS:-1}" bash -c 'once "$1" ok' once

odd=() failed=0
verdict() { cat "$books/$(basename "$1" .sh).verdict"; }
for script in "${scripts[@]}"; do
    [[ $(verdict "$script") == failed ]] || continue
    once "$script" FLAKY
    odd+=("$(basename "$script" .sh): $(verdict "$script")")
    [[ $(verdict "$script") != failed ]] || failed=$((failed + 1))
done
skipped=$(grep -lx skipped "$books"/*.verdict | wc -l || true)
echo "${#scripts[@]} end-to-end scripts, $failed failed, $skipped skipped${odd[*]:+ (${odd[*]})}"
((failed == 0))
