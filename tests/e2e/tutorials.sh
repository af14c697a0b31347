#!/usr/bin/env bash
# Runs the blocks of the tutorials in the documentation. Each block must print the output on the page. TUTORIALS=all runs
# all tutorials.
set -euo pipefail
# alone: testbeds
root=$(cd "$(dirname "$0")/../.." && pwd)
pages=("$root"/docs/tutorials/first-{xapp,ric-load,upf-load}.md)
[[ ${TUTORIALS:-} != all ]] || pages=("$root"/docs/tutorials/*.md)
"$root/scripts/tutorial.py" "$RANLAB" "${pages[@]}"
