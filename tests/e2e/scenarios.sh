#!/usr/bin/env bash
# Every scenario of the repository checks, and its smoke run is green: what can be measured is, no required law fails.
set -euo pipefail
here=$(cd "$(dirname "$0")/../.." && pwd)
cd "$here"
out=$OLDPWD
failed=0
while read -r scenario; do
    name=$(echo "${scenario#scenarios/}" | tr '/' '-')
    got=0
    "$RANLAB" bench check "$scenario" --quick >"$out/$name.check" || got=$?
    [[ $got == 0 ]] && { "$RANLAB" bench run "$scenario" --quick --out "$out/${name%.toml}" >"$out/$name.out" 2>"$out/$name.err" || got=$?; }
    printf '%-36s exit %d  %s\n' "$scenario" "$got" "$(tail -n 1 "$out/$name.err")"
    [[ $got == 0 ]] || { cat "$out/$name.out" "$out/$name.err"; failed=1; }
done < <(find scenarios -name '*.toml' | sort)
exit $failed
