//! What may be wrong with a user's pipeline, and where.

/// A user's pipeline that cannot be, and the line that says so.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("{file}:{line}: {fault}")]
pub struct OwnError {
    /// The file, as whoever read it calls it.
    pub file: String,
    /// From 1; 0 where the fault is of the whole file.
    pub line: u32,
    /// What is wrong.
    pub fault: OwnFault,
}

/// What is wrong in that line.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum OwnFault {
    /// The text is no TOML.
    #[error("not TOML: {0}")]
    Syntax(String),
    /// A name that nobody knows there.
    #[error("there is no {what} \"{name}\"; allowed are {allowed}")]
    Unknown {
        /// What it should name.
        what: &'static str,
        /// What it says.
        name: String,
        /// What it could say, with commas between.
        allowed: String,
    },
    /// A field that has to be there.
    #[error("{of} lacks `{field}`, {allowed}")]
    Missing {
        /// The field.
        field: &'static str,
        /// What lacks it.
        of: String,
        /// What may stand there.
        allowed: &'static str,
    },
    /// A value of another kind.
    #[error("`{field}` must be {allowed}")]
    Kind {
        /// The field.
        field: String,
        /// What may stand there.
        allowed: &'static str,
    },
    /// A number beyond its bounds.
    #[error("{what}: {value}; allowed are {least} to {most}")]
    Range {
        /// Of what.
        what: String,
        /// What is asked for.
        value: u64,
        /// The least.
        least: u64,
        /// The most.
        most: u64,
    },
    /// An element that comes too early.
    #[error("`{element}` needs {needs} before it")]
    Order {
        /// The element.
        element: &'static str,
        /// What has to stand before it.
        needs: &'static str,
    },
    /// An element that no packet reaches.
    #[error("`{element}` is never reached: `{last}` before it sends every packet")]
    Unreached {
        /// The element.
        element: &'static str,
        /// What sends.
        last: &'static str,
    },
    /// Packets that would go nowhere.
    #[error("{direction} sends nothing: its last element must be forward, deliver, encap or emit")]
    Endless {
        /// Which way.
        direction: &'static str,
    },
    /// Blocks that contain themselves.
    #[error("block \"{0}\" contains itself")]
    Circle(String),
    /// A table whose content does not fit what uses it.
    #[error("`{element}` cannot use table \"{table}\": {why}")]
    Table {
        /// The element.
        element: &'static str,
        /// The table.
        table: String,
        /// Why not.
        why: &'static str,
    },
    /// Two things that exclude each other.
    #[error("{0}")]
    Both(&'static str),
    /// A line that is no rule of ClassBench's filter sets.
    #[error("no rule of a filter set: {0}")]
    Rule(String),
}
