#!/usr/bin/env bash
# Generates the FlatBuffers code from its schema; with --check, only reports whether the existing code is
# current.
# Needs planus-cli in the version of Cargo.lock: cargo install planus-cli --version 1.3.0
set -euo pipefail
cd "$(dirname "$0")/.."

kept=crates/e2/codec/generated/flat.rs
made=$(mktemp --suffix=.rs)
trap 'rm -f "$made"' EXIT
planus rust -o "$made" crates/e2/codec/schemas/ranlab.fbs > /dev/null
# Derives of serde are removed, because they are not used for these types. planus reads and writes scalars with
# `unsafe`, after bounds checks.
sed -i -E 's/::serde::Serialize,?//; s/::serde::Deserialize,?//' "$made"
sed -i '1i #![allow(missing_docs, unsafe_code, unreachable_pub, unused_qualifications, unused_imports, dead_code)]\n#![allow(rustdoc::all, clippy::all, clippy::pedantic, clippy::nursery, clippy::restriction)]' "$made"
rustfmt --edition 2024 --config-path . "$made"
if [[ ${1-} == --check ]]; then
    cmp "$made" "$kept" || { echo "$kept is out of date; run make flat" >&2; exit 1; }
else
    install -m 644 "$made" "$kept"
fi
