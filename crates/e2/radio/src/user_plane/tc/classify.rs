//! Selection of a packet's queue by its five-tuple.

use crate::user_plane::flow::FiveTuple;

/// Fields that a packet must match; `None` is a wildcard.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Default)]
pub struct Filter {
    /// IPv4 source address.
    pub source: Option<u32>,
    /// IPv4 destination address.
    pub destination: Option<u32>,
    /// Source port.
    pub source_port: Option<u16>,
    /// Destination port.
    pub destination_port: Option<u16>,
    /// IP protocol number: 6 for TCP, 17 for UDP.
    pub protocol: Option<u8>,
}

impl Filter {
    /// Returns whether a packet matches all fields.
    pub fn matches(&self, tuple: &FiveTuple) -> bool {
        fn fits<T: PartialEq>(field: Option<T>, is: T) -> bool {
            field.is_none_or(|field| field == is)
        }
        fits(self.source, tuple.source)
            && fits(self.destination, tuple.destination)
            && fits(self.source_port, tuple.source_port)
            && fits(self.destination_port, tuple.destination_port)
            && fits(self.protocol, tuple.protocol)
    }
}

/// A filter, and the queue for packets that match it. The first matching rule applies.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Rule {
    /// Identity of the rule, unique in the bearer.
    pub id: u32,
    /// Fields that a packet must match.
    pub filter: Filter,
    /// Identity of the queue for matching packets.
    pub queue: u32,
}
