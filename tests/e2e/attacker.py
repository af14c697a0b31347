"""A hosted xApp that attacks the RIC that started it, its neighbours and the machine.

Each attempt prints a line `name outcome` to stdout, which the RIC stores as its log.
"""

import ctypes
import glob
import http.client
import json
import os
import socket
import subprocess
import sys
import time

PLACE, BINARY, NODE = sys.argv[1:4]
DOOR, E42, TOKEN = (os.environ[name] for name in ("RANLAB_HTTP_SOCKET", "RANLAB_E42", "RANLAB_TOKEN"))
NEIGHBOUR = os.path.join(os.path.dirname(os.path.dirname(DOOR)), "monitor")
BEARER = {"Authorization": f"Bearer {TOKEN}", "Content-Type": "application/json"}
libc = ctypes.CDLL(None, use_errno=True)


class Door(http.client.HTTPConnection):
    """HTTP over a Unix socket."""

    def __init__(self, path=DOOR):
        super().__init__("localhost", timeout=20)
        self.path = path

    def connect(self):
        self.sock = socket.socket(socket.AF_UNIX)
        self.sock.settimeout(self.timeout)
        self.sock.connect(self.path)


def say(name, *outcome):
    print(name, *outcome, flush=True)


def tried(name, act):
    """Prints the outcome of an action: `refused`, or what it obtained."""
    try:
        say(name, act())
    except (OSError, http.client.HTTPException) as error:
        say(name, "refused" if not isinstance(error, TimeoutError) else "timeout")


def asked(method, path, body=None, headers=BEARER, door=None):
    """Status and body of a response."""
    door = door or Door()
    door.request(method, path, None if body is None else json.dumps(body), headers)
    answer = door.getresponse()
    return answer.status, answer.read()


def status(*args, **more):
    return asked(*args, **more)[0]


def machine(ric):
    """Accesses files and processes of other users and of the machine."""
    say("user", os.getuid(), os.getgid(), len(os.getgroups()))
    tried("descriptors", lambda: len(os.listdir("/proc/self/fd")) - 1)
    tried("kill", lambda: os.kill(ric, 9))
    tried("kill-neighbour", lambda: os.kill(int(sys.argv[4]), 9))
    for name, pid in (("ptrace", ric), ("ptrace-neighbour", int(sys.argv[4]))):
        # PTRACE_SEIZE
        say(name, "refused" if libc.ptrace(0x4206, pid, None, None) == -1 else "had")
    tried("memory", lambda: open(f"/proc/{ric}/mem", "rb").name)
    secrets = 0
    for environment in glob.glob("/proc/[0-9]*/environ"):
        try:
            with open(environment, "rb") as file:
                text = file.read()
            secrets += b"RANLAB_TOKEN=" in text and TOKEN.encode() not in text
        except OSError:
            continue
    say("secrets", secrets)
    tried("root", lambda: os.setuid(0))
    for name, path in (("manifest", "manifests/own.toml"), ("other-manifest", "manifests/monitor.toml"), ("rules", "rules.toml")):
        tried(name, lambda path=path: open(f"{PLACE}/{path}", "a").name)
    tried("token", lambda: open(f"{PLACE}/token").read())
    tried("link", lambda: os.symlink("/bin/sh", f"{PLACE}/manifests/sh.toml"))
    tried("socket", lambda: os.rename(DOOR, DOOR + ".old"))
    tried("log", lambda: open(os.path.dirname(os.path.dirname(DOOR)) + "/monitor.log").read())
    bounds = 0
    for path in glob.glob("/sys/fs/cgroup/**/ranlab*/*", recursive=True):
        bounds += os.access(path, os.W_OK)
    say("bounds", bounds)
    tried("hosts", lambda: open("/proc/sys/kernel/pid_max", "w").name)
    say("tmp", len(os.listdir("/tmp")))
    # Pages of a tmpfs are memory, and the memory of the xApp is limited.
    try:
        with open("/dev/shm/fill", "wb") as file:
            for _ in range(2048):
                file.write(bytes(1 << 20))
        say("fill", "had")
    except OSError:
        say("fill", "refused")


