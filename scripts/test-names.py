#!/usr/bin/env python3
"""Lists the names of all test functions, or compares them with an earlier commit.

    scripts/test-names.py                  print all names, sorted; a name that occurs several times is printed as often
    scripts/test-names.py --since COMMIT   print the tests of COMMIT that no longer exist; fail if there are any

Only names are compared: a test that moved to another file or crate is the same test.
"""

import argparse
import collections
import re
import subprocess
import sys

ATTRIBUTE = re.compile(r"#\[(tokio::)?test\b")
FUNCTION = re.compile(r"\bfn (\w+)")


def names(commit=None):
    """For each name of a test function, the number of its occurrences in the tracked Rust files."""
    command = ["git", "grep", "-h", "-A", "8", "-E", r"#\[(tokio::)?test\b", *([commit] if commit else []), "--", "*.rs"]
    found = collections.Counter()
    wanted = False
    for line in subprocess.run(command, capture_output=True, text=True, check=True).stdout.splitlines():
        wanted = wanted or ATTRIBUTE.search(line)
        function = FUNCTION.search(line)
        if wanted and function:
            found[function[1]] += 1
            wanted = False
    return found


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--since", metavar="COMMIT")
    wanted = parser.parse_args()
    today = names()
    if wanted.since is None:
        print("\n".join(sorted(today.elements())))
        return
    earlier = names(wanted.since)
    for name in sorted((earlier - today).elements()):
        print(f"missing: {name}")
    for name in sorted((today - earlier).elements()):
        print(f"new: {name}")
    print(f"{earlier.total()} tests in the earlier commit, {today.total()} now")
    if earlier - today:
        sys.exit(1)


if __name__ == "__main__":
    main()
