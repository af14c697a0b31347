//! Input for the kernel: maps, their entries, and programs that refer to maps by name instead of by descriptor.

use std::fmt::Write;

/// Lookup method of a map.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum MapKind {
    /// Lookup by index. All entries always exist (`BPF_MAP_TYPE_ARRAY`).
    Array,
    /// Lookup by exact key. Entries are replaced atomically (`BPF_MAP_TYPE_HASH`).
    Hash,
    /// Lookup by longest prefix. Keys begin with a length of four bytes (`BPF_MAP_TYPE_LPM_TRIE`).
    LpmTrie,
}

/// Identity of a map, by its content.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum MapId {
    /// Tunnel and tunnel key, by user.
    Users,
    /// Token buckets, by user.
    Meters,
    /// Outer headers, by tunnel.
    Tunnels,
    /// The group table.
    Hops,
    /// An exact-match table.
    Exact(u32),
    /// IPv4 prefixes.
    Routes4(u32),
    /// IPv6 prefixes.
    Routes6(u32),
    /// IPv4 translations.
    Nat4(u32),
    /// IPv6 translations.
    Nat6(u32),
    /// Frames that are fed into the pipeline in a loop.
    Trace,
    /// Position in the trace, and packet counts by verdict.
    State,
}

/// Definition of a map.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub struct MapShape {
    /// Identity of the map.
    pub id: MapId,
    /// Lookup method of the map.
    pub kind: MapKind,
    /// Length of a key, in bytes.
    pub key_bytes: u32,
    /// Length of a value, in bytes.
    pub value_bytes: u32,
    /// Maximum number of entries.
    pub entries: u32,
}

/// A map entry to be set or deleted.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct MapEntry {
    /// Map that contains the entry.
    pub map: MapId,
    /// Key of the entry.
    pub key: Vec<u8>,
    /// Value of the entry. `None` deletes the entry.
    pub value: Option<Vec<u8>>,
}

/// An XDP program without map descriptors.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Program {
    /// Instructions of 8 bytes, with 0 in place of map descriptors.
    code: Vec<u64>,
    /// Indexes of instructions that refer to maps.
    maps: Vec<(usize, MapId)>,
}

impl Program {
    pub(super) fn new(code: Vec<u64>, maps: Vec<(usize, MapId)>) -> Self {
        Self { code, maps }
    }

    /// Returns the instructions with map descriptors filled in, or `None` if a descriptor is missing.
    #[must_use]
    pub fn linked(&self, descriptor: impl Fn(MapId) -> Option<i32>) -> Option<Vec<u64>> {
        let mut code = self.code.clone();
        for (at, map) in &self.maps {
            *code.get_mut(*at)? |= u64::from(descriptor(*map)? as u32) << 32;
        }
        Some(code)
    }

    /// Returns the number of instructions.
    #[must_use]
    pub fn len(&self) -> usize {
        self.code.len()
    }

    /// Returns whether the program has no instructions.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.code.is_empty()
    }
}

/// Maps, entries and programs of a complete pipeline, or of a change.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Object {
    /// Maps, which are created first.
    pub maps: Vec<MapShape>,
    /// Entries, which are set in order.
    pub entries: Vec<MapEntry>,
    /// For each ingress port (by number), the program that returns the verdict on a frame: `XDP_DROP`, `XDP_TX` (same
    /// port), or `XDP_REDIRECT` (other port).
    pub programs: [Option<Program>; 2],
}

impl Object {
    /// Returns maps, entries and sizes of programs as text, for people and golden files.
    #[must_use]
    pub fn whole(&self) -> String {
        let hex = |octets: &[u8]| octets.iter().map(|octet| format!("{octet:02x}")).collect::<String>();
        let mut out = String::new();
        for map in &self.maps {
            let kind = map.kind;
            let key = map.key_bytes;
            let value = map.value_bytes;
            let _ =
                writeln!(out, "map {:?} {kind:?} key {key} value {value} entries {}", map.id, map.entries);
        }
        for entry in &self.entries {
            let value = entry.value.as_ref().map_or_else(|| "none".to_owned(), |value| hex(value));
            let _ = writeln!(out, "set {:?} {} {value}", entry.map, hex(&entry.key));
        }
        for (port, program) in self.programs.iter().enumerate() {
            if let Some(program) = program {
                let _ = writeln!(out, "program {port} of {} instructions", program.len());
            }
        }
        out
    }
}
