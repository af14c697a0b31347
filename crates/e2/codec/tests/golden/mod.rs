//! Access to the test vectors in `tests/vectors/e2sm`: bytes from another codec, and their values as text.

#![allow(clippy::unwrap_used)] // clippy does not recognise test helpers
use std::fmt::Debug;
use std::path::Path;

use bytes::Bytes;
use ranlab_e2_codec::e2sm::{Encoding, Octets};
use ranlab_e2_codec::per::Notation;

/// Returns the contents of a vector file.
pub(crate) fn vector(name: &str) -> Bytes {
    let file = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/vectors/e2sm").join(name);
    std::fs::read(&file).unwrap_or_else(|e| panic!("{}: {e}", file.display())).into()
}

fn words(text: &str) -> String {
    text.split_whitespace().collect::<Vec<_>>().join(" ")
}

/// Checks that the bytes of a vector decode to the values in its text and encode to the same bytes.
pub(crate) fn agrees<T: Octets + Debug>(name: &str, show: impl Fn(&T, &mut Notation)) {
    let octets = vector(&format!("{name}.bin"));
    let text = vector(&format!("{name}.txt"));
    let value = T::decode_as(Encoding::Per, &octets).unwrap_or_else(|e| panic!("{name}: {e}"));
    let shown = words(&Notation::collect(|n| show(&value, n)));
    assert_eq!(shown, words(std::str::from_utf8(&text).unwrap()), "{name}");
    assert_eq!(value.to_octets(Encoding::Per).unwrap(), octets, "{name}");
}
