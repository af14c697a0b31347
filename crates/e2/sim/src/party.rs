//! Identifiers of the parties in a world.

/// A party of a world: a RIC, an agent, an xApp.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub struct PartyId(pub(crate) usize);
