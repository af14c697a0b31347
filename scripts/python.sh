#!/usr/bin/env bash
# The Python package: a wheel, installed into .venv, its tests, the types of package, tests and examples, the generated
# classes, the examples. PROFILE=release builds the wheel to be measured and compares round trips (bindings/python/p99.py).
set -euo pipefail
cd "$(dirname "$0")/.."

python=$PWD/.venv/bin/python package=$PWD/bindings/python
profile=${PROFILE:-dev}
# What the workspace has compiled alike is not compiled again.
export CARGO_TARGET_DIR=$PWD/target

step() { printf '\n== %s\n' "$1"; }

step "wheel ($profile)"
rm -rf target/wheels
.venv/bin/maturin build --quiet --profile "$profile" --interpreter "$python" --manifest-path "$package/Cargo.toml" --out target/wheels
ls -l target/wheels/*.whl
"$python" -m pip install --quiet --disable-pip-version-check --force-reinstall --no-deps target/wheels/*.whl

# Outside the tree, so that what is imported is what was installed.
cd "$package/tests"
step "import"
"$python" -c 'import ranlab; print(ranlab.__file__, len(ranlab.models.ROWS), "service models")'
"$python" -m ranlab --version
step "generated classes"
"$python" "$package/models.py" --check
step "types"
(cd "$package" && "$python" -m mypy)
step "tests"
"$python" -m unittest discover --start-directory . --verbose
step "examples"
folder=$(mktemp -d)
trap 'rm -r "$folder"' EXIT
cd "$folder"
for example in kpm_slice fleet "campaign --quick"; do
    echo "-- $example"
    # shellcheck disable=SC2086 # a name and its flags
    set -- $example
    SECONDS_TO_RUN=3 "$python" "$package/examples/$1.py" "${@:2}"
done
if [[ $profile == release ]]; then
    step "round trips"
    "$python" "$package/p99.py"
fi
