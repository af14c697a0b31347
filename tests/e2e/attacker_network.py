"""An attacker on the network: sends what a listener must survive, and prints a line for each attack.

    attacker_network.py NAME KIND HOST PORT PID [TOKEN]

KIND: frames (length and PDU: E2, E42), stream (any other protocol over TCP), http, or datagrams. The attacker may open
connections and send anything. It does not know TOKEN. Between the attacks, the owner's requests with TOKEN must be answered. An attack
succeeds if the process ends, takes more memory or descriptors than allowed, or gives an answer that it must not give.
"""

import http.client
import os
import pathlib
import random
import socket
import sys
import time

NAME, KIND, HOST, PORT, PID = *sys.argv[1:4], int(sys.argv[4]), int(sys.argv[5])
TOKEN = sys.argv[6] if len(sys.argv) > 6 else None
# Limits of an attack: memory growth in MB, and number of descriptors.
GROWTH_MB = 64
DESCRIPTORS = 1_200
SOURCE = random.Random(20261128)


def resident():
    """Resident memory of the process, in MB."""
    for line in pathlib.Path(f"/proc/{PID}/status").read_text().splitlines():
        if line.startswith("VmRSS"):
            return int(line.split()[1]) / 1024
    raise SystemExit(f"{NAME}: process {PID} has ended")


def descriptors():
    return len(os.listdir(f"/proc/{PID}/fd"))


def connect():
    return socket.create_connection((HOST, PORT), 10)


def send(data, linger=0.0):
    """Sends bytes; returns what came back until the peer closed or was silent for `linger` seconds."""
    with connect() as client:
        try:
            client.sendall(data)
            client.settimeout(max(linger, 0.05))
            answer = b""
            while len(answer) < 1 << 20 and (part := client.recv(65_536)):
                answer += part
            return answer
        except OSError:
            return b""


def status(answer):
    """Status of the first response in these bytes; 0 without one."""
    first = answer.split(b"\r\n", 1)[0].split(b" ")
    return int(first[1]) if first[0].startswith(b"HTTP/1.") and len(first) > 1 else 0


def noise(length):
    return SOURCE.randbytes(length)


# Attacks on all TCP listeners.


def flood():
    """Opens many connections and sends nothing."""
    held = []
    try:
        for _ in range(1_000):
            held.append(connect())
    except OSError:
        pass
    time.sleep(1)
    return held


def garbage():
    for length in (1, 3, 4, 5, 64, 1_500, 65_536):
        for _ in range(20):
            send(noise(length))


def truncated():
    """Announces more bytes than it sends, and disconnects."""
    for data in (b"\x00", b"\x00\x00\x00\x10", b"\x00\x00\x00\x10abc", b"GET / HT", b"POST / HTTP/1.1\r\ncontent-length: 9\r\n\r\n1"):
        for _ in range(20):
            with connect() as client:
                client.sendall(data)


def slow():
    """Sends a byte at a time on many connections."""
    held = []
    for _ in range(200):
        held.append(connect())
    for byte in b"GET / HT" if KIND == "http" else b"\x00\x00\x01G":
        for client in held:
            try:
                client.sendall(bytes([byte]))
            except OSError:
                pass
        time.sleep(0.2)
    return held


# Attacks on listeners with framed messages.


def oversized():
    for head in (b"\xff\xff\xff\xff", b"\x7f\xff\xff\xff", b"\x00\x10\x00\x01"):
        for _ in range(20):
            answer = send(head + noise(65_536), 0.2)
            assert len(answer) < 65_536, "the answer must be shorter than the attack"


def frames():
    """Sends complete frames with meaningless PDUs, including the first bytes of E2AP messages."""
    for begin in (b"", b"\x00\x01\x00", b"\x20\x01\x00", b"\x40\x01\x00", b"\x00\x08\x00", b"\x00\x04\x00", b"\x00\x05\x40"):
        data = b""
        for _ in range(200):
            body = begin + noise(SOURCE.randrange(0, 400))
            data += len(body).to_bytes(4, "big") + body
        send(data, 0.2)


# Attacks on HTTP listeners.


def asked(method, path, headers=(), body=b"", token=None):
    lines = [f"{method} {path} HTTP/1.1", *headers]
    if not any(line.lower().startswith("host:") for line in headers):
        lines.append(f"host: {HOST}:{PORT}")
    if token:
        lines.append(f"authorization: Bearer {token}")
    lines.append("connection: close")
    return send("\r\n".join(lines).encode() + b"\r\n\r\n" + body, 5)


def refused(answer, *statuses):
    got = status(answer)
    assert got in (statuses or (400, 401, 403, 404, 405, 413, 414, 415, 421, 431, 501, 505)), (got, answer[:200])


def guessing():
    """Guesses tokens that differ from the real one in one character."""
    client = http.client.HTTPConnection(HOST, PORT, timeout=10)
    guesses = [TOKEN[:-1], TOKEN + "x", TOKEN.upper(), TOKEN[::-1], "", " ", "x" * 4_000, f"{TOKEN} {TOKEN}"]
    guesses += ["".join(SOURCE.choice("0123456789abcdef") for _ in TOKEN) for _ in range(2_000)]
    for guess in guesses:
        client.request("GET", "/v1/counters", headers={"Authorization": f"Bearer {guess}"})
        answer = client.getresponse()
        answer.read()
        assert answer.status in (401, 404, 400), (guess, answer.status)
    for header in (f"authorization: {TOKEN}", f"authorization: Basic {TOKEN}", f"cookie: token={TOKEN}", f"x-token: {TOKEN}"):
        refused(asked("GET", "/v1/nodes", [header]), 401, 404)
    refused(asked("GET", f"/v1/nodes?token={TOKEN}&access_token={TOKEN}"), 401, 404)


