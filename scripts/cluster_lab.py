"""Processes of scripts/cluster.py, their output, and the history of which RIC owned which base station."""
import json, os, re, shutil, signal, socket, subprocess, tempfile, threading, time
from cluster_net import Network, Probe

LEASE_S = 1.2  # DirectoryTimers::lease: a RIC that does not renew its lease for this long is fenced
JITTER_S = 0.01  # maximum time by which a timestamp of this script is later than that of a RIC for the same event
TAIL_S = 0.02  # interval between reads of the output of RICs
SLACK_S = 0.5  # maximum delay of an acknowledgement after the end of the ownership that permitted it
SETTLE_S = 60
SHARE = 0.8  # all subscriptions count as active if this share of the reports that are due in a period arrives
NEW_S = 1.5  # DirectoryTimers::wait: RICs wait this long for a new RIC or a silent RIC
GAP_S = 2  # maximum time without owner after a RIC is killed, while the bus has a leader
ORDERS_EACH = 10_000_000  # size of the range of order numbers of an xApp


class Failed(Exception):
    pass


def quantile(gaps, share):
    gaps = sorted(gaps)
    return gaps[min(len(gaps) - 1, int(share * len(gaps)))] if gaps else None


def ms(seconds):
    return None if seconds is None else round(1000 * seconds)


def monotonic(at_us):
    """Converts a process's wall-clock timestamp to this script's monotonic clock."""
    return time.monotonic() - time.time() + at_us / 1e6


