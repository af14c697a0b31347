#!/usr/bin/env python3
"""Writes docs/results/*.md, docs/results/f/*.svg and docs/reproductions.md from docs/reproductions.toml (published results of
five works), scenarios/ (experiments that reproduce them) and docs/results/ (stored results).

  scripts/reproductions.py                        write the pages and the pictures of the rows
  scripts/reproductions.py --curves target/release/ranlab    draw the curves of the stored results first
  scripts/reproductions.py --check                write nothing; fail if a page is not current or a line of the summary is wrong

scripts/reproduce.py stores a result as docs/results/<scenario>.json; then the pages include the scenario.
"""

import re
import sys
from pathlib import Path

import repro_data
import repro_draw
import repro_pages
from repro_data import KINDS, OTHER_WORDS, RESULTS, ROOT, WORDS, Fault

CURVE = re.compile(r"\((f/curve-[^)]+)\)")


def pages(works, others, known):
    """All generated files by path."""
    made = {RESULTS / row.picture: repro_draw.strip(row) for _, rows in works for row in rows}
    made[RESULTS / "summary.md"] = repro_pages.summary(works, others, known)
    for work, rows in works:
        made[RESULTS / f"{work['id']}.md"] = repro_pages.paper(work, rows, known, RESULTS)
    made[ROOT / "docs" / "reproductions.md"] = repro_pages.entrance(works)
    return made


def faults_of_summary(text, works):
    """Checks that each row has one line in the summary, with numbers, unit, verdict and picture. Returns the faults."""
    ids = [row.id for _, rows in works for row in rows]
    lines = {line.split(" | ")[0][2:]: line for line in text.splitlines() if line.startswith("| ")}
    for one in ids:
        line = lines.get(one)
        if line is None:
            yield f"{one}: no line"
            continue
        if len(line) > repro_pages.LINE_MAX:
            yield f"{one}: {len(line)} characters; {repro_pages.LINE_MAX} are allowed"
        cells = [cell.strip() for cell in line.strip("| ").split(" | ")]
        if len(cells) != 8:
            yield f"{one}: {len(cells)} cells instead of 8"
            continue
        _, published, ours, unit, word, kind, _, picture = cells
        if word not in (*WORDS, *OTHER_WORDS):
            yield f"{one}: \"{word}\" is not a verdict; allowed: {', '.join((*WORDS, *OTHER_WORDS))}"
        if kind not in KINDS:
            yield f"{one}: \"{kind}\" is not one of {', '.join(KINDS)}"
        if published in ("", "-") or not unit:
            yield f"{one}: no published value or no unit"
        if ours in ("", "-") and word not in ("unrun", "unmeasurable", "stale"):
            yield f"{one}: {word} without a measured value"
        found = re.fullmatch(r"\[[^\]]+\]\(([^)]+)\)", picture)
        if not found or not (RESULTS / found[1]).is_file():
            yield f"{one}: no picture {found[1] if found else picture}"


def faults_of_rows(works):
    """Finds rows with published values that have no law of class paper or tuned."""
    for _, rows in works:
        for row in rows:
            published = not row.entry["paper"].startswith("none")
            if row.names and published and not (row.of_class("paper") or row.of_class("tuned")):
                yield f"{row.id}: no law of class paper or tuned in {', '.join(row.names)}"


def check(made, works):
    faults = [f"{path.relative_to(ROOT)} is not current; run scripts/reproductions.py and commit it"
              for path, text in made.items() if not path.exists() or path.read_text() != text]  # fmt: skip
    for path, text in made.items():
        if path.suffix == ".md":
            faults += [f"{path.name}: no {curve}" for curve in CURVE.findall(text) if not (RESULTS / curve).is_file()]
    known = {path.name for path in made} | {Path(curve).name for text in made.values() for curve in CURVE.findall(text)}
    faults += [f"docs/results/f/{path.name} belongs to no page" for path in (RESULTS / "f").glob("*.svg") if path.name not in known]
    faults += faults_of_summary(made[RESULTS / "summary.md"], works)
    faults += faults_of_rows(works)
    if faults:
        sys.exit("\n".join(f"reproductions: {fault}" for fault in faults))


def main():
    arguments = sys.argv[1:]
    try:
        works, others, known = repro_data.load()
        (RESULTS / "f").mkdir(exist_ok=True)
        if arguments[:1] == ["--curves"]:
            repro_draw.draw_curves(works, known, arguments[1], RESULTS)
        made = pages(works, others, known)
    except Fault as fault:
        sys.exit(f"reproductions: {fault}")
    if arguments == ["--check"]:
        check(made, works)
        return
    used = {RESULTS / curve for text in made.values() for curve in CURVE.findall(text)}
    for path in (RESULTS / "f").glob("*.svg"):
        if path not in made and path not in used:
            path.unlink()
    for path, text in made.items():
        path.write_text(text)
    print(f"wrote {len(made)} files; {sum(len(rows) for _, rows in works)} rows")


if __name__ == "__main__":
    main()
