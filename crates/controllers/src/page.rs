//! The page for people, as a server gives it. It holds no secret, so it is given without the token; all that it shows is asked for
//! like anything else here.
use axum::http::header;
use axum::response::{IntoResponse, Response};
use ranlab_page::{File, POLICY};

/// The file at a path; `None` if there is none.
pub(crate) fn file(path: &str) -> Option<Response> {
    ranlab_page::file(path).map(response)
}

/// A file as it is given.
pub(crate) fn response(file: &File) -> Response {
    let headers = [
        (header::CONTENT_TYPE, file.form),
        (header::CONTENT_SECURITY_POLICY, POLICY),
        (header::X_CONTENT_TYPE_OPTIONS, "nosniff"),
        (header::REFERRER_POLICY, "no-referrer"),
        // Another version of the program may serve here next.
        (header::CACHE_CONTROL, "no-cache"),
    ];
    (headers, file.text).into_response()
}

/// As [`file`], with the page of a verb that shows what it does in the place of the RIC's.
pub(crate) fn file_of_board(path: &str) -> Option<Response> {
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
    fn it_takes_scripts_from_this_server_alone() {
        let page = file("/").unwrap();
        let policy = page.headers()[header::CONTENT_SECURITY_POLICY].to_str().unwrap().to_owned();
        assert!(policy.contains("default-src 'none'") && !policy.contains("unsafe"), "{policy}");
        assert!(file("/web/").is_none() && file("/web/../Cargo.toml").is_none());
    }
}
