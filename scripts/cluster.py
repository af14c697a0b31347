#!/usr/bin/env python3
"""Several RICs as one on this machine: nats-servers, RICs, base stations and xApps; faults; what they cost.

    scripts/cluster.py RANLAB [--nats 3] [--rics 3] [--nodes 30] [--faults kill-ric,kill-nats] [--random N] [--seed 1]
                              [--namespaces] [--xapps 3] [--period 100ms] [--orders 30] [--restart] [--cpu] [--each]

Prints who serves which base station, does each fault in turn (or N at random), and says for how long base stations were owned by
nobody, and controls not acknowledged. Exit 1: a base station had two owners at once, was served by nobody at the end, an xApp misses
one, a control was acknowledged that no base station has executed, that one has executed twice, or that no RIC could own; 77: no
nats-server.

kill-ric     kill -9 of a RIC, which comes back 2 s later     drain-ric   SIGTERM: it hands its base stations over, and comes back
stop-ric     SIGSTOP of a RIC for 3 s                          kill-nats   kill -9 of a nats-server, back 3 s later
stop-nats    SIGSTOP of a nats-server for 3 s                  quorum      SIGSTOP of all nats-servers but one for 6 s
partition    with --namespaces (root): the RIC and the nats-server of one machine are cut off from the others' bus for 6 s, and
             from nothing else
restart      all RICs one after the other: SIGTERM, end, anew (--restart: that alone)

--orders RATE   controls per second in all, from an xApp at each RIC, each with a number; base stations log what they execute
--ramp TIME     the time over which base stations start; without it, 1 ms each
--each          the gap of each base station, too
--cpu           instead of faults: CPU of the RICs over the messages that they read and write, at one, two and three of them; what the
                simulation says for as many (cargo run -p ranlab-sim --example cluster_load)
"""
import argparse, json, os, random, shutil, sys, time
sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))
from cluster_lab import Failed, Lab
import cluster_cpu

FAULTS = ["kill-ric", "drain-ric", "stop-ric", "kill-nats", "stop-nats", "quorum"]


def read_arguments():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("ranlab")
    numbers = (("nats", 3), ("rics", 3), ("nodes", 30), ("seed", 1), ("random", 0), ("xapps", 3), ("orders", 30))
    for name, default in numbers:
        parser.add_argument(f"--{name}", type=int, default=default)
    parser.add_argument("--period", default="100ms")
    parser.add_argument("--ramp")
    parser.add_argument("--faults", default="kill-ric,kill-nats")
    for name in ("namespaces", "restart", "cpu", "each"):
        parser.add_argument(f"--{name}", action="store_true")
    return parser.parse_args()


def main():
    args = read_arguments()
    if not os.access(shutil.which("nats-server") or "/usr/sbin/nats-server", os.X_OK):
        print("nats-server is not installed; scripts/need.sh nats installs it")
        return 77
    if args.namespaces and os.environ.get("RANLAB_CLUSTER_NETWORK") != "own":
        # A network namespace of this run, so that everything created in it disappears with it.
        os.environ["RANLAB_CLUSTER_NETWORK"] = "own"
        os.execvp("unshare", ["unshare", "--net", sys.executable, *sys.argv])
    if args.cpu:
        return cluster_cpu.measure(args)
    chance = random.Random(args.seed)
    kinds = FAULTS + (["partition"] if args.namespaces else [])
    faults = [chance.choice(kinds) for _ in range(args.random)] if args.random else [it for it in args.faults.split(",") if it]
    faults = ["restart"] if args.restart else faults
    lab = Lab(args)
    try:
        begun = time.monotonic()
        lab.start()
        lab.wait(lab.settled, lambda: f"not all base stations are served at first: {lab.rates()}", 60 + args.nodes / 10)
        lab.confirm()
        print(f"{args.nats} nats-servers, {args.rics} RICs, {args.nodes} base stations, {args.xapps} xApps that hear all of them"
              f"{', in namespaces' if args.namespaces else ''}:")
        lab.show()
        print(json.dumps({"start_s": round(time.monotonic() - begun, 1), "cpu_s": lab.spent(), "leases_lost": sum(ric.fences for ric in lab.rics)}))
        gaps = [(name, gap, led) for name in faults for gap, led, _ in lab.fault(name, chance)]
        lab.show()
        lab.tell(gaps)
        lab.check()
        print(f"{len(faults)} faults; no base station had two owners at once", flush=True)
        return 0
    except Failed as failed:
        print(f"cluster: {failed}; logs: {lab.folder}", file=sys.stderr)
        lab.keep = True
        return 1
    finally:
        lab.end()


if __name__ == "__main__":
    sys.exit(main())
