#!/usr/bin/env bash
# Checks that clippy has no warnings for builds of `ranlab` with a single feature: scripts/features.sh [FEATURE...]
# Without arguments, checks a build without features, and then one build for each feature of the crate.
set -euo pipefail
cd "$(dirname "$0")/.."

# Names in [features] of crates/cli, without `default` and the features of optional libraries.
all() { awk '/^\[/ { inside = /^\[features\]/ } inside && /^[a-z]+ =/ { print $1 }' crates/cli/Cargo.toml | grep -vxE 'default|tls|redis|wasm'; }

if (($# == 0)); then
    (($(all | wc -l) >= 9)) || { echo "crates/cli/Cargo.toml has only $(all | wc -l) features: $0 reads it wrongly" >&2; exit 1; }
    set -- "" $(all)
fi
for feature in "$@"; do
    echo "ranlab with ${feature:-no feature}"
    cargo clippy -q -p ranlab --no-default-features --features "$feature" -- -D warnings
done
