//! Errors in a user's pipeline, with their lines.

/// An error in a user's pipeline, with its line.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("{file}:{line}: {fault}")]
pub struct OwnError {
    /// Name of the file, as given by the reader.
    pub file: String,
    /// Number of the line, from 1. 0 if the error concerns the whole file.
    pub line: u32,
    /// Error in the line.
    pub fault: OwnFault,
}

/// The error in a line.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum OwnFault {
    /// The text is not valid TOML.
    #[error("not TOML: {0}")]
    Syntax(String),
    /// An unknown name.
    #[error("there is no {what} \"{name}\"; {allowed}")]
    Unknown {
        /// Kind of the object with the unknown name.
        what: &'static str,
        /// Name given in the file.
        name: String,
        /// Description of the allowed names, as the end of a sentence.
        allowed: String,
    },
    /// A required field is missing.
    #[error("{of} lacks `{field}`; expected {allowed}")]
    Missing {
        /// Name of the missing field.
        field: &'static str,
        /// Object that lacks the field.
        of: String,
        /// Allowed values of the field.
        allowed: &'static str,
    },
    /// A value of the wrong type.
    #[error("`{field}` must be {allowed}")]
    Kind {
        /// Name of the field with the wrong type.
        field: String,
        /// Allowed values of the field.
        allowed: &'static str,
    },
    /// A number out of range.
    #[error("{what}: {value}; allowed are {least} to {most}")]
    Range {
        /// Name of the quantity.
        what: String,
        /// Value given in the file.
        value: u64,
        /// Minimum of the quantity.
        least: u64,
        /// Maximum of the quantity.
        most: u64,
    },
    /// An element whose requirements are not met by the elements before it.
    #[error("before `{element}`, {needs}")]
    Order {
        /// Element whose requirements are not met.
        element: &'static str,
        /// Requirement on the elements before it, as a clause.
        needs: &'static str,
    },
    /// An unreachable element.
    #[error("`{element}` is never reached: `{last}` before it sends every packet")]
    Unreached {
        /// Unreachable element.
        element: &'static str,
        /// Preceding element that sends every packet.
        last: &'static str,
    },
    /// A direction without a sending element.
    #[error("{direction} sends nothing: its last element must be forward, deliver, encap or emit")]
    Endless {
        /// Direction without a sending element.
        direction: &'static str,
    },
    /// A block that contains itself.
    #[error("block \"{0}\" contains itself")]
    Circle(String),
    /// A table whose content does not fit the element that uses it.
    #[error("`{element}` cannot use table \"{table}\": {why}")]
    Table {
        /// Element that uses the table.
        element: &'static str,
        /// Name of the table.
        table: String,
        /// Reason why the content does not fit.
        why: &'static str,
    },
    /// Two settings that contradict each other.
    #[error("{0}")]
    Both(&'static str),
    /// A line that is not a route.
    #[error("invalid route: {0}")]
    Route(String),
    /// A line that is not an update of a route.
    #[error("invalid update of a route: {0}")]
    Update(String),
    /// A line that is not a rule of ClassBench's filter sets.
    #[error("invalid rule of a filter set: {0}")]
    Rule(String),
}
