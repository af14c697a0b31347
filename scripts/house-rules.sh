#!/usr/bin/env bash
# Project rules that neither rustc nor clippy checks. Each has its reason here.
set -euo pipefail
# With `lastpipe`, the last command of a pipeline runs in this shell, so that `... | at_least` can raise `offences`.
shopt -s lastpipe
cd "$(dirname "$0")/.."

offences=0
offence() { printf 'house rule: %s\n' "$1" >&2; offences=$((offences + 1)); }

# A rule without input would always pass. Each list of inputs therefore has a minimum length, which `at_least` checks.
at_least() {
    local least=$1 what=$2 count
    count=$(wc -l)
    ((count >= least)) || offence "found only $count $what, expected at least $least: a pattern in $0 is too narrow"
}
manifests() { git ls-files '*Cargo.toml' | grep -E '^(crates|bindings|examples|benches)/'; }
package() { awk -F'"' '/^name *=/ { print $2; exit }' "$1" | sed 's/^ranlab-//'; }

# A file must be short enough to be read at once. A file with more than 600 lines has several responsibilities, and must
# be split into one file for each.
file_length() {
    local file lines
    while read -r file; do
        lines=$(wc -l <"$file")
        ((lines <= 600)) || offence "$file has $lines lines; 600 are allowed"
    done < <(sources)
}

# A function must fit on a screen. Its length is counted on rustfmt's output, from `fn` to the brace at the same
# indentation. Tests may be longer.
function_length() {
    local found
    while read -r found; do offence "$found"; done < <(sources | grep -v '/tests\.rs$' | xargs awk '
        FNR == 1 { depth = 0; tests = 0 }
        /^#\[cfg\(test\)\]/ { tests = 1 }
        tests { next }
        !/;$/ && match($0, /^ *(pub(\([a-z]+\))? )?(const |async |unsafe |extern "C" )*fn [a-z_0-9]+/) && / fn |^fn / {
            indent = match($0, /[^ ]/) - 1
            start[indent] = FNR; name[indent] = $0; open[indent] = 1
        }
        /^ *}$/ {
            indent = length($0) - 1
            if (open[indent]) {
                lines = FNR - start[indent] + 1
                if (lines > 70) printf "%s:%d: a function of %d lines; 70 are allowed\n", FILENAME, start[indent], lines
                open[indent] = 0
            }
        }')
}

# Unfinished code is not merged: a missing feature returns a typed error or is not offered.
nothing_unfinished() {
    local found
    while read -r found; do offence "$found"; done < <(sources | xargs grep -nE '\b(todo|unimplemented)!' || true)
}

# The first line of a crate states its purpose and limits.
crate_rules() {
    local manifest root found
    while read -r manifest; do
        found=0
        for root in "$(dirname "$manifest")"/src/{lib,main}.rs; do
            [[ -e $root ]] || continue
            found=1
            head -n 1 "$root" | grep -q '^//! .' || offence "$root does not begin with module documentation (//! ...)"
        done
        ((found)) || offence "$manifest has neither src/lib.rs nor src/main.rs"
    done < <(manifests)
}

# If a profile override names a package that no longer exists, Cargo only prints a warning and ignores the override. Most
# overrides make a package small, so the program would grow unnoticed.
profiles() {
    local name
    while read -r name; do
        grep -q "^name = \"$name\"" Cargo.lock || offence "Cargo.toml has a profile for $name, which is not a package"
    done < <(grep -oE '^\[profile\.[a-z]+\.package\.[a-z0-9_-]+\]' Cargo.toml | sed -E 's/.*\.package\.(.*)\]/\1/')
}

