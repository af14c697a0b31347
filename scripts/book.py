#!/usr/bin/env python3
"""Rewrites links for mdBook, which builds the documentation site, and checks the site.

    scripts/book.py preprocess       mdBook calls this (docs/book.toml)
    scripts/book.py check FOLDER     fails if a link of the site leads nowhere, or a page is not in docs/SUMMARY.md
"""

import html.parser
import json
import pathlib
import posixpath
import re
import sys
import urllib.parse

ROOT = pathlib.Path(__file__).resolve().parent.parent
DOCS = ROOT / "docs"
# Pages that show a document from the repository's root.
SHOWN = {
    "SPECIFICATION.md": "reference/promises.md",
    "ARCHITECTURE.md": "explanation/architecture.md",
    "CONTRIBUTING.md": "contributing.md",
    "CHANGELOG.md": "changelog.md",
    "docs/decisions/README.md": "decisions/index.md",
}
LINK = re.compile(r"(?<!!)\[((?:[^\[\]]|\[[^\[\]]*\])*)\]\(([^)\s]+)\)")
IMAGE = re.compile(r"!\[([^\]]*)\]\(([^)\s]+)\)")
CODE = re.compile(r"(```.*?^\s*```|`[^`\n]*`)", re.S | re.M)


def resolve(page, target):
    """Path of a link's target from the repository's root. Links are relative to the page, or to the root in a document of the root."""
    beside = posixpath.normpath(posixpath.join("docs", posixpath.dirname(page), target))
    from_root = posixpath.normpath(target)
    if not (ROOT / beside).exists() and (ROOT / from_root).exists():
        return from_root
    return beside


def rewrite(page, label, target):
    if re.match(r"[a-z]+:|#", target):
        return f"[{label}]({target})"
    path, _, fragment = target.partition("#")
    found = resolve(page, path)
    inside = SHOWN.get(found)
    if inside is None and found.startswith("docs/") and (ROOT / found).is_file():
        inside = found.removeprefix("docs/")
    if inside is None:
        return label if label.strip("`") == found or label.strip("`") in found else f"{label} (`{found}`)"
    relative = posixpath.relpath(inside, posixpath.dirname(page) or ".")
    return f"[{label}]({relative}{'#' + fragment if fragment else ''})"


def image(page, label, target):
    if re.match(r"[a-z]+:", target):
        return f"![{label}]({target})"
    found = resolve(page, target).removeprefix("docs/")
    return f"![{label}]({posixpath.relpath(found, posixpath.dirname(page) or '.')})"


def prose(page, text):
    """Rewrites the links of a page, except links inside code. Code spans in the labels of links stay unchanged."""
    kept = []

    def keep(found):
        kept.append(found.group(0))
        return f"\0{len(kept) - 1}\0"

    text = CODE.sub(keep, text)
    text = IMAGE.sub(lambda it: image(page, it[1], it[2]), text)
    restore = lambda piece: re.sub(r"\0(\d+)\0", lambda it: kept[int(it[1])], piece)
    text = LINK.sub(lambda it: rewrite(page, restore(it[1]), it[2]), text)
    return restore(text)


def chapters(items):
    for item in items:
        if isinstance(item, dict) and "Chapter" in item:
            yield item["Chapter"]
            yield from chapters(item["Chapter"]["sub_items"])


def preprocess():
    _, book = json.load(sys.stdin)
    for chapter in chapters(book.get("items") or book.get("sections")):
        if chapter.get("path"):
            chapter["content"] = prose(chapter["path"], chapter["content"])
    json.dump(book, sys.stdout)


class Page(html.parser.HTMLParser):
    def __init__(self):
        super().__init__()
        self.targets, self.names = [], set()

    def handle_starttag(self, tag, attributes):
        given = dict(attributes)
        self.names.update(name for name in (given.get("id"), given.get("name")) if name)
        for key in ("href", "src"):
            if given.get(key):
                self.targets.append(given[key])


def read(path):
    page = Page()
    page.feed(path.read_text(errors="replace"))
    return page


def check(folder):
    pages = {path: read(path) for path in sorted(folder.rglob("*.html")) if path.name not in ("404.html", "toc.html")}
    faults = []
    for path, page in pages.items():
        for target in page.targets:
            if re.match(r"[a-z]+:|//", target):
                continue
            place, _, fragment = urllib.parse.unquote(target).partition("#")
            found = (path.parent / place).resolve() if place else path
            if not found.exists():
                faults.append(f"{path.relative_to(folder)}: {target} leads nowhere")
            elif fragment and found in pages and fragment not in pages[found].names:
                faults.append(f"{path.relative_to(folder)}: {target} names no heading")
    listed = set(re.findall(r"\]\(([^)]+\.md)\)", (DOCS / "SUMMARY.md").read_text()))
    for path in sorted(DOCS.rglob("*.md")):
        name = str(path.relative_to(DOCS))
        if name != "SUMMARY.md" and not name.startswith("results/") and name not in listed:
            faults.append(f"docs/{name} is not in docs/SUMMARY.md")
    for fault in sorted(set(faults)):
        print(f"book: {fault}")
    print(f"book: {len(pages)} pages, {len(set(faults))} faults")
    return 1 if faults else 0


def main(arguments):
    if arguments[:1] == ["preprocess"]:
        if arguments[1:2] != ["supports"]:
            preprocess()
        return 0
    if arguments[:1] == ["check"] and len(arguments) == 2:
        return check(pathlib.Path(arguments[1]).resolve())
    print(__doc__, file=sys.stderr)
    return 2


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
