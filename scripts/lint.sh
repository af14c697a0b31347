#!/usr/bin/env bash
# Automatic checks of style and purity. Fails at the first violation; cheap checks come first.
set -euo pipefail
cd "$(dirname "$0")/.."

step() { printf '\n== %s\n' "$1"; }

step "house rules"
scripts/house-rules.sh
scripts/dependencies.py
scripts/prose.py
scripts/reproductions.py --check
scripts/http_api.py --check

if command -v planus > /dev/null; then
    step "generated code is fresh"
    scripts/flat.sh --check
fi

step "documentation site"
scripts/need.sh book
scripts/book.sh

step "the page's types"
if scripts/need.sh types; then
    node target/node/node_modules/typescript/bin/tsc -p crates/base/page/web
else
    echo "not checked: Node.js and typescript are not available here; install them before changing crates/base/page/web"
fi

step "formatting"
cargo fmt --all --check

step "clippy"
cargo clippy --workspace --all-targets -- -D warnings

# State machines and the crates that they use have no sockets, clocks or threads. clippy.toml in those crates forbids
# the calls, and this target provides no operating system to dependencies.
step "purity: wasm32"
cargo check --target wasm32-unknown-unknown \
    -p ranlab-machine -p ranlab-packet -p ranlab-e2-codec -p ranlab-e2-capture -p ranlab-e2 -p ranlab-radio -p ranlab-sim \
    -p ranlab-sdran -p ranlab-upf -p ranlab-pipeline -p ranlab-xhaul -p ranlab-ric -p ranlab-ran

# An agent can be embedded without a RIC and vice versa, so the crate must also build with only one of these roles.
step "each E2 role alone"
for role in agent ric xapp; do
    cargo check -p ranlab-e2 --no-default-features --features "$role"
done

# Every domain can be built without the other domains. Two of them are built here, and all of them in `make nightly`.
step "single features"
scripts/features.sh ric upf

step "documentation"
RUSTDOCFLAGS="-D warnings" cargo doc --workspace --no-deps
