"""Rows of the reproductions. A row is a published result: its entry in docs/reproductions.toml, the laws of its scenarios, and its
stored results in docs/results."""

import json
import re
import tomllib
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
RESULTS = ROOT / "docs" / "results"
# Verdicts, in the order in which readers are interested in them.
VERDICTS = ("holds", "differs", "inconclusive", "fails", "unmeasurable", "stale")
# Classes of expectations, by their source.
CLASSES = ("paper", "tuned", "own")
KINDS = ("real", "model", "stand-in")
# Verdicts of a row. The row has the worst verdict of its laws of class `paper`, in this order.
WORDS = ("differs", "inconclusive", "unmeasurable", "holds")
# Other verdicts of a row: only tuned laws; no published value; measured with another version; never measured; shown by
# tests.
OTHER_WORDS = ("tuned", "own", "stale", "unrun", "tested")
SHORT_MAX = 18


class Fault(Exception):
    """Error in a file."""


def scenarios():
    """All scenarios, parsed, by their path below scenarios/ without extension. Fails if a file is invalid."""
    found = {}
    for path in sorted((ROOT / "scenarios").rglob("*.toml")):
        try:
            found[str(path.relative_to(ROOT / "scenarios").with_suffix(""))] = tomllib.loads(path.read_text())
        except tomllib.TOMLDecodeError as error:
            raise Fault(f"{path.relative_to(ROOT)}: {error}") from error
    return found


def rig_of(name):
    """The rig of a scenario, or of the scenario that it extends."""
    path = ROOT / "scenarios" / f"{name}.toml"
    while path.exists():
        scenario = tomllib.loads(path.read_text())
        if "rig" in scenario or "extends" not in scenario:
            return scenario.get("rig")
        path = path.parent / scenario["extends"]
    return None


def with_current_names(text, name):
    """Text of a stored result with the current names of settings and metrics, as the schema lists them."""
    schema = json.loads((ROOT / "docs" / "scenario.schema.json").read_text())
    for earlier, current in schema.get("x-renamed", {}).get(rig_of(name), {}).items():
        # An earlier name of one word is replaced only if it is a whole text.
        bounds = (r"(?<![\w.])", r"(?!\w)") if re.search(r"[._]", earlier) else ('(?<=")', '(?=")')
        text = re.sub(bounds[0] + re.escape(earlier) + bounds[1], current, text)
    return text


def stored(name):
    """Stored result of a scenario, or None. Results without `behaviour` are from versions that did not record it."""
    path = RESULTS / f"{name}.json"
    if not path.exists():
        return None
    try:
        result = json.loads(with_current_names(path.read_text(), name))
        verdicts = {expect["verdict"] for expect in result["expects"]}
    except (json.JSONDecodeError, KeyError, TypeError) as error:
        raise Fault(f"{path.relative_to(ROOT)} was not written by scripts/reproduce.py: {error}") from error
    if result.get("quick"):
        raise Fault(f"{path.relative_to(ROOT)} is a quick run, which reproduces nothing")
    if unknown := verdicts - set(VERDICTS):
        raise Fault(f"{path.relative_to(ROOT)}: unknown verdict {', '.join(sorted(unknown))}; allowed: {', '.join(VERDICTS)}")
    return result


def expects_of(name, known):
    """The expectations of a scenario file. They replace those of the scenario that it extends."""
    scenario = known[name]
    if "expect" in scenario:
        return scenario["expect"]
    parent = scenario.get("extends")
    if not parent:
        return []
    folder = Path(name).parent / parent
    return expects_of(str(Path(*normal(folder.parts)).with_suffix("")), known)


def normal(parts):
    kept = []
    for part in parts:
        kept = kept[:-1] if part == ".." else [*kept, part]
    return kept


def number(value):
    return f"{value:g}" if isinstance(value, float) else str(value)


def stated(expect):
    """Law of an expectation in a scenario file, worded as in a report."""
    bounds = ", ".join(f"{sign} {number(expect[key])}" for sign, key in (("≥", "at_least"), ("≤", "at_most")) if key in expect)
    if "value" in expect or "ratio" in expect:
        bounds = f"{number(expect.get('value', expect.get('ratio')))} ± {number(100 * expect.get('tolerance', 0.1))} %"
    if "order" in expect:
        return f"{expect['along']}: {' > '.join(map(str, expect['order']))}"
    if "shape" in expect:
        return f"{expect['shape']} along {expect['along']}"
    if "against" in expect:
        return f"{bounds} times that at {places(expect['against'])}"
    return bounds


def places(where):
    return ", ".join(f"{key} = {json.dumps(value) if isinstance(value, bool) else value}" for key, value in sorted(where.items()))


def unmeasured(expect):
    """Expectation of a scenario that was not run, as listed in a report."""
    return {
        "metric": expect["metric"],
        "where": places(expect.get("where", {})) or "everywhere",
        "paper": stated(expect),
        "ours": "-",
        "repeats": 0,
        "class": expect["class"],
        "tuned": expect.get("tuned", ""),
        "verdict": "unrun",
        "reason": "",
        "source": expect.get("source", ""),
    }


