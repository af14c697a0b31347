#!/usr/bin/env python3
"""Checks the dependencies: every direct dependency has a reason, and every crate in the tree has a permissive licence and
crates.io as its source. Duplicate versions of a crate are allowed; `cargo tree -d` lists them."""

import json
import pathlib
import re
import subprocess
import sys

ROOT = pathlib.Path(__file__).resolve().parent.parent
REASONS = ROOT / "docs/decisions/0004-dependencies.md"
REGISTRY = "registry+https://github.com/rust-lang/crates.io-index"
# Permissive licences: they require only that their text is included. For a dependency under `A OR B`, one of A and B must be in
# this list; under `A AND B`, both.
PERMISSIVE = {"Apache-2.0", "Apache-2.0 WITH LLVM-exception", "MIT", "BSD-2-Clause", "BSD-3-Clause", "ISC", "Zlib",
              "0BSD", "CC0-1.0", "Unlicense", "Unicode-3.0", "BSL-1.0", "MIT-0"}


def permissive(expression):
    """Whether an SPDX expression is permissive; brackets are supported, and `/` is an old notation of OR."""
    # WITH has the highest precedence, so `A WITH B` is joined before each licence is judged.
    glued = re.sub(r"(\S+) WITH ([^()\s]+)", r"\1~WITH~\2", expression.replace("/", " OR "))
    tokens = re.findall(r"\(|\)|[^()\s]+", glued)
    judged = [token.lower() if token in ("OR", "AND") else token if token in "()" else
              str(token.replace("~", " ") in PERMISSIVE) for token in tokens]
    return eval(" ".join(judged), {"__builtins__": {}})  # contains only True, False, and, or, brackets


def check(folder, *options):
    """Direct dependencies, all other dependencies, and the violations of a workspace."""
    metadata = json.loads(subprocess.run(["cargo", "metadata", "--format-version", "1", *options], cwd=folder,
                                         check=True, capture_output=True).stdout)
    reasons = REASONS.read_text()
    # Packages in this tree are part of the project.
    members = {package["id"] for package in metadata["packages"] if package["source"] is None}
    offences = []
    foreign = [package for package in metadata["packages"] if package["id"] not in members]
    for package in foreign:
        name = f"{package['name']} {package['version']}"
        if package["source"] != REGISTRY:
            offences.append(f"{name} does not come from crates.io")
        if not permissive(package["license"] or "none"):
            offences.append(f"{name} has the licence {package['license']}")
    direct = {dependency["name"] for package in metadata["packages"] if package["id"] in members
              for dependency in package["dependencies"] if "path" not in dependency}
    offences += [f"{name} has no reason in {REASONS.relative_to(ROOT)}" for name in sorted(direct)
                 if f"`{name}`" not in reasons]
    return direct, {package["id"] for package in foreign}, offences


def main():
    direct, foreign, offences = set(), set(), set()
    # Crates outside the workspace are checked after it, because their lock files receive its new dependencies.
    for there in (check(ROOT, "--locked"), check(ROOT / "bindings/python")):
        direct, foreign, offences = direct | there[0], foreign | there[1], offences | set(there[2])
    for offence in sorted(offences):
        print("dependency:", offence, file=sys.stderr)
    print(f"dependencies: {len(direct)} direct, {len(foreign)} in all, {len(offences)} offences")
    return 1 if offences else 0


if __name__ == "__main__":
    sys.exit(main())
