//! Settings of an endpoint of a memif connection, and the layout of the owner's memory.

use crate::memif::messages::{Ring, SECRET_BYTES};

/// Maximum binary logarithm of a ring's descriptors: with a larger value, 16-bit indices could not distinguish full
/// from empty.
pub const LOG2_RING_MAX: u8 = 14;
/// Maximum number of regions that a peer may announce. The drivers of DPDK and VPP use one for rings and may use more
/// for buffers.
pub const REGIONS_MAX: usize = 16;
/// Maximum number of rings in each direction. A switch sends on one ring per thread, and may also receive on one ring
/// per thread.
pub const RINGS_MAX: u16 = 16;
/// Maximum bytes of a region: 1 GiB.
pub const REGION_OCTETS_MAX: u64 = 1 << 30;
/// Minimum and maximum bytes of a packet buffer.
pub const BUFFER_OCTETS: std::ops::RangeInclusive<u32> = 64..=65_536;
/// Alignment of rings, so that their indices and descriptors can be read in one piece.
pub const RING_ALIGNMENT: u32 = 8;

/// Role of an endpoint.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Role {
    /// Listens and maps the peer's memory ("master", "server").
    Master,
    /// Connects and owns the memory ("slave", "client").
    Slave,
}

/// Settings of an endpoint.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Settings {
    /// Role of this endpoint.
    pub role: Role,
    /// Number of the interface at the socket; the same at both endpoints.
    pub id: u32,
    /// Name of this program and its interface, at most 31 bytes.
    pub name: String,
    /// Secret shared by both endpoints; zeros mean that no secret is sent or required.
    pub secret: [u8; SECRET_BYTES],
    /// Binary logarithm of the descriptors of each ring, at most [`LOG2_RING_MAX`]; the peer may have a lower
    /// limit.
    pub log2_ring: u8,
    /// Bytes of each buffer, in [`BUFFER_OCTETS`], a multiple of 64. The value of the memory's owner (the slave) is
    /// used.
    pub buffer_octets: u32,
    /// Number of rings towards the slave, 1 to [`RINGS_MAX`]. Used only by a slave, which offers them. If the master
    /// has more send queues than rings, it loses the packets of the other queues.
    pub rings_to_slave: u16,
    /// Number of rings towards the master, 1 to [`RINGS_MAX`]. Used only by a slave, which offers them: one for each
    /// core of a switch that distributes packets by rings.
    pub rings_to_master: u16,
    /// Minimum number of rings in each direction, 1 to [`RINGS_MAX`]: one for each core of this endpoint.
    pub rings_least: u16,
}

impl Settings {
    /// Creates settings with rings of 1,024 descriptors and buffers of 2,048 bytes, the defaults of DPDK and VPP.
    #[must_use]
    pub fn new(role: Role, id: u32) -> Self {
        let name = String::from("ranlab");
        Self {
            role,
            id,
            name,
            secret: [0; SECRET_BYTES],
            log2_ring: 10,
            buffer_octets: 2048,
            rings_to_slave: 1,
            rings_to_master: 1,
            rings_least: 1,
        }
    }

    /// Returns a copy with `rings` rings in each direction. A slave offers this number, and both endpoints reject
    /// fewer.
    #[must_use]
    pub fn each_way(self, rings: u16) -> Self {
        Self { rings_to_slave: rings, rings_to_master: rings, rings_least: rings, ..self }
    }

    /// Checks the settings.
    ///
    /// # Errors
    /// Names the invalid setting and the allowed values.
    pub fn check(&self) -> Result<(), SettingsError> {
        if self.log2_ring > LOG2_RING_MAX {
            return Err(SettingsError::Ring(self.log2_ring));
        }
        if !BUFFER_OCTETS.contains(&self.buffer_octets) || !self.buffer_octets.is_multiple_of(64) {
            return Err(SettingsError::Buffer(self.buffer_octets));
        }
        if self.name.len() > 31 || self.name.contains('\0') {
            return Err(SettingsError::Name(self.name.clone()));
        }
        let rings = [self.rings_to_master, self.rings_to_slave, self.rings_least];
        if let Some(wrong) = rings.into_iter().find(|rings| !(1..=RINGS_MAX).contains(rings)) {
            return Err(SettingsError::Rings(wrong));
        }
        let octets = self.layout(self.log2_ring, [RINGS_MAX; 2]).octets;
        if octets > REGION_OCTETS_MAX { Err(SettingsError::Memory(octets)) } else { Ok(()) }
    }

    /// Returns the layout of a slave's memory. `rings` are the numbers of rings towards the master and towards the
    /// slave. Sizes and numbers above the settings are reduced to the settings.
    pub(super) fn layout(&self, log2_ring: u8, rings: [u16; 2]) -> Layout {
        let rings = [self.rings_to_master.min(rings[0]), self.rings_to_slave.min(rings[1])];
        Layout::new(self.log2_ring.min(log2_ring), self.buffer_octets, rings)
    }
}

/// Settings that are not valid.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum SettingsError {
    /// Too many descriptors.
    #[error("a memif ring has at most 2^{LOG2_RING_MAX} descriptors, 2^{0} are requested")]
    Ring(u8),
    /// No rings, or too many.
    #[error("a memif interface has 1 to {RINGS_MAX} rings in each direction, {0} are requested")]
    Rings(u16),
    /// An invalid size of buffers.
    #[error("memif buffers have 64 to 65536 bytes, in steps of 64; {0} are requested")]
    Buffer(u32),
    /// An invalid name.
    #[error("a memif name has at most 31 bytes and no zero among them: {0:?}")]
    Name(String),
    /// Rings and buffers together are too large.
    #[error(
        "these memif rings and buffers take {0} bytes; at most {REGION_OCTETS_MAX} are allowed; use fewer descriptors or smaller buffers"
    )]
    Memory(u64),
}

/// Layout of a slave's only region: the rings towards the master, the rings towards the slave, then the buffers of all
/// rings in the same order. Each descriptor has one buffer.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Layout {
    /// Binary logarithm of each ring's descriptors.
    pub log2_ring: u8,
    /// Bytes of a buffer.
    pub buffer_octets: u32,
    /// Number of rings towards the master, and towards the slave.
    pub rings: [u16; 2],
    /// Bytes of the region, a multiple of the page size.
    pub octets: u64,
}

impl Layout {
    /// Computes the layout; sizes are as [`Settings::check`] allows.
    #[must_use]
    pub fn new(log2_ring: u8, buffer_octets: u32, rings: [u16; 2]) -> Self {
        let layout = Self { log2_ring: log2_ring.min(LOG2_RING_MAX), buffer_octets, rings, octets: 0 };
        let (ring, buffers) = layout.steps();
        let all = u64::from(rings[0]) + u64::from(rings[1]);
        Self { octets: (all * (ring + buffers)).next_multiple_of(4096), ..layout }
    }

    /// Returns the offsets of a ring and of its buffers.
    #[must_use]
    pub fn place(&self, to_master: bool, index: u16) -> (u32, u32) {
        let (ring, buffers) = self.steps();
        let [masters, slaves] = self.rings.map(u64::from);
        let number = u64::from(index) + if to_master { 0 } else { masters };
        let clamp = |at: u64| u32::try_from(at).unwrap_or(u32::MAX);
        (clamp(number * ring), clamp((masters + slaves) * ring + number * buffers))
    }

    /// Returns the distances in bytes between rings, and between the buffers of rings.
    fn steps(&self) -> (u64, u64) {
        let ring = Ring::octets(self.log2_ring).next_multiple_of(64);
        (ring, u64::from(self.buffer_octets) << self.log2_ring)
    }
}
