#!/usr/bin/env bash
# Checks the dashboard against the types of Grafana's own model (npm: @grafana/schema, installed by need.sh types grafana).
# tests/e2e/grafana.py checks the properties that types do not express.
set -euo pipefail
cd "$(dirname "$0")/.."
{
    echo "import type { Dashboard } from '@grafana/schema';"
    echo -n 'export const board: Dashboard = '
    cat docs/how-to/grafana-dashboard.json
} >target/node/dashboard.ts
node target/node/node_modules/typescript/bin/tsc --noEmit --strict --skipLibCheck --module nodenext --moduleResolution nodenext \
    target/node/dashboard.ts
echo "the dashboard has the types of @grafana/schema $(node -p 'require("./target/node/node_modules/@grafana/schema/package.json").version')"
