#!/usr/bin/env bash
# Checks before a release: the crates to publish can be packaged, and each package compiles. Licences and sources of all
# dependencies are allowed, no dependency has a known advisory, the oldest supported Rust compiles everything, and the
# public API is compatible with the last release. If this machine cannot perform a check, the reason is printed.
#
# ADVISORY_DB: a clone of RustSec's advisory-db, for a machine that cannot fetch it.
set -euo pipefail
cd "$(dirname "$0")/.."
export CARGO_TARGET_DIR=$PWD/target/release-check
skipped=0
step() { printf '\n== %s\n' "$*"; }
skip() { echo "not checked: $*"; skipped=$((skipped + 1)); }

# Lists the crates without `publish = false`.
mapfile -t crates < <(cargo metadata --format-version 1 --no-deps |
    python3 -c 'import json, sys; print(*(p["name"] for p in json.load(sys.stdin)["packages"] if p["publish"] is None), sep="\n")')
step "package and compile ${crates[*]}"
cargo publish --quiet --dry-run --allow-dirty --locked "${crates[@]/#/--package=}"

step 'licences, sources, duplicates'
cargo deny check --hide-inclusion-graph licenses bans sources 2>&1 | tail -n 1

step 'advisories'
if [[ -n ${ADVISORY_DB:-} ]]; then
    folder=$(mktemp -d)
    # cargo-deny searches its folder for a database with this name.
    git clone --quiet "$ADVISORY_DB" "$folder/advisory-db-3157b0e258782691"
    sed "s|^\[advisories\]|[advisories]\ndb-path = \"$folder\"|" deny.toml >target/deny.toml
    cargo deny --offline --config target/deny.toml check advisories 2>&1 | tail -n 1
    echo "database of $(git -C "$folder/advisory-db-3157b0e258782691" log -1 --format=%cs)"
    rm -rf "$folder"
elif git ls-remote --exit-code https://github.com/RustSec/advisory-db HEAD >/dev/null 2>&1; then
    cargo deny check advisories 2>&1 | tail -n 1
else
    skip 'advisories: the database cannot be fetched; ADVISORY_DB may name a clone of it'
fi

# rustup distinguishes 1.93 and 1.93.0.
oldest=$(sed -n 's/^rust-version = "\(.*\)"/\1/p' Cargo.toml).0
step "Rust $oldest"
if rustup toolchain list | grep -q "^$oldest" || rustup toolchain install --no-self-update --profile minimal "$oldest" >/dev/null 2>&1; then
    cargo "+$oldest" check --quiet --locked --workspace
else
    skip "Rust $oldest cannot be installed"
fi

step 'compatibility with the last release'
last=$(git describe --tags --match 'v*' --abbrev=0 2>/dev/null || true)
if [[ -z $last ]]; then
    skip 'there is no release yet'
elif ! cargo semver-checks --version >/dev/null 2>&1; then
    skip 'cargo-semver-checks is not installed'
else
    cargo semver-checks --baseline-rev "$last" "${crates[@]/#/--package=}"
fi
printf '\nready for a release; %d checks not made\n' "$skipped"
