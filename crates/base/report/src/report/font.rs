//! The embedded font as text, so that a page and a figure look the same on every machine: labels were measured with it.

use std::sync::OnceLock;

/// `@font-face` with the font itself; no file is fetched.
pub(super) fn face() -> &'static str {
    static FACE: OnceLock<String> = OnceLock::new();
    FACE.get_or_init(|| {
        let font = ranlab_page::base64(super::draw::INTER);
        format!("@font-face{{font-family:Inter;src:url(data:font/otf;base64,{font}) format('opentype')}}")
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_font_is_in_it() {
        assert!(face().starts_with("@font-face") && face().len() > 50_000);
    }
}
