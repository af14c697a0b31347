//! Response to a request, before HTTP gives it a form.

/// Response of a controller to a northbound request.
#[derive(Debug, Clone, PartialEq)]
pub enum Answer {
    /// Result.
    Known(serde_json::Value),
    /// Unknown resource.
    Unknown,
    /// HTTP status and message of an error.
    Refused(u16, String),
    /// The response follows when this order has ended.
    Later(u64),
}

impl From<Option<serde_json::Value>> for Answer {
    fn from(value: Option<serde_json::Value>) -> Self {
        value.map_or(Self::Unknown, Self::Known)
    }
}
