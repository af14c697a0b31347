#!/usr/bin/env bash
# Every scenario of the repository in its smoke form.
set -euo pipefail
here=$(cd "$(dirname "$0")/../.." && pwd)
SCENARIOS=$(cd "$here" && find scenarios -name '*.toml' | sort | tr '\n' ' ') exec "$here/tests/e2e/scenarios.sh"
