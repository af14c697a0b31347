#!/usr/bin/env python3
"""Counts phrases that readers have to decode, and fails where a crate or a document has more of them than recorded.

    scripts/prose.py             compare with scripts/prose.txt; exit 1 if a count rose
    scripts/prose.py --update    record today's counts (a count may only fall; --force records a rise, too)
    scripts/prose.py --report X  print each sentence of the files below X that counts

Counted per crate (comments of its .rs files) and per Markdown document; and `let (a, b) = (x, y)` per crate.
Fails on every declaration of a type or function with a name that says nothing to a reader (BANNED_TYPES, BANNED_FUNCTIONS).
"""

import pathlib
import re
import subprocess
import sys

ROOT = pathlib.Path(__file__).resolve().parent.parent
RECORD = ROOT / "scripts" / "prose.txt"

PHRASES = [
    r"(?:(?<=^)|(?<=[.;:,(] ))(?:[Ww]ho(?:ever)?) (?!are you|is who)[a-z]+",
    r"\b[Ww]hoever\b",
    r"\b(?:[Tt]old|[Tt]ells?|[Uu]ntold)\b",
    r"\b(?:[Nn]obody|[Ss]omebody|[Ee]verybody)\b",
    r"\b(?:is|are|was|were|be) none\b",
    r"\bso (?:many|often|long|much)\b(?! as)",
    r"\b[Ss]trangers?\b",
    r"\bof (?:ours|before|its own|their own|theirs|somebody)\b",
    r"\b(?:[Ll]ikewise|[Aa]like|[Ww]hence|[Ss]eldom|[Tt]hrice|[Bb]eside|[Aa]new)\b",
    r"\b(?:[Hh]e|[Hh]is|[Hh]im)\b",
]
MARKER = re.compile("|".join(f"(?:{phrase})" for phrase in PHRASES))
# Generated from the texts of the binary by scripts/reference.py; these texts are counted in the code.
GENERATED = [f"docs/reference/{page}.md" for page in ("cli", "scenario-keys", "metrics", "peer-profiles", "http-api")]
BANNED_TYPES = "Told Seen Heard Asked Wanted Taken What Of Hall Seat Bench Door Desk Mouth Crew".split()
BANNED_FUNCTIONS = "of told tell hear meet obey lapse part settle look be_called".split()
BANNED = re.compile(rf"\b(?:(?:struct|enum|trait|type|union) (?:{'|'.join(BANNED_TYPES)})|fn (?:{'|'.join(BANNED_FUNCTIONS)}))\b")
TUPLE_LET = re.compile(r"let \((?:mut )?\w+(?:, (?:mut )?\w+)+\) =\s*\(")


def tracked(*patterns):
    listed = subprocess.run(
        ["git", "-C", ROOT, "ls-files", "--cached", "--others", "--exclude-standard", "--", *patterns],
        capture_output=True, text=True, check=True)
    return [name for name in listed.stdout.splitlines() if (ROOT / name).is_file()]


def split(paragraph):
    text = re.sub(r"`[^`]*`", "X", " ".join(paragraph))
    sentences = (part.strip() for part in re.split(r"(?<=[.!?])\s+(?=[A-Z`\[])", text))
    return [sentence for sentence in sentences if len(sentence.split()) >= 2]


def sentences(lines, strip):
    """Sentences of paragraphs; `strip` returns the prose of a line, or None."""
    paragraph, code = [], False
    for line in [*lines, ""]:
        prose = strip(line)
        if prose is not None and prose.startswith("```"):
            code, prose = not code, None
        if prose and not code and not prose.startswith(("|", "#")):
            paragraph.append(prose)
        elif paragraph:
            yield from split(paragraph)
            paragraph = []


def comment(line):
    found = re.match(r"\s*//[/!]? ?(.*)", line)
    return found.group(1) if found else None


def unit_of(name):
    """The crate of a source file; a document by itself."""
    if name.endswith(".md"):
        return name
    folder = pathlib.PurePath(name).parent
    return str(next((up for up in (folder, *folder.parents) if (ROOT / up / "Cargo.toml").exists()), folder))


def count():
    counts, found = {}, []
    for name in tracked("*.rs", "*.md"):
        if name.startswith("docs/results/") or "/generated/" in name or name in GENERATED:
            continue
        lines = (ROOT / name).read_text(errors="replace").splitlines()
        strip = comment if name.endswith(".rs") else str.strip
        hits = [sentence for sentence in sentences(lines, strip) if MARKER.search(sentence)]
        found += [(name, sentence) for sentence in hits]
        unit = counts.setdefault(unit_of(name), [0, 0])
        unit[0] += len(hits)
        if name.endswith(".rs"):
            unit[1] += sum(bool(TUPLE_LET.search(line)) for line in lines)
    return counts, found


def banned_names():
    """Declarations with a banned name, as `FILE:LINE: NAME`."""
    for name in tracked("*.rs"):
        for number, line in enumerate((ROOT / name).read_text(errors="replace").splitlines(), 1):
            found = BANNED.search(line)
            if found and not line.lstrip().startswith("//"):
                yield f"{name}:{number}: {found.group(0)}"


def recorded():
    if not RECORD.exists():
        return {}
    rows = (line.split() for line in RECORD.read_text().splitlines() if line and not line.startswith("#"))
    return {name: [int(phrases), int(lets)] for phrases, lets, name in rows}


def update(counts, before, force):
    for name, own in counts.items():
        if not force and name in before:
            counts[name] = [min(pair) for pair in zip(own, before[name])]
    rows = [f"{phrases:5} {lets:5} {name}" for name, (phrases, lets) in sorted(counts.items()) if phrases or lets]
    head = "# Phrases to rewrite, `let (a, b) = (x, y)`, where: by scripts/prose.py. Counts may only fall.\n"
    RECORD.write_text(head + "\n".join(rows) + "\n")


def main(arguments):
    counts, found = count()
    before = recorded()
    if arguments[:1] == ["--report"]:
        where = arguments[1] if len(arguments) > 1 else ""
        for name, sentence in found:
            if name.startswith(where):
                print(f"{name}: {sentence}")
        return 0
    if arguments[:1] == ["--update"]:
        update(counts, before, "--force" in arguments)
        return 0
    worse = 0
    for found in banned_names():
        print(f"prose: {found}: say what it is or does; scripts/prose.py lists names that do not")
        worse += 1
    for name, own in sorted(counts.items()):
        for what, now, then in zip(("phrases", "tuple lets"), own, before.get(name, [0, 0])):
            if now > then:
                print(f"prose: {name}: {now} {what}, {then} recorded (see scripts/prose.py --report {name})")
                worse += 1
    total = sum(phrases for phrases, _ in counts.values())
    print(f"prose: {total} phrases left to rewrite; {worse} faults")
    return 1 if worse else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
