#!/usr/bin/env bash
# Each example under examples/ builds outside the repository after at most ONE change, as a new user would make it: the
# path of the SDK.
set -euo pipefail
repository=$(cd "$(dirname "$0")/../.." && pwd)

for example in "$repository"/examples/*/; do
    name=$(basename "$example")
    cp -r "$example" "$name"
    (($(grep -c 'path = "' "$name/Cargo.toml" || true) <= 1)) || { echo "$name has more than one path to change"; exit 1; }
    sed -i "s#path = \"../../crates/e2/sdk\"#path = \"$repository/crates/e2/sdk\"#" "$name/Cargo.toml"
    # The build is offline, with the crates of the repository. `cargo check` is sufficient to find errors.
    (cd "$name" && CARGO_TARGET_DIR="$repository/target/copied-out" cargo check --quiet --offline --all-targets)
    echo "$name builds outside the repository"
done
