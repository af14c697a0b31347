#!/usr/bin/env bash
# Each example under examples/ builds in a folder of its own once at most ONE path leads to the SDK: what a stranger does first.
set -euo pipefail
repository=$(cd "$(dirname "$0")/../.." && pwd)

for example in "$repository"/examples/*/; do
    name=$(basename "$example")
    cp -r "$example" "$name"
    (($(grep -c 'path = "' "$name/Cargo.toml" || true) <= 1)) || { echo "$name has more than one path to change"; exit 1; }
    sed -i "s#path = \"../../crates/sdk\"#path = \"$repository/crates/sdk\"#" "$name/Cargo.toml"
    # Offline, so that it takes the crates that the repository has; checked rather than built: what could fail is found.
    (cd "$name" && CARGO_TARGET_DIR="$repository/target/copied-out" cargo check --quiet --offline --all-targets)
    echo "$name builds where it was copied to"
done
