#!/usr/bin/env bash
# Nothing that a peer sends ends the release binary's RIC or disturbs another peer, the wrap of xApp ids included.
set -euo pipefail
cd "$(dirname "$0")/../.."
cargo test -p ranlab --test never_killed
