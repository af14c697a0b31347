"""Pictures of the reproductions: ratio of measured to published values for each row, and curves of stored results."""

import html
import json
import math
import re
import subprocess
import tempfile
from pathlib import Path

from repro_data import NUMBER, ROOT, normal

COLOURS = {
    "holds": "#1b7837", "differs": "#b2182b", "fails": "#b2182b", "inconclusive": "#b35806", "unmeasurable": "#666666",
    "stale": "#7b6a9c", "unrun": "#666666",
}  # fmt: skip
WIDTH, LEFT, RIGHT, LINE, TOP, BOTTOM = 860, 330, 190, 30, 34, 32
# Range of the axis, as powers of ten of the ratio of measured to published values.
DECADES = (-2.0, 2.0)
TICKS = (0.01, 0.1, 0.5, 1, 2, 10, 100)
LABEL_MAX = 54


def clean(text):
    return html.escape(text, quote=False)


def region(law):
    """(published value, minimum, maximum) of a law with positive numbers, else None. Minimum and maximum are multiples of the value."""
    law = law.split(" times that at ")[0]
    if found := re.fullmatch(rf"({NUMBER}) ± ({NUMBER}) %", law):
        value, share = float(found[1]), float(found[2]) / 100
        return (value, 1 - share, 1 + share) if value > 0 else None
    least = re.search(rf"≥ ({NUMBER})", law)
    most = re.search(rf"≤ ({NUMBER})", law)
    least = float(least[1]) if least else None
    most = float(most[1]) if most else None
    numbers = [value for value in (least, most) if value is not None]
    if not numbers or min(numbers) <= 0:
        return None
    value = sum(numbers) / len(numbers)
    return value, (least or 0) / value, most / value if most is not None else math.inf


def spans(ours):
    """(minimum, maximum, mean) of a measured value; None if there is no single value."""
    if found := re.match(rf"({NUMBER}) times(?: \(({NUMBER}) to ({NUMBER}))?", ours):
        middle = float(found[1])
        return (float(found[2]), float(found[3]), middle) if found[2] else (middle, middle, middle)
    found = re.match(rf"({NUMBER})(?: ± ({NUMBER}))?", ours)
    if not found or ours.count(":") or ours == "-":
        return None
    middle, half = float(found[1]), float(found[2] or 0)
    if further := re.search(rf" to ({NUMBER})(?: ± ({NUMBER}))?", ours):
        return middle - half, float(further[1]) + float(further[2] or 0), (middle + float(further[1])) / 2
    return middle - half, middle + half, middle


def x_of(multiple):
    low, high = DECADES
    where = low if multiple <= 0 else min(max(math.log10(multiple), low), high)
    return LEFT + (where - low) / (high - low) * (WIDTH - LEFT - RIGHT)


def text(x, y, words, anchor="start", fill="#222222", size=12):
    return f'<text x="{x:.0f}" y="{y:.0f}" font-size="{size}" text-anchor="{anchor}" fill="{fill}">{clean(words)}</text>'


def line_of(expect, y, common):
    """Draws one law: the published region, and the measured value. The label leaves out settings that all laws have in common."""
    verdict = expect.get("then") or expect["verdict"]
    colour = COLOURS.get(expect["verdict"], "#666666")
    where = "" if expect.get("where") == "everywhere" else short_place(expect.get("where", ""), common)
    label = f"{expect['metric']} · {where}" if where else expect["metric"]
    label = label if len(label) <= LABEL_MAX else label[: LABEL_MAX - 1] + "…"
    parts = [text(LEFT - 8, y + 4, label, "end", size=11)]
    area = region(expect["paper"])
    if area:
        value, least, most = area
        from_x, to_x = x_of(least), x_of(most)
        parts.append(f'<rect x="{from_x:.1f}" y="{y - 9}" width="{max(to_x - from_x, 2):.1f}" height="18" fill="#dbe9f6"/>')
        if measured := spans(expect["ours"]):
            low, high, middle = (x_of(one / value) for one in measured)
            parts.append(f'<line x1="{low:.1f}" x2="{high:.1f}" y1="{y}" y2="{y}" stroke="{colour}" stroke-width="3"/>')
            parts.append(f'<circle cx="{middle:.1f}" cy="{y}" r="5" fill="{colour}"/>')
    else:
        parts.append(text(LEFT + 4, y + 4, shortened(f"{expect['paper'].split(' times')[0]}  |  {expect['ours']}", 56), size=11))
    word = expect["verdict"] if verdict == expect["verdict"] else f"{expect['verdict']} ({verdict} then)"
    parts.append(text(WIDTH - RIGHT + 8, y + 4, word + (", tuned" if expect.get("class") == "tuned" else ""), fill=colour, size=11))
    return parts


def shortened(words, most):
    return words if len(words) <= most else words[: most - 1] + "…"


def place_parts(where):
    """Splits `name = value, …` into its settings. A list of settings of a build is shortened to the setting in which builds differ."""
    where = re.sub(r"\[[^\]]*?(rib_us=\d+)[^\]]*\]", r"\1", where)
    return re.split(r", (?=[\w.]+ = )", where)


def short_place(where, common=frozenset()):
    """Shortens `sut.design = software, load.window = 1` to `software, 1`."""
    parts = sorted((part for part in place_parts(where) if part not in common), key=lambda part: not part.startswith("sut."))
    return ", ".join(part.split(" = ", 1)[-1] for part in parts)


