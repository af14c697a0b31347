"""Networks, and a probe of the bus, for scripts/cluster.py."""
import os, socket, subprocess, threading, time

PROBE_S = 0.05  # interval between two writes of a probe
ANSWER_S = 0.3  # maximum response time while there is a leader
LEADERLESS_S = 0.6  # without an acknowledged write for this time, there is no leader


def run(*words):
    subprocess.run(words, check=True)


class Network:
    """Network of the machines: this machine's loopback, or a namespace per machine with links to the bus (can be cut) and to the others."""

    def __init__(self, machines, namespaces):
        self.namespaces, self.holders = namespaces, []
        if not namespaces:
            return
        run("ip", "link", "set", "lo", "up")
        for bridge, net in (("bus", 77), ("access", 78)):
            run("ip", "link", "add", bridge, "type", "bridge")
            run("ip", "address", "add", f"10.{net}.0.254/24", "dev", bridge)
            run("ip", "link", "set", bridge, "up")
        for at in range(machines):
            holder = subprocess.Popen(["unshare", "--net", "sleep", "infinity"])
            self.holders.append(holder)
            own = os.readlink("/proc/self/ns/net")
            while os.readlink(f"/proc/{holder.pid}/ns/net") == own:
                time.sleep(0.01)
            inside = lambda *words: run("nsenter", "-t", str(holder.pid), "-n", *words)
            inside("ip", "link", "set", "lo", "up")
            for bridge, net in (("bus", 77), ("access", 78)):
                run("ip", "link", "add", f"{bridge}-{at}", "type", "veth", "peer", "name", bridge, "netns", str(holder.pid))
                run("ip", "link", "set", f"{bridge}-{at}", "master", bridge, "up")
                inside("ip", "address", "add", f"10.{net}.0.{at + 1}/24", "dev", bridge)
                inside("ip", "link", "set", bridge, "up")

    def hosts(self, at):
        """Addresses of a machine on the bus's network and on the other network."""
        return (f"10.77.0.{at + 1}", f"10.78.0.{at + 1}") if self.namespaces else ("127.0.0.1", "127.0.0.1")

    def ports(self, _, count):
        sockets = [socket.socket() for _ in range(count)]
        for it in sockets:
            it.bind(("127.0.0.1", 0))
        ports = [it.getsockname()[1] for it in sockets]
        for it in sockets:
            it.close()
        return ports

    def within(self, at, argv):
        return ["nsenter", "-t", str(self.holders[at].pid), "-n", *argv] if self.namespaces else argv

    def cut(self, at, off):
        run("ip", "link", "set", f"bus-{at}", "down" if off else "up")

    def end(self):
        for holder in self.holders:
            holder.kill()
            holder.wait()


class Probe:
    """Writes to the bus's bucket continuously, through each server. While no write is acknowledged, the bus has no leader."""

    def __init__(self, network, servers):
        self.servers, self.acks, self.over = servers, [], False
        self.threads = [threading.Thread(target=self._probe, args=(it,), daemon=True) for it in servers]

    def start(self):
        self.begun = time.monotonic()
        for thread in self.threads:
            thread.start()

    def _probe(self, server):
        while not self.over:
            try:
                with socket.create_connection(server, ANSWER_S) as it:
                    self._write(it)
            except OSError:
                time.sleep(0.1)

    def _write(self, it):
        lines, number = it.makefile("rb"), 0
        it.sendall(b'CONNECT {"verbose":false,"name":"probe"}\r\nSUB probe.%d 1\r\n' % id(it))
        while not self.over:
            number += 1
            it.sendall(b"PUB $KV.ranlab.lab.probe probe.%d 1\r\nx\r\n" % id(it))
            while True:
                line = lines.readline()
                if not line:
                    raise OSError("it has gone")
                if line.startswith(b"PING"):
                    it.sendall(b"PONG\r\n")
                elif line.startswith(b"MSG"):
                    answer = lines.read(int(line.split()[-1]) + 2)
                    if b'"seq"' in answer:
                        self.acks.append(time.monotonic())
                    break
            time.sleep(PROBE_S)

    def _times(self, since, until):
        return [since] + sorted(at for at in list(self.acks) if since < at < until) + [until]

    def longest(self, since):
        """Longest time after `since` without an acknowledged write, in seconds."""
        times = self._times(since, time.monotonic())
        return max(b - a for a, b in zip(times, times[1:]))

    def led(self, since, until):
        """Whether there was a leader throughout."""
        times = self._times(since - LEADERLESS_S / 2, until + LEADERLESS_S / 2)
        return max(b - a for a, b in zip(times, times[1:])) < LEADERLESS_S

    def end(self):
        self.over = True
