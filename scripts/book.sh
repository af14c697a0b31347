#!/usr/bin/env bash
# Builds the documentation site (docs/, mdBook) into target/book. Fails on a warning or a broken link.
set -euo pipefail
cd "$(dirname "$0")/.."
mdbook=$(command -v mdbook || echo .venv/bin/mdbook)
mkdir -p target
rm -rf target/book
"$mdbook" build docs 2>&1 | tee target/book.log
if grep -qE '(WARN|ERROR)' target/book.log; then
    echo "book: mdbook warns; see above" >&2
    exit 1
fi
python3 scripts/book.py check target/book
