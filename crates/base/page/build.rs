//! Prepares the files of `web/` for embedding. Removes comments, most of which are types, and indentation, because
//! browsers do not need them.
use std::fs;
use std::path::Path;

fn main() -> Result<(), Box<dyn std::error::Error>> {
    let from = Path::new(env!("CARGO_MANIFEST_DIR")).join("web");
    let to = std::env::var("OUT_DIR")?;
    println!("cargo:rerun-if-changed={}", from.display());
    for entry in fs::read_dir(&from)? {
        let path = entry?.path();
        let (Some(name), Some(form)) = (path.file_name(), path.extension().and_then(|form| form.to_str()))
        else {
            continue;
        };
        if !matches!(form, "html" | "css" | "js" | "svg") {
            continue;
        }
        println!("cargo:rerun-if-changed={}", path.display());
        let text = fs::read_to_string(&path)?;
        let text = if form == "js" { bare(&text) } else { text };
        fs::write(Path::new(&to).join(name), text)?;
    }
    Ok(())
}

/// Removes comments: lines that begin with `//`, lines from `/**` to `*/`, and types within a line. No string of `web/`
/// spans several lines (see the tests of this crate), so the beginning of a line decides.
fn bare(text: &str) -> String {
    let mut inside = false;
    let mut kept = String::with_capacity(text.len());
    for line in text.lines() {
        let begun = line.trim_start();
        // A line with `/** @type {X} */ (value)` is code.
        inside |= begun.starts_with("/**") && !begun.trim_end_matches("*/").contains("*/");
        if inside {
            inside = !line.trim_end().ends_with("*/");
        } else if !begun.starts_with("//") {
            untyped(begun, &mut kept);
            kept.push('\n');
        }
    }
    kept
}

/// Appends a line without its types (`/** @type {X} */`).
fn untyped(line: &str, kept: &mut String) {
    let mut rest = line;
    while let Some((code, after)) = rest.split_once("/** @")
        && let Some((_, next)) = after.split_once("*/")
    {
        kept.push_str(code);
        rest = next.strip_prefix(' ').unwrap_or(next);
    }
    kept.push_str(rest);
}
