#!/usr/bin/env bash
# Draws the report of every stored result (docs/results), and puts all figures on one sheet for inspection. Checks that each
# figure has a title, axes with names and units, and a sentence below it. RANLAB names the binary; by default, the release
# binary is built.
#   scripts/sheet.sh [FOLDER=target/sheet] [RESULT.json ...]      other results instead of all
set -euo pipefail
cd "$(dirname "$0")/.."
folder=${1:-target/sheet}
shift || true
for tool in node chromium python3; do
    command -v "$tool" >/dev/null || { echo "missing: $tool (scripts/need.sh web)" >&2; exit 3; }
done
if [[ -z ${RANLAB:-} ]]; then
    cargo build --release -p ranlab
    RANLAB=$PWD/target/release/ranlab
fi
results=("$@")
((${#results[@]} > 0)) || mapfile -t results < <(find docs/results -name '*.json' | sort)
rm -rf "$folder"
mkdir -p "$folder"
for result in "${results[@]}"; do
    name=${result#docs/results/}
    name=${name%.json}
    # The command may fail although it wrote the report, for example because of a failed verdict. Only a missing report is an
    # error here.
    "$RANLAB" bench report "$result" --out "$folder/${name//\//-}" >"$folder/log" 2>&1 || [[ -e $folder/${name//\//-}/report.html ]] || { cat "$folder/log" >&2; exit 1; }
done
python3 - "$folder" <<'P'
"""The sheet as a page of pictures, and what is wrong with a figure."""
import html, json, pathlib, re, sys
folder = pathlib.Path(sys.argv[1])
# Counts and ratios have no unit: their names say what they are.
RATIOS = {"ratio", "share", "gain", "change", "of"}
said = lambda label: "(" in label or " " in label.strip() or not re.search(r"[._]", label) or RATIOS & set(re.split(r"[._]", label))
parts, faults, drawn = [], [], 0
for report in sorted(folder.glob("*/report.html")):
    text = report.read_text(encoding="utf-8")
    begin = '<script type="application/json" id="data">'
    at = text.index(begin) + len(begin)
    doc = json.loads(text[at:text.index("</script>", at)])
    name = report.parent.name
    figures = [(n, it) for n, it in enumerate(doc["figures"], 1)]
    parts.append(f"<h2>{html.escape(name)}: {html.escape(doc['title'])}</h2><div>")
    if not any(not it["missing"] for _, it in figures):
        parts.append(f"<p>no figure: {html.escape('; '.join(sorted({it['missing'] for _, it in figures})) or 'the scenario asks for none')}</p>")
    for n, it in figures:
        if it["missing"]:
            continue
        drawn += 1
        where = f"{name}, figure {n}"
        names = "names" in it["x"]
        cells = any(series["form"]["name"] == "cells" for series in it["series"])
        checks = [(not it["title"].strip(), "has no title"), (not it["caption"].strip(), "has no caption"),
            (not it["x_label"].strip(), "has no label on the x axis"), (not it["y_label"].strip(), "has no label on the y axis"),
            (not names and it["x_label"] and not said(it["x_label"]), f"has an x label with neither a unit nor words: {it['x_label']}"),
            (not cells and it["y_label"] and not said(it["y_label"]), f"has a y label with neither a unit nor words: {it['y_label']}")]
        faults += [f"{where} ({it['title']}) {what}" for wrong, what in checks if wrong]
        parts.append(f"<figure><img src='{html.escape(name)}/figure-{n}.png'><figcaption>{n}. {html.escape(it['caption'])}</figcaption></figure>")
    parts.append("</div>")
style = "body{font:13px sans-serif;margin:16px;width:1760px}div{display:grid;grid-template-columns:repeat(3,1fr);gap:14px}img{width:100%}figure{margin:0;break-inside:avoid}h2{font-size:15px;margin:18px 0 6px}"
(folder / "sheet.html").write_text(f"<!doctype html><meta charset=utf-8><style>{style}</style>{''.join(parts)}", encoding="utf-8")
print(f"{drawn} figures of {len(list(folder.glob('*/report.html')))} reports")
print("\n".join(faults) or "each figure has a title, axes with units, and a caption")
sys.exit(bool(faults))
P