class Row:
    """One published result: a figure, a table or a row of a table."""

    def __init__(self, entry, work, known):
        self.entry, self.work, self.known = entry, work, known
        self.id = entry["id"]
        self.names = entry.get("scenarios", [])
        if missing := [name for name in self.names if name not in known]:
            raise Fault(f"docs/reproductions.toml: {self.id}: no scenario {', '.join(missing)}")
        self.results = [(name, result) for name in self.names if (result := stored(name)) is not None]
        # The result of a reduced campaign is used instead of that of the complete campaign, which takes days.
        reduced = {name.removesuffix("-reduced") for name, _ in self.results if name.endswith("-reduced")}
        self.results = [(name, result) for name, result in self.results if name not in reduced]
        self.expects = self.own_expects()
        self.headline = self.pick()
        self.word = self.verdict()

    def own_expects(self):
        """(scenario, expectation) of all results of this row, or of its scenarios if there are no results."""
        found = [(name, expect) for name, result in self.results for expect in result["expects"]]
        if not found:
            found = [(name, unmeasured(expect)) for name in self.names[:1] for expect in expects_of(name, self.known)]
        only = self.entry.get("only", "")
        return [(name, expect) for name, expect in found if re.search(only, expect.get("source", ""))]

    def of_class(self, name):
        return [expect for _, expect in self.expects if expect.get("class") == name]

    def pick(self):
        """Expectation whose numbers are shown in the summary."""
        wanted = self.entry.get("pick", "")
        paper = self.of_class("paper") or self.of_class("tuned") or self.of_class("own")
        text = lambda expect: f"{expect['metric']} {expect.get('where', '')} {expect['paper']} {expect.get('source', '')}"
        return next((expect for expect in paper if wanted in text(expect)), paper[0] if paper else None)

    def verdict(self):
        if not self.names:
            return "tested"
        verdicts = [expect["verdict"] for expect in self.of_class("paper")]
        if not self.results:
            return "unrun"
        if "stale" in verdicts or any(expect["verdict"] == "stale" for _, expect in self.expects):
            return "stale"
        if not verdicts:
            return "tuned" if self.of_class("tuned") else "own"
        verdicts = ["differs" if verdict == "fails" else verdict for verdict in verdicts]
        return next(word for word in WORDS if word in verdicts)

    @property
    def kind(self):
        return self.entry["kind"]

    @property
    def measured(self):
        return max((result["measured"] for _, result in self.results), default="")

    @property
    def published(self):
        return self.entry.get("published") or (short_law(self.headline["paper"]) if self.headline else "-")

    @property
    def ours(self):
        """Measured value. If the published system cannot be run, that of the law about our own system, marked as such."""
        value = short_number(self.headline["ours"]) if self.headline else "-"
        if value == "-":
            value = next((f"own {short_number(own['ours'])}" for own in self.of_class("own") if own["ours"] != "-"), "-")
        return self.entry.get("ours") or value

    @property
    def unit(self):
        if "unit" in self.entry:
            return self.entry["unit"]
        if not self.headline:
            return "-"
        law = self.headline["paper"]
        if " times that at " in law:
            return "×"
        return self.unit_of(self.headline["metric"]) or "-"

    def unit_of(self, metric):
        for _, result in self.results:
            for point in result["points"]:
                if unit := point["metrics"].get(metric, {}).get("unit"):
                    return unit
        return UNITS.get(next((ending for ending in UNITS if metric.endswith(ending)), ""), "")

    @property
    def picture(self):
        return "f/" + re.sub(r"[^a-z0-9.]+", "-", self.id.lower()) + ".svg"


# Units of metrics without a unit in the stored points.
UNITS = {
    "_cores": "cores", "_ms": "ms", "_mbps": "Mbit/s", "_kbps": "kbit/s", "_mb": "MB", "_per_s": "1/s", "us_p50": "us",
    "us_p99": "us", "us_mean": "us", "ms_median": "ms", "mpps": "Mpps", "_us": "us", "_blade": "users", "charged": "Mpps",
}  # fmt: skip


def significant(text):
    """Formats with three significant digits: `389375` as `389 k`."""
    value = float(text)
    for factor, letter in ((1e6, " M"), (1e3, " k")):
        if abs(value) >= factor * 10 or abs(value) >= 1e6:
            return f"{value / factor:.3g}{letter}"
    return f"{value:.3g}" if abs(value) < 1000 else f"{value:.0f}"


NUMBER = r"-?[0-9][0-9_]*(?:\.[0-9]+)?(?:e[+-]?[0-9]+)?"


def short_number(text):
    """Short form of a measured value, without interval and location."""
    if text == "-":
        return "-"
    if pairs := re.findall(rf"[\w.-]+: ({NUMBER})", text):
        return " > ".join(significant(value) for value in pairs)[:SHORT_MAX]
    parts = [re.match(NUMBER, part) for part in text.split(" to ")] if "times" not in text else [re.match(NUMBER, text)]
    return " to ".join(significant(part[0]) for part in parts if part) or text[:SHORT_MAX]


def short_law(text):
    """Short form of a law, without location."""
    text = text.split(" times that at ")[0].split(" along ")[0]
    if ": " in text:
        text = text.split(": ", 1)[1]
    text = re.sub(NUMBER, lambda found: significant(found[0]), text)
    return text if len(text) <= SHORT_MAX else text[: SHORT_MAX - 1] + "…"


def load():
    """Every published work with its rows, the scenarios that no row names, and all scenarios."""
    data = tomllib.loads((ROOT / "docs" / "reproductions.toml").read_text())
    known = scenarios()
    works, used, ids = [], set(), set()
    for work in data["work"]:
        rows = []
        for entry in work["result"]:
            if lacks := [key for key in ("id", "what", "paper", "kind") if key not in entry]:
                raise Fault(f"docs/reproductions.toml: {entry.get('id', entry.get('what'))} lacks {', '.join(lacks)}")
            if entry["kind"] not in KINDS:
                raise Fault(f"docs/reproductions.toml: {entry['id']}: kind is one of {', '.join(KINDS)}")
            if entry["id"] in ids:
                raise Fault(f"docs/reproductions.toml: two rows have the id {entry['id']}")
            ids.add(entry["id"])
            rows.append(Row(entry, work, known))
            used.update(rows[-1].names)
        works.append((work, rows))
    return works, sorted(set(known) - used), known
