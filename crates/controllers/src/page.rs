//! The page for people, embedded: files of `web/` as they are. It holds no secret, so it is given without the token; all
//! that it shows is asked for like anything else here.
use axum::http::header;
use axum::response::{IntoResponse, Response};

/// Scripts and styles from here alone, nothing written into the page; it is in nobody's frame and sends no form.
const POLICY: &str = "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self' data:; connect-src 'self'; \
    base-uri 'none'; form-action 'none'; frame-ancestors 'none'";
const SCRIPT: &str = "text/javascript; charset=utf-8";

macro_rules! files {
    ($($path:literal $file:literal $form:expr;)+) => {
        /// Path, content type, text.
        const FILES: &[(&str, &str, &str)] =
            &[$(($path, $form, include_str!(concat!("../../../web/", $file)))),+];
    };
}
files! {
    "/" "index.html" "text/html; charset=utf-8";
    "/web/page.css" "page.css" "text/css; charset=utf-8";
    "/web/icon.svg" "icon.svg" "image/svg+xml";
    "/web/app.js" "app.js" SCRIPT;
    "/web/dom.js" "dom.js" SCRIPT;
    "/web/net.js" "net.js" SCRIPT;
    "/web/store.js" "store.js" SCRIPT;
    "/web/history.js" "history.js" SCRIPT;
    "/web/figure.js" "figure.js" SCRIPT;
    "/web/plot.js" "plot.js" SCRIPT;
    "/web/heat.js" "heat.js" SCRIPT;
    "/web/table.js" "table.js" SCRIPT;
    "/web/map.js" "map.js" SCRIPT;
    "/web/watch.js" "watch.js" SCRIPT;
    "/web/overview.js" "overview.js" SCRIPT;
    "/web/node.js" "node.js" SCRIPT;
    "/web/control.js" "control.js" SCRIPT;
}

/// The file at a path; `None` if there is none.
pub(crate) fn file(path: &str) -> Option<Response> {
    let (_, form, text) = FILES.iter().find(|(at, ..)| *at == path)?;
    let headers = [
        (header::CONTENT_TYPE, *form),
        (header::CONTENT_SECURITY_POLICY, POLICY),
        (header::X_CONTENT_TYPE_OPTIONS, "nosniff"),
        (header::REFERRER_POLICY, "no-referrer"),
        // Another version of the program may serve here next.
        (header::CACHE_CONTROL, "no-cache"),
    ];
    Some((headers, *text).into_response())
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::collections::BTreeSet;

    /// Octets of the whole page at most.
    const PAGE_BYTES: usize = 150 << 10;

    #[test]
    fn the_page_is_small_and_whole() {
        let bytes: usize = FILES.iter().map(|(_, _, text)| text.len()).sum();
        assert!(bytes <= PAGE_BYTES, "{bytes} octets");
        let served: BTreeSet<&str> = FILES.iter().map(|(path, ..)| *path).collect();
        assert_eq!(served.len(), FILES.len());
        // Every module that one imports is there.
        for (path, _, text) in FILES.iter().filter(|(_, form, _)| *form == SCRIPT) {
            for import in text.lines().filter_map(|line| line.split_once(" from \"./")) {
                let name = format!("/web/{}", import.1.trim_end_matches("\";"));
                assert!(served.contains(name.as_str()), "{path} imports {name}");
            }
        }
    }

    #[test]
    fn it_takes_scripts_from_this_server_alone() {
        let page = file("/").unwrap();
        let policy = page.headers()[header::CONTENT_SECURITY_POLICY].to_str().unwrap().to_owned();
        assert!(policy.contains("default-src 'none'") && !policy.contains("unsafe"), "{policy}");
        assert!(
            file("/web/").is_none()
                && file("/web/../Cargo.toml").is_none()
                && file("/web/index.html").is_none()
        );
    }
}
