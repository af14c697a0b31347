//! The embedded font, in the form of a style sheet. Pages and figures then look the same on every machine, and the labels of
//! figures have the width that was measured with this font.

use std::sync::OnceLock;

/// The font: a subset of Inter.
pub const INTER: &[u8] = include_bytes!("../font/inter-subset.otf");

/// Returns `@font-face` with the font itself; no file is fetched.
pub fn face() -> &'static str {
    static FACE: OnceLock<String> = OnceLock::new();
    FACE.get_or_init(|| {
        let font = crate::base64(INTER);
        format!("@font-face{{font-family:Inter;src:url(data:font/otf;base64,{font}) format('opentype')}}")
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn font_face_contains_the_font() {
        assert!(face().starts_with("@font-face") && face().len() > 50_000);
    }
}
