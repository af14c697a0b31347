#!/usr/bin/env bash
# Builds and tests the Python package. `python.sh wheel` builds an optimized wheel and installs it into .venv. `python.sh
# test` tests the installed package: the types of package, tests and examples, the generated classes, and the examples.
# `python.sh measure` also compares round trips with those in Rust (bindings/python/p99.py). Without an argument, the script
# does `wheel` and `test`. `python.sh profile` prints the build settings of the wheel. PROFILE=dev builds the wheel without
# optimization, and reuses the crates built by `cargo test`.
set -euo pipefail
cd "$(dirname "$0")/.."

python=$PWD/.venv/bin/python package=$PWD/bindings/python
# Compiled crates are shared with the workspace.
export CARGO_TARGET_DIR=$PWD/target

step() { printf '\n== %s\n' "$1"; }

# Prints the release profile of the workspace, so that the wheel is built like the binary. Cargo reads profiles only from the
# workspace that it builds, and the package is not in it.
profile() {
    python3 - <<'P'
import json, tomllib
release = tomllib.load(open("Cargo.toml", "rb"))["profile"]["release"]
packages = release.pop("package")
print("[profile.release]", *(f"{key} = {json.dumps(value)}" for key, value in release.items()), sep="\n")
for name, settings in packages.items():
    print(f"[profile.release.package.{name}]", *(f"{key} = {json.dumps(value)}" for key, value in settings.items()), sep="\n")
P
}

wheel() {
    step "wheel (profile ${PROFILE:-release})"
    mkdir -p target
    rm -rf target/wheels
    profile >target/wheel.toml
    .venv/bin/maturin build --quiet --profile "${PROFILE:-release}" --config target/wheel.toml --interpreter "$python" --manifest-path "$package/Cargo.toml" --out target/wheels
    ls -l target/wheels/*.whl
    "$python" -m pip install --quiet --disable-pip-version-check --force-reinstall --no-deps target/wheels/*.whl
    # The command runs outside the tree, so that it imports the installed package.
    (cd "$package/tests" && "$python" -c 'import ranlab; print(ranlab.__file__, len(ranlab.models.ROWS), "service models")' &&
        "$python" -m ranlab --version)
}

tests() {
    cd "$package/tests"
    "$python" -c 'import ranlab' 2>/dev/null || { echo "the package is not installed: make python" >&2; exit 3; }
    step "generated classes"
    "$python" "$package/models.py" --check
    step "types"
    (cd "$package" && "$python" -m mypy)
    step "tests"
    "$python" -m unittest discover --start-directory . --verbose
    step "examples"
    local folder
    folder=$(mktemp -d)
    cd "$folder"
    for example in kpm_slice fleet "campaign --quick"; do
        echo "-- $example"
        # shellcheck disable=SC2086 # a name and its flags
        set -- $example
        SECONDS_TO_RUN=3 "$python" "$package/examples/$1.py" "${@:2}"
    done
    rm -r "$folder"
}

case ${1:-all} in
wheel) wheel ;;
test) tests ;;
profile) profile ;;
measure)
    (tests)
    step "round trips"
    "$python" "$package/p99.py"
    ;;
all)
    wheel
    tests
    ;;
*)
    echo "python.sh: \"$1\" is not a step; steps: wheel, test, measure, profile" >&2
    exit 2
    ;;
esac
