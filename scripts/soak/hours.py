#!/usr/bin/env python3
"""Runs a RIC, a UPF with its load generator, and the campaign engine for hours while faults happen to them.

Usage: hours.py RANLAB HOURS [SEED]

After a warm-up of a fifth of the time (at most 30 minutes), memory (PSS) must not grow: the upper end of the 95 % confidence
interval of its slope is below 1 MB/h. File descriptors must return to the same number, every control must have an outcome,
every PFCP request must be explained, and the RIC must answer HTTP requests. The slope is judged from one hour on.
"""
import json, os, random, signal, socket, statistics, subprocess, sys, tempfile, threading, time, urllib.request

sys.path.insert(0, os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
from cluster_lab import Failed, Process  # noqa: E402

RANLAB, HOURS = os.path.abspath(sys.argv[1]), float(sys.argv[2])
SEED = int(sys.argv[3]) if len(sys.argv) > 3 else 1
LENGTH_S = HOURS * 3600
WARM_S = min(1800, LENGTH_S / 5)
SAMPLE_S = 10
BLOCKS = 20  # samples are averaged over so many blocks, because neighbouring samples depend on one another
JUDGED_HOURS = 1
SLOPE_MAX = 1.0  # MB/h
NODES, STORM = 480, 20
PAGE_S_MAX = 1.0
E2, E42, HTTP, N4, N3 = 37421, 37422, 37480, ("127.0.0.38", 8805), ("127.0.0.38", 2152)
TOKEN = "soak-0123456789abcdef"
USER = 65211  # of the hosted xApp

counts, faults, lock = {}, [], threading.Lock()


def count(what, by=1):
    with lock:
        counts[what] = counts.get(what, 0) + by


def fault(text):
    with lock:
        faults.append(text)
    print(f"fault: {text}", flush=True)


def pss_mb(pid):
    with open(f"/proc/{pid}/smaps_rollup") as it:
        return next(int(line.split()[1]) for line in it if line.startswith("Pss:")) / 1024


def slope(points):
    """Slope and upper end of its 95 % interval, per hour, of (seconds, value) averaged over blocks."""
    size = max(1, len(points) // BLOCKS)
    blocks = [points[at:at + size] for at in range(0, len(points) - size + 1, size)]
    x = [statistics.fmean(p[0] for p in block) / 3600 for block in blocks]
    y = [statistics.fmean(p[1] for p in block) for block in blocks]
    middle, spread = statistics.fmean(x), sum((v - statistics.fmean(x)) ** 2 for v in x)
    if len(x) < 4 or spread == 0:
        return None, None
    rise = sum((a - middle) * b for a, b in zip(x, y)) / spread
    level = statistics.fmean(y) - rise * middle
    rest = sum((b - level - rise * a) ** 2 for a, b in zip(x, y)) / (len(x) - 2)
    student = 1.96 + 2.6 / (len(x) - 2)  # 97.5 % quantile; 0.02 too large at most from four degrees of freedom on
    return rise, rise + student * (rest / spread) ** 0.5


class Watched:
    """A process of which memory and file descriptors are sampled."""

    def __init__(self, name, process):
        self.name, self.process, self.samples, self.ended = name, process, [], False

    def sample(self, at):
        pid = self.process.child.pid
        if self.process.child.poll() is not None:
            return False
        try:
            self.samples.append((at, pss_mb(pid), len(os.listdir(f"/proc/{pid}/fd"))))
        except (OSError, StopIteration):
            return self.process.child.poll() is None
        return True

    def result(self):
        kept = [sample for sample in self.samples if sample[0] >= WARM_S]
        if len(kept) < 8:
            fault(f"{self.name}: only {len(kept)} samples after the warm-up")
            return {}
        rise, upper = slope([(at, memory) for at, memory, _ in kept])
        third = len(kept) // 3
        # Connections come and go, so the smallest number of a period is compared.
        first, last = (min(fds for *_, fds in part) for part in (kept[:third], kept[-third:]))
        if last > first:
            fault(f"{self.name}: {first} file descriptors at first, {last} at the end")
        if HOURS >= JUDGED_HOURS and upper is not None and upper >= SLOPE_MAX:
            fault(f"{self.name}: memory may grow by {upper:.2f} MB/h")
        memory = [memory for _, memory, _ in kept]
        return {"pss_mb": [round(min(memory), 2), round(max(memory), 2)], "mb_per_h": rise and round(rise, 3),
                "mb_per_h_upper": upper and round(upper, 3), "descriptors": [first, last], "samples": len(kept)}


class Soak:
    def __init__(self):
        self.random, self.begin, self.watched, self.over = random.Random(SEED), time.monotonic(), [], threading.Event()
        self.children, self.pages = [], []
        os.chmod(os.getcwd(), 0o755)

    def elapsed(self):
        return time.monotonic() - self.begin

    def start(self, name, *argv, watch=False, hear=None):
        process = Process([RANLAB, *map(str, argv)], f"{name}.log", hear)
        self.children.append(process)
        if watch:
            self.watched.append(Watched(name, process))
        return process

    # The RIC

    def start_ric(self):
        with open(os.open("token", os.O_CREAT | os.O_WRONLY, 0o600), "w") as it:
            it.write(TOKEN + "\n")
        os.makedirs("manifests", 0o755)
        hosted = []
        if os.geteuid() == 0:
            with open("manifests/crasher.toml", "w") as it:
                it.write(f'command = "/bin/sh"\narguments = ["-c", "sleep 15; kill -SEGV $$"]\nuser = "{USER}"\nrule = "crasher"\n'
                         "[restart]\nfirst_ms = 1000\nlongest_ms = 1000\ntimes = 1000\n")
            hosted = ["--manifests", "manifests"]
        with open("rules.toml", "w") as it:
            it.write('[[rule]]\nname = "crasher"\ntenant = "crasher"\n[[rule]]\npeer = "*"\n')
        listening = threading.Event()

        def hear(_, line):
            if line.get("listening") == "http":
                listening.set()

        self.ric = self.start("ric", "ric", "--e2", f"tcp://127.0.0.1:{E2}", "--e42", f"tcp://127.0.0.1:{E42}",
                              "--http", f"127.0.0.1:{HTTP}", "--http-token-file", "token", "--xapps", "rules.toml", *hosted,
                              "--iapp", "monitor", "--sm", "mac", "--kpi", "mac", "--period", "1s", "--format", "ndjson",
                              watch=True, hear=hear)
        if not listening.wait(30):
            raise Failed("the RIC does not listen: ric.log")
        self.start("stations", "emulate", "--connect", f"tcp://127.0.0.1:{E2}", "--nodes", NODES, "--ues", 4, "--sm", "mac,rlc",
                   "--format", "ndjson", watch=True)
        self.orders = self.start("orders", "xapp", "orders", "--connect", f"tcp://127.0.0.1:{E42}", "--rate", 20,
                                 "--format", "ndjson", watch=True)

    def storm(self):
        """Base stations connect at once, and are killed."""
        stations = self.start("storm", "emulate", "--connect", f"tcp://127.0.0.1:{E2}", "--nodes", STORM, "--first", NODES,
                              "--ues", 4, "--sm", "mac,rlc", "--ramp", "0s", "--format", "ndjson")
        time.sleep(self.random.uniform(0.5, 6))
        self.stop(stations, signal.SIGKILL)
        count("base stations killed", STORM)

    def subscribe(self):
        """Ten xApps subscribe to all base stations. Some are killed, some end."""
        xapps = [self.start("xapp", "xapp", "monitor", "--connect", f"tcp://127.0.0.1:{E42}", "--sm", "mac,rlc", "--period", "200ms",
                            "--format", "ndjson") for _ in range(10)]
        time.sleep(self.random.uniform(0.5, 4))
        for xapp in xapps:
            self.stop(xapp, self.random.choice([signal.SIGKILL, signal.SIGINT]))
        count("xApps that subscribed", len(xapps))

    def slow(self):
        xapp = self.start("slow", "xapp", "monitor", "--connect", f"tcp://127.0.0.1:{E42}", "--sm", "mac", "--period", "10ms",
                          "--at-most", 20, "--format", "ndjson")
        time.sleep(5)
        self.stop(xapp, signal.SIGKILL)
        count("slow xApps")

    def half_open(self):
        """Connections on which nothing, or the beginning of a message, is sent."""
        peers = []
        for port in (E2, E42, HTTP):
            for n in range(20):
                peer = socket.create_connection(("127.0.0.1", port), 5)
                peer.send([b"\x00\x00\x00", b"GET /", os.urandom(40)][n % 3])
                peers.append(peer)
        time.sleep(self.random.uniform(0, 8))
        for peer in peers:
            peer.close()
        count("half-open connections", len(peers))

    def pause(self):
        """The RIC is stopped, so that time jumps for it."""
        self.ric.send(signal.SIGSTOP)
        time.sleep(self.random.uniform(0.2, 3))
        self.ric.send(signal.SIGCONT)
        count("pauses of the RIC")
        time.sleep(2)

    def page(self):
        for path in ("/", "/v1/nodes", "/metrics"):
            request = urllib.request.Request(f"http://127.0.0.1:{HTTP}{path}", headers={"Authorization": f"Bearer {TOKEN}"})
            at = time.monotonic()
            try:
                with urllib.request.urlopen(request, timeout=10) as answer:
                    answer.read()
            except OSError as error:
                fault(f"GET {path}: {error}")
                continue
            self.pages.append(time.monotonic() - at)
            count("HTTP requests")

    # UPF and load generator

    def start_upf(self):
        n4, n3 = (f"{host}:{port}" for host, port in (N4, N3))
        self.upf = self.start("upf", "upf", "--n4", n4, "--n3", n3, "--format", "ndjson", watch=True)

    def start_load(self):
        n4, n3 = (f"{host}:{port}" for host, port in (N4, N3))
        self.load = self.start("load", "load", "upf", "--n4", n4, "--n3", n3, "--mode", "control", "--arrivals", "poisson",
                               "--rate", 100, "--live", 500, "--duration", f"{int(LENGTH_S) - 10}s", "--format", "json", watch=True)

    def garbage(self):
        with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as peer:
            for _ in range(200):
                octets = bytearray(os.urandom(self.random.randrange(0, 120)))
                octets[:2] = bytes([self.random.choice([0x20, 0x21, 0x30, 0x34]), self.random.choice([1, 5, 50, 52, 54, 255])])[:len(octets)]
                peer.sendto(octets, self.random.choice([N4, N3]))
        count("malformed datagrams", 200)

    def pause_upf(self):
        self.upf.send(signal.SIGSTOP)
        time.sleep(self.random.uniform(0.05, 0.8))
        self.upf.send(signal.SIGCONT)
        count("pauses of the UPF")

    # Campaign engine

    def start_campaign(self):
        here = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
        self.scenario = f"{here}/scenarios/quickstart.toml"
        repeats = max(1, int(LENGTH_S / 4))
        self.campaign = self.start("campaign", "bench", "run", self.scenario, "--set", "measure.duration=1s", "--set",
                                   f"measure.repeats={repeats}", "--set", "host.when_noisy=warn", "--out", "campaign", watch=True)

    def full_disk(self):
        """A campaign whose disk is full ends with an error, and continues when there is space."""
        folder = f"full-{self.random.randrange(1 << 32)}"
        os.makedirs(folder)
        subprocess.run(["mount", "-t", "tmpfs", "-o", "size=2m", "soak", folder], check=True)
        argv = [RANLAB, "bench", "run", self.scenario, "--quick", "--set", "host.when_noisy=warn", "--out", f"{folder}/out"]
        with open(f"{folder}/filler", "wb", buffering=0) as filler:
            while True:
                try:
                    filler.write(bytes(4096))
                except OSError:
                    break
        full = subprocess.run(argv, capture_output=True, text=True)
        os.unlink(f"{folder}/filler")
        again = subprocess.run(argv, capture_output=True, text=True)
        subprocess.run(["umount", folder], check=True)
        os.rmdir(folder)
        if full.returncode == 0 or "panicked" in full.stderr:
            fault(f"a full disk: exit code {full.returncode}: {full.stderr[-300:]}")
        if again.returncode not in (0, 1):
            fault(f"after a full disk: exit code {again.returncode}: {again.stderr[-300:]}")
        count("full disks")

    def stop(self, process, how):
        process.end(how)
        process.log.close()
        self.children.remove(process)

    def repeat(self, deeds, pause_s, seed):
        """Carries out the deeds in random order until the end."""
        chance = random.Random(seed)
        while not self.over.wait(chance.uniform(0.5, 1.5) * pause_s):
            deed = chance.choice(deeds)
            try:
                deed()
            except Exception as error:  # noqa: BLE001 # a fault of the test is a fault of the run
                fault(f"{deed.__name__}: {error!r}")

    def run(self):
        self.start_ric()
        self.start_upf()
        self.start_campaign()
        kinds = [([self.storm, self.subscribe, self.slow, self.half_open, self.pause], 10), ([self.page], 10),
                 ([self.garbage, self.pause_upf], 20)]
        if os.geteuid() == 0:
            kinds.append(([self.full_disk], max(60, LENGTH_S / 12)))
        threads = [threading.Thread(target=self.repeat, args=(deeds, pause, SEED + n)) for n, (deeds, pause) in enumerate(kinds)]
        # Each fault happens once before sampling, so that what is allocated once (such as a base station's timer for short
        # periods) exists.
        for deeds, _ in kinds:
            for deed in deeds:
                deed()
        self.start_load()
        self.begin = time.monotonic()
        for thread in threads:
            thread.start()
        while self.elapsed() < LENGTH_S:
            time.sleep(SAMPLE_S)
            for watched in self.watched:
                if not watched.ended and not watched.sample(self.elapsed()) and self.elapsed() < LENGTH_S - 30:
                    watched.ended = True
                    fault(f"{watched.name} ended after {self.elapsed():.0f} s: {watched.name}.log")
        self.over.set()
        for thread in threads:
            thread.join()
        self.finish()

    def finish(self):
        self.load.child.wait()
        self.load.reader.join()
        self.orders.end(signal.SIGINT)
        control = self.orders.last[-1] if self.orders.last else {}
        lost = control.get("sent", 0) - control.get("acknowledged", 0) - control.get("failed", 0)
        if lost or not control.get("acknowledged"):
            fault(f"controls: {control}")
        load = self.load.last[-1] if self.load.last else {}
        if load.get("unexplained", 1) or load["control"]["left_behind"]:
            fault(f"PFCP: unexplained {load.get('unexplained')}, left behind {load.get('control', {}).get('left_behind')}")
        slow = sum(took > PAGE_S_MAX for took in self.pages)
        # A pause of the RIC delays one answer by up to 3 s.
        if slow > counts.get("pauses of the RIC", 0):
            fault(f"{slow} of {len(self.pages)} HTTP requests took more than {PAGE_S_MAX} s")
        result = {"hours": HOURS, "counts": counts, "controls": control, "pfcp_requests": load.get("control", {}).get("requests_offered"),
                  "http_s": {"median": round(statistics.median(self.pages), 4), "max": round(max(self.pages), 3)} if self.pages else None,
                  "processes": {watched.name: watched.result() for watched in self.watched}, "faults": faults}
        print(json.dumps(result, indent=1))

    def end(self):
        for process in self.children:
            process.end(signal.SIGKILL)


def main():
    folder = tempfile.mkdtemp(prefix="ranlab-soak-")
    os.chdir(folder)
    soak = Soak()
    try:
        soak.run()
    except Failed as error:
        fault(str(error))
    finally:
        soak.end()
    print(f"logs: {folder}" if faults else "no fault")
    return 1 if faults else 0


if __name__ == "__main__":
    sys.exit(main())
