#!/usr/bin/env bash
# The tutorials of the documentation: each block runs, and prints what the page shows. TUTORIALS=all runs all
# of them.
set -euo pipefail
# alone: testbeds
root=$(cd "$(dirname "$0")/../.." && pwd)
pages=("$root"/docs/tutorials/first-{xapp,ric-load,upf-load}.md)
[[ ${TUTORIALS:-} != all ]] || pages=("$root"/docs/tutorials/*.md)
"$root/scripts/tutorial.py" "$RANLAB" "${pages[@]}"
