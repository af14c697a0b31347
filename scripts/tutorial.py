#!/usr/bin/env python3
"""Runs the blocks of a tutorial and compares their output with the page.

    scripts/tutorial.py RANLAB PAGE.md ...

The first word of a block and its options, separated by commas, determine its use:

    sh                runs in the shell of the page; later blocks have its variables and folder
    sh,terminal=NAME  runs in the background until the end of the page, as in another terminal
    sh,skip           is not run (third-party programs, installations)
    sh,or=3           may also exit with 3 (a busy machine)
    text              expected output of the previous block
    text,within=10    expected output, in which numbers may differ by at most 10 %
    toml,file=NAME    is written to the file NAME; any language

Comparison: the lines of a `text` block must be printed in this order; a printed line may be longer. `…` alone stands for any lines.
A number stands for any number except 0, and 0 only for 0. A sequence of white space and characters of progress bars counts as one
space. The output of a background block must be complete within 60 seconds.
"""

import os
import pathlib
import re
import signal
import subprocess
import sys
import tempfile
import threading
import time

ROOT = pathlib.Path(__file__).resolve().parent.parent
FENCE = re.compile(r"^```(\S*)[^\n]*\n(.*?)^```\s*$", re.S | re.M)
# Matches numbers, but not those within a word, an address or a digest, which are compared literally.
NUMBER = r"(?<![\w.:])[-+−]?\d+(?:,\d{3})*(?:\.\d+)?(?:e[-+]?\d+)?(?![\d.:]*\d)(?!\w)"
BLOCK_SECONDS = 400
BACKGROUND_SECONDS = 60


class Difference(Exception):
    """A block failed, or its output differs from the page."""


def blocks(page):
    for found in FENCE.finditer(page.read_text()):
        word, *options = found[1].split(",")
        named = dict(option.partition("=")[::2] for option in options)
        yield word, named, found[2], page.read_text()[: found.start()].count("\n") + 1


def pattern(line):
    """Regular expression for a line of the page: numbers may differ, but 0 may not."""
    parts = re.split(f"({NUMBER})", re.sub(r"\s+", " ", line.strip()))
    texts = [re.escape(part) for part in parts[::2]]
    joined = NUMBER.join(texts)
    # The width of alignment by spaces, and of bars, depends on the numbers.
    return re.compile(re.sub(r"(?:\\ |[█▏▎▍▌▋▊▉#])+", lambda _: r"[\s█▏▎▍▌▋▊▉#]*", joined) + r"(?!\w)")


def float_of(text):
    return float(text.replace(",", "").replace("−", "-"))


def close(wanted, printed, percent):
    """Whether the numbers of two lines are 0 in the same positions. If a percentage is given, they may differ by at most that."""
    pairs = [(float_of(one), float_of(other)) for one, other in zip(re.findall(NUMBER, wanted), re.findall(NUMBER, printed))]
    near = percent is None or all(abs(one - other) <= abs(one) * percent / 100 for one, other in pairs)
    return near and all((one == 0) == (other == 0) for one, other in pairs)


def missing(expected, printed, percent=None):
    """First line of the page that is missing in the output, or None."""
    lines = [re.sub(r"\s+", " ", line.strip()) for line in printed.splitlines()]
    at = 0
    for line in (line for line in expected.splitlines() if line.strip() not in ("", "…", "...")):
        wanted = pattern(line)
        while at < len(lines) and not (wanted.match(lines[at]) and close(line, lines[at], percent)):
            at += 1
        if at == len(lines):
            return line
        at += 1
    return None


