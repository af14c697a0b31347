#!/usr/bin/env python3
"""Finds names of service models in files outside the models' own folders and the two tables (`MODELS`, `FUNCTIONS`).

A model is added in its folders: e2-codec/src/e2sm/NAME, machines/src/functions/NAME, ran/src/functions/NAME. Other
source files work with any model. Files that still name a model are in scripts/models.txt, a file and its models per line,
and this list may only shrink. `models.py --shrink` removes entries that are no longer needed."""
import pathlib
import re
import subprocess
import sys

ROOT = pathlib.Path(__file__).resolve().parent.parent
LIST = ROOT / "scripts/models.txt"
CODEC = "crates/e2/codec/src/e2sm"
# Modules of e2sm that are not models.
SHARED = {"common", "context", "control", "inspect", "list", "model", "octets", "offer", "per", "plain", "registry",
          "statistics", "table", "timing", "mod"}
# Files of models: by folder, or by a file or folder with the model's name.
FOLDERS = [CODEC + "/", "crates/e2/machines/src/functions/", "crates/e2/ran/src/functions/", "crates/e2/ran/src/stats/",
           "crates/e2/ran/src/radio/{}.rs", "crates/e2/ran/src/radio/{}_site.rs", "crates/e2/ric/src/{}/"]
NAMED = re.compile(r"e2sm::(\{(?:[^{}]|\{[^{}]*\})*\}|\w+)")


def models():
    return {path.stem for path in (ROOT / CODEC).iterdir()} - SHARED


def sources():
    found = subprocess.run(["git", "ls-files", "--cached", "--others", "--exclude-standard", "*/src/*.rs"], cwd=ROOT,
                           capture_output=True, text=True, check=True).stdout.split()
    tests = re.compile(r"tests?\.rs$|_tests\.rs$|/tests/")
    return [file for file in found if re.match(r"crates/|bindings/", file) and not tests.search(file)
            and (ROOT / file).exists()]


def named(file, names):
    text = (ROOT / file).read_text()
    text = re.sub(r"#\[cfg\(test\)\]\s*mod tests \{.*", "", text, flags=re.S)
    text = re.sub(r"^\s*//.*$", "", text, flags=re.M)
    words = {word for part in NAMED.findall(text) for word in re.findall(r"\w+", part)}
    return {name for name in words & names
            if not any(file.startswith(folder.format(name)) for folder in FOLDERS)}


def main():
    names = models()
    if len(names) < 14:
        sys.exit(f"models.py: found only {len(names)} models in {CODEC}")
    found = {file: there for file in sources() if (there := named(file, names))}
    allowed = {line.split()[0]: set(line.split()[1:]) for line in LIST.read_text().splitlines()}
    if "--shrink" in sys.argv:
        kept = {file: allowed[file] & found.get(file, set()) for file in allowed}
        LIST.write_text("".join(f"{file} {' '.join(sorted(kept[file]))}\n" for file in sorted(kept) if kept[file]))
        return
    faults = [f"{file} names the service model {name}; use `Model`, or move it to the model's folder"
              for file, there in found.items() for name in sorted(there - allowed.get(file, set()))]
    faults += [f"{file} no longer names {name}: run scripts/models.py --shrink"
               for file, there in allowed.items() for name in sorted(there - found.get(file, set()))]
    for fault in faults:
        print(f"house rule: {fault}", file=sys.stderr)
    sys.exit(1 if faults else 0)


main()
