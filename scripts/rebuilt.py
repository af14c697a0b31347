#!/usr/bin/env python3
"""Counts the code that is compiled again after a change: lines below `src/` of the changed crate and of all crates that use it.

    scripts/rebuilt.py                       mean over the files that the last 600 commits touched, and per crate
    scripts/rebuilt.py --layout COMMIT       the same changes in the layout of that commit
    scripts/rebuilt.py --until COMMIT        the 600 commits that end there

A file that was moved later is counted at its location in the layout. To compare two layouts by the same changes:

    scripts/rebuilt.py --layout OLD --until OLD; scripts/rebuilt.py --until OLD
"""

import argparse
import collections
import functools
import subprocess
import tomllib

COMMITS = 600


def git(*arguments):
    return subprocess.run(["git", *arguments], capture_output=True, text=True, check=True).stdout


@functools.cache
def crates(layout):
    """Folder of each crate of a layout, with its package name, its lines and the names of the project's packages that it uses."""
    files = git("ls-tree", "-r", "--name-only", layout).splitlines()
    folders = {name.rpartition("/")[0] for name in files if name.startswith("crates/") and name.endswith("/Cargo.toml")}
    found = {}
    for folder in folders:
        manifest = tomllib.loads(git("show", f"{layout}:{folder}/Cargo.toml"))
        found[folder] = [manifest["package"]["name"], 0, set(manifest.get("dependencies", {}))]
    counted = git("grep", "-c", "", layout, "--", "crates/*/src/*.rs")
    for line in counted.splitlines():
        path, _, lines = line.removeprefix(f"{layout}:").rpartition(":")
        crate = crate_of(path, found)
        if crate:
            found[crate][1] += int(lines)
    return found


def crate_of(path, known):
    """The folder of the crate whose `src/` contains the file."""
    folder = path
    while "/" in folder:
        folder = folder.rpartition("/")[0]
        if folder in known:
            return folder if path.startswith(f"{folder}/src/") else None
    return None


def rebuilt(layout):
    """For each crate, the number of lines that are compiled again after a change in it."""
    known = crates(layout)
    users = collections.defaultdict(set)
    folder_of = {name: folder for folder, (name, _, _) in known.items()}
    for folder, (_, _, uses) in known.items():
        for name in uses & folder_of.keys():
            users[folder_of[name]].add(folder)

    def above(folder, seen):
        for user in users[folder] - seen:
            seen.add(user)
            above(user, seen)
        return seen

    return {folder: sum(known[one][1] for one in above(folder, {folder})) for folder in known}


def touched(layout, until):
    """Files below `src/` that the commits touched, by their name in the layout. A file is listed as often as it was touched."""
    renamed = {}
    for commits in ([f"{until}..{layout}"], ["-n", str(COMMITS), until]):
        text = git("log", "-M", "--no-merges", "--name-status", "--format=", "-l", "20000", *commits, "--", "crates")
        for line in text.splitlines():
            kind, *names = line.split("\t")
            if kind.startswith("R"):
                renamed[names[0]] = renamed.get(names[1], names[1])
            if commits[0] == "-n" and kind != "R100":
                yield renamed.get(names[-1], names[-1])


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--layout", metavar="COMMIT", default="HEAD")
    parser.add_argument("--until", metavar="COMMIT", default="HEAD")
    wanted = parser.parse_args()
    costs = rebuilt(wanted.layout)
    changes = collections.Counter(crate_of(path, costs) for path in touched(wanted.layout, wanted.until))
    changes.pop(None, None)
    for folder, cost in sorted(costs.items(), key=lambda item: -item[1]):
        print(f"{cost:8,} lines after a change in {folder} ({changes[folder]} changes)")
    total = sum(costs[folder] * count for folder, count in changes.items())
    print(f"{total / max(changes.total(), 1):8,.0f} lines on average, over {changes.total()} changes of files in {COMMITS} commits")


if __name__ == "__main__":
    main()
