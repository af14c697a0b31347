//! Capabilities of a RAN function, as listed in its definition, for selection by users and programs.

/// A style, action or structure of a RAN function.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Offer {
    /// `report`, `insert`, `control`, `policy`, or `structure` of a configuration.
    pub kind: &'static str,
    /// Style number, followed by a slash and the action if there is one: `4`, `2/6`; empty for a structure.
    pub number: String,
    /// Name.
    pub name: String,
    /// Names of measurements, parameters or attributes.
    pub items: Vec<String>,
}

impl Offer {
    pub(crate) fn new(
        kind: &'static str,
        number: impl ToString,
        name: &str,
        items: impl IntoIterator<Item = String>,
    ) -> Self {
        Self { kind, number: number.to_string(), name: name.to_owned(), items: items.into_iter().collect() }
    }
}