# An option `-p NAME` in a script or page must name an existing package.
named_packages() {
    local found name
    while read -r found; do
        name=${found##* }
        grep -q "^name = \"$name\"" Cargo.lock fuzz/Cargo.lock bindings/python/Cargo.lock ||
            offence "${found%%:*} names the package $name, which does not exist"
    done < <(git grep -oE -- '-p ranlab(-[a-z0-9]+)*' -- . ':!CHANGELOG.md' ':!docs/decisions' || true)
}

# Allowed dependencies between crates. There are domains (e2, sdran, upf, pipeline, xhaul) and a base that all of them
# share. A crate may depend only on the crates listed for it; a new crate must be added here. Pure crates of a domain
# (codec, machines, models) import the base's pure crates and their own domain. The `-lab` crate of a domain (sockets,
# components, rigs, verbs) imports all of the base and its own domain. Tests ([dev-dependencies]) may import any crate.
#
# Exceptions between domains: sdran uses the slice types of the E2 codec, and its base stations may have the radio of `ran`.
# compare starts systems of two domains side by side.
BASE_CRATES="machine packet net memif host transport page http campaign lab command"
E2_CRATES="e2-codec e2-capture e2 radio ran sim ric ric-server sdk"
declare -A may_import=(
    [machine]="" [packet]="machine" [net]="" [memif]="machine packet net" [transport]="machine net" [host]="" [page]="" [http]="machine transport page"
    [campaign]="" [report]="campaign page" [lab]="machine net host transport campaign"
    [command]="machine transport http host net campaign lab"
    [e2-codec]="machine" [e2-capture]="e2-codec packet" [e2]="machine e2-codec" [radio]="" [ran]="machine e2-codec e2 radio"
    [sim]="machine e2 e2-codec radio" [sdk]="machine transport e2 e2-codec net" [ric]="machine e2 e2-codec"
    [ric-server]="machine transport http e2 e2-codec sdk ric" [e2-lab]="$BASE_CRATES $E2_CRATES"
    [sdran]="machine packet e2-codec" [sdran-lab]="$BASE_CRATES sdran e2-codec e2 radio ran"
    [upf]="machine packet" [upf-lab]="$BASE_CRATES upf"
    [pipeline]="machine packet" [pipeline-lab]="$BASE_CRATES pipeline"
    [xhaul]="" [xhaul-lab]="$BASE_CRATES xhaul"
    [compare]="$BASE_CRATES e2-lab e2 e2-codec radio ran sdran sdran-lab"
    [ranlab]="$BASE_CRATES report e2-lab sdran-lab upf-lab pipeline-lab xhaul-lab compare"
    [c]="e2 e2-codec" [preload]="net" [python]="e2-lab lab sdk campaign report" [out-of-tree-sm]="sdk" [out-of-tree-transport]="sdk"
    [stage-pacer]="" [benches]="ranlab e2-lab lab report campaign e2-codec sdk host net"
)
arrows() {
    local manifest crate import
    manifests | at_least 38 manifests
    while read -r manifest; do
        crate=$(package "$manifest")
        [[ -v may_import[$crate] ]] || { offence "$manifest is missing in may_import in $0"; continue; }
        for import in $(awk '/^\[/ { inside = /^\[(target\..*\.)?dependencies/ } inside' "$manifest" |
            grep -oE '^ranlab-[a-z0-9-]+' | sed 's/^ranlab-//'); do
            [[ " ${may_import[$crate]} " == *" $import "* ]] || offence "$crate must not import $import ($manifest)"
        done
    done < <(manifests)
}

# The agent and the RIC are separate products: a program may contain only one of them. The two halves of e2 must
# therefore not depend on each other.
halves_of_e2() {
    local found
    git ls-files crates/e2/machines/src/agent crates/e2/machines/src/ric | at_least 20 "files of the two halves of e2"
    while read -r found; do offence "$found: agent and ric must not import each other"; done < <(
        grep -rnE '\bcrate::ric\b' crates/e2/machines/src/agent || true
        grep -rnE '\bcrate::agent\b' crates/e2/machines/src/ric || true
    )
}

# To add a service model, only its own folders and two tables need changes. All other code works with any model.
models() { scripts/models.py || offence "service models outside their folders; see scripts/models.py"; }

# Two bindings are written as two `let` statements, not as `let (a, b) = (x, y);`. At most TUPLE_LETS such lines are allowed.
TUPLE_LETS=50
tuple_lets() {
    local count
    count=$({ git ls-files '*.rs' | xargs grep -hE '^\s*let \([^=]*\) = \(.*,.*\);$' || true; } | wc -l)
    ((count <= TUPLE_LETS)) || offence "$count bindings destructure a tuple literal; $TUPLE_LETS are allowed"
}

# `unsafe` is limited to a few places that can be reviewed: system calls, the C interface, and one file of the packet
# engine.
UNSAFE_FILE=crates/pipeline/pipeline/src/engine/hot.rs
unsafe_places() {
    local found
    [[ -e $UNSAFE_FILE ]] || offence "$UNSAFE_FILE, which may contain unsafe code, does not exist"
    while read -r found; do offence "$found: unsafe code is allowed in net, host and bindings only"; done < <(
        sources | grep -vE '^(crates/base/(net|host)|bindings)/' | grep -vxF "$UNSAFE_FILE" | xargs grep -nE 'allow\(unsafe_code\)|^\s*unsafe ' || true
    )
}

# Links in documents must have a target.
links() {
    local file target
    while read -r file; do
        while read -r target; do
            [[ -e $(dirname "$file")/$target ]] || offence "$file links to $target, which does not exist"
        done < <(grep -oE '\]\([^)#: ]+' "$file" | sed 's/^](//' || true)
    done < <(git ls-files '*.md')
}

# The root folder is the first thing that new users see. Results of runs do not belong there: `results/` is not tracked.
ROOT=".cargo .ci .github .gitignore ARCHITECTURE.md CHANGELOG.md CODE_OF_CONDUCT.md CONTRIBUTING.md Cargo.lock Cargo.toml LICENSE Makefile README.md RELEASING.md SECURITY.md SPECIFICATION.md
    benches bindings clippy.toml crates docs examples fuzz peers rust-toolchain.toml rustfmt.toml scenarios scripts tests deny.toml packaging"
root() {
    local entry
    while read -r entry; do
        [[ " $(echo $ROOT) " == *" $entry "* ]] || offence "$entry is not allowed in the root folder; move it, or add it to ROOT in $0"
    done < <(git ls-files | cut -d / -f 1 | sort -u)
}

# The page is small and self-contained, and never interprets text of a peer as markup.
WEB=crates/base/page/web
PAGE_BYTES=$((150 * 1024))
page() {
    local found bytes file
    # The comments and indentation of scripts do not count, because crates/base/page/build.rs removes them before embedding.
    # The tests of that crate measure the embedded size.
    bytes=$({ cat "$WEB"/*.{html,css,svg}; grep -hvE '^\s*(//|/\*\*|\*)' "$WEB"/*.js | sed -E 's/^\s+//; s,/\*\* @[^*]*\*/ ?,,g'; } | wc -c)
    ((bytes <= PAGE_BYTES)) || offence "$WEB has $bytes bytes; $PAGE_BYTES are allowed"
    while read -r found; do offence "$found: insert text of peers with textContent, never as markup or code"; done < <(
        grep -nE 'innerHTML|outerHTML|insertAdjacentHTML|document\.write|srcdoc|\beval\(|new Function|DOMParser|createContextualFragment' "$WEB"/*.js || true
    )
    while read -r found; do offence "$found: the content security policy requires scripts and styles in separate files"; done < <(
        grep -nE '<script[^>]*>[^<]|<script>|<style|\son[a-z]+=|style=|javascript:' "$WEB"/*.html "$WEB"/*.svg || true
    )
    while read -r found; do offence "$found: the page may request nothing but its own server"; done < <(
        grep -nE '(https?:)?//[a-z0-9.-]+\.[a-z]' "$WEB"/*.{html,css,js} | grep -v 'www.w3.org/2000/svg' || true
    )
    for file in "$WEB"/*.{html,css,js,svg}; do
        grep -q "\"$(basename "$file")\"" crates/base/page/src/lib.rs || offence "$file is not served (crates/base/page/src/lib.rs)"
    done
    while read -r found; do offence "$found"; done < <(
        wc -l "$WEB"/*.js | awk '$1 > 600 && $2 != "total" { print $2 " has " $1 " lines; 600 are allowed" }'
    )
}

# A result is stale if the behaviour version of its rig or of a component has changed since. A commit that changes what is
# measured must raise that version in BEHAVIOUR. This check only reminds of it.
BASE=${HOUSE_RULES_BASE:-main}
BEHAVIOUR=crates/cli/src/domains/behaviour.rs
behaviour() {
    local folder changed
    git rev-parse -q --verify "$BASE" >/dev/null && ! git diff --quiet "$BASE...HEAD" 2>/dev/null || return 0
    ! git diff "$BASE...HEAD" -- "$BEHAVIOUR" 2>/dev/null | grep -q '^[-+] *("' || return 0
    while read -r folder; do
        [[ -d $folder ]] || offence "$BEHAVIOUR names $folder, which does not exist"
        changed=$(git diff --name-only "$BASE...HEAD" -- "$folder" 2>/dev/null | grep -cvE '(^|/)tests(\.rs|/)' || true)
        ((changed == 0)) || printf 'house rules: %s files below %s changed since %s: if this changes what is measured, raise the version of the component in %s\n' \
            "$changed" "$folder" "$BASE" "$BEHAVIOUR" >&2
    done < <(grep -oE '"crates/[a-z0-9/-]+"' "$BEHAVIOUR" | tr -d '"')
}

sources() { git ls-files --cached --others --exclude-standard '*/src/*.rs' | grep -E '^(crates|bindings|examples)/' | while read -r file; do
    [[ ! -e $file ]] || echo "$file"
done; }

sources | at_least 1000 "source files"
file_length
function_length
nothing_unfinished
crate_rules
profiles
named_packages
arrows
halves_of_e2
models
tuple_lets
unsafe_places
links
root
page
behaviour
((offences == 0)) || { echo "$offences offences against scripts/house-rules.sh" >&2; exit 1; }
echo "house rules: $(sources | wc -l) files, no offence"
