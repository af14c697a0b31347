#!/usr/bin/env python3
"""Runs a scenario and stores its result as docs/results/<scenario>.json, from which scripts/reproductions.py makes its page.

  scripts/reproduce.py scenarios/flexric/fig9b.toml
  scripts/reproduce.py scenarios/flexric/fig8b.toml --set measure.duration=5s --set measure.repeats=3
  scripts/reproduce.py --again                       judges all stored results by the current rules; measures nothing
  scripts/reproduce.py --missing --dry-run           lists the rows that are stale or were never run, with minutes
  scripts/reproduce.py --missing [--minutes 120]     runs these rows one after the other, shortest first, and writes the pages

The result and the page contain all values that --set changes. The result of a quick run is not stored. A stored result contains the
verdicts and, for each point, its outcome, the metrics that figures and expectations of the scenario name (for each repeat, if points
are compared repeat by repeat), and the distributions that the figures draw, in few steps. The campaign stays in --out. The script
measures with the release binary, which must be built before.
"""

import argparse
import datetime
import json
import os
import re
import subprocess
import sys
import tempfile
import tomllib
from pathlib import Path

import repro_runs

ROOT = Path(__file__).resolve().parent.parent
# Maximum size of a result in bytes. Results are read by people and compared by git.
BYTES_MAX = 100_000
METRICS_EXTRA = (
    "loss_ratio", "delivered_ratio", "tool.cpu_cores", "tool.skipped_ratio", "tool.unsent_ratio",
    "host.steal_share", "host.other_share", "host.disturbed",
)  # fmt: skip
NUMBERS = re.compile(r"\[\n\s*(-?[0-9][^\[\]{}\"]*?)\n\s*\]")
# Texts of the form `ROW against ROW: ...`, which state where two rows of a figure differ and which stage hides the
# difference.
ATTRIBUTED = re.compile(r"\S+ against \S+: before the radio ")
LEFT_OUT = re.compile(r"The load generator left out up to ([0-9.]+) %")


def arguments():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("scenario", type=Path, nargs="?")
    parser.add_argument("--again", action="store_true", help="judge the stored results again")
    parser.add_argument("--missing", action="store_true", help="run every row that is stale or was never run")
    parser.add_argument("--only", default="", metavar="TEXT", help="with --missing: scenarios whose path contains this")
    parser.add_argument("--minutes", type=float, metavar="N", help="with --missing: begin nothing that would end after N minutes")
    parser.add_argument("--dry-run", action="store_true", help="with --missing: list them, run nothing")
    parser.add_argument("--set", action="append", default=[], metavar="PATH=VALUE")
    parser.add_argument("--allow-commands", action="store_true", help="run the commands of a third-party profile")
    parser.add_argument("--out", type=Path, help="folder of the campaign [default: a temporary one]")
    parser.add_argument("--finished", action="store_true", help="--out holds the campaign already: judge it, measure nothing")
    parser.add_argument("--binary", type=Path, default=ROOT / "target" / "release" / "ranlab")
    parser.add_argument("--figure", type=int, metavar="N", help="keep figure N of the report as docs/figures/<scenario>.svg")
    parser.add_argument("--remark", default="", help="what a reader must know of this run")
    wanted = parser.parse_args()
    if wanted.again + wanted.missing + bool(wanted.scenario) != 1:
        parser.error("name a scenario, or --again, or --missing")
    if wanted.finished and not wanted.out:
        parser.error("--finished needs --out, the folder of the campaign")
    if not wanted.binary.is_file():
        parser.error(f"there is no program {wanted.binary}; build it with `cargo build --release`, or name it by --binary")
    return wanted


def run(wanted, out):
    """Runs `bench run`, or `bench report` for a completed campaign."""
    command = [str(wanted.binary), "bench", "run", str(wanted.scenario), "--out", str(out), "--format", "json"]
    command += [word for one in wanted.set for word in ("--set", one)] + ["--allow-commands"] * wanted.allow_commands
    if wanted.finished:
        command = [str(wanted.binary), "bench", "report", str(out), "--format", "json"]
    done = subprocess.run(command, stdout=subprocess.PIPE, text=True, check=False)
    if done.returncode not in (0, 1, 3) or not done.stdout.strip():
        sys.exit(f"reproduce: bench run exits with {done.returncode}; nothing is kept")
    return json.loads(done.stdout)


def query(binary, out, sql):
    command = [str(binary), "bench", "query", str(out), sql, "--format", "json"]
    return json.loads(subprocess.run(command, stdout=subprocess.PIPE, text=True, check=True).stdout)["rows"]


def machine(facts):
    """Description of the machine in one line."""
    cpu, cpus = facts.get("cpu_model") or "unknown CPU", facts.get("cpus") or os.cpu_count()
    words = [f"{cpus} CPUs", str(cpu), f"Linux {facts.get('kernel') or os.uname().release}"]
    if facts.get("virtual_machine"):
        words.append("virtual")
    return ", ".join(words)


def git(*words):
    return subprocess.run(["git", *words], cwd=ROOT, stdout=subprocess.PIPE, text=True, check=False).stdout.strip()


def named(resolved):
    """Metrics named by figures and expectations of the resolved scenario."""
    names = {METRIC for METRIC in METRICS_EXTRA}
    for plot in resolved.get("plots", []):
        for name in filter(None, (plot.get("y"), plot.get("z"), *plot.get("stack", []))):
            names.update((name, f"{name}_p50", f"{name}_p99"))
    names.update(expect["metric"] for expect in resolved.get("expects", []))
    return names


