//! What the kernel is given: maps, their entries, and programs that name maps instead of descriptors.

use std::fmt::Write;

/// How a map finds its entries.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum MapKind {
    /// By number; all entries are there from the beginning (`BPF_MAP_TYPE_ARRAY`).
    Array,
    /// By the whole key; an entry is replaced in one step (`BPF_MAP_TYPE_HASH`).
    Hash,
    /// By the longest prefix; keys begin with a length of four octets (`BPF_MAP_TYPE_LPM_TRIE`).
    LpmTrie,
}

/// A map, by what is in it.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum MapId {
    /// Tunnel and its key, by user.
    Users,
    /// Token buckets, by user.
    Meters,
    /// Outer headers, by tunnel.
    Tunnels,
    /// The group table.
    Hops,
    /// An exact match.
    Exact(u32),
    /// IPv4 prefixes.
    Routes4(u32),
    /// IPv6 prefixes.
    Routes6(u32),
    /// Translations of IPv4.
    Nat4(u32),
    /// Translations of IPv6.
    Nat6(u32),
    /// Frames that are put in front of the pipeline, again and again.
    Trace,
    /// Where the trace stands, and what became of its packets.
    State,
}

/// What a map is like.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub struct MapShape {
    /// Which.
    pub id: MapId,
    /// How it finds entries.
    pub kind: MapKind,
    /// Octets of a key.
    pub key_bytes: u32,
    /// Octets of a value.
    pub value_bytes: u32,
    /// The most entries.
    pub entries: u32,
}

/// An entry that is set, or taken out.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct MapEntry {
    /// Of which map.
    pub map: MapId,
    /// The key.
    pub key: Vec<u8>,
    /// The value; none takes the entry out.
    pub value: Option<Vec<u8>>,
}

/// A program.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Program {
    /// Instructions of 8 octets, with 0 where a map's descriptor belongs.
    code: Vec<u64>,
    /// Which instruction wants which map.
    maps: Vec<(usize, MapId)>,
}

impl Program {
    pub(super) fn new(code: Vec<u64>, maps: Vec<(usize, MapId)>) -> Self {
        Self { code, maps }
    }

    /// The instructions with the descriptors of maps in them; `None` if one is not there.
    #[must_use]
    pub fn linked(&self, descriptor: impl Fn(MapId) -> Option<i32>) -> Option<Vec<u64>> {
        let mut code = self.code.clone();
        for (at, map) in &self.maps {
            *code.get_mut(*at)? |= u64::from(descriptor(*map)? as u32) << 32;
        }
        Some(code)
    }

    /// How many instructions it has.
    #[must_use]
    pub fn len(&self) -> usize {
        self.code.len()
    }

    /// Whether it has none.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.code.is_empty()
    }
}

/// Everything of a pipeline, or of a change of it.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Object {
    /// Maps, to be made first.
    pub maps: Vec<MapShape>,
    /// Entries, to be set in this order.
    pub entries: Vec<MapEntry>,
    /// For each port where packets enter (by its number), the program that says what becomes of a frame: `XDP_DROP`, `XDP_TX`
    /// (back by the same port), or `XDP_REDIRECT` (by the other).
    pub programs: [Option<Program>; 2],
}

impl Object {
    /// Maps, entries and sizes of programs as text, for people and golden files.
    #[must_use]
    pub fn whole(&self) -> String {
        let hex = |octets: &[u8]| octets.iter().map(|octet| format!("{octet:02x}")).collect::<String>();
        let mut out = String::new();
        for map in &self.maps {
            let (kind, key, value) = (map.kind, map.key_bytes, map.value_bytes);
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
