//! The web page: the files of `web/` without comments, and some of them as one file that needs no server. No I/O.

mod base64;
pub mod font;
mod saved;

pub use base64::base64;
pub use saved::{Saved, escape};

/// Content security policy of the server: scripts and styles from the server only, no inline code, no frames, no
/// forms. The page creates pictures for download itself (`blob:`).
pub const POLICY: &str = "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self' data: blob:; connect-src 'self'; \
    base-uri 'none'; form-action 'none'; frame-ancestors 'none'";

/// Maximum size of all files together, in bytes.
pub const BYTES_MAX: usize = 150 << 10;

const SCRIPT: &str = "text/javascript; charset=utf-8";

/// A file of the page.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct File {
    /// Path on the server: `/web/app.js`.
    pub path: &'static str,
    /// Content type for HTTP.
    pub form: &'static str,
    /// Content of the file.
    pub text: &'static str,
}

macro_rules! files {
    ($($path:literal $file:literal $form:expr;)+) => {
        /// All files of `web/`.
        pub const FILES: &[File] =
            &[$(File { path: $path, form: $form, text: include_str!(concat!(env!("OUT_DIR"), "/", $file)) }),+];
    };
}
files! {
    "/" "index.html" "text/html; charset=utf-8";
    "/web/page.css" "page.css" "text/css; charset=utf-8";
    "/web/icon.svg" "icon.svg" "image/svg+xml";
    "/web/app.js" "app.js" SCRIPT;
    "/web/dom.js" "dom.js" SCRIPT;
    "/web/net.js" "net.js" SCRIPT;
    "/web/theme.js" "theme.js" SCRIPT;
    "/web/store.js" "store.js" SCRIPT;
    "/web/history.js" "history.js" SCRIPT;
    "/web/figure.js" "figure.js" SCRIPT;
    "/web/scale.js" "scale.js" SCRIPT;
    "/web/forms.js" "forms.js" SCRIPT;
    "/web/plot.js" "plot.js" SCRIPT;
    "/web/tools.js" "tools.js" SCRIPT;
    "/web/heat.js" "heat.js" SCRIPT;
    "/web/table.js" "table.js" SCRIPT;
    "/web/map.js" "map.js" SCRIPT;
    "/web/kpm.js" "kpm.js" SCRIPT;
    "/web/watch.js" "watch.js" SCRIPT;
    "/web/overview.js" "overview.js" SCRIPT;
    "/web/node.js" "node.js" SCRIPT;
    "/web/control.js" "control.js" SCRIPT;
    "/web/document.js" "document.js" SCRIPT;
    "/web/overlay.js" "overlay.js" SCRIPT;
    "/web/explore.js" "explore.js" SCRIPT;
    "/web/report.js" "report.js" SCRIPT;
    "/web/saved.js" "saved.js" SCRIPT;
    "/web/shown.js" "shown.js" SCRIPT;
    "/web/sequence.js" "sequence.js" SCRIPT;
    "/web/lock.js" "lock.js" SCRIPT;
    "/web/live.js" "live.js" SCRIPT;
    "/web/turns.js" "turns.js" SCRIPT;
}

/// Returns the file at a path of the server.
pub fn file(path: &str) -> Option<&'static File> {
    FILES.iter().find(|file| file.path == path)
}

/// Returns the live page of a command: the RIC's page with another script.
pub fn board() -> String {
    let frame = file("/").map_or("", |file| file.text);
    [
        ("/web/app.js", "/web/live.js"),
        ("ranlab <span>RIC</span>", "ranlab"),
        ("ranlab RIC", "ranlab"),
        ("/v1/nodes", "/v1/stream"),
    ]
    .iter()
    .fold(frame.to_owned(), |text, (of_ric, own)| text.replace(of_ric, own))
}

/// Returns a document as one page that opens without a server. `json` is the document, `words` the text without JavaScript.
pub fn saved(title: &str, json: &str, words: &[String]) -> String {
    Saved { title, entry: "saved", styles: font::face(), json, words }.html()
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::collections::BTreeSet;

    #[test]
    fn verb_page_differs_from_ric_page() {
        let text = board();
        assert!(text.contains("/web/live.js") && text.contains("/v1/stream"));
        assert!(!text.contains("RIC") && !text.contains("app.js") && !text.contains("nodes"), "{text}");
    }

    #[test]
    fn page_is_small_and_has_all_files() {
        let bytes: usize = FILES.iter().map(|file| file.text.len()).sum();
        assert!(bytes <= BYTES_MAX, "the page has {bytes} bytes; at most {BYTES_MAX} are allowed");
        let served: BTreeSet<&str> = FILES.iter().map(|file| file.path).collect();
        assert_eq!(served.len(), FILES.len());
        // Every imported module exists.
        for file in FILES.iter().filter(|file| file.form == SCRIPT) {
            for import in file.text.lines().filter_map(|line| line.split_once(" from \"./")) {
                let name = format!("/web/{}", import.1.trim_end_matches("\";"));
                assert!(served.contains(name.as_str()), "{} imports {name}", file.path);
            }
        }
    }

    #[test]
    fn no_string_spans_several_lines() {
        for file in FILES.iter().filter(|file| file.form == SCRIPT) {
            // Removes quoted backticks, so that only those that begin or end a string are counted.
            let open = |line: &&str| line.replace("\"`\"", "").matches('`').count() % 2 == 1;
            assert_eq!(file.text.lines().find(open), None, "{}", file.path);
        }
    }

    #[test]
    fn bundle_contains_listed_files_only() {
        assert!(file("/").is_some() && file("/web/plot.js").is_some());
        assert!(
            ["/web/", "/web/../Cargo.toml", "/web/index.html", ""].iter().all(|path| file(path).is_none())
        );
    }
}