def keep_figure(folder, number, name):
    """Stores a drawing of the report without its embedded font, which the page provides."""
    drawing = (folder / f"figure-{number}.svg").read_text()
    drawing = re.sub(r"@font-face\{.*?\}", "", drawing, count=1, flags=re.S)
    file = ROOT / "docs" / "figures" / f"{name.replace('/', '-')}.svg"
    file.parent.mkdir(parents=True, exist_ok=True)
    file.write_text(drawing)
    print(f"{file.relative_to(ROOT)}: {len(drawing)} bytes")


def compared(resolved):
    """Metrics that an expectation compares between points; the values of each repeat are stored for them."""
    return {expect["metric"] for expect in resolved.get("expects", []) if expect["law"]["type"] in ("ratio", "order", "shape")}


def rounded(value):
    if isinstance(value, list):
        # Six digits are stored, because differences of paired repeats are much smaller than the values.
        return [float(f"{one:.6g}") for one in value]
    return float(f"{value:.4g}") if isinstance(value, float) else value


def reduced(points, names, compared):
    kept = []
    for point in points:
        metrics = {
            name: {
                part: rounded(value)
                for part, value in metric.items()
                if value not in (None, "") and (part != "values" or name in compared)
            }
            for name, metric in point["metrics"].items()
            if name in names
        }
        one = {"axes": point["axes"], "outcome": point["outcome"], "metrics": metrics}
        if point.get("reason"):
            one["reason"] = point["reason"]
        if point.get("distributions"):
            one["distributions"] = point["distributions"]
        kept.append(one)
    return kept


def text_of(kept):
    """JSON for readers and git, with lists of numbers on one line."""
    text = json.dumps(kept, ensure_ascii=False, indent=1) + "\n"
    return NUMBERS.sub(lambda found: "[" + re.sub(r",\s+", ", ", found[1]) + "]", text)


def unsent(warnings):
    """Largest share of the load that a repeat omitted, from the warnings."""
    shares = [float(found[1]) / 100 for warning in warnings if (found := LEFT_OUT.search(warning))]
    return round(max(shares, default=0.0), 6)


def remembering(expects, before):
    """Expectations, with the earlier verdict for stale ones."""
    same = lambda expect: (expect["metric"], expect.get("where"), expect["paper"])
    verdicts = {same(expect): expect.get("then") or expect["verdict"] for expect in before}
    for expect in expects:
        then = verdicts.get(same(expect))
        if expect["verdict"] == "stale" and then and then != "stale":
            expect["then"] = then
    return expects


def again(wanted):
    """Judges every stored result by the current rules, without changing measured values."""
    for file in sorted((ROOT / "docs" / "results").rglob("*.json")):
        kept = json.loads(file.read_text())
        kept["unsent_share_max"] = unsent(kept["warnings"])
        file.write_text(text_of(kept))
        if not kept["points"]:
            continue
        with tempfile.TemporaryDirectory() as out:
            command = [str(wanted.binary), "bench", "report", str(file), "--out", out, "--format", "json"]
            done = subprocess.run(command, stdout=subprocess.PIPE, text=True, check=True)
        kept["expects"] = remembering(json.loads(done.stdout)["expects"], kept["expects"])
        file.write_text(text_of(kept))
        verdicts = [f"{expect['class']} {expect['verdict']}" for expect in kept["expects"]]
        print(f"{file.relative_to(ROOT)}: {', '.join(verdicts)}")


def main():
    wanted = arguments()
    if wanted.again:
        again(wanted)
        return
    if wanted.missing:
        repro_runs.missing(wanted)
        return
    name = str(wanted.scenario.resolve().relative_to(ROOT / "scenarios").with_suffix(""))
    tomllib.loads(wanted.scenario.read_text())
    with tempfile.TemporaryDirectory() as temporary:
        out = wanted.out or Path(temporary)
        result = run(wanted, out)
        if wanted.figure:
            keep_figure(out, wanted.figure, name)
        header = dict(query(wanted.binary, out, "SELECT key, value FROM campaign"))
    resolved, facts = json.loads(header["scenario"]), json.loads(header["host"])
    if resolved.get("quick"):
        sys.exit("reproduce: a quick run reproduces nothing; nothing is kept")
    counting = sum(point["outcome"] in ("ok", "degraded", "misses_budget", "overloaded") for point in result["points"])
    sets = "".join(f" --set {one}" for one in wanted.set) + " --allow-commands" * wanted.allow_commands
    kept = {
        "scenario": name,
        "command": f"ranlab bench run scenarios/{name}.toml{sets}",
        "measured": datetime.datetime.now(datetime.timezone.utc).strftime("%Y-%m-%d"),
        "commit": git("rev-parse", "--short=10", "HEAD"),
        "behaviour": result["behaviour"],
        "machine": machine(facts),
        "remark": wanted.remark,
        "warnings": result["warnings"],
        "unsent_share_max": unsent(result["warnings"]),
        "counting": counting,
        "attribution": [sentence for sentence in result.get("verdict", []) if ATTRIBUTED.match(sentence)],
        "points": reduced(result["points"], named(resolved), compared(resolved)),
        "expects": result["expects"],
    }
    if not kept["attribution"]:
        del kept["attribution"]
    text = text_of(kept)
    if len(text) > BYTES_MAX:
        kept["points"] = []
        kept["remark"] = f"{kept['remark']} The points are too many to keep here.".strip()
        text = text_of(kept)
    file = ROOT / "docs" / "results" / f"{name}.json"
    file.parent.mkdir(parents=True, exist_ok=True)
    file.write_text(text)
    verdicts = [expect["verdict"] for expect in result["expects"]]
    print(f"{file.relative_to(ROOT)}: {counting} of {len(result['points'])} points measured; {', '.join(verdicts)}")
    for expect in result["expects"]:
        print(f"  {expect['verdict']:<12} {expect['metric']} {expect.get('where', '')}: {expect['paper']} against {expect['ours']}")


if __name__ == "__main__":
    main()
