//! Identifiers of the parties in a world.

/// Identifier of a party in a world: a RIC, an agent or an xApp.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub struct PartyId(pub(crate) usize);