def doors():
    """Connects to listeners of the RIC for other programs, and sends forbidden requests to the xApp's listener."""
    host, port = os.environ["RANLAB_HTTP"].removeprefix("http://").rsplit(":", 1)
    tried("network", lambda: http.client.HTTPConnection(host, int(port), timeout=5).request("GET", "/healthz"))
    tried("neighbour", lambda: status("GET", "/healthz", door=Door(f"{NEIGHBOUR}/http.sock")))
    tried("neighbour-e42", lambda: socket.socket(socket.AF_UNIX).connect(f"{NEIGHBOUR}/e42.sock"))
    tried("nobody", lambda: status("GET", "/v1/host/xapps", headers={}))
    forged = {"Authorization": "Bearer 00000000000000000000000000000000", "Content-Type": "application/json"}
    tried("forged", lambda: status("POST", "/v1/host/xapps/thief/start", {}, headers=forged))
    tried("elsewhere", lambda: status("GET", "/healthz", headers={**BEARER, "Host": "evil.example"}))
    for name, method, path, body in (
        ("list", "GET", "/v1/host/xapps", None),
        ("stop", "POST", "/v1/host/xapps/monitor/stop", {}),
        ("install", "PUT", "/v1/host/xapps/own", {"command": "/bin/sh"}),
        ("start", "POST", "/v1/iapps/host/thief/start", {}),
        ("climb", "POST", "/v1/kv/../host/xapps/monitor/stop", {}),
        ("policy", "PUT", "/A1-P/v2/policytypes/t/policies/p", {}),
        ("cluster", "GET", "/v1/ric/cluster", None),
        ("drain", "POST", "/v1/ric/drain", {}),
        ("nodes", "GET", "/v1/nodes", None),
        ("read-other", "GET", "/v1/kv/monitor/k", None),
        ("write-other", "PUT", "/v1/kv/monitor/k", {"value": 1}),
        ("hear-other", "GET", "/v1/topics/monitor/t", None),
        ("write-readable", "PUT", "/v1/kv/shared/k", {"value": 1}),
    ):
        tried(name, lambda method=method, path=path, body=body: status(method, path, body))


def shares():
    """Writes more to the shared store than the xApp's share."""
    door = Door()
    value = {"value": "x" * (16 << 10) + "x"}
    tried("long", lambda: status("PUT", "/v1/kv/thief/long", value, door=door))
    value, taken, last = {"value": "x" * (15 << 10)}, 0, None
    for key in range(90):
        while (last := status("PUT", f"/v1/kv/thief/k{key}", value, door=door)) == 429:
            continue
        taken += last == 200
    say("filled", taken, last)
    heard, refused = [], 0
    while len(heard) + refused < 14:
        door = Door()
        door.request("GET", f"/v1/topics/thief/t{len(heard)}", headers=BEARER)
        answer = door.getresponse()
        if answer.status == 200:
            heard.append(door)
        else:
            # The request is refused because of the number of topics, not because of the request rate.
            refused += b"topics at once" in answer.read()
    say("topics", len(heard), refused)
    door = Door()
    for _ in range(130):
        while status("POST", "/v1/topics/thief/t0", "x" * (15 << 10), door=door) == 429:
            continue
    say("deaf", "told")
    turns = [status("POST", "/v1/control", {}, door=door) for _ in range(250)]
    say("hurry", turns.count(429) > 0, turns.count(429) + turns.count(422) == len(turns))
    del heard


def flood():
    """Opens as many connections as possible, and sends data at full speed."""
    held, sent = [], 0
    frame = b"\x00\x00\x00\x40" + os.urandom(64)
    until = time.monotonic() + 1
    path = E42.removeprefix("unix://")
    while time.monotonic() < until:
        link = socket.socket(socket.AF_UNIX)
        link.setblocking(False)
        try:
            link.connect(path)
            held = (held + [link])[-150:]
        except BlockingIOError:
            link.close()
        for link in held:
            try:
                sent += link.send(frame * 200)
            except OSError:
                continue
    say("octets", sent > 0)
    for link in held:
        link.close()
    doors = []
    for _ in range(150):
        door = socket.socket(socket.AF_UNIX)
        door.setblocking(False)
        try:
            door.connect(DOOR)
            # Sends half a request, which would occupy a slow server.
            door.send(b"POST /v1/control HTTP/1.1\r\n")
            doors.append(door)
        except OSError:
            door.close()
    time.sleep(0.5)
    say("doors", len(doors))


def commands():
    """Sends requests over E42 that the xApp's rule does not allow, and changes parameters that another xApp has set."""
    over_http = asked("POST", "/v1/control", {"node": NODE, "sm": "slice", "message": {"delete": 1}})
    say("slice", over_http[0], over_http[1].decode().replace("\n", " "))
    for name, rest in (
        ("rlc", ["monitor", "--sm", "rlc", "--totals", "--duration", "500ms", "--format", "json"]),
        ("quota", ["control", "--plmn", "505.01", "--rc-quota", "1=0:90"]),
    ):
        done = subprocess.run(
            [BINARY, "xapp", rest[0], "--connect", E42, *rest[1:]], capture_output=True, text=True, timeout=60, check=False
        )
        say(name, " ".join((done.stdout + done.stderr).split()))


ric = os.getppid()
machine(ric)
doors()
commands()
shares()
flood()
say("done")
while True:
    time.sleep(60)
