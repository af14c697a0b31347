//! Checks for tests of types and adapters.

use ranlab_campaign::value::Value;

use super::As;

/// Checks that texts round-trip, and that invalid texts are rejected with the allowed values.
///
/// # Panics
/// Panics if a text does not round-trip, or an invalid text is accepted.
pub fn reads<A: As<T>, T>(written: &[&str], wrong: &[(&str, &str)]) {
    for text in written {
        let read = A::from_value(&Value::from(*text));
        let again = read.as_ref().map(|value| A::to_value(value).map(|value| value.to_string()));
        assert_eq!(again.map_err(String::clone), Ok(Some((*text).to_owned())));
    }
    for (text, allowed) in wrong {
        let error = A::from_value(&Value::from(*text)).err().unwrap_or_default();
        assert!(error.contains(allowed), "{text}: {error}");
    }
}
