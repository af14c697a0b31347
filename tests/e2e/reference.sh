#!/usr/bin/env bash
# Every verb, flag, scenario key, metric, profile and HTTP path of the binary is in the generated reference.
set -euo pipefail
root=$(cd "$(dirname "$0")/../.." && pwd)
"$root/scripts/reference.py" "$RANLAB" --check
