#!/usr/bin/env bash
# Runs every test of the workspace and prints their number.
set -euo pipefail
cd "$(dirname "$0")/.."

mkdir -p target
log=target/test.log
status=0
cargo test --workspace --no-fail-fast "$@" 2>&1 | tee "$log" || status=$?
# Disabled in the build of the workspace (docs/decisions/0013-tls-by-rustls.md).
cargo test -p ranlab-transport --features tls --test tls 2>&1 | tee -a "$log" || status=$?

# `test result: ok. 12 passed; 0 failed; 3 ignored; ...`, one line per test binary.
awk '/^test result:/ { passed += $4; failed += $6; ignored += $8; binaries++ }
     /^skipped: / { skipped++; why = why "\n  " $0 }
     END { printf "\n%d tests passed, %d failed, %d ignored, in %d binaries; %d say that they cannot run here%s\n", passed, failed, ignored, binaries, skipped, why
           if (passed == 0) exit 1 }' "$log"
exit "$status"