def cpu_s(pid):
    """User and system time of a process so far, in seconds; None after its exit."""
    try:
        with open(f"/proc/{pid}/stat") as it:
            fields = it.read().rsplit(")", 1)[1].split()
    except OSError:
        return 0.0
    return (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")


class Process:
    """Child process whose output lines are passed on; the last `keep` are stored. With `into`, it writes to that file, so that it
    never waits for this script."""

    def __init__(self, argv, log, hear=None, into=None, keep=2):
        self.last, self.hear, self.keep, self.log = [], hear, keep, open(log, "a")
        out = open(into, "w") if into else subprocess.PIPE
        self.child = subprocess.Popen(argv, stdout=out, stderr=self.log, text=True)
        lines = self._tail(into) if into else self.child.stdout
        self.reader = threading.Thread(target=self._read, args=(lines,), daemon=True)
        self.reader.start()

    def _tail(self, file):
        rest = ""
        with open(file) as it:
            while True:
                over = self.child.poll() is not None
                whole = (rest + it.read()).split("\n")
                rest = whole.pop()
                yield from whole
                if over:
                    return
                time.sleep(TAIL_S)

    def _read(self, lines):
        for line in lines:
            try:
                it = json.loads(line)
            except ValueError:
                continue
            self.last = (self.last + [it])[-self.keep:]
            if self.hear:
                self.hear(monotonic(it["at_us"]) if "at_us" in it else time.monotonic(), it)

    def send(self, number):
        if self.child.poll() is None:
            self.child.send_signal(number)

    def end(self, how=signal.SIGKILL):
        self.send(signal.SIGCONT)
        self.send(how)
        self.child.wait()
        self.reader.join()


class Ric:
    """A RIC across restarts, with the intervals in which it owned base stations."""

    def __init__(self, name, host, e2, e42, http):
        self.name, self.host, self.e2, self.e42, self.http, self.process = name, host, e2, e42, http, None
        self.lock, self.held, self.past, self.listens, self.lawful = threading.Lock(), {}, [], False, False
        self.untold, self.lives, self.fences = 0, 0, 0

    def hear(self, at, line):
        with self.lock:
            self.listens |= line.get("listening") == "e42"
            self.untold += line.get("untold", 0)
            event = line.get("event", "")
            served = re.match(r"= (.+) is served by this RIC, as owner", event)
            lost = re.match(r"= (.+) is no longer served by this RIC", event)
            if served:
                self.held[served[1]] = self.held.get(served[1]) or at
            elif lost and lost[1] in self.held:
                self._over(lost[1], at)
                del self.held[lost[1]]
            elif event.startswith("= no quorum"):
                self.lawful = False
                self.fences += 1
                self._fenced(at)
            elif event.startswith("= part of"):
                self.lawful = True
                self.held = {node: since or at for node, since in self.held.items()}

    def _over(self, node, at):
        if self.held[node] is not None:
            self.past.append((node, self.held[node], at))
            self.held[node] = None

    def _fenced(self, at):
        for node in self.held:
            self._over(node, at)

    def fenced(self, at):
        """Ends ownership at a fence; the RIC's own report arrives later."""
        with self.lock:
            self._fenced(at)

    def over(self, at):
        """Ends all ownership at the exit of the process."""
        with self.lock:
            self._fenced(at)
            self.held, self.process, self.listens, self.lawful = {}, None, False, False

    def owned(self):
        with self.lock:
            return [node for node, since in self.held.items() if since is not None]

    def intervals(self):
        with self.lock:
            return self.past + [(node, since, None) for node, since in self.held.items() if since is not None]


class Lab:
    def __init__(self, args):
        self.args, self.folder, self.keep = args, tempfile.mkdtemp(prefix="ranlab-cluster-"), False
        self.program = shutil.which("nats-server") or "/usr/sbin/nats-server"
        self.network = Network(max(args.nats, args.rics), args.namespaces)
        self.nats, self.others, self.monitors, self.orders = [None] * args.nats, [], [], []
        self.period = self.seconds(args.period)
        self.acks, self.fails = [], []  # (time, number, node, duration), (time, reason)
        for at in range(args.nats):
            self._configure_nats(at)
        hosts = [self.network.hosts(at) for at in range(args.nats)]
        self.bus = ",".join(f"nats://{bus}:{client}" for (bus, _), (client, _) in zip(hosts, self.nats_ports))
        self.rics = []
        for at in range(args.rics):
            bus, host = self.network.hosts(at)
            self.rics.append(Ric(f"ric-{at}", host, *self.network.ports(at, 3)))
        self.probe = Probe(self.network, [(hosts[at][0], self.nats_ports[at][0]) for at in range(args.nats)])

    @staticmethod
    def seconds(text):
        number, unit = re.fullmatch(r"(\d+)(ms|s)", text).groups()
        return int(number) * (0.001 if unit == "ms" else 1)

    def _configure_nats(self, at):
        if at == 0:
            self.nats_ports = [self.network.ports(it, 2) for it in range(self.args.nats)]
        routes = [f'"nats://{self.network.hosts(it)[0]}:{route}"' for it, (_, route) in enumerate(self.nats_ports)]
        (client, route), (host, _) = self.nats_ports[at], self.network.hosts(at)
        cluster = f"cluster {{ name: lab, listen: {host}:{route}, routes: [{', '.join(routes)}] }}" if self.args.nats > 1 else ""
        with open(f"{self.folder}/nats-{at}.conf", "w") as conf:
            conf.write(f'server_name: n{at}\nlisten: {host}:{client}\n'
                       f'jetstream {{ store_dir: "{self.folder}/nats-{at}", max_mem: 64M, max_file: 1G }}\n{cluster}\n')

    def start_nats(self, at):
        argv = self.network.within(at, [self.program, "-c", f"{self.folder}/nats-{at}.conf"])
        self.nats[at] = Process(argv, f"{self.folder}/nats-{at}.log")

    def start_ric(self, at):
        ric, args = self.rics[at], self.args
        listen = [f"tcp://{ric.host}:{port}" for port in (ric.e2, ric.e42)]
        argv = [args.ranlab, "ric", "--bus", self.bus, "--bus-name", ric.name, "--bus-replicas", str(min(3, args.nats)),
                "--e2", listen[0], "--e42", listen[1], "--format", "ndjson"]
        # A RIC in another namespace is reached at the address of this machine.
        argv += ["--http", f"127.0.0.1:{ric.http}"] if not args.namespaces else []
        ric.lives += 1
        said = f"{self.folder}/{ric.name}-{ric.lives}.ndjson"
        ric.process = Process(self.network.within(at, argv), f"{self.folder}/{ric.name}.log", ric.hear, said)

    def start(self):
        for at in range(self.args.nats):
            self.start_nats(at)
        for at in range(self.args.rics):
            self.start_ric(at)
        for ric in self.rics:
            self.wait(lambda: ric.listens, lambda: f"{ric.name} does not listen", 30)
        self.probe.start()
        args = self.args
        for at in range(args.xapps):
            self.monitors.append(Process(
                [args.ranlab, "xapp", "monitor", "--totals", *self.around(at), "--sm", "mac", "--period", args.period,
                 "--format", "ndjson"], f"{self.folder}/xapp-{at}.log", keep=2 + int(self.period)))
        connect = [it for ric in self.rics for it in ("--connect", f"tcp://{ric.host}:{ric.e2}")]
        spread = ("--ramp", args.ramp) if args.ramp else ()
        self.fleet = Process(
            [args.ranlab, "emulate", *connect, "--one-of", "--nodes", str(args.nodes), "--ues", "2", "--sm", "mac",
             *spread, "--log-pings", f"{self.folder}/pings", "--format", "ndjson"], f"{self.folder}/fleet.log")
        self.others.append(self.fleet)
        each = args.orders // args.rics
        for at in range(args.rics if each else 0):
            self.orders.append(Process(
                [args.ranlab, "xapp", "orders", *self.around(at), "--rate", str(each), "--first", str(ORDERS_EACH * (at + 1)),
                 "--format", "ndjson"], f"{self.folder}/orders-{at}.log", self.hear_order))

    def around(self, at):
        """RICs for an xApp, in rotation: each xApp starts with a different RIC."""
        rics = [self.rics[(at + it) % len(self.rics)] for it in range(len(self.rics))]
        flags = ["--connect"] + ["--or-at"] * (len(rics) - 1)
        return [word for flag, ric in zip(flags, rics) for word in (flag, f"tcp://{ric.host}:{ric.e42}")]

    def hear_order(self, at, line):
        if line.get("acknowledged") is True:
            self.acks.append((at, line["order"], line["node"], line["ms"] / 1000))
        elif "why" in line:
            self.fails.append((at, line["why"]))

    def wait(self, done, what, patience=SETTLE_S):
        until = time.monotonic() + patience
        while not done():
            if time.monotonic() > until:
                raise Failed(what())
            time.sleep(0.05)

    def rates(self):
        """Base stations and indications per second in the last output of each xApp, over one reporting period."""
        out = []
        for monitor in self.monitors:
            lines = monitor.last
            if len(lines) < 2:
                return []
            told = lines[-1]["indications"] - lines[0]["indications"]
            out.append((lines[-1].get("subscriptions", 0), round(told / (len(lines) - 1))))
        return out

    def settled(self):
        whole, rates = self.args.nodes, self.rates()
        return (all(ric.lawful for ric in self.rics) and sum(len(ric.owned()) for ric in self.rics) == whole and len(rates) == self.args.xapps
                and all(subscriptions == whole for subscriptions, _ in rates))

    def confirm(self):
        """Checks over one more period that reports of all subscriptions arrive."""
        for monitor in self.monitors:
            monitor.last = monitor.last[-1:]
        enough = SHARE * self.args.nodes / self.period
        self.wait(lambda: len(rates := self.rates()) == self.args.xapps and all(rate >= enough for _, rate in rates)
                  and all(len(it.last) > self.period for it in self.monitors),
                  lambda: f"indications per second: {self.rates()}; expected: at least {enough:.0f} for each xApp")

    def show(self):
        for ric in self.rics:
            mine = sorted(ric.owned())
            print(f"  {ric.name:8} {len(mine):4}  {', '.join(mine[:4])}{' …' if len(mine) > 4 else ''}", flush=True)

    def history(self):
        """Intervals of ownership by base station: (start, end or None, RIC)."""
        by = {}
        for ric in self.rics:
            for node, since, until in ric.intervals():
                by.setdefault(node, []).append((since, until, ric.name))
        for intervals in by.values():
            intervals.sort(key=lambda it: it[0])
        return by

    def gaps(self, since):
        """Periods after `since` in which a base station had no owner: (seconds, whether the bus always had a leader, base station)."""
        out = []
        for node, intervals in self.history().items():
            for (_, until, _), (begun, _, _) in zip(intervals, intervals[1:]):
                if until is not None and until >= since:
                    out.append((max(0.0, begun - until), self.probe.led(until, begun), node))
        return out

    def pause(self, since):
        """Longest time after `since` without an acknowledged control."""
        times = [since] + [at for at, *_ in self.acks if at >= since] + [time.monotonic()]
        return max(b - a for a, b in zip(times, times[1:]))

    def fault(self, name, chance):
        since, cpu, fences = time.monotonic(), self.cpu(), sum(ric.fences for ric in self.rics)
        failed, at = len(self.fails), chance.randrange(len(self.rics))
        who, slow = getattr(self, name.replace("-", "_"))(since, at, chance)
        self.wait(self.settled, lambda: f"{name} of {who}: {sum(len(ric.owned()) for ric in self.rics)} of {self.args.nodes} base "
                                        f"stations are served, xApps see {self.rates()}", SETTLE_S + self.args.nodes / 20)
        settled = time.monotonic() - since
        self.confirm()
        gaps = self.gaps(since)
        every, led = [gap for gap, *_ in gaps], [gap for gap, led, _ in gaps if led]
        whys = {}
        for _, why in self.fails[failed:]:
            whys[why] = whys.get(why, 0) + 1
        print(json.dumps({
            "fault": name, "at": who, "changes": len(gaps), "gap_ms_p50": ms(quantile(every, 0.5)),
            "gap_ms_p99": ms(quantile(every, 0.99)), "gap_ms_p99_led": ms(quantile(led, 0.99)),
            "bus_without_leader_ms": ms(self.probe.longest(since)),
            **({"controls_paused_ms": ms(self.pause(since)), "controls_failed": whys} if self.orders else {}),
            "slowest_second_share": slow, "settled_s": round(settled, 1),
            "cpu_s": self.spent(cpu),
            "leases_lost": sum(ric.fences for ric in self.rics) - fences,
            **({"gap_ms": {node: ms(gap) for gap, _, node in sorted(gaps, key=lambda it: it[2])}} if self.args.each else {})}), flush=True)
        return gaps

    def kill_ric(self, since, at, _):
        ric = self.rics[at]
        ric.process.end()
        ric.over(since)
        time.sleep(2)
        self.start_ric(at)
        return ric.name, None

    def drain_ric(self, _, at, __):
        ric = self.rics[at]
        ric.process.end(signal.SIGTERM)
        ric.over(time.monotonic())
        self.start_ric(at)
        return ric.name, None

    def restart(self, since, _, chance):
        for at, ric in enumerate(self.rics):
            self.drain_ric(since, at, chance)
            self.wait(self.settled, lambda: f"after the restart of {ric.name} xApps see {self.rates()}")
            time.sleep(NEW_S)
        return "all RICs", None

    def stop_ric(self, since, at, _):
        ric = self.rics[at]
        ric.process.send(signal.SIGSTOP)
        time.sleep(3)
        # At this time, the RIC's lease has expired and the RIC has been fenced.
        ric.fenced(since + LEASE_S)
        ric.process.send(signal.SIGCONT)
        return ric.name, None

    def slowest(self, seconds):
        """Waits. Returns the lowest rate of indications of any xApp in this time, as a share of the expected rate."""
        least, until = None, time.monotonic() + seconds
        while time.monotonic() < until:
            time.sleep(0.5)
            for _, rate in self.rates():
                share = rate * self.period / self.args.nodes
                least = share if least is None else min(least, share)
        return None if least is None else round(least, 2)

    def kill_nats(self, _, __, chance):
        at = chance.randrange(len(self.nats))
        self.nats[at].end()
        slow = self.slowest(3)
        self.start_nats(at)
        return f"nats-{at}", slow

    def stop_nats(self, _, __, chance):
        at = chance.randrange(len(self.nats))
        self.nats[at].send(signal.SIGSTOP)
        slow = self.slowest(3)
        self.nats[at].send(signal.SIGCONT)
        return f"nats-{at}", slow

    def quorum(self, _, __, chance):
        at = chance.randrange(len(self.nats))
        others = [it for n, it in enumerate(self.nats) if n != at]
        for other in others:
            other.send(signal.SIGSTOP)
        slow = self.slowest(6)
        for other in others:
            other.send(signal.SIGCONT)
        return f"all but nats-{at}", slow

    def partition(self, since, at, _):
        ric, nodes = self.rics[at], set(self.rics[at].owned())
        self.network.cut(at, True)
        slow = self.slowest(6)
        heal = time.monotonic()
        self.network.cut(at, False)
        # In the meantime, another RIC may have taken over one of these base stations. It may accept controls for it.
        begun = {node: [since for since, _, name in it if name != ric.name] for node, it in self.history().items()}
        still = [ack for ack in self.acks if since + LEASE_S + SLACK_S < ack[0] - ack[3] and ack[0] < heal and ack[2] in nodes
                 and not any(since <= moved <= ack[0] + JITTER_S for moved in begun[ack[2]])]
        if still:
            raise Failed(f"{ric.name}, in the minority, has accepted {len(still)} controls: {still[:3]}, cut off at {since}")
        return f"machine {at}", slow

    def owned_at(self, node, since, until):
        intervals = self.by.get(node, []) if hasattr(self, "by") else self.history().get(node, [])
        return any(begun - JITTER_S <= until and (over is None or over + JITTER_S >= since) for begun, over, _ in intervals)

    @staticmethod
    def tell(gaps):
        """Prints the result of each kind of fault. `gaps`: (fault, seconds without owner, whether the bus had a leader)."""
        for kind in sorted({kind for kind, *_ in gaps}):
            every, led = [gap for it, gap, _ in gaps if it == kind], [gap for it, gap, led in gaps if it == kind and led]
            of = lambda some: ", ".join(f"{what} {ms(quantile(some, share))}" for what, share in (("p50", 0.5), ("p99", 0.99), ("longest", 1)))
            print(f"{kind}: {len(every)} changes of ownership, without an owner {of(every)} ms"
                  f"{f'; {len(led)} of them while the bus had a leader, {of(led)} ms' if led and led != every else ''}")
            if kind == "kill-ric" and led:
                p99 = quantile(led, 0.99)
                print(f"  while the bus has a leader p99 {ms(p99)} ms: {'holds' if p99 <= GAP_S else 'FAILS'} (<= {GAP_S} s)")

    def cpu(self):
        """User and system time of all running processes, by kind and process."""
        kinds = {"rics": [ric.process for ric in self.rics], "nats": self.nats, "base_stations": [self.fleet],
                 "xapps": self.monitors + self.orders}
        return {kind: {it.child.pid: cpu_s(it.child.pid) for it in some if it} for kind, some in kinds.items()}

    def spent(self, before=None):
        """CPU time by kind of process, in total or since `before`, without processes that have exited."""
        return {kind: round(sum(now - (before or {}).get(kind, {}).get(pid, 0) for pid, now in some.items()), 2) for kind, some in self.cpu().items()}

    def check(self):
        """Checks the invariants of the whole run."""
        now, self.by, found = time.monotonic(), self.history(), []
        untold = sum(ric.untold for ric in self.rics)
        if untold:
            raise Failed(f"RICs have dropped {untold} events: the history is incomplete")
        for node, intervals in self.by.items():
            found += [(node, a, b) for a, b in zip(intervals, intervals[1:]) if b[0] < (now if a[1] is None else a[1]) - JITTER_S]
        if found:
            raise Failed(f"two owners at once: {found[:3]}")
        if not self.orders:
            return
        for order in self.orders:
            order.end(signal.SIGTERM)
        time.sleep(0.2)
        executed = {}
        with open(f"{self.folder}/pings") as lines:
            for line in lines:
                node, number = line.rsplit(" ", 1)
                executed[int(number)] = executed.get(int(number), []) + [node]
        lost = [ack for ack in self.acks if ack[2] not in executed.get(ack[1], [])]
        twice = [number for number, nodes in executed.items() if len(nodes) > 1]
        unowned = [ack for ack in self.acks if not self.owned_at(ack[2], ack[0] - ack[3] - SLACK_S, ack[0])]
        print(f"{len(self.acks)} controls acknowledged, {len(self.fails)} failed; {len(lost)} acknowledged and never executed, "
              f"{len(twice)} executed twice, {len(unowned)} acknowledged while no RIC owned their base station")
        if lost or twice or unowned or not self.acks:
            raise Failed(f"controls: {lost[:2]} {twice[:2]} {unowned[:2]}")

    def end(self):
        self.probe.end()
        for it in self.others + self.monitors + self.orders + [ric.process for ric in self.rics] + self.nats:
            if it is not None:
                it.end()
        self.network.end()
        if not self.keep:
            shutil.rmtree(self.folder, ignore_errors=True)
