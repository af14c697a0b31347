#!/usr/bin/env bash
# Builds the release binary, unless $RANLAB names another, and runs every executable tests/e2e/*.sh against it, each in a
# folder of its own; or those that are named: tests/e2e.sh upf xhaul. JOBS of them run at a time (1 unless told).
# SCRIPTS names another folder of scripts: tests/strangers, which run other people's programs where a variable names a build.
# A script finds the binary in $RANLAB, and fails by its exit code; 77 says that it cannot run here, and its last line why.
# `# alone: WHAT` in one says what of the machine it takes: those with the same word wait for each other.
# One that fails is run once more, after all others and alone, since a shared machine may stop for a second where a script
# waits for less: what it printed is told, and two failures are a failure. So is one that takes longer than SCRIPT_SECONDS.
set -euo pipefail
cd "$(dirname "$0")/.."

if [[ -z ${RANLAB:-} ]]; then
    cargo build --release -p ranlab -p ranlab-preload
    export RANLAB=$PWD/target/release/ranlab
fi
[[ -x $RANLAB ]] || { echo "RANLAB names no program: $RANLAB" >&2; exit 3; }

# Other people's programs are met many times over.
limit=${SCRIPT_SECONDS:-$([[ -n ${SCRIPTS:-} ]] && echo 7200 || echo 600)}
books=$(mktemp -d)
trap 'rm -rf "$books"' EXIT
export limit books

# once SCRIPT WORD: runs one, says how it went, and notes that under its name: WORD if it went well, skipped or failed.
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
        # In one piece, also if another says something.
        why=$(tail -n 40 "$folder/output.txt"; ((code != 124)) || echo "it was ended after $limit s (SCRIPT_SECONDS)")
        printf '%-7s %-32s %4d s   %s\n%s\n' failed "$name" "$took" "$folder" "$why"
        ;;
    esac
    echo "$word" >"$books/$name.verdict"
    [[ $word != failed ]] || return 0
    printf '%-7s %-32s %4d s\n' "$word" "$name$why" "$took"
    # What a script has left behind may still take its own files away.
    rm -rf "$folder"
}
export -f once

scripts=()
for script in "$PWD/${SCRIPTS:-tests/e2e}"/*.sh; do
    [[ -x $script && ($# == 0 || " $* " == *" $(basename "$script" .sh) "*) ]] && scripts+=("$script")
done
((${#scripts[@]} > 0)) || { echo "no script is called $*" >&2; exit 1; }
# Scripts marked `# long` start first, so that none of them runs alone at the end.
mapfile -t scripts < <(grep -lx '# long' "${scripts[@]}"; grep -Lx '# long' "${scripts[@]}")
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
