#!/usr/bin/env python3
"""Several RICs as one on this machine: nats-servers, RICs, base stations and xApps on loopback; faults; what they cost.

    scripts/cluster.py RANLAB [--nats 3] [--rics 3] [--nodes 30] [--faults kill-ric,kill-nats] [--seed 1] [--random N]

Prints who serves which base station, does each fault in turn (or N at random), and says for how long base stations were served by
nobody. Exit 1: a base station had two owners at once, was served by nobody at the end, or an xApp misses one; 77: no nats-server.

kill-ric     kill -9 of a RIC, which comes back 2 s later     drain-ric   SIGTERM: it hands its base stations over, and comes back
stop-ric     SIGSTOP of a RIC for 3 s                          kill-nats   kill -9 of a nats-server, back 3 s later
quorum       SIGSTOP of all nats-servers but one for 6 s
"""
import argparse, json, os, random, re, shutil, signal, socket, subprocess, sys, tempfile, threading, time

FAULTS = ["kill-ric", "drain-ric", "stop-ric", "kill-nats", "quorum"]
LEASE_S = 1.2  # DirectoryTimers::lease: whoever stands still is fenced after it
JITTER_S = 0.15  # lines of two processes are read so far apart at most
SETTLE_S = 40


def free_ports(count):
    sockets = [socket.socket() for _ in range(count)]
    for it in sockets:
        it.bind(("127.0.0.1", 0))
    ports = [it.getsockname()[1] for it in sockets]
    for it in sockets:
        it.close()
    return ports


def listens(port):
    with socket.socket() as it:
        return it.connect_ex(("127.0.0.1", port)) == 0


class Process:
    """A child whose lines are kept with their times."""

    def __init__(self, argv, log):
        self.lines, self.argv, self.log = [], argv, open(log, "a")
        self.child = subprocess.Popen(argv, stdout=subprocess.PIPE, stderr=self.log, text=True)
        self.reader = threading.Thread(target=self._read, daemon=True)
        self.reader.start()

    def _read(self):
        for line in self.child.stdout:
            self.lines.append((time.monotonic(), line.rstrip()))

    def end(self, how=signal.SIGKILL):
        if self.child.poll() is None:
            self.child.send_signal(signal.SIGCONT)
            self.child.send_signal(how)
        self.child.wait()
        self.reader.join()


class Ric:
    def __init__(self, name, e2, e42):
        self.name, self.e2, self.e42, self.process = name, e2, e42, None
        self.past = []  # intervals of lives that are over

    def owned(self, now):
        """Intervals (node, from, until) of this life; until is None while it owns it."""
        held, lawful, out = {}, True, []
        for at, line in list(self.process.lines):
            event = json.loads(line).get("event", "") if line.startswith("{") else ""
            served = re.match(r"= (.+) is served here, as owner", event)
            lost = re.match(r"= (.+) is served here no more", event) or re.match(r"- (.+?): ", event)
            if served:
                held[served[1]] = at
            elif lost and lost[1] in held:
                begun = held.pop(lost[1])
                out += [(lost[1], begun, at)] if begun is not None else []
            elif event.startswith("= no part"):
                out += [(node, since, at) for node, since in held.items() if since is not None]
                held = {node: None for node in held}
            elif event.startswith("= part of"):
                held = {node: at for node in held}
        return out + [(node, since, None) for node, since in held.items() if since is not None]

    def intervals(self, now):
        return self.past + (self.owned(now) if self.process else [])

    def close(self, at):
        """Its life ends: what it still owned it owns no more."""
        self.past += [(node, since, until if until is not None else at) for node, since, until in self.owned(at)]
        self.process = None


