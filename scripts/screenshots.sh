#!/usr/bin/env bash
# Creates a report with every kind of figure and takes pictures of it: light, dark and printed, each of the whole page and of
# its first screen. Fails if a figure is empty, a label is cut off, or a page requests an external resource.
#   scripts/screenshots.sh [FOLDER=target/screenshots] [REPORT.html ...]     other reports instead of the gallery
set -euo pipefail
cd "$(dirname "$0")/.."
folder=${1:-target/screenshots}
shift || true
mkdir -p "$folder"
folder=$(cd "$folder" && pwd)
for tool in chromium pdftoppm python3; do
    command -v "$tool" >/dev/null || { echo "missing: $tool (scripts/need.sh pages)" >&2; exit 3; }
done

pages=("$@")
if ((${#pages[@]} == 0)); then
    cargo run --quiet -p ranlab-report --example gallery -- "$folder/gallery"
    pages=("$folder/gallery/report.html" "$folder/gallery/search/report.html")
fi

profile=$(mktemp -d)
trap 'rm -rf "$profile"' EXIT
browse() {
    timeout 120 chromium --headless --no-sandbox --disable-gpu --hide-scrollbars --no-first-run \
        --user-data-dir="$profile" "$@" >"$profile/log" 2>&1 || { cat "$profile/log" >&2; return 1; }
}

# Labels of figures are text in the page. The box of each label must lie within the box of its figure. The check runs in
# the page.
cat >"$profile/ask.js" <<'JS'
addEventListener('load', () => document.fonts.ready.then(() => {
  const faults = [];
  document.querySelectorAll('figure').forEach((figure, index) => {
    const svg = figure.querySelector('svg');
    if (!svg) { faults.push(`figure ${index + 1} has no drawing`); return; }
    const shapes = svg.querySelectorAll('polyline, circle, polygon, rect, path, line').length;
    if (shapes < 8) faults.push(`figure ${index + 1} is empty`);
    const frame = svg.getBoundingClientRect();
    svg.querySelectorAll('text').forEach(text => {
      const box = text.getBoundingClientRect();
      if (box.left < frame.left - 1 || box.right > frame.right + 1 || box.top < frame.top - 1 || box.bottom > frame.bottom + 1)
        faults.push(`figure ${index + 1}: the label "${text.textContent.trim()}" is cut off`);
    });
  });
  document.querySelectorAll('.scroll').forEach(box => {
    if (box.scrollWidth > box.clientWidth + 1)
      faults.push(`a table runs off the right edge by ${box.scrollWidth - box.clientWidth} px: ${box.textContent.slice(0, 60)}`);
  });
  if (document.documentElement.scrollWidth > innerWidth + 1) faults.push('the page is wider than its window');
  const verdict = document.createElement('pre');
  verdict.id = 'verdict';
  verdict.textContent = faults.join('\n');
  verdict.dataset.height = document.documentElement.scrollHeight;
  verdict.dataset.figures = document.querySelectorAll('figure').length;
  document.body.append(verdict);
}));
JS

status=0
for page in "${pages[@]}"; do
    name=$(basename "$(dirname "$page")")
    if grep -qE '(src|href)="?https?:|@import|<script' "$page"; then
        echo "$page requests an external resource" >&2
        status=1
    fi
    { cat "$page"; echo "<script>$(cat "$profile/ask.js")</script>"; } >"$profile/asked.html"
    browse --window-size=1280,900 --virtual-time-budget=5000 --dump-dom "file://$profile/asked.html"
    python3 - "$profile/log" "$page" "$profile/height" <<'PY' || status=1
import html, re, sys
text = open(sys.argv[1], encoding="utf-8").read()
found = re.search(r'<pre id="verdict" data-height="(\d+)" data-figures="(\d+)">(.*?)</pre>', text, re.S)
if not found:
    sys.exit(f"{sys.argv[2]}: the page did not answer")
height, figures, faults = int(found[1]), int(found[2]), html.unescape(found[3]).strip()
open(sys.argv[3], "w").write(str(min(height + 40, 16000)))
if figures == 0:
    faults = "there is no figure" + ("\n" + faults if faults else "")
if faults:
    sys.exit("\n".join(f"{sys.argv[2]}: {fault}" for fault in faults.splitlines()))
print(f"{sys.argv[2]}: {figures} figures, none empty, no label cut off")
PY
    height=$(cat "$profile/height" 2>/dev/null || echo 4000)
    url="file://$(cd "$(dirname "$page")" && pwd)/$(basename "$page")"
    for scheme in light dark; do
        # Blink defines 0 as dark and 1 as light.
        setting=--blink-settings=preferredColorScheme=$([[ $scheme == dark ]] && echo 0 || echo 1)
        browse "$setting" --window-size=1280,900 --screenshot="$folder/$name-$scheme-first.png" "$url"
        browse "$setting" --window-size=1280,"$height" --screenshot="$folder/$name-$scheme.png" "$url"
    done
    browse --no-pdf-header-footer --print-to-pdf="$folder/$name.pdf" "$url"
    rm -f "$folder/$name-printed"-*.png
    pdftoppm -r 60 -png "$folder/$name.pdf" "$folder/$name-printed"
done
ls "$folder"/*.png
exit "$status"
