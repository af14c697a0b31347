#!/usr/bin/env bash
# Tests the output of `demo`, `xapp monitor` and `bench run`. On a terminal, the view is redrawn in place and fits the width
# of the terminal. In a pipe, the output consists of plain lines.
set -euo pipefail
cat >campaign.toml <<'T'
title = "on a terminal"
rig = "controller"
[load]
ues = 1
period = "100ms"
[host]
when_noisy = "warn"
[sweep.axes]
"load.nodes" = [1, 2]
[measure]
duration = "500ms"
warm_up = "100ms"
repeats = 1
T
cat >terminal.py <<'P'
import fcntl, os, pty, re, select, struct, subprocess, sys, termios, time

program = os.environ["RANLAB"]
COLUMNS = 72

def on_terminal(*words):
    """What a verb writes to a terminal of so many columns, both outputs, and its exit code."""
    pid, fd = pty.fork()
    if pid == 0:
        os.environ["TERM"] = "xterm"
        # Without a terminal for a response, `bench run` does not ask whether to continue on a busy machine.
        os.dup2(os.open("/dev/null", os.O_RDONLY), 0)
        os.execv(program, [program, *words])
    fcntl.ioctl(fd, termios.TIOCSWINSZ, struct.pack("HHHH", 30, COLUMNS, 0, 0))
    written, end = b"", time.time() + 60
    while time.time() < end:
        try:
            if select.select([fd], [], [], 1)[0]:
                written += os.read(fd, 65536)
        except OSError:
            break
    return written.decode(), os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1])

def in_pipe(*words):
    done = subprocess.run([program, *words], capture_output=True, text=True, timeout=60)
    return done.stdout + done.stderr, done.returncode

def check(name, words, expected, expected_line):
    drawn, code = on_terminal(*words)
    assert code == 0, (name, code, drawn[-600:])
    assert re.search(r"\x1b\[", drawn), f"{name} must draw with terminal codes on a terminal"
    plain = re.sub(r"\x1b\[[0-9;?]*[A-Za-z]", "\r", drawn)
    # indicatif fills a line to its end instead of ending it.
    drawn_lines = [] if name == "bench run" else re.split(r"[\r\n]+", plain)
    for line in drawn_lines:
        assert len(line) <= COLUMNS or not re.search(expected, line), (name, "two lines are joined", line)
    assert re.search(expected, plain), (name, plain[-800:])
    lines, code = in_pipe(*words)
    assert code == 0, (name, code, lines[-600:])
    assert "\x1b" not in lines and "\r" not in lines, f"{name} must write only plain lines into a pipe"
    assert re.search(expected_line, lines), (name, lines[-800:])
    print(f"{name}: correct on a terminal and in a pipe", flush=True)

check("demo", ["demo", "--nodes", "2", "--ues", "2", "--period", "50ms", "--duration", "3s"],
    r"2 nodes  \d+ indications/s  \d+ lost  \d+ dropped", r"(?m)^ +\d+ s  2 nodes  \d+ indications/s .*ping p50 \d+ us")
check("bench run", ["bench", "run", "campaign.toml", "--fresh", "--out", "campaign"],
    r"[12]/2 .*about", r"(?m)^2/2  load\.nodes=\d  repeat 1  ok  .*this program [\d.]+ %  \(about 0 s left\)")
P
# The values of the last window are below the bar, truncated to the width of the terminal.
python3 terminal.py
"$RANLAB" ric --e2 tcp://127.0.0.1:0 --e42 tcp://127.0.0.1:0 --duration 60s --format ndjson >ric.txt &
. "$(dirname "$0")/started.sh"
started+=($!)
"$RANLAB" emulate --connect "$(address ric.txt e2)" --nodes 2 --ues 2 --duration 60s >fleet.txt 2>&1 &
started+=($!)
sed -i '/^check("demo"/,$d' terminal.py
cat >>terminal.py <<'P'
check("xapp monitor", ["xapp", "monitor", "--connect", sys.argv[1], "--period", "100ms", "--duration", "3s"],
    r"2 nodes  \d+ subscriptions  \d+ indications/s", r"(?m)^2 nodes  \d+ subscriptions  \d+ indications/s  \d+ lost  latency")
P
python3 terminal.py "$(address ric.txt e42)"