def common_parts(expects):
    """Settings that all of several laws have."""
    parts = [set(place_parts(expect.get("where", ""))) for expect in expects]
    return frozenset(set.intersection(*parts)) if len(parts) > 1 else frozenset()


def named(row):
    """Subject of a row, without the figure's number, which is in its id."""
    return re.sub(r"^(Figs?\.|Table) [\dIVX][\w.]*(?:(?: to |, | and )\d[\w.]*)* ", "", row.entry["what"])


def strip(row):
    """Picture of a row, with a line for each law of class paper or tuned. Without such laws, the lines are laws of class own."""
    expects = row.of_class("paper") + row.of_class("tuned") or row.of_class("own")
    height = TOP + LINE * max(len(expects), 1) + BOTTOM
    parts = [
        f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {WIDTH} {height}" width="{WIDTH}" height="{height}" '
        f'font-family="sans-serif"><rect width="{WIDTH}" height="{height}" fill="#ffffff"/>',
        text(8, 20, shortened(f"{row.id}: {named(row)}", 100), size=13),
    ]
    if not expects:
        parts.append(text(8, TOP + 18, shortened(row.entry.get("shown", "no law").replace("`", ""), 125), size=11))
        return "\n".join([*parts, "</svg>"]) + "\n"
    bottom = TOP + LINE * len(expects)
    if any(region(expect["paper"]) for expect in expects):
        for tick in TICKS:
            x = x_of(tick)
            stroke = "#888888" if tick == 1 else "#dddddd"
            parts.append(f'<line x1="{x:.1f}" x2="{x:.1f}" y1="{TOP - 4}" y2="{bottom}" stroke="{stroke}"/>')
            parts.append(text(x, bottom + 14, f"{tick:g}", "middle", "#555555", 10))
        parts.append(text(LEFT - 24, bottom + 14, "measured ÷ published; shaded: as published", "end", "#555555", 10))
    common = common_parts(expects)
    for index, expect in enumerate(expects):
        parts += line_of(expect, TOP + LINE * index + LINE // 2, common)
    return "\n".join([*parts, "</svg>"]) + "\n"


def titles(scenario, known):
    """Titles of a scenario's figures, in order."""
    plots = known[scenario].get("plot")
    if plots is None and "extends" in known[scenario]:
        parent = Path(*normal((Path(scenario).parent / known[scenario]["extends"]).parts)).with_suffix("")
        return titles(str(parent), known)
    return [plot.get("title", plot.get("y", "")) for plot in plots or []]


def label_of(row):
    """Label by which the titles of figures refer to the row: `11b` for the id `F 11b-r`."""
    found = re.match(r"\w ([0-9.]+[a-z]?)", row.id)
    return found[1] if found else ""


def wanted_plots(row, known):
    """(scenario, number of the figure) for a row, at most two per scenario: the figures whose title names the row, or else the first."""
    for name, _ in row.results:
        named = titles(name, known)
        label = label_of(row)
        own = [index for index, title in enumerate(named, 1) if label and re.match(rf"{re.escape(label)}(?![0-9a-z])", title)]
        own = own or ([index for index, title in enumerate(named, 1) if re.match(rf"{re.escape(label)}", title)] if label else [])
        for index in (own or list(range(1, len(named) + 1)))[:2]:
            yield name, index


def curve_file(name, index):
    return f"f/curve-{name.replace('/', '-')}-{index}.svg"


def rig_of(name, known):
    """Rig of a scenario, or of its parent."""
    scenario = known[name]
    if "rig" in scenario or "extends" not in scenario:
        return scenario.get("rig", "")
    parent = Path(*normal((Path(name).parent / scenario["extends"]).parts)).with_suffix("")
    return rig_of(str(parent), known)


def report(binary, name, known, wanted, out):
    """Drawings of a stored result. Values over time are not stored, so rigs in virtual time are run again to draw them."""
    command = [str(binary), "bench", "report", str(ROOT / "docs" / "results" / f"{name}.json"), "--out", str(out)]
    subprocess.run(command, stdout=subprocess.DEVNULL, check=True)
    lacks = [index for index in wanted if not (out / f"figure-{index}.svg").exists()]
    if lacks and rig_of(name, known) in ("radio", "tenants"):
        command = [str(binary), "sim", str(ROOT / "scenarios" / f"{name}.toml"), "--out", str(out / "sim")]
        subprocess.run(command, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL, check=True)
    for index in wanted:
        folder = out / "sim" if index in lacks else out
        yield index, folder / f"figure-{index}.svg"


def draw_curves(works, known, binary, folder):
    """Draws the figures of rows with `bench report`, without the embedded font."""
    wanted = sorted({plot for _, rows in works for row in rows for plot in wanted_plots(row, known)})
    for name in sorted({name for name, _ in wanted}):
        with tempfile.TemporaryDirectory() as out:
            for index, drawing in report(binary, name, known, [index for own, index in wanted if own == name], Path(out)):
                if drawing.exists():
                    plain = re.sub(r"@font-face\{.*?\}", "", drawing.read_text(), count=1, flags=re.S)
                    (folder / curve_file(name, index)).write_text(plain)


def described(name, index, known):
    """Alternative text of a figure."""
    named = titles(name, known)
    return named[index - 1] if 0 < index <= len(named) else json.dumps(name)
