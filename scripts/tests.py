#!/usr/bin/env python3
"""Runs every test of the workspace and prints their number: tests.py [ARGUMENTS OF CARGO TEST]

Two test programs run at a time, because most tests wait most of the time. A program that fails is run once more, alone,
because a busy machine may stall for longer than a test waits. If it then passes, it is listed as odd; otherwise it has
failed. The output of all programs is in target/test.log.

A test that lacks a program, a privilege or a feature of the kernel prints `skipped: REASON`; the reasons are listed at
the end. RANLAB_PYTHON names a Python with pycrate and DuckDB, else that of .venv is used if it has them.
"""

import json
import os
import re
import subprocess
import sys
from collections import Counter
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from threading import Lock

ROOT = Path(__file__).resolve().parent.parent
AT_ONCE = 2
SECONDS_MAX = 1200
RESULT = re.compile(r"^test result: .*?(\d+) passed; (\d+) failed; (\d+) ignored;", re.M)
SKIPPED = re.compile(r"^skipped: .*", re.M)


def built(arguments):
    """Builds the test programs; returns (name, program, folder of the package) of each."""
    command = ["cargo", "test", "--workspace", "--no-run", "--message-format=json-render-diagnostics", *arguments]
    build = subprocess.run(command, cwd=ROOT, stdout=subprocess.PIPE, text=True, check=False)
    if build.returncode:
        sys.exit(build.returncode)
    programs = []
    for line in build.stdout.splitlines():
        message = json.loads(line)
        if message["reason"] == "compiler-artifact" and message["profile"]["test"] and message["executable"]:
            folder = Path(message["manifest_path"]).parent
            source = Path(message["target"]["src_path"]).relative_to(ROOT)
            programs.append((str(source), message["executable"], folder))
    return sorted(programs)


def oracle():
    """The variable RANLAB_PYTHON for tests, if a Python with the independent codecs is installed."""
    python = os.environ.get("RANLAB_PYTHON", ROOT / ".venv/bin/python")
    try:
        command = [python, "-c", "import pycrate_asn1rt, duckdb"]
        subprocess.run(command, check=True, stderr=subprocess.DEVNULL)
        return {"RANLAB_PYTHON": str(python)}
    except (OSError, subprocess.CalledProcessError):
        return {}


def environment(program):
    """Environment variables that cargo sets and a test program reads while it runs."""
    libraries = subprocess.run(["rustc", "--print", "target-libdir"], cwd=ROOT, capture_output=True, text=True, check=True)
    deps = Path(program).parent
    paths = [str(deps), str(deps.parent), libraries.stdout.strip(), os.environ.get("LD_LIBRARY_PATH", "")]
    inherited = {name: value for name, value in os.environ.items() if name != "RANLAB_PYTHON"}
    return {**inherited, **oracle(), "CARGO": "cargo", "LD_LIBRARY_PATH": ":".join(path for path in paths if path)}


def run(command, folder, env):
    """Returns whether a command succeeds, and its output."""
    try:
        done = subprocess.run(
            command, cwd=folder, env=env, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.STDOUT,
            timeout=SECONDS_MAX, check=False,
        )
        return done.returncode == 0, done.stdout.decode(errors="replace")
    except subprocess.TimeoutExpired as late:
        return False, (late.stdout or b"").decode(errors="replace") + f"\nstopped after {SECONDS_MAX} s\n"


def main():
    arguments = sys.argv[1:]
    programs = built(arguments)
    env = environment(programs[0][1]) if programs else {}
    speaking = Lock()
    outputs, again = [], []

    def tell(name, good, text):
        with speaking:
            print(f"\n     {name}{'' if good else ': FAILED'}\n{text}", end="", flush=True)

    def once(entry):
        name, program, folder = entry
        good, text = run([program], folder, {**env, "CARGO_MANIFEST_DIR": str(folder)})
        tell(name, good, text)
        if good:
            outputs.append(text)
        else:
            again.append(entry)

    with ThreadPoolExecutor(AT_ONCE) as pool:
        list(pool.map(once, programs))
    odd, failed = [], []
    for name, program, folder in again:
        good, text = run([program], folder, {**env, "CARGO_MANIFEST_DIR": str(folder)})
        tell(f"{name}, again and alone", good, text)
        outputs.append(text)
        (odd if good else failed).append(name)
    # TLS is disabled in the build of the workspace (docs/decisions/0013-tls-by-rustls.md).
    for command in (
        ["cargo", "test", "--workspace", "--doc", "--no-fail-fast", *arguments],
        ["cargo", "test", "-p", "ranlab-transport", "--features", "tls", "--test", "tls"],
    ):
        good, text = run(command, ROOT, dict(os.environ))
        tell(" ".join(command), good, text)
        outputs.append(text)
        if not good:
            failed.append(" ".join(command))

    text = "\n".join(outputs)
    (ROOT / "target").mkdir(exist_ok=True)
    (ROOT / "target/test.log").write_text(text)
    counts = [[int(count) for count in match] for match in RESULT.findall(text)]
    passed, bad, ignored = (sum(column) for column in zip(*counts)) if counts else (0, 0, 0)
    skipped = SKIPPED.findall(text)
    print(
        f"\n{passed} tests passed, {bad} failed, {ignored} ignored, in {len(counts)} binaries; "
        f"{len(skipped)} skipped{', because:' if skipped else ''}"
    )
    for reason, times in Counter(line.removeprefix("skipped: ") for line in skipped).most_common():
        print(f"  {times} × {reason}")
    for name in odd:
        print(f"  odd: {name} failed beside another program and passed alone")
    for name in failed:
        print(f"  failed: {name}")
    sys.exit(1 if failed or passed == 0 else 0)


if __name__ == "__main__":
    main()