class Lab:
    def __init__(self, args):
        self.args, self.folder = args, tempfile.mkdtemp(prefix="ranlab-cluster-")
        self.nats_program = shutil.which("nats-server") or "/usr/sbin/nats-server"
        ports = free_ports(2 * args.nats + 2 * args.rics)
        self.clients, routes = ports[: args.nats], ports[args.nats : 2 * args.nats]
        rest = ports[2 * args.nats :]
        self.nats = [None] * args.nats
        for at, (client, route) in enumerate(zip(self.clients, routes)):
            others = ", ".join(f'"nats://127.0.0.1:{it}"' for it in routes)
            cluster = f"cluster {{ name: lab, listen: 127.0.0.1:{route}, routes: [{others}] }}" if args.nats > 1 else ""
            with open(f"{self.folder}/nats-{at}.conf", "w") as conf:
                conf.write(f'server_name: n{at}\nlisten: 127.0.0.1:{client}\n'
                           f'jetstream {{ store_dir: "{self.folder}/nats-{at}", max_mem: 64M, max_file: 1G }}\n{cluster}\n')
        self.bus = ",".join(f"nats://127.0.0.1:{it}" for it in self.clients)
        self.rics = [Ric(f"ric-{at}", rest[2 * at], rest[2 * at + 1]) for at in range(args.rics)]
        self.others = []

    def start_nats(self, at):
        self.nats[at] = Process([self.nats_program, "-c", f"{self.folder}/nats-{at}.conf"], f"{self.folder}/nats-{at}.log")

    def start_ric(self, ric):
        ric.process = Process(
            [self.args.ranlab, "ric", "--bus", self.bus, "--bus-name", ric.name, "--bus-replicas", str(min(3, self.args.nats)),
             "--e2", f"tcp://127.0.0.1:{ric.e2}", "--e42", f"tcp://127.0.0.1:{ric.e42}", "--format", "ndjson"],
            f"{self.folder}/{ric.name}.log")

    def start(self):
        for at in range(self.args.nats):
            self.start_nats(at)
        # A RIC that finds no server at its start ends.
        self.wait(lambda: all(listens(port) for port in self.clients), "a nats-server does not listen", 30)
        for ric in self.rics:
            self.start_ric(ric)
        connect = [it for ric in self.rics for it in ("--connect", f"tcp://127.0.0.1:{ric.e2}")]
        for ric in self.rics:
            self.wait(lambda: any("listening" in line for _, line in ric.process.lines), f"{ric.name} does not listen", 30)
        self.others.append(Process(
            [self.args.ranlab, "emulate", *connect, "--one-of", "--nodes", str(self.args.nodes), "--ues", "2", "--sm", "mac",
             "--format", "json"], f"{self.folder}/fleet.log"))
        self.monitors = [Process(
            [self.args.ranlab, "xapp", "monitor", "--totals", "--connect", f"tcp://127.0.0.1:{ric.e42}", "--sm", "mac",
             "--period", "100ms", "--format", "ndjson"], f"{self.folder}/xapp-{ric.name}.log") for ric in self.rics]

    def wait(self, done, what, patience=SETTLE_S):
        until = time.monotonic() + patience
        while not done():
            if time.monotonic() > until:
                raise SystemExit(self.fail(what))
            time.sleep(0.02)

    def fail(self, what):
        print(f"cluster: {what}; logs: {self.folder}", file=sys.stderr)
        self.keep = True
        return 1

    def owners(self):
        now = time.monotonic()
        return {node: ric.name for ric in self.rics for node, _, until in ric.intervals(now) if until is None}

    def rates(self):
        """Base stations and indications per second as each xApp saw them last."""
        out = []
        for monitor in self.monitors:
            lines = [json.loads(line) for _, line in monitor.lines[-2:] if line.startswith("{")]
            if len(lines) < 2:
                return []
            out.append((lines[-1].get("subscriptions", 0), lines[-1]["indications"] - lines[-2]["indications"]))
        return out

    def settled(self):
        whole = self.args.nodes
        rates = self.rates()
        return (len(self.owners()) == whole and len(rates) == len(self.rics)
                and all(subscriptions == whole and rate >= 5 * whole for subscriptions, rate in rates))

    def show(self):
        owners = self.owners()
        for ric in self.rics:
            mine = sorted(node for node, name in owners.items() if name == ric.name)
            print(f"  {ric.name:8} {len(mine):4}  {', '.join(mine[:4])}{' …' if len(mine) > 4 else ''}")

    def gaps(self, since, nodes):
        """For how long each of these was served by nobody after a moment, in seconds."""
        now, out = time.monotonic(), []
        for node in nodes:
            all_of_it = [(begun, until) for ric in self.rics for it, begun, until in ric.intervals(now) if it == node]
            ended = [until for _, until in all_of_it if until is not None and until >= since]
            begun = [begun for begun, _ in all_of_it if ended and begun >= min(ended) - JITTER_S and begun >= since]
            out.append(max(0.0, min(begun) - min(ended)) if begun else 0.0)
        return sorted(out)

    def overlaps(self):
        """Base stations with two owners at once."""
        now, found = time.monotonic(), []
        by = {}
        for ric in self.rics:
            for node, since, until in ric.intervals(now):
                by.setdefault(node, []).append((since, until if until is not None else now, ric.name))
        for node, intervals in by.items():
            intervals.sort()
            found += [(node, a, b) for a, b in zip(intervals, intervals[1:]) if b[0] < a[1] - JITTER_S]
        return found

    def fault(self, name, chance):
        ric = chance.choice(self.rics)
        nodes = [node for node, owner in self.owners().items() if owner == ric.name]
        since, who = time.monotonic(), ric.name
        if name == "kill-ric":
            ric.process.end()
            ric.close(since)
            time.sleep(2)
            self.start_ric(ric)
        elif name == "drain-ric":
            ric.process.end(signal.SIGTERM)
            ric.close(time.monotonic())
            self.start_ric(ric)
        elif name == "stop-ric":
            ric.process.child.send_signal(signal.SIGSTOP)
            time.sleep(3)
            # Its own words come late; by then it has been fenced for long.
            ric.process.lines.append((since + LEASE_S, '{"event":"= no part in a quorum: it stands still"}'))
            ric.process.child.send_signal(signal.SIGCONT)
        elif name == "kill-nats":
            at = chance.randrange(len(self.nats))
            who, nodes = f"nats-{at}", []
            self.nats[at].end()
            time.sleep(3)
            self.start_nats(at)
        elif name == "quorum":
            at = chance.randrange(len(self.nats))
            who, nodes = f"all but nats-{at}", []
            for other in (it for n, it in enumerate(self.nats) if n != at):
                other.child.send_signal(signal.SIGSTOP)
            time.sleep(6)
            for other in (it for n, it in enumerate(self.nats) if n != at):
                other.child.send_signal(signal.SIGCONT)
        else:
            raise SystemExit(f"cluster: {name} is none of {', '.join(FAULTS)}")
        self.wait(self.settled, f"{name} of {who}: {len(self.owners())} of {self.args.nodes} base stations are served, xApps see {self.rates()}")
        gaps = self.gaps(since, nodes)
        at = lambda share: round(1000 * gaps[min(len(gaps) - 1, int(share * len(gaps)))]) if gaps else None
        print(json.dumps({"fault": name, "at": who, "base_stations": len(nodes), "gap_ms_p50": at(0.5), "gap_ms_p99": at(0.99),
                          "settled_s": round(time.monotonic() - since, 1)}), flush=True)
        return gaps

    def end(self):
        for it in self.others + getattr(self, "monitors", []) + [ric.process for ric in self.rics] + self.nats:
            if it is not None:
                it.end()
        if not getattr(self, "keep", False):
            shutil.rmtree(self.folder, ignore_errors=True)


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("ranlab")
    for name, default in (("nats", 3), ("rics", 3), ("nodes", 30), ("seed", 1), ("random", 0)):
        parser.add_argument(f"--{name}", type=int, default=default)
    parser.add_argument("--faults", default="kill-ric,kill-nats")
    args = parser.parse_args()
    lab = Lab(args)
    if not os.access(lab.nats_program, os.X_OK):
        print("nats-server is not installed; scripts/need.sh nats installs it")
        return 77
    chance = random.Random(args.seed)
    faults = [chance.choice(FAULTS) for _ in range(args.random)] if args.random else [it for it in args.faults.split(",") if it]
    try:
        lab.start()
        lab.wait(lab.settled, f"not all base stations are served at first: {lab.rates()}", 60)
        print(f"{args.nats} nats-servers, {args.rics} RICs, {args.nodes} base stations, an xApp at each RIC that hears all of them:")
        lab.show()
        gaps = sorted(gap for name in faults for gap in lab.fault(name, chance))
        lab.show()
        if gaps:
            at = lambda share: f"{gaps[min(len(gaps) - 1, int(share * len(gaps)))] * 1000:.0f} ms"
            print(f"{len(gaps)} base stations changed hands; without an owner: p50 {at(0.5)}, p99 {at(0.99)}, longest {at(1)}")
        found = lab.overlaps()
        if found:
            return lab.fail(f"two owners at once: {found[:3]}")
        print(f"{len(faults)} faults; no base station had two owners at once")
        return 0
    finally:
        lab.end()


sys.exit(main())
