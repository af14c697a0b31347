"""CPU per message of one, two and three RICs, and what the simulation makes of it: scripts/cluster.py RANLAB --cpu."""
import copy, json, re, subprocess, time, urllib.request
from cluster_lab import Failed, Lab, cpu_s

SETTLE_S = 5
WINDOW_S = 20
WITHIN = 0.15  # of the live figure at three RICs
SIMULATED = "1,2,3,4,5,6,7,8,10,12,14,16"
SIMULATED_NODES = 16  # messages per report do not depend on it


def counted(ric):
    with urllib.request.urlopen(f"http://127.0.0.1:{ric.http}/metrics", timeout=10) as it:
        text = it.read().decode()
    number = lambda name: int(re.search(rf"^{name} (\d+)$", text, re.M)[1])
    return number("ranlab_ric_indications_total"), number("ranlab_ric_indications_forwarded_total")


def look(lab):
    """Cost before counters, so that the metrics' own page is in no window twice."""
    cpu = sum(cpu_s(ric.process.child.pid) for ric in lab.rics)
    pairs = [counted(ric) for ric in lab.rics]
    return cpu, sum(read for read, _ in pairs), sum(written for _, written in pairs), lab.fleet.last[-1]["sent"], time.monotonic()


def live(args, rics):
    args = copy.copy(args)
    args.rics, args.orders, args.namespaces = rics, 0, False
    lab = Lab(args)
    try:
        lab.start()
        lab.wait(lab.settled, lambda: f"at {rics} RICs xApps see {lab.rates()}", 60 + args.nodes / 10)
        time.sleep(SETTLE_S)
        before = look(lab)
        time.sleep(WINDOW_S)
        cpu, read, written, sent, seconds = (now - then for now, then in zip(look(lab), before))
        messages = read + written
        # What the fleet counts comes once a second: reports are what RICs read of base stations, which is all beyond the relayed.
        out = {"rics": rics, "seconds": round(seconds, 2), "cpu_s": round(cpu, 2), "cores": round(cpu / seconds, 3), "read": read,
               "written": written, "sent_by_base_stations": sent, "us_per_message": round(1e6 * cpu / messages, 3),
               "us_per_report": round(1e6 * cpu / sent, 3)}
        print(json.dumps(out), flush=True)
        return out
    except Failed:
        lab.keep = True
        raise
    finally:
        lab.end()


def simulated(args, *more):
    argv = ["cargo", "run", "-q", "-p", "ranlab-sim", "--example", "cluster_load", "--", str(SIMULATED_NODES), str(args.xapps),
            SIMULATED, *more]
    return subprocess.run(argv, check=True, capture_output=True, text=True).stdout.splitlines()


def measure(args):
    """One parameter, the cost of a message, from two points; it has to foretell the third."""
    try:
        found = [live(args, rics) for rics in (1, 2, 3)]
    except Failed as failed:
        print(f"cluster: {failed}")
        return 1
    pairs = [(it["cpu_s"], it["read"] + it["written"]) for it in found[:2]]
    cost = sum(cpu * messages for cpu, messages in pairs) / sum(messages ** 2 for _, messages in pairs)
    lines = simulated(args, str(1e6 * cost))
    per_report = {it["rics"]: it["messages_per_report"] for it in map(json.loads, (x for x in lines if "messages_per_report" in x))}
    for line in lines:
        print(line)
    agree = True
    for it in found:
        counted_per_report = (it["read"] + it["written"]) / it["sent_by_base_stations"]
        off = per_report[it["rics"]] / counted_per_report - 1
        agree &= abs(off) <= 0.05
        print(f"{it['rics']} RICs: {counted_per_report:.2f} messages per report live, {per_report[it['rics']]:.2f} simulated ({off:+.1%})")
    foretold = 1e6 * cost * per_report[3]
    off = foretold / found[2]["us_per_report"] - 1
    holds = abs(off) <= WITHIN and agree
    print(f"{1e6 * cost:.2f} us per message from one and two RICs; three: {foretold:.1f} us per report foretold, "
          f"{found[2]['us_per_report']:.1f} live, {off:+.1%}: {'holds' if holds else 'FAILS'} (within {WITHIN:.0%})")
    return 0 if holds else 1