def rebinding():
    for host in ("evil.example", "127.0.0.1.evil.example", "localhost.evil.example", "evil.example:80@127.0.0.1", ""):
        refused(asked("GET", "/v1/nodes", [f"host: {host}"], token=TOKEN), 400, 421)
    refused(asked("GET", "http://evil.example/v1/nodes", token=TOKEN), 400, 421)


def forgery():
    """Sends the requests that a script or form of another web page can send."""
    for origin in ("http://evil.example", "null", f"http://{HOST}:{PORT}.evil.example", f"http://{HOST}:1"):
        for method in ("GET", "POST", "PUT", "DELETE", "OPTIONS"):
            refused(asked(method, "/v1/control", [f"origin: {origin}"], token=TOKEN), 403)
    for form in ("text/plain", "application/x-www-form-urlencoded", "multipart/form-data; boundary=x"):
        head = [f"content-type: {form}", "content-length: 2"]
        refused(asked("POST", "/v1/control", head, b"{}", TOKEN), 404, 405, 415)


def smuggling():
    """Sends requests that can be parsed in two ways. A hidden second request must not be answered."""
    hidden = b"GET /v1/hidden HTTP/1.1\r\nhost: localhost\r\n\r\n"
    both = [
        ["content-length: 5", "transfer-encoding: chunked"],
        ["transfer-encoding: chunked", "content-length: 5"],
        ["content-length: 5", "content-length: 6"],
        ["content-length: +5"],
        ["content-length: 5,6"],
        ["transfer-encoding: xchunked"],
        ["transfer-encoding : chunked"],
        [" content-length: 5"],
        ["transfer-encoding: chunked", "transfer-encoding: identity"],
    ]
    for headers in both:
        answer = asked("POST", "/v1/control", ["content-type: application/json", *headers], b"0\r\n\r\n" + hidden)
        assert answer.count(b"HTTP/1.1 ") <= 1, (headers, answer[:400])
        assert status(answer) not in (200, 204), (headers, answer[:200])


def traversal():
    for path in ("/web/../../../etc/passwd", "/web/%2e%2e/%2e%2e/etc/passwd", "/web/..%2f..%2fetc%2fpasswd", "/web//etc/passwd",
                 "/web/....//etc/passwd", "/web/%00", "//etc/passwd", "/web/..\\..\\etc\\passwd"):
        answer = asked("GET", path, token=TOKEN)
        assert b"root:" not in answer, path
        refused(answer)


def sizes():
    refused(asked("GET", "/" + "a" * 200_000))
    refused(asked("GET", "/v1/nodes", [f"x-{index}: y" for index in range(2_000)], token=TOKEN))
    large = ["content-type: application/json", f"content-length: {1 << 30}"]
    refused(asked("POST", "/v1/control", large, b"[" * 200_000, TOKEN), 0, 400, 404, 405, 413)
    chunks = b"10000\r\n" + b"[" * 65_536 + b"\r\n"
    deep = ["content-type: application/json", "transfer-encoding: chunked"]
    refused(asked("POST", "/v1/control", deep, chunks * 8 + b"0\r\n\r\n", TOKEN), 0, 400, 404, 405, 413)
    packed = ["content-type: application/json", "content-encoding: gzip", "content-length: 20"]
    refused(asked("POST", "/v1/control", packed, noise(20), TOKEN), 400, 404, 405, 415, 422)


def injection():
    """Sends control characters in every field that might reach a log. The caller searches the logs for them."""
    for path in ("/v1/%0aforged%20line", "/v1/nodes/%1b%5b2Jforged/x", "/v1/nodes/a%0d%0aforged"):
        refused(asked("GET", path, token=TOKEN))
    body = b'{"forged\\nforged": "\\u001b[2Jforged\\nforged"}'
    head = ["content-type: application/json", f"content-length: {len(body)}"]
    refused(asked("POST", "/v1/control", head, body, TOKEN), 400, 404, 405, 422)


def datagrams():
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as client:
        for begin in (b"", b"\x20\x01", b"\x20\x05", b"\x21\x32", b"\x21\x34", b"\x30\xff", b"\x30\x01", b"\x34\xff"):
            for _ in range(2_000):
                client.sendto(begin + noise(SOURCE.randrange(0, 1_400)), (HOST, PORT))


ATTACKS = {
    "frames": (flood, garbage, truncated, slow, oversized, frames),
    "stream": (flood, garbage, truncated, slow, oversized),
    "http": (flood, garbage, truncated, slow, guessing, rebinding, forgery, smuggling, traversal, sizes, injection),
    "datagrams": (datagrams,),
}


def owner():
    """Checks that requests of the owner are still answered, from another address."""
    if KIND != "http":
        return
    client = http.client.HTTPConnection(HOST, PORT, timeout=20, source_address=("127.0.0.9", 0))
    client.request("GET", "/healthz")
    answer = client.getresponse()
    answer.read()
    assert answer.status in (200, 204, 401, 404), answer.status


def main():
    before = resident()
    for attack in ATTACKS[KIND]:
        held = attack() or []
        open_now = descriptors()
        owner()
        for client in held:
            client.close()
        grown = resident() - before
        print(f"{NAME:<10} {attack.__name__:<10} +{max(grown, 0):.0f} MB, {open_now} descriptors")
        assert grown < GROWTH_MB, f"{NAME}: {attack.__name__} took {grown:.0f} MB"
        assert open_now < DESCRIPTORS, f"{NAME}: {attack.__name__} took {open_now} descriptors"


main()
