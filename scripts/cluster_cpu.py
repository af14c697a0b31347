"""`scripts/cluster.py RANLAB --cpu`: measures the CPU time of one, two and three RICs, and compares it with the simulation."""
import copy, itertools, json, re, subprocess, time, urllib.request
from cluster_lab import Failed, Lab, cpu_s

SETTLE_S = 3
WINDOW_S = 12
# Base stations start over this number of reporting periods while xApps are connected, so that no two of them report at the
# same time. Base stations that start together report in bunches. A RIC would then read many reports at once, and the cost
# of a report would depend on the size of the bunches.
RAMP_PERIODS = 71
WITHIN = 0.15  # maximum relative error of the predicted cost of three RICs
SIMULATED = "1,2,3,4,5,6,7,8,10,12,14,16"
SIMULATED_NODES = 16  # messages per report do not depend on this number
KINDS = "a report read", "one read of another RIC", "written", "written of another RIC's"


def counted(ric):
    with urllib.request.urlopen(f"http://127.0.0.1:{ric.http}/metrics", timeout=10) as it:
        text = it.read().decode()
    number = lambda name: int(re.search(rf"^{name} (\d+)$", text, re.M)[1])
    return number("ranlab_ric_indications_total"), number("ranlab_ric_indications_forwarded_total")


def look(lab):
    """Reads CPU time before counters, so that the cost of reading the counters falls into only one window."""
    cpu = sum(cpu_s(ric.process.child.pid) for ric in lab.rics)
    pairs = [counted(ric) for ric in lab.rics]
    return cpu, sum(read for read, _ in pairs), sum(written for _, written in pairs), time.monotonic()


def live(args, rics, xapps):
    args = copy.copy(args)
    args.rics, args.xapps, args.orders, args.namespaces = rics, xapps, 0, False
    args.ramp = f"{RAMP_PERIODS * Lab.seconds(args.period):.3f}s"
    lab = Lab(args)
    try:
        lab.start()
        lab.wait(lab.settled, lambda: f"at {rics} RICs xApps see {lab.rates()}", 60 + args.nodes / 10)
        lab.confirm()
        time.sleep(SETTLE_S)
        before = look(lab)
        time.sleep(WINDOW_S)
        cpu, read, written, seconds = (now - then for now, then in zip(look(lab), before))
        reports = read / rics  # each RIC reads each report once
        out = {"rics": rics, "xapps": xapps, "seconds": round(seconds, 2), "cpu_s": round(cpu, 2), "cores": round(cpu / seconds, 3),
               "read": read, "written": written, "us_per_message": round(1e6 * cpu / (read + written), 3),
               "us_per_report": round(1e6 * cpu / reports, 2)}
        print(json.dumps(out), flush=True)
        return out
    except Failed:
        lab.keep = True
        raise
    finally:
        lab.end()


def simulated(xapps, rics, *more):
    argv = ["cargo", "run", "-q", "-p", "ranlab-sim", "--example", "cluster_load", "--", str(SIMULATED_NODES), str(xapps), rics, *more]
    return subprocess.run(argv, check=True, capture_output=True, text=True).stdout.splitlines()


def kinds(line):
    """Messages of each kind per report, as counted by the simulation."""
    relayed, written_on = line["read_per_report"] - 1, line["relayed_written_per_report"]
    return 1, relayed, line["messages_per_report"] - line["read_per_report"] - written_on, written_on


def solved(rows, values):
    """Solves least squares by Gaussian elimination; None without a unique solution."""
    size = len(rows[0])
    matrix = [[sum(row[a] * row[b] for row in rows) for b in range(size)] + [sum(row[a] * v for row, v in zip(rows, values))]
              for a in range(size)]
    for at in range(size):
        pivot = max(range(at, size), key=lambda it: abs(matrix[it][at]))
        matrix[at], matrix[pivot] = matrix[pivot], matrix[at]
        if abs(matrix[at][at]) < 1e-9:
            return None
        for it in range(size):
            if it != at:
                share = matrix[it][at] / matrix[at][at]
                matrix[it] = [x - share * y for x, y in zip(matrix[it], matrix[at])]
    return [matrix[it][size] / matrix[it][it] for it in range(size)]


def law(points):
    """Fits a non-negative cost of each kind of message, in us, to pairs of (messages per report, us per report), by relative errors."""
    best = None
    places = range(len(KINDS))
    for some in itertools.chain.from_iterable(itertools.combinations(places, size) for size in range(1, len(KINDS) + 1)):
        found = solved([[row[it] / us for it in some] for row, us in points], [1] * len(points))
        if found is None or min(found) < 0:
            continue
        costs = [0.0] * len(KINDS)
        for it, cost in zip(some, found):
            costs[it] = cost
        error = sum((sum(a * b for a, b in zip(costs, row)) / us - 1) ** 2 for row, us in points)
        best = min(best or (error, costs), (error, costs))
    return best[1]


def measure(args):
    """Fits four costs to seven points with one and two RICs. Between these, measures three RICs, whose cost the fit must predict."""
    many = args.xapps
    plan = [(rics, max(rics, round(share * many))) for share, rics in
            ((1, 1), (1, 2), (1, 3), (0.4, 1), (0.4, 2), (1, 3), (0, 1), (0.7, 1), (0.2, 2), (1, 3))]
    try:
        found = [live(args, *it) for it in plan]
    except Failed as failed:
        print(f"cluster: {failed}")
        return 1
    counts, agree = {}, True
    for rics, xapps in sorted(set(plan)):
        counts[rics, xapps] = kinds(json.loads(simulated(xapps, str(rics))[0]))
    for it in found:
        counted_per_report = (it["read"] + it["written"]) / it["read"] * it["rics"]
        off = sum(counts[it["rics"], it["xapps"]]) / counted_per_report - 1
        agree &= abs(off) <= 0.05
        print(f"{it['rics']} RICs, {it['xapps']} xApps: {counted_per_report:.2f} messages per report live, simulated {off:+.1%}")
    costs = law([(counts[it["rics"], it["xapps"]], it["us_per_report"]) for it in found if it["rics"] < 3])
    print("us: " + ", ".join(f"{kind} {cost:.2f}" for kind, cost in zip(KINDS, costs)))
    for it in found:
        foretold = sum(a * b for a, b in zip(costs, counts[it["rics"], it["xapps"]]))
        off = foretold / it["us_per_report"] - 1
        what = "used for the fit" if it["rics"] < 3 else f"{'holds' if abs(off) <= WITHIN else 'FAILS'} (within {WITHIN:.0%})"
        agree &= it["rics"] < 3 or abs(off) <= WITHIN
        print(f"{it['rics']} RICs, {it['xapps']} xApps: {foretold:.1f} us per report predicted, {it['us_per_report']:.1f} live, {off:+.1%}, {what}")
    for line in simulated(many, SIMULATED, ",".join(f"{cost:.3f}" for cost in costs)):
        print(line)
    return 0 if agree else 1
