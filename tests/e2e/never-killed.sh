#!/usr/bin/env bash
# long
# No input of a peer crashes the RIC or disturbs another peer, including the wrap-around of xApp ids.
set -euo pipefail
cd "$(dirname "$0")/../.."
# `make test` built the tests with the features of the whole workspace, so nothing is built again.
cargo test --workspace --test never_killed
