#!/usr/bin/env bash
# Runs every scenario of the repository as a quick run.
set -euo pipefail
here=$(cd "$(dirname "$0")/../.." && pwd)
SCENARIOS=$(cd "$here" && find scenarios -name '*.toml' | sort | tr '\n' ' ') exec "$here/tests/e2e/scenarios.sh"
