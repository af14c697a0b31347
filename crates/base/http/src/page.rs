//! Static files of the web page. They contain no secret and are served without token; the page requests all
//! data through the API.
use axum::http::header;
use axum::response::{IntoResponse, Response};
use ranlab_page::{File, POLICY};

/// Returns the file at a path, if it exists.
pub fn file(path: &str) -> Option<Response> {
    ranlab_page::file(path).map(response)
}

/// Returns the response with a file.
pub fn response(file: &File) -> Response {
    let headers = [
        (header::CONTENT_TYPE, file.form),
        (header::CONTENT_SECURITY_POLICY, POLICY),
        (header::X_CONTENT_TYPE_OPTIONS, "nosniff"),
        (header::REFERRER_POLICY, "no-referrer"),
        // After an upgrade, the program serves other files under the same path.
        (header::CACHE_CONTROL, "no-cache"),
    ];
    (headers, file.text).into_response()
}

/// Like [`file()`], with the page of a command-line verb instead of the RIC's page.
pub fn file_of_board(path: &str) -> Option<Response> {
    let file = ranlab_page::file(path)?;
    let mut given = response(file);
    if path == "/" {
        *given.body_mut() = ranlab_page::board().into();
    }
    Some(given)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn page_loads_scripts_from_this_server_only() {
        let page = file("/").unwrap();
        let policy = page.headers()[header::CONTENT_SECURITY_POLICY].to_str().unwrap().to_owned();
        assert!(policy.contains("default-src 'none'") && !policy.contains("unsafe"), "{policy}");
        assert!(file("/web/").is_none() && file("/web/../Cargo.toml").is_none());
    }
}
