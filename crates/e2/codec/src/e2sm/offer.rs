//! What a RAN function offers, as its definition lists it: for lists that people and programs choose from.

/// A style, an action or a structure of a RAN function.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Offer {
    /// `report`, `insert`, `control`, `policy`, or `structure` of a configuration.
    pub kind: &'static str,
    /// Number of the style, with the action behind a slash: `4`, `2/6`; empty for a structure.
    pub number: String,
    /// Name.
    pub name: String,
    /// Measurements, parameters or attributes, by name.
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
