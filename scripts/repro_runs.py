"""Runs the stale and missing rows of docs/reproductions.toml one after the other: `scripts/reproduce.py --missing`."""

import hashlib
import json
import subprocess
import sys
import time
from pathlib import Path

from repro_data import ROOT, load, stored

CAMPAIGNS = ROOT / "target" / "reproduce"
# Maximum duration of a scenario in minutes. Longer scenarios would take days; their rows have reduced scenarios, too.
LONGEST_MIN = 90


def checked(binary, name):
    """Result of `bench check` for a scenario, and the reason why it cannot be run."""
    command = [str(binary), "bench", "check", f"scenarios/{name}.toml", "--format", "json"]
    done = subprocess.run(command, cwd=ROOT, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, check=False)
    if done.returncode:
        return None, (done.stderr.strip().splitlines() or ["bench check fails"])[0]
    plan = json.loads(done.stdout)
    return plan, absent(plan)


def fills(scenario):
    """All lists of `name=value` that a scenario sets for a profile, including those on axes."""
    values = [scenario["settings"].get("sut.fill", [])]
    values += [one for axis in scenario["sweep"].get("axes", []) if axis.get("path") == "sut.fill" for one in axis.get("values", [])]
    for value in values:
        yield [str(one) for one in value] if isinstance(value, list) else [str(value)]


def absent(plan):
    """Reason why a scenario cannot run here, or an empty text."""
    if plan["missing"]:
        return f"not here: {', '.join(map(str, plan['missing']))}"
    for fill in fills(plan["scenario"]):
        said = dict(one.split("=", 1) for one in fill if "=" in one)
        paths = [Path(value) for value in said.values() if value.startswith("/")]
        if "folder" in said and "program" in said:
            paths.append(Path(said["folder"]) / said["program"])
        if lacks := [str(path) for path in paths if not path.exists()]:
            return f"its program is not here: {', '.join(lacks)}"
    if plan["scenario"]["settings"].get("sut.design") == "external":
        return "bring up its UPF first (the scenario says how), and run it by name"
    return ""


def digest(plan):
    """Digest of a scenario; scenarios with the same digest share one campaign."""
    asked = [plan["scenario"][key] for key in ("rig", "settings", "sweep", "search", "measure")]
    return hashlib.sha256(json.dumps(asked, sort_keys=True).encode()).hexdigest()[:12]


def fresh(binary, name):
    """Whether the stored result was measured by the current version."""
    result = stored(name)
    if result is None or "behaviour" not in result:
        return False
    if not result["points"]:
        return True
    command = [str(binary), "bench", "report", f"docs/results/{name}.json", "--out", str(CAMPAIGNS / "judged"), "--format", "json"]
    done = subprocess.run(command, cwd=ROOT, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True, check=False)
    if done.returncode not in (0, 1, 3) or not done.stdout.strip():
        return False
    return all(expect["verdict"] != "stale" for expect in json.loads(done.stdout)["expects"])


def names_of_rows():
    works, _, _ = load()
    return list(dict.fromkeys(name for _, rows in works for row in rows for name in row.names))


def plans(binary, only):
    """(minutes, name, digest of the plan, obstacle) of each scenario to run, shortest first."""
    found, seen = [], {}
    for name in names_of_rows():
        if only and only not in name or fresh(binary, name):
            continue
        plan, why = checked(binary, name)
        if plan is None:
            found.append((0.0, name, name, why))
            continue
        minutes = plan["expected_s"] / 60
        if minutes > LONGEST_MIN:
            why = f"{minutes:.0f} min; its rows have a reduced one"
        shared = seen.setdefault(digest(plan), name)
        found.append((minutes if shared == name else 0.0, name, digest(plan), why))
    order = {key: minutes for minutes, _, key, _ in reversed(found)}
    return sorted(found, key=lambda one: (max(order[one[2]], one[0]), one[2], -one[0]))


def listed(found):
    for minutes, name, _, why in found:
        note = why or ("" if minutes else "the same campaign as the one before")
        print(f"{minutes:7.1f} min  {name:<28} {note}".rstrip())
    total = sum(minutes for minutes, *_, why in found if not why)
    print(f"{total:7.1f} min  in total, for {sum(not why for *_, why in found)} scenarios")


def missing(wanted):
    """Runs stale and missing scenarios. An interrupted campaign is resumed; completed points are not repeated."""
    found = plans(wanted.binary, wanted.only)
    listed(found)
    if wanted.dry_run:
        return
    CAMPAIGNS.mkdir(parents=True, exist_ok=True)
    failed, end = [], time.monotonic() + 60 * wanted.minutes if wanted.minutes else None
    for minutes, name, key, why in found:
        if why:
            continue
        if end and time.monotonic() + 60 * minutes > end:
            print(f"{name}: {minutes:.0f} min exceed the remaining time", flush=True)
            continue
        print(f"{name}: about {minutes:.0f} min", flush=True)
        command = [sys.executable, str(ROOT / "scripts" / "reproduce.py"), f"scenarios/{name}.toml", "--binary", str(wanted.binary.resolve())]
        command += ["--out", str(CAMPAIGNS / key), "--allow-commands"] + [word for one in wanted.set for word in ("--set", one)]
        command += ["--remark", wanted.remark] if wanted.remark else []
        log = CAMPAIGNS / f"{name.replace('/', '-')}.log"
        with log.open("w") as output:
            try:
                done = subprocess.run(command, cwd=ROOT, stdout=output, stderr=subprocess.STDOUT, check=False)
            except KeyboardInterrupt:
                sys.exit(f"reproduce: interrupted in {name}. The same command continues there.")
        print("  " + log.read_text().strip().splitlines()[-1] if done.returncode else "  kept", flush=True)
        failed += [name] * (done.returncode != 0)
    subprocess.run([str(ROOT / "scripts" / "reproductions.py"), "--curves", str(wanted.binary.resolve())], cwd=ROOT, check=True)
    if failed:
        sys.exit(f"reproduce: not kept: {', '.join(failed)}; see target/reproduce/*.log. The same command continues with them.")