class Shell:
    """Shell shared by the blocks of a page."""

    def __init__(self, folder, environment):
        self.process = subprocess.Popen(["bash"], cwd=folder, env=environment, stdin=subprocess.PIPE,
                                        stdout=subprocess.PIPE, stderr=subprocess.STDOUT, start_new_session=True)

    def run(self, text):
        end = f"__end_{time.monotonic_ns()}"
        self.process.stdin.write(f"{text}\necho {end} $?\n".encode())
        self.process.stdin.flush()
        printed, timer = [], threading.Timer(BLOCK_SECONDS, self.end)
        timer.start()
        try:
            for raw in self.process.stdout:
                line = raw.decode(errors="replace")
                if end in line:
                    before, _, code = line.partition(end)
                    printed.append(before)
                    return "".join(printed), int(code)
                printed.append(line)
        finally:
            timer.cancel()
        raise Difference(f"a block did not end within {BLOCK_SECONDS} s; it printed:\n{''.join(printed)[-2000:]}")

    def end(self):
        try:
            os.killpg(self.process.pid, signal.SIGTERM)
        except ProcessLookupError:
            pass


class Background:
    """Block that runs in the background."""

    def __init__(self, folder, environment, text, number):
        self.path = pathlib.Path(folder) / f".terminal-{number}"
        self.process = subprocess.Popen(["bash", "-c", text], cwd=folder, env=environment, start_new_session=True,
                                        stdout=self.path.open("wb"), stderr=subprocess.STDOUT)

    def printed(self):
        return self.path.read_text(errors="replace")

    def end(self):
        for what in (signal.SIGINT, signal.SIGKILL):
            try:
                os.killpg(self.process.pid, what)
                self.process.wait(timeout=10)
            except (ProcessLookupError, subprocess.TimeoutExpired):
                continue


def expect(expected, ran, where, percent):
    deadline = time.monotonic() + BACKGROUND_SECONDS
    while (line := missing(expected, ran.printed() if isinstance(ran, Background) else ran, percent)) is not None:
        if not isinstance(ran, Background) or time.monotonic() > deadline:
            printed = ran.printed() if isinstance(ran, Background) else ran
            raise Difference(f"{where}: not printed: {line.strip()}\n--- printed instead:\n{printed[-3000:]}")
        time.sleep(0.2)


def run_page(page, folder, environment):
    shell, others, ran, count = Shell(folder, environment), [], "", 0
    try:
        for word, options, text, line in blocks(page):
            where = f"{page.name}:{line}"
            if "file" in options:
                (pathlib.Path(folder) / options["file"]).write_text(text)
            elif word == "sh" and "terminal" in options:
                ran = Background(folder, environment, text, len(others))
                others.append(ran)
                time.sleep(1)
            elif word == "sh" and "skip" not in options:
                ran, code = shell.run(text)
                if code not in (0, int(options.get("or", 0))):
                    raise Difference(f"{where}: exit code {code}; it printed:\n{ran[-3000:]}")
                count += 1
            elif word == "text" and "skip" not in options:
                expect(text, ran, where, float(options["within"]) if "within" in options else None)
                count += 1
    except Difference as difference:
        terminals = "".join(f"\n--- terminal {number + 1}:\n{other.printed()[-1000:]}" for number, other in enumerate(others))
        raise Difference(f"{difference}{terminals}") from None
    finally:
        shell.end()
        for other in others:
            other.end()
    return count + len(others)


def main(arguments):
    if len(arguments) < 2:
        print(__doc__, file=sys.stderr)
        return 2
    binary, failed = pathlib.Path(arguments[0]).resolve(), 0
    for page in map(pathlib.Path, arguments[1:]):
        with tempfile.TemporaryDirectory() as folder:
            tools = pathlib.Path(folder) / ".tools"
            tools.mkdir()
            (tools / "ranlab").symlink_to(binary)
            for name in ("scenarios", "examples", "peers", "docs", "bindings"):
                (pathlib.Path(folder) / name).symlink_to(ROOT / name)
            environment = {**os.environ, "PATH": f"{tools}:{os.environ['PATH']}", "TERM": "dumb"}
            start = time.monotonic()
            try:
                count = run_page(page, folder, environment)
                print(f"{page.name}: {count} blocks, {time.monotonic() - start:.0f} s", flush=True)
            except Difference as difference:
                failed += 1
                print(difference, file=sys.stderr)
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
