#!/usr/bin/env bash
# long
# Nothing that a peer sends ends the RIC or disturbs another peer, the wrap of xApp ids included.
set -euo pipefail
cd "$(dirname "$0")/../.."
# Of the whole workspace: its tests were built with these features by `make test`, and are not built again.
cargo test --workspace --test never_killed
