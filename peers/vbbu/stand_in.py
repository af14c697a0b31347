#!/usr/bin/env python3
"""Stands in for a CU or a DU of somebody's own: bursts of 14 datagrams each period, both ways, and what came told at the end.

Nothing in it knows ranlab: what it sends is counted and timed at the network's interfaces.
"""

import argparse
import signal
import socket
import sys
import time

PORT = 7000
SYMBOLS = 14


def arguments():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("role", choices=("cu", "du"))
    parser.add_argument("--own", required=True, help="address of its own")
    parser.add_argument("--peer", required=True, help="the other's address")
    parser.add_argument("--bytes", type=int, default=600)
    parser.add_argument("--period", type=float, default=0.005, help="seconds between two bursts")
    parser.add_argument("--bursts", type=int, default=0, help="end after so many; 0: never")
    return parser.parse_args()


def main():
    wanted = arguments()
    ended = []
    # The first process of a namespace gets no signal that it does not ask for.
    signal.signal(signal.SIGTERM, lambda *_: ended.append(True))
    link = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
    link.bind((wanted.own, PORT))
    link.setblocking(False)
    print("serving", flush=True)
    sent = received = bursts = 0
    due = time.monotonic()
    while not ended and (not wanted.bursts or bursts < wanted.bursts):
        for _ in range(SYMBOLS):
            payload = f"{wanted.role} {sent} ".encode().ljust(wanted.bytes, b".")
            try:
                link.sendto(payload, (wanted.peer, PORT))
                sent += 1
            except OSError:
                pass  # Nobody listens yet, or the queue is full.
        bursts += 1
        while True:
            try:
                link.recv(65536)
                received += 1
            except BlockingIOError:
                break
            except OSError:
                pass
        due += wanted.period
        time.sleep(max(0.0, due - time.monotonic()))
    print(f"sent {sent}, received {received}", flush=True)
    return 3 if wanted.bursts else 0


if __name__ == "__main__":
    sys.exit(main())
