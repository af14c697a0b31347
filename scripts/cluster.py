#!/usr/bin/env python3
"""Tests several RICs that act as one, on this machine: nats-servers, RICs, base stations, xApps, and faults.

    scripts/cluster.py RANLAB [--nats 3] [--rics 3] [--nodes 30] [--faults kill-ric,kill-nats] [--random N] [--seed 1]
                              [--namespaces] [--xapps 3] [--period 100ms] [--orders 30] [--restart] [--cpu] [--each]

Prints which RIC serves which base station. Then causes each fault in turn (or N random ones) and prints how long base stations had
no owner, and how long no control was acknowledged.

Exit code 1: a base station had two owners at once, or had none at the end; an xApp misses a base station; or an acknowledged control
was not executed, was executed twice, or was acknowledged by a RIC that did not own the base station. Exit code 77: nats-server is
not installed.

Faults:

kill-ric     kill -9 of a RIC, which restarts 2 s later       drain-ric   SIGTERM: it hands over its base stations, and restarts
stop-ric     SIGSTOP of a RIC for 3 s                         kill-nats   kill -9 of a nats-server, which restarts 3 s later
stop-nats    SIGSTOP of a nats-server for 3 s                 quorum      SIGSTOP of all nats-servers but one for 6 s
partition    with --namespaces (root): for 6 s, the RIC and the nats-server of one machine cannot reach the bus of the others; all
             other connections work
restart      SIGTERM, exit and restart of all RICs, one after the other (--restart: only this fault)

Options:

--orders RATE   total controls per second, numbered, sent by an xApp at each RIC. Base stations log the controls that they execute
--ramp TIME     time over which base stations start; default: 1 ms for each
--each          also print the time without owner of each base station
--cpu           instead of faults: compare the CPU time of one, two and three RICs per message read or written with the simulation of
                the same number of RICs (cargo run -p ranlab-sim --example cluster_load)
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
        lab.wait(lab.settled, lambda: f"before the first fault, not all base stations are served: {lab.rates()}", 60 + args.nodes / 10)
        lab.confirm()
        print(f"{args.nats} nats-servers, {args.rics} RICs, {args.nodes} base stations, {args.xapps} xApps that subscribe to all of them"
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
