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
    /// Protocol: 6 TCP, 17 UDP.
    pub protocol: Option<u8>,
}

impl Filter {
    /// Whether a packet matches all fields.
    pub fn matches(&self, tuple: &FiveTuple) -> bool {
        fn fits<T: PartialEq>(wanted: Option<T>, is: T) -> bool {
            wanted.is_none_or(|wanted| wanted == is)
        }
        fits(self.source, tuple.source)
            && fits(self.destination, tuple.destination)
            && fits(self.source_port, tuple.source_port)
            && fits(self.destination_port, tuple.destination_port)
            && fits(self.protocol, tuple.protocol)
    }
}

/// A filter and the queue of the packets that it matches; the first that matches decides.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Rule {
    /// Identity, unique.
    pub id: u32,
    /// Fields to match.
    pub filter: Filter,
    /// Identity of the queue.
    pub queue: u32,
}
