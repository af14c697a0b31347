"""A base station and a data network for a running `ranlab upf`, and the UPF itself as a process."""
import json, socket, struct, subprocess, time

UPF, GNB, SERVER = "127.0.0.8", "127.0.1.1", "127.0.0.10"


def checksum(octets):
    octets += b"\0" * (len(octets) & 1)
    total = sum(struct.unpack(f"!{len(octets) // 2}H", octets))
    while total >> 16:
        total = (total & 0xFFFF) + (total >> 16)
    return ~total & 0xFFFF


def packet(source, destination, ports=(5000, 6000), octets=100):
    """A UDP packet over IPv4 or IPv6, `octets` long."""
    if ":" in source:
        length = octets - 40
        head = struct.pack("!IHBB", 0x60000000, length, 17, 64)
        head += socket.inet_pton(socket.AF_INET6, source) + socket.inet_pton(socket.AF_INET6, destination)
    else:
        length = octets - 20
        head = struct.pack("!BBHHHBBH", 0x45, 0, octets, 1, 0, 64, 17, 0) + socket.inet_aton(source) + socket.inet_aton(destination)
        head = head[:10] + struct.pack("!H", checksum(head)) + head[12:]
    return head + struct.pack("!HHHH", *ports, length, 0) + bytes(length - 8)


class Gpdu:
    """A received GTP-U message: type, TEID, QoS flow, user packet."""

    def __init__(self, octets):
        self.kind, self.teid, self.qfi, at = octets[1], struct.unpack("!I", octets[4:8])[0], None, 8
        if octets[0] & 7:
            following, at = octets[11], 12
            while octets[0] & 4 and following:
                if following == 0x85:
                    self.qfi = octets[at + 2] & 63
                length = 4 * octets[at]
                following, at = octets[at + length - 1], at + length
        self.packet = octets[at:]


class Bed:
    """`ranlab upf` with a base station at N3 and a data network at N6."""

    def __init__(self, ranlab, *more):
        self.gnb, self.server = (socket.socket(socket.AF_INET, socket.SOCK_DGRAM) for _ in range(2))
        self.gnb.bind((GNB, 2152))
        self.server.bind((SERVER, 2153))
        command = [ranlab, "upf", "--n4", f"{UPF}:8805", "--n3", f"{UPF}:2152", "--n6", f"udp://{UPF}:2153,{SERVER}:2153", "--format", "json", "-v", *more]
        self.process = subprocess.Popen(command, stdout=subprocess.PIPE, text=True)
        wait_for("the UPF", self.answers)

    def answers(self):
        """Whether the UPF answers a heartbeat (TS 29.244 §7.4.2)."""
        with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as sock:
            sock.settimeout(0.2)
            sock.sendto(bytes([0x20, 1, 0, 12, 0, 0, 1, 0, 0, 96, 0, 4, 0, 0, 0, 1]), (UPF, 8805))
            try:
                return sock.recv(2048)[1] == 2
            except OSError:
                return False

    def received(self, sock, wait=1.0):
        sock.settimeout(wait)
        try:
            return sock.recv(65535)
        except TimeoutError:
            return None

    def up(self, teid, user_packet, qfi):
        """Sends a packet into a tunnel of the UPF. Returns the packet at the data network, or None."""
        head = struct.pack("!BBHI", 0x34, 255, 8 + len(user_packet), teid) + b"\0\0\0\x85\x01\x10" + bytes([qfi, 0])
        self.gnb.sendto(head + user_packet, (UPF, 2152))
        return self.received(self.server, 0.5)

    def down(self, user_packet):
        """Sends a packet to a UE. Returns the message at the base station, or None."""
        self.server.sendto(user_packet, (UPF, 2153))
        octets = self.received(self.gnb, 0.5)
        return octets and Gpdu(octets)

    def end(self):
        """Ends the UPF. Returns its report."""
        self.process.send_signal(2)
        return json.loads(self.process.communicate(timeout=10)[0].splitlines()[-1])


def wait_for(what, condition, seconds=15):
    """Waits until a condition is true. Returns its value."""
    end = time.monotonic() + seconds
    while time.monotonic() < end:
        if value := condition():
            return value
        time.sleep(0.05)
    raise AssertionError(f"this did not happen within {seconds} s: {what}")
